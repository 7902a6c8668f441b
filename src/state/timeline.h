// SPDX-License-Identifier: Apache-2.0
// The inside of a timeline (tracesmith/timeline.h), for the rooms that answer questions from it.
//
// States: FILLING (timeline_add) -> FINISHED (timeline_finish, once). While filling, commands and calls are in
// order of arrival, rows and threads in the order they were first seen, wait lists hold correlation numbers.
// Finishing sorts everything, so that equal traces give equal timelines for any order of their batches:
//   rows      by device, then track          devices   by dictionary id, then process
//   commands  by row, start, end             threads   by track
//   calls     by thread, start, longest first (a caller comes before what it calls)
// and turns correlation numbers into indices.
#ifndef STATE_TIMELINE_H
#define STATE_TIMELINE_H

#include <stdbool.h>

#include "tracesmith/timeline.h"

// Data of a record of a wait that is not on the track of the thread that waited (CUPTI's synchronization records, as
// Kineto and nsys show them). The call itself is another event with the same correlation number.
struct sync_note {
    uint64_t correlation; // of the API call
    uint64_t record;      // correlation of the call that recorded the event waited for; 0: unknown
    int64_t stream;       // number of the queue the event was recorded in; < 0: unknown
    uint32_t row;         // the queue that waits or is waited for
};

// Dynamic fields known by name.
#define STATE_FIELD_TABLE(X)                                                                                 \
    X(RECORD, "wait_on_cuda_event_record_corr_id")                                                           \
    X(STREAM, "wait_on_stream")

enum state_field {
#define STATE_FIELD_ENUM(NAME, name) STATE_FIELD_##NAME,
    STATE_FIELD_TABLE(STATE_FIELD_ENUM)
#undef STATE_FIELD_ENUM
        STATE_FIELD_LIMIT
};

// A call that set a user event, and a command that waited for it.
struct setting {
    uint32_t command, call;
};

// What few commands and calls have. Those that have it say where: index + 1.
struct command_details {
    uint64_t bytes;
    uint32_t wait_first, wait_count; // in `raw_waits` while filling, in `waits` then
};

struct call_details {
    uint32_t wait_first, wait_count;
    uint32_t record; // index of the RECORD call that it refers to, or TSMITH_INDEX_NONE
};

struct tsmith_timeline {
    tsmith_timeline_options options;
    bool finished;
    bool any;
    bool ledger_only;    // keep only the window and the holes
    uint64_t most_bytes; // that commands and calls may need; beyond it they are counted, and finishing fails
    bool too_large, has_times, has_details; // the latter: of the refused commands
    size_t refused_commands, refused_calls; // that were counted only
    tsmith_interval window;

    uint64_t work,
        timed_work; // kernels and transfers that were added, and those of them whose times are known
    tsmith_command *commands;
    size_t command_count, command_capacity;
    tsmith_command_times
        *times; // of the commands before time_count, while filling; then of all of them, or of none
    size_t time_count, time_capacity;
    struct command_details *command_details;
    size_t command_detail_count, command_detail_capacity;
    tsmith_call *calls;
    size_t call_count, call_capacity;
    struct call_details *call_details;
    size_t call_detail_count, call_detail_capacity;
    tsmith_row *rows;
    size_t row_count, row_capacity;
    tsmith_row *devices;
    size_t device_count;
    tsmith_thread *threads;
    size_t thread_count, thread_capacity;
    tsmith_hole *holes;
    size_t hole_count, hole_capacity;

    uint64_t *raw_waits; // correlation numbers
    size_t raw_wait_count, raw_wait_capacity;
    uint32_t *waits;
    size_t wait_count;
    struct setting *settings;
    size_t setting_count, setting_capacity;

    struct sync_note *notes;
    size_t note_count, note_capacity;

    uint32_t *row_of_track; // by track: index + 1
    size_t row_of_track_count;
    uint32_t *thread_of_track;
    size_t thread_of_track_count;

    uint16_t *text_class; // by string id, see names.h; 0: not looked at yet
    size_t text_class_count;
    uint32_t dynamic_fields_seen;
    uint32_t fields[STATE_FIELD_LIMIT]; // numbers of the dynamic fields we know by name; 0: not there
};

// Where the commands of a row or device (tsmith_row) are: of a device, those of all its rows.
static inline const tsmith_command *timeline_row_commands(const tsmith_timeline *timeline,
                                                          const tsmith_row *row) {
    return timeline->commands + row->first_command;
}

static inline struct command_details timeline_command_details(const tsmith_timeline *timeline,
                                                              const tsmith_command *command) {
    return command->details ? timeline->command_details[command->details - 1] : (struct command_details){0};
}

static inline struct call_details timeline_call_details(const tsmith_timeline *timeline,
                                                        const tsmith_call *call) {
    return call->details ? timeline->call_details[call->details - 1]
                         : (struct call_details){.record = TSMITH_INDEX_NONE};
}

// Whether a command occupies the device.
static inline bool timeline_runs(const tsmith_command *command) {
    return command->work != TSMITH_WORK_CONTROL && command->end > command->start;
}

// The other times of a command.
static inline tsmith_command_times timeline_times(const tsmith_timeline *timeline,
                                                  const tsmith_command *command) {
    const tsmith_command_times none = {TSMITH_TIME_UNKNOWN, TSMITH_TIME_UNKNOWN, TSMITH_TIME_UNKNOWN};
    return timeline->time_count ? timeline->times[command - timeline->commands] : none;
}

// Makes the times of the commands before `count` unknown as far as they were not told. False when memory is exhausted.
bool timeline_fill_times(tsmith_timeline *timeline, size_t count);

// The host's moment of enqueueing: when the call began, else when it was queued; TSMITH_TIME_UNKNOWN.
int64_t timeline_enqueued(const tsmith_timeline *timeline, const tsmith_command *command);

// For who asks that of one command after the other, up to `end`: has the call of a later one fetched meanwhile.
static inline void timeline_fetch_call(const tsmith_timeline *timeline, uint32_t command, uint32_t end) {
    enum { AHEAD = 24 };
    if (command + AHEAD < end && timeline->commands[command + AHEAD].call != TSMITH_INDEX_NONE)
        __builtin_prefetch(&timeline->calls[timeline->commands[command + AHEAD].call]);
}

// Fills rows, devices and window with what is measured (timeline_measure.c).
tsmith_status timeline_measure(tsmith_timeline *timeline);

// Turns correlation numbers into indices, once all is sorted (timeline_pair.c).
tsmith_status timeline_pair(tsmith_timeline *timeline, const tsmith_dictionary *dictionary);

// Merges events that describe one wait, once the calls are sorted, and counts the calls of each thread (timeline_waits.c).
void timeline_merge_waits(tsmith_timeline *timeline);

// The role of a wait by its operation; TSMITH_CALL_OTHER if it is no operation of a host's wait.
uint8_t timeline_wait_role(uint8_t operation);

// ns of the holes that are in the window and concern `process` (0: any), each ns counted once.
int64_t timeline_hole_time(const tsmith_timeline *timeline, uint32_t process, tsmith_interval window);

#endif
