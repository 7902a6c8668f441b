// SPDX-License-Identifier: Apache-2.0
// The timeline of a trace: the commands of each queue, the calls that launched them, busy time, concurrency, gaps.
//
// A timeline is filled with batches and then finished. After that it is read-only, and everything that it returns is
// borrowed from it. It keeps 48 bytes per command (72 where the trace has times of queueing, submission or completion),
// 16 more of one that moves bytes or has a wait list, and 48 bytes per call of the GPU API, 12 more of one that waits
// for commands or events, and nothing of any other event: a trace of 10 million events of which two thirds are calls
// and commands needs 320 MB. Columns of batches are not kept: their order is that of the file, and a batch in memory
// takes as much. With what is made from it (graph, states, reports) that is up to 320 and 336 bytes. A trace that needs
// more than half of the machine's memory, or than the environment variable TRACESMITH_MEMORY_LIMIT says ("3GiB"), is
// read to its end, and finishing fails with ERROR_LIMIT and the memory that it needs. Times are int64 nanoseconds on
// the trace clock. One thread at a time; read-only use from any thread.
#ifndef TRACESMITH_TIMELINE_H
#define TRACESMITH_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/memory.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSMITH_TIME_UNKNOWN INT64_MIN
#define TSMITH_INDEX_NONE UINT32_MAX

typedef struct tsmith_timeline tsmith_timeline;

typedef struct tsmith_timeline_options {
    size_t size; // sizeof(tsmith_timeline_options)
    // The window of all figures; by default from the first start to the last end of all events.
    int has_window;
    int64_t from, to;
} tsmith_timeline_options;

// The kind of work of a command. X(NAME, number, "name", "doc")
#define TSMITH_WORK_TABLE(X)                                                                                 \
    X(COMPUTE, 0, "compute", "a kernel that computes")                                                       \
    X(COMMUNICATION, 1, "communication", "a collective, or a kernel of a communication library")             \
    X(COPY, 2, "copy", "bytes are moved or filled")                                                          \
    X(CONTROL, 3, "control", "a marker, barrier or wait: nothing runs")

typedef enum tsmith_work {
#define TSMITH_WORK_ENUM(NAME, number, name, doc) TSMITH_WORK_##NAME = number,
    TSMITH_WORK_TABLE(TSMITH_WORK_ENUM)
#undef TSMITH_WORK_ENUM
        TSMITH_WORK_LIMIT
} tsmith_work;

// One command of a queue. Commands are sorted by row, then by start.
typedef struct tsmith_command {
    int64_t start, end;
    uint64_t correlation; // 0: none
    uint32_t row;
    uint32_t call;   // index of the call that launched it, or TSMITH_INDEX_NONE
    uint32_t name;   // string
    uint32_t thread; // index of the thread that launched it, or TSMITH_INDEX_NONE
    uint32_t
        details; // where its bytes and waits are, for tsmith_command_bytes and tsmith_command_waits; 0: it has none
    uint8_t kind;          // tsmith_kind
    uint8_t operation;     // tsmith_operation
    uint8_t direction;     // tsmith_direction
    uint8_t work : 2;      // tsmith_work
    uint8_t certainty : 3; // tsmith_certainty of its times
    uint8_t untimed : 1;   // the trace has no times for it: start and end are when it was enqueued
    uint8_t
        end_unknown : 1; // the trace has no duration for it: end is start, and says nothing. An instant has none either
    uint8_t pageable : 1; // a copy from or to host memory that is not pinned
} tsmith_command;

// The other times of a command, TSMITH_TIME_UNKNOWN when the trace does not say.
typedef struct tsmith_command_times {
    int64_t queued, submitted, completed;
} tsmith_command_times;

// Whether the trace has the duration of a command, and the duration in ns (0 where it has none).
static inline int tsmith_command_duration(const tsmith_command *command, int64_t *ns) {
    *ns = command->end - command->start;
    return !command->end_unknown;
}

// The role of a call. X(NAME, number, "name", "doc")
#define TSMITH_CALL_TABLE(X)                                                                                 \
    X(OTHER, 0, "other", "neither launches nor waits")                                                       \
    X(LAUNCH, 1, "launch", "put commands into a queue")                                                      \
    X(SYNC_QUEUE, 2, "sync_queue", "waited for all commands of a queue")                                     \
    X(SYNC_DEVICE, 3, "sync_device", "waited for all commands of a device")                                  \
    X(SYNC_EVENT, 4, "sync_event", "waited for events")                                                      \
    X(RECORD, 5, "record", "recorded an event in a queue")                                                   \
    X(WAIT_EVENT, 6, "wait_event", "made a queue wait for an event")                                         \
    X(COMPILE, 7, "compile", "compiled a program or a kernel")                                               \
    X(MEMORY, 8, "memory", "allocated or freed device memory")                                               \
    X(SET_EVENT, 9, "set_event", "set an event that commands may wait for")

typedef enum tsmith_call_role {
#define TSMITH_CALL_ENUM(NAME, number, name, doc) TSMITH_CALL_##NAME = number,
    TSMITH_CALL_TABLE(TSMITH_CALL_ENUM)
#undef TSMITH_CALL_ENUM
        TSMITH_CALL_LIMIT
} tsmith_call_role;

// One call of the GPU API, or a wait or compilation, on a host thread. Calls are sorted by thread, then by
// start.
typedef struct tsmith_call {
    int64_t start, end;
    uint64_t correlation;   // 0: none
    uint32_t thread;        // index
    uint32_t name;          // string
    uint32_t row;           // the queue it is about, or TSMITH_INDEX_NONE
    uint32_t command_count; // commands it launched
    uint32_t
        details; // where its waits and its record are, for tsmith_call_waits and tsmith_call_record; 0: it has none
    uint8_t kind; // tsmith_kind
    uint8_t operation;
    uint8_t role : 4;        // tsmith_call_role
    uint8_t blocking : 1;    // returned only when what it launched was complete
    uint8_t end_unknown : 1; // as in a command
    uint8_t
        row_inferred : 1; // SYNC_QUEUE: the trace does not name the queue; it is that of the thread's last launch
    uint8_t certainty : 3; // tsmith_certainty of its times
} tsmith_call;

// A queue (stream) or copy engine, or a device as a whole: busy is the union of its commands that run, so it
// is never more than the window.
typedef struct tsmith_row {
    uint32_t track;    // of the dictionary; 0 for a device
    uint32_t device;   // index of the device
    uint32_t process;  // of the dictionary: whose calls launch its commands; 0 when unknown
    uint32_t in_order; // its commands run one after the other
    uint32_t first_command, command_count; // commands of the row; for a device, of all its rows
    uint32_t first_row, row_count;         // of a device: rows are sorted by device
    uint32_t dictionary_device;            // of the dictionary, or 0
    int64_t first_start, last_end;         // of commands that run, in the window; both 0 when there are none
    int64_t busy;                          // ns of the window in which at least one command ran
    int64_t total;                         // ns of all commands in the window, added up
    uint32_t depth_max;                    // most commands running at once
    uint32_t gap_count;                    // intervals without one between first_start and last_end
    uint32_t works; // bit w: a command that runs in the window is of work w (tsmith_work)
} tsmith_row;

typedef struct tsmith_thread {
    uint32_t track;
    uint32_t process;
    uint32_t first_call, call_count;
} tsmith_thread;

// An interval in which the trace is known to be incomplete.
typedef struct tsmith_hole {
    int64_t from, to;
    uint32_t process; // 0: of all
    uint32_t reason;
    uint64_t lost; // events; 0 when unknown
} tsmith_hole;

typedef struct tsmith_interval {
    int64_t from, to;
} tsmith_interval;

TSMITH_API tsmith_status tsmith_timeline_create(const tsmith_timeline_options *options,
                                                tsmith_timeline **out);
TSMITH_API void tsmith_timeline_destroy(tsmith_timeline *timeline);
// Copies what it needs of a batch. Batches may come in any order.
TSMITH_API tsmith_status tsmith_timeline_add(tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                                             const tsmith_batch *batch, tsmith_error *error);
// Ends the filling: sorts the events, pairs calls with commands, and computes the figures.
TSMITH_API tsmith_status tsmith_timeline_finish(tsmith_timeline *timeline,
                                                const tsmith_dictionary *dictionary, tsmith_error *error);
// Creates a timeline, adds all batches of a source and finishes it. OK or TRUNCATED with a timeline, or an error without one.
TSMITH_API tsmith_status tsmith_timeline_read(tsmith_source *source, const tsmith_timeline_options *options,
                                              tsmith_timeline **out, tsmith_error *error);

TSMITH_API tsmith_interval tsmith_timeline_window(const tsmith_timeline *timeline);
TSMITH_API const tsmith_command *tsmith_timeline_commands(const tsmith_timeline *timeline, size_t *count);
// The other times of the commands, in their order; NULL and 0 when the trace has them of no command.
TSMITH_API const tsmith_command_times *tsmith_timeline_times(const tsmith_timeline *timeline, size_t *count);
TSMITH_API const tsmith_call *tsmith_timeline_calls(const tsmith_timeline *timeline, size_t *count);
TSMITH_API const tsmith_row *tsmith_timeline_rows(const tsmith_timeline *timeline, size_t *count);
TSMITH_API const tsmith_row *tsmith_timeline_devices(const tsmith_timeline *timeline, size_t *count);
TSMITH_API const tsmith_thread *tsmith_timeline_threads(const tsmith_timeline *timeline, size_t *count);
// The bytes that a command moves; 0: none or unknown.
TSMITH_API uint64_t tsmith_command_bytes(const tsmith_timeline *timeline, const tsmith_command *command);
// The indices of the commands that a command, or a call, had to wait for.
TSMITH_API const uint32_t *tsmith_command_waits(const tsmith_timeline *timeline,
                                                const tsmith_command *command, size_t *count);
TSMITH_API const uint32_t *tsmith_call_waits(const tsmith_timeline *timeline, const tsmith_call *call,
                                             size_t *count);
// Of a call that waits for an event, or has a queue wait for one: the index of the call that recorded it, or TSMITH_INDEX_NONE.
TSMITH_API uint32_t tsmith_call_record(const tsmith_timeline *timeline, const tsmith_call *call);
TSMITH_API const tsmith_hole *tsmith_timeline_holes(const tsmith_timeline *timeline, size_t *count);

// ns of the window in which exactly `depth` commands of the row or device ran, for depth 0 .. depth_max; they
// add up to the window. *out is freed with tsmith_free.
TSMITH_API tsmith_status tsmith_timeline_concurrency(const tsmith_timeline *timeline, const tsmith_row *row,
                                                     int64_t **out, size_t *count);
// The intervals of the window in which at least one command of the row or device ran, of the kinds of work in `works` (bits,
// 1 << tsmith_work), disjoint and ascending. *out is freed with tsmith_free.
TSMITH_API tsmith_status tsmith_timeline_busy(const tsmith_timeline *timeline, const tsmith_row *row,
                                              uint32_t works, tsmith_interval **out, size_t *count);

TSMITH_API const char *tsmith_work_name(tsmith_work work);
TSMITH_API const char *tsmith_call_role_name(tsmith_call_role role);

#ifdef __cplusplus
}
#endif
#endif
