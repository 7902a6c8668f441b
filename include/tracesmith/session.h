// SPDX-License-Identifier: Apache-2.0
// Emitting events from your own program: start a session, emit from any number of threads, and stop it. The result is a file.
//
//     tsmith_session *session;
//     tsmith_session_options options = {.size = sizeof options, .path = "my.sbt"};
//     tsmith_session_start(&options, &session, NULL);
//     uint32_t step = tsmith_session_name(session, "step");
//     tsmith_range_begin(session, step);
//     ...
//     tsmith_range_end(session);
//     tsmith_session_stop(session, NULL, NULL);
//
// Emitting takes no lock and makes no system call: the first emission of a thread maps its ring. A NULL
// session makes every emission a no-op, so that call sites need no condition. Emitting while another thread
// stops the session is counted, not undefined; an emission after the stop does nothing.
//
// fork: the session stays the parent's. A forked child may emit: its events are in the parent's file, as those of a
// process of its own, if they came before the parent stopped the session. tsmith_session_stop in the child ends only the
// child's emissions and returns TSMITH_ERROR_STATE; the parent's session and file are untouched.
//
// Signal handlers: the four emissions below (range_begin, range_end, mark, count), and tsmith_emit with a combination of
// fields that was used before, may be called in a signal handler of a thread that has emitted before. A handler that
// interrupts an emission of its own thread cannot record: that event is counted in the loss ledger as "interrupted". A
// handler must not leave such an emission with longjmp: its thread would then record nothing more, and count every event.
// Every other function takes locks or allocates, and must not be called in a signal handler.
#ifndef TRACESMITH_SESSION_H
#define TRACESMITH_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/schema.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_session tsmith_session;

typedef struct tsmith_session_options {
    size_t size;         // sizeof(tsmith_session_options)
    const char *path;    // file to write
    size_t buffer_bytes; // ring of each thread; 0: the default (at most 64 MiB, taken as needed)
    tsmith_overflow overflow;
    const char *session_root; // as in tsmith_capture_options
    double block_timeout;     // as in tsmith_capture_options
    // Not NULL: agents record the GPU APIs of this process, and of the programs that it starts, into the same file. An
    // API that cannot be recorded because it is already in use is not a failure; tsmith_session_note returns a message
    // about it. The environment of this process is changed until the stop (tsmith_session_environment). Of the
    // options, those above are the session's; `recording`, `gpu_counter_rate` and `environment` are INVALID_ARGUMENT.
    const tsmith_capture_options *agents;
} tsmith_session_options;

// emitted = kept + dropped holds at every moment after the session has stopped.
typedef struct tsmith_session_statistics {
    size_t size; // sizeof(tsmith_session_statistics), the caller's
    uint64_t emitted;
    uint64_t kept;
    uint64_t dropped; // because of a full ring, a lack of memory, or emission after the stop
    uint64_t threads; // rings made
    int64_t duration; // ns
} tsmith_session_statistics;

// A process may have several sessions at once. INVALID_ARGUMENT without a path.
TSMITH_API tsmith_status tsmith_session_start(const tsmith_session_options *options, tsmith_session **out,
                                              tsmith_error *error);
// Drains every ring, finishes the file and frees the session. `statistics` may be NULL. The session is gone
// even when this fails (a full disk): what was written stays readable. STATE in a forked child (see above).
TSMITH_API tsmith_status tsmith_session_stop(tsmith_session *session, tsmith_session_statistics *statistics,
                                             tsmith_error *error);
// Emits into the recording of the `tracesmith profile` (or session with agents) that started this process. Its file
// is written there: the stop ends only the emissions of this process, and its statistics are 0. STATE if this process
// is not being recorded, or its collector has ended.
TSMITH_API tsmith_status tsmith_session_attach(tsmith_session **out, tsmith_error *error);
// For a session with agents: the APIs that cannot be recorded, with reasons; "" if there are none. Valid until the stop.
TSMITH_API const char *tsmith_session_note(const tsmith_session *session);
// For a session with agents: this process's environment as the start has set it, "NAME=VALUE", NULL after the last,
// for programs that are started with an environment of their own; NULL without agents. Until the stop.
TSMITH_API const char *const *tsmith_session_environment(const tsmith_session *session);
// Switches the agents of this session off, and on again. Emissions are not affected. STATE in a process that did not start
// the session.
TSMITH_API tsmith_status tsmith_session_switch(tsmith_session *session, int on, tsmith_error *error);
// Live figures; tsmith_session_stop gives the exact ones. All 0 in a forked child.
TSMITH_API void tsmith_session_statistics_get(const tsmith_session *session, tsmith_session_statistics *out);

// Registers a name, counter or category once; emissions take its id. 0 when the table of names is full (such
// events have no name). Any thread; takes a lock.
TSMITH_API uint32_t tsmith_session_name(tsmith_session *session, const char *name);
// A separate track (a simulated device, a queue of the program), for tsmith_emit.
TSMITH_API uint32_t tsmith_session_track(tsmith_session *session, const char *name);

// Host ranges nest per thread.
TSMITH_API void tsmith_range_begin(tsmith_session *session, uint32_t name);
TSMITH_API void tsmith_range_end(tsmith_session *session);
TSMITH_API void tsmith_mark(tsmith_session *session, uint32_t name);
TSMITH_API void tsmith_count(tsmith_session *session, uint32_t counter, double value);

// A call site whose session is NULL costs a test and no call: in C and C++ the four functions are called through an inline
// check. The functions make the same check themselves, for callers that use dlsym, function pointers or bindings.
#ifndef TRACESMITH_NO_INLINE_CHECK
static inline void tsmith_range_begin_if(tsmith_session *session, uint32_t name) {
    if (session)
        tsmith_range_begin(session, name);
}
static inline void tsmith_range_end_if(tsmith_session *session) {
    if (session)
        tsmith_range_end(session);
}
static inline void tsmith_mark_if(tsmith_session *session, uint32_t name) {
    if (session)
        tsmith_mark(session, name);
}
static inline void tsmith_count_if(tsmith_session *session, uint32_t counter, double value) {
    if (session)
        tsmith_count(session, counter, value);
}
#define tsmith_range_begin(session, name) tsmith_range_begin_if((session), (name))
#define tsmith_range_end(session) tsmith_range_end_if(session)
#define tsmith_mark(session, name) tsmith_mark_if((session), (name))
#define tsmith_count(session, counter, value) tsmith_count_if((session), (counter), (value))
#endif

// A value of one field, for events with metadata. `field` is a tsmith_field or what tsmith_session_field
// gave.
typedef struct tsmith_value {
    uint32_t field;
    uint64_t bits; // as in tsmith_batch_get; strings by tsmith_session_name
} tsmith_value;

// A field of the program's own, by name and type (I64, U64, F64, STRING, BOOL).
TSMITH_API uint32_t tsmith_session_field(tsmith_session *session, const char *name, tsmith_type type,
                                         const char *unit);
// A whole event with up to TSMITH_EMIT_MAX_VALUES values, on a track of tsmith_session_track or 0 for the
// calling thread's. Times are ns of tsmith_session_now; duration < 0 makes it an instant.
#define TSMITH_EMIT_MAX_VALUES 32
TSMITH_API void tsmith_emit(tsmith_session *session, tsmith_kind kind, uint32_t track, uint32_t name,
                            int64_t start, int64_t duration, const tsmith_value *values, size_t value_count);
// The trace clock, in ns.
TSMITH_API int64_t tsmith_session_now(const tsmith_session *session);

#ifdef __cplusplus
}
#endif
#endif
