// SPDX-License-Identifier: Apache-2.0
// The state of every command, queue and device at every moment of the window.
//
// A command goes Enqueued -> Queued -> Submitted -> Blocked -> Running -> Finished -> Observed. A queue (row)
// is always in exactly one state, and so is a device: their states add up to the window exactly, in integer
// nanoseconds. Time without data is in the state "unknown".
//
// 64 bytes per command and 24 per segment. Built once, read-only afterwards; it borrows timeline and graph.
// One thread at a time.
#ifndef TRACESMITH_STATES_H
#define TRACESMITH_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/graph.h"
#include "tracesmith/status.h"
#include "tracesmith/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

// The coarse view. X(NAME, number, "name", "doc")
#define TSMITH_COARSE_TABLE(X)                                                                               \
    X(IDLE, 0, "idle", "nothing to do")                                                                      \
    X(QUEUED, 1, "queued", "handed over and not begun (dispatch pending)")                                   \
    X(RUNNING, 2, "running", "runs")                                                                         \
    X(WAITING, 3, "waiting", "waits for something else")                                                     \
    X(COMPLETE, 4, "complete", "has run")                                                                    \
    X(UNKNOWN, 5, "unknown", "the trace does not tell")

typedef enum tsmith_coarse {
#define TSMITH_COARSE_ENUM(NAME, number, name, doc) TSMITH_COARSE_##NAME = number,
    TSMITH_COARSE_TABLE(TSMITH_COARSE_ENUM)
#undef TSMITH_COARSE_ENUM
        TSMITH_COARSE_LIMIT
} tsmith_coarse;

// The states of a queue or device. A device is in the first of this list that any of its queues is in: who waits for
// another queue is explained by that queue. X(NAME, number, "name", COARSE, "doc")
#define TSMITH_STATE_TABLE(X)                                                                                \
    X(RUNNING, 0, "running", RUNNING, "at least one command runs")                                           \
    X(DRAINING, 1, "draining", COMPLETE, "nothing runs; what has run is not reported complete yet")          \
    X(PENDING, 2, "pending", QUEUED,                                                                         \
      "a command was handed over, could run and has not begun: launch latency")                              \
    X(COMPILE, 3, "compile", WAITING, "the next command waits for its compilation")                          \
    X(WAIT_RESOURCE, 4, "wait_resource", WAITING,                                                            \
      "the next command waits for something the device has once")                                            \
    X(QUEUED, 5, "queued", QUEUED,                                                                           \
      "the next command is being enqueued, or was and is not handed to the device yet")                      \
    X(UNKNOWN, 6, "unknown", UNKNOWN,                                                                        \
      "unknown: a hole, a command without a known launch, or one that waits for longer "                     \
      "than "                                                                                                \
      "launching takes (10 times the median of its device, at least 100 us)")                                \
    X(WAIT_HOST, 9, "wait_host", WAITING, "the next command waits for an event that the host has not set")   \
    X(WAIT_EVENT, 7, "wait_event", WAITING, "the next command waits for commands of other queues")           \
    X(EMPTY, 8, "empty", IDLE, "nothing was enqueued: the host gave it no work")

typedef enum tsmith_state {
#define TSMITH_STATE_ENUM(NAME, number, name, coarse, doc) TSMITH_STATE_##NAME = number,
    TSMITH_STATE_TABLE(TSMITH_STATE_ENUM)
#undef TSMITH_STATE_ENUM
        TSMITH_STATE_LIMIT = 10
} tsmith_state;

// Why a command that was queued did not run. X(NAME, number, "name", "doc")
#define TSMITH_BLOCK_TABLE(X)                                                                                \
    X(NONE, 0, "none", "nothing is known to have held it up")                                                \
    X(STREAM_ORDER, 1, "stream_order", "the command before it in its queue, a barrier, the default stream")  \
    X(EVENT, 2, "event", "a command in its wait list")                                                       \
    X(RESOURCE, 3, "resource", "the device or copy engine was busy")                                         \
    X(COMPILE, 4, "compile", "it was being compiled")                                                        \
    X(HOST, 5, "host", "the host had not set an event in its wait list")

typedef enum tsmith_block {
#define TSMITH_BLOCK_ENUM(NAME, number, name, doc) TSMITH_BLOCK_##NAME = number,
    TSMITH_BLOCK_TABLE(TSMITH_BLOCK_ENUM)
#undef TSMITH_BLOCK_ENUM
        TSMITH_BLOCK_LIMIT
} tsmith_block;

// The life of a command: enqueued <= queued <= submitted <= start and queued <= unblocked <= start. It is
//   enqueued     in [enqueued, queued): the host is in the call
//   blocked      in [queued, unblocked): by `blocker`; empty when `block` is NONE. A runtime may hold back what is
//                blocked, so it may be submitted before or after
//   queued       in [unblocked, submitted): not with the device (empty when the trace has no such time)
//   submitted    from both on to start: it could run; launch latency
//   running      in [start, end)
//   finished     in [end, observed): has run, and no host thread is known to have seen it; complete from `completed` on
//   observed     from `observed` on
// `enqueued` is TSMITH_TIME_UNKNOWN if the trace does not have it; then queued, submitted and unblocked are unknown as
// well. `observed` is TSMITH_TIME_UNKNOWN if no thread is known to have waited for it. All times are as the device's clock
// shows them: where the graph places that clock (tsmith_graph_clocks), a host's time differs from the call's by the offset.
typedef struct tsmith_life {
    int64_t enqueued, queued, submitted, unblocked;
    int64_t completed; // end, if the trace does not have it
    int64_t observed;
    uint32_t blocker; // command that ended last of those it had to wait for, or TSMITH_INDEX_NONE
    uint32_t block;   // tsmith_block
} tsmith_life;

// A stretch of a row's or device's window in one state.
typedef struct tsmith_segment {
    int64_t from, to;
    uint32_t state;   // tsmith_state
    uint32_t command; // of a row: the command that runs first, or the one that waits; else (and of a device
                      // always) TSMITH_INDEX_NONE
} tsmith_segment;

typedef struct tsmith_states tsmith_states;

TSMITH_API tsmith_status tsmith_states_create(const tsmith_timeline *timeline, const tsmith_graph *graph,
                                              tsmith_states **out, tsmith_error *error);
TSMITH_API void tsmith_states_destroy(tsmith_states *states);

// By command of the timeline.
TSMITH_API const tsmith_life *tsmith_states_lives(const tsmith_states *states, size_t *count);
// The segments of a row (index in tsmith_timeline_rows) or device: ascending, without gaps, from the start of
// the window to its end, no two neighbors in the same state about the same command.
TSMITH_API const tsmith_segment *tsmith_states_row(const tsmith_states *states, uint32_t row, size_t *count);
TSMITH_API const tsmith_segment *tsmith_states_device(const tsmith_states *states, uint32_t device,
                                                      size_t *count);
// ns per state of some segments: they add up to the segments' length.
TSMITH_API void tsmith_states_totals(const tsmith_segment *segments, size_t count,
                                     int64_t totals[TSMITH_STATE_LIMIT]);

TSMITH_API const char *tsmith_state_name(tsmith_state state);
TSMITH_API const char *tsmith_state_doc(tsmith_state state);
TSMITH_API tsmith_coarse tsmith_state_coarse(tsmith_state state);
TSMITH_API const char *tsmith_coarse_name(tsmith_coarse coarse);
TSMITH_API const char *tsmith_block_name(tsmith_block block);

#ifdef __cplusplus
}
#endif
#endif
