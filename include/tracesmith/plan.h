// SPDX-License-Identifier: Apache-2.0
// The plan of a recording: the required order of its commands (queues, wait lists, barriers, waits of the host), the
// memory that each command uses, and conflicting commands without an order. Making a plan runs nothing and needs no
// device.
//
// The top of src/replay/plan.h describes how order and use of memory are found; docs/replay.md describes the limits. A
// plan borrows its recording. One thread at a time.
#ifndef TRACESMITH_PLAN_H
#define TRACESMITH_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/replay.h"
#include "tracesmith/simulate.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_plan tsmith_plan;

typedef struct tsmith_plan_summary {
    size_t size;       // sizeof(tsmith_plan_summary), the caller's
    uint64_t commands; // and moments of the host
    uint64_t edges;    // that order them
    uint64_t never;    // that wait for something that never happened, or for each other
    uint64_t unknown;  // whose use of memory is unknown
    uint64_t
        unchecked; // uses of memory that were not checked against others, to keep time and memory bounded
    int callbacks; // the program had callbacks: they may order commands that the plan lists as unordered
    uint64_t device_commands; // without moments of the host
    uint64_t uses;            // of memory by all of them, each range of bytes counted
} tsmith_plan_summary;

// X(NAME, number, "name", "what it means")
#define TSMITH_HAZARD_TABLE(X)                                                                               \
    X(READ_AFTER_WRITE, 0, "read-after-write", "the second may read before the first has written")           \
    X(WRITE_AFTER_READ, 1, "write-after-read", "the second may write before the first has read")             \
    X(WRITE_AFTER_WRITE, 2, "write-after-write", "which of the two writes last is open")

typedef enum tsmith_hazard_kind {
#define TSMITH_HAZARD_ENUM(NAME, number, name, doc) TSMITH_HAZARD_##NAME = number,
    TSMITH_HAZARD_TABLE(TSMITH_HAZARD_ENUM)
#undef TSMITH_HAZARD_ENUM
        TSMITH_HAZARD_LIMIT
} tsmith_hazard_kind;
TSMITH_API const char *tsmith_hazard_kind_name(tsmith_hazard_kind kind); // NULL for another number

// X(NAME, number, "name", "what it means")
#define TSMITH_HAZARD_TRIAL_TABLE(X)                                                                         \
    X(NONE, 0, "not-tried", "the two were not run the other way round")                                      \
    X(DIFFERENT, 1, "different", "in the other order a result is different")                                 \
    X(SAME, 2, "same", "the other way round every result is the same")

typedef enum tsmith_hazard_trial {
#define TSMITH_HAZARD_TRIAL_ENUM(NAME, number, name, doc) TSMITH_HAZARD_TRIAL_##NAME = number,
    TSMITH_HAZARD_TRIAL_TABLE(TSMITH_HAZARD_TRIAL_ENUM)
#undef TSMITH_HAZARD_TRIAL_ENUM
        TSMITH_HAZARD_TRIAL_LIMIT
} tsmith_hazard_trial;
TSMITH_API const char *tsmith_hazard_trial_name(tsmith_hazard_trial trial); // NULL for another number

// A command as a finding names it. Text is the plan's or the recording's.
typedef struct tsmith_plan_command {
    uint64_t command;     // how many commands of the process were before it
    const char *what;     // "kernel", "read", ...; "host": the program's own use of memory
    const char *kernel;   // its name, or NULL
    uint64_t queue;       // the recording's number of it; 0: none
    uint64_t correlation; // of its API call in the trace; 0: not known
} tsmith_plan_command;

typedef struct tsmith_hazard {
    size_t size; // sizeof(tsmith_hazard), the caller's
    tsmith_hazard_kind kind;
    uint64_t pid;
    tsmith_plan_command first, second; // in the order of the recording
    const char *memory;                // "buffer", "host memory" (of the program) or "mapping" (of a buffer)
    uint64_t buffer;                   // the recording's number; 0: none
    uint64_t from, to;                 // the bytes that both use
    uint64_t
        count;   // how often the same two calls (by queue, command and kernel) do it; this is the first time
    int assumed; // which bytes a kernel uses is not known for certain: at most these
    tsmith_hazard_trial trial; // of the first time, by tsmith_plan_try_hazards
    // It may be no conflict: both use the memory by atomic functions only, or are launches of one kernel with other
    // arguments that may use other parts of it. A trial replay decides.
    int possible;
} tsmith_hazard;

// LIMIT if tracking the commands that can run at once takes more than 1 GiB, or a quarter of the memory: from
// some 20,000 on. UNSUPPORTED if the recording has frames of Vulkan: only the order of OpenCL commands is examined.
TSMITH_API tsmith_status tsmith_plan_create(tsmith_recording *recording, tsmith_plan **out,
                                            tsmith_error *error);
TSMITH_API void tsmith_plan_destroy(tsmith_plan *plan);
TSMITH_API void tsmith_plan_summarize(const tsmith_plan *plan, tsmith_plan_summary *out);
// In the order of the recording; 0 past the last index.
TSMITH_API int tsmith_plan_hazard_get(const tsmith_plan *plan, size_t index, tsmith_hazard *out);

// ---- for a simulation

// What the commands of a trace need of each other, by the plan of the recording in it: for TSMITH_CHANGE_STREAMS.
typedef struct tsmith_needs {
    size_t size;        // sizeof(tsmith_needs), the caller's
    tsmith_need *needs; // sorted by command
    size_t count;
    double *
        shares; // by command of the timeline: what part of its device it takes; negative: it is not in the plan
    uint64_t recorded; // commands that are in the plan
} tsmith_needs;
// Freed with tsmith_needs_finish, also after a failure. NOT_FOUND when no command of the plan is in the timeline.
TSMITH_API tsmith_status tsmith_plan_needs(const tsmith_plan *plan, const tsmith_timeline *timeline,
                                           const tsmith_dictionary *dictionary, tsmith_needs *out,
                                           tsmith_error *error);
TSMITH_API void tsmith_needs_finish(tsmith_needs *needs);

// ---- other orders

typedef struct tsmith_permute_options {
    size_t size; // sizeof(tsmith_permute_options)
    uint64_t
        orders;    // to try, of each process; 0: one. The first is the one that is furthest from the recorded
    uint64_t seed; // the same gives the same orders
    const tsmith_replay_options *replay; // device, patience, source; NULL: as tsmith_replay_run has it
} tsmith_permute_options;

// Two commands whose order decides a result, and nothing keeps it.
typedef struct tsmith_dependency {
    size_t size; // sizeof(tsmith_dependency), the caller's
    uint64_t pid;
    tsmith_plan_command first, second; // in the order of the recording
    uint64_t result_buffer;            // the result that differs: this buffer,
    const char *result;                // "read", "map" or "at the end",
    uint64_t result_command;           // so many commands before it (of a read or map)
} tsmith_dependency;

typedef struct tsmith_permutation tsmith_permutation;
typedef struct tsmith_permutation_summary {
    size_t size;      // sizeof(tsmith_permutation_summary), the caller's
    uint64_t orders;  // other than the recorded one that were tried, each counted once
    uint64_t replays; // made in all, also to find which two commands it was
    uint64_t results; // compared in each
    uint64_t noisy;   // of those, that differ in the recorded order too: they are left out
    uint64_t others;  // legal orders besides the recorded one, of all processes
    int counted;      // `others` is exact; otherwise it is a lower bound
    uint64_t commands;
} tsmith_permutation_summary;

// Replays the commands of the plan in other orders that it allows, one command at a time, and compares the results with
// the recorded order replayed the same way. If they differ, the sequence of exchanges between the two orders is bisected
// down to two neighbors whose exchange makes the difference; their order is then kept, and the search continues. OK
// also if differences are found. MISSING without a device; LIMIT if a replay did not terminate. `options` may be NULL.
TSMITH_API tsmith_status tsmith_plan_permute(tsmith_plan *plan, const tsmith_permute_options *options,
                                             tsmith_permutation **out, tsmith_error *error);
// Replays each finding in memory of the device (the first 256 of a process) with its two commands the other way round, what
// depends on them moved with them, and keeps whether a result came out different than in the recorded order. What differs in the
// recorded order too is left out. `replay` as in tsmith_permute_options; `replays` gets how many were made.
TSMITH_API tsmith_status tsmith_plan_try_hazards(tsmith_plan *plan, const tsmith_replay_options *replay,
                                                 uint64_t *replays, tsmith_error *error);
TSMITH_API void tsmith_permutation_destroy(tsmith_permutation *permutation);
TSMITH_API void tsmith_permutation_summarize(const tsmith_permutation *permutation,
                                             tsmith_permutation_summary *out);
// 0 past the last index.
TSMITH_API int tsmith_permutation_get(const tsmith_permutation *permutation, size_t index,
                                      tsmith_dependency *out);

#ifdef __cplusplus
}
#endif
#endif
