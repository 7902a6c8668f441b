// SPDX-License-Identifier: Apache-2.0
// What a replay keeps of its results, for who runs it (replay.c, two_devices.c).
#ifndef REPLAY_RESULTS_H
#define REPLAY_RESULTS_H

#include "replay/compare.h"
#include "replay/execute.h"
#include "replay/timing.h"

// Data of a result besides its public part.
struct gathered {
    size_t process, record;
    bool wide; // differed beyond tolerance in some replay
    uint8_t *recorded, *least, *most;
    size_t size;
    const char *doubt; // why a difference may be no wrong result; NULL: no reason is known
    bool hashed;       // only a hash was recorded; that of the last replay:
    struct chunk_hash hash;
};

struct tsmith_replay {
    struct execution *execution, *against; // `against`: NULL, or the second device
    struct vulkan_execution *vulkan;       // NULL: no process is of Vulkan; `execution` may then be NULL too
    tsmith_replay_result *results;
    struct gathered *gathered;
    size_t count, result_capacity, gathered_capacity;
    char **notes;
    size_t note_count, note_capacity;
    // of the replay that runs
    struct tsmith_recording *recording;
    const tsmith_replay_options *options;
    const struct recorded_process *process;
    size_t process_index, first; // where the results of the process begin
    uint32_t turn;
    size_t next;               // where the next result probably is, from `first`
    uint64_t *commands;        // how many were before each record
    struct chunk_table states; // of VERIFY numbers: record + 1 of the STATE
    struct compare_tolerance tolerance;
    bool failed; // memory
    struct timing timing;
    uint64_t asked; // commands, of a part
    tsmith_replay_extent extent;
    tsmith_replay_culprit culprit;
};

// Before and after the replays of a process, which `process` names. False: no memory.
bool results_begin(struct tsmith_replay *replay);
void results_end(struct tsmith_replay *replay);
// For an execute_client: a result compared with the recording; called once.
void results_take(void *replay, const struct execute_result *from);
void results_note(void *replay, const char *text);
// The same result of two devices: the first takes the place of the recording.
void results_compare(struct tsmith_replay *replay, const struct execute_result *first,
                     const struct execute_result *second);
// Whether a result varies from replay to replay, and the recorded value is outside all the same: a few replays do not
// show all possible values, so more are needed before it counts as diverged.
bool results_undecided(const struct tsmith_replay *replay);
void results_judge(struct tsmith_replay *replay); // after the last replay

// Replays a part of a process, as often as `options` asks for; whether a result diverged. replay.c
tsmith_status replay_run_part(struct execution *execution, struct tsmith_recording *recording, size_t process,
                              const tsmith_replay_options *options, const struct execute_options *run_options,
                              bool *diverged, tsmith_error *error);

#endif
