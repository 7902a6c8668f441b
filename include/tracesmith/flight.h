// SPDX-License-Identifier: Apache-2.0
// A flight recorder: a sink that keeps the batches of the last seconds in memory and writes them to a file when a
// trigger occurs: one complete trace for each trigger. `tracesmith profile --flight` and `tracesmith attach --flight` are a capture and
// a flight recorder.
//
// One thread calls everything but tsmith_flight_trigger.
#ifndef TRACESMITH_FLIGHT_H
#define TRACESMITH_FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// What makes a flight recorder write a file. X("name", "argument", "when")
#define TSMITH_FLIGHT_TRIGGER_TABLE(X)                                                                       \
    X("signal", "", "tracesmith received SIGUSR2 (always active, as is 'tracesmith trigger')")               \
    X("range", ":NAME>TIME", "a range of this name took longer than TIME (20ms)")                            \
    X("range", ":NAME>p99*K",                                                                                \
      "a range of this name took longer than K times the 99th percentile of the earlier ones "               \
      "(at least 100; p50, p90, p95, p99, p99.9)")                                                           \
    X("call", ":NAME>TIME",                                                                                  \
      "a call of this function (clFinish) of a GPU API took longer than TIME; call:NAME>p99*2 as for "       \
      "ranges")                                                                                              \
    X("frame", ":20ms",                                                                                      \
      "a frame, from one present to the next, took longer; frame:p99*2 as for ranges; frame:/100 is every "  \
      "100th frame")                                                                                         \
    X("gap", ":TIME", "a device was idle for longer than TIME between two commands")                         \
    X("error", "[:CODE]", "a call of a GPU API returned an error, or the error CODE")                        \
    X("loss", "", "events were lost")                                                                        \
    X("exit", "", "the program ended")                                                                       \
    X("crash", "", "the program was ended by a signal, or with an exit code other than 0")                   \
    X("file", ":PATH", "this file was created or modified")

typedef struct tsmith_flight_options {
    size_t size; // sizeof(tsmith_flight_options)
    const char *
        path; // of the files: "slow.sbt" makes slow.1.sbt, slow.2.sbt, ...; existing files are left; NULL: flight.sbt
    int64_t window; // ns before a trigger; 0: 30 s
    uint64_t bytes; // of memory that the window may take; 0: 512 MiB. A window that needs more gets shorter
    int64_t after;  // ns after a trigger that are in its file
    int64_t cool_down;           // ns after a trigger during which others are only counted
    uint32_t most;               // files; 0: 16. Later triggers are only counted
    const char *const *triggers; // of TSMITH_FLIGHT_TRIGGER_TABLE
    size_t trigger_count;
} tsmith_flight_options;

typedef struct tsmith_flight tsmith_flight;

// Whether the triggers and limits are valid: INVALID_ARGUMENT with the reason.
TSMITH_API tsmith_status tsmith_flight_check(const tsmith_flight_options *options, tsmith_error *error);
TSMITH_API tsmith_status tsmith_flight_create(const tsmith_flight_options *options, tsmith_flight **out,
                                              tsmith_error *error);
// The sink, which is destroyed with the recorder. A file that cannot be written is counted, and does not end the recording.
// The dictionary of its source must be one to which entries can be added: names of call stacks, and attributes of the files.
TSMITH_API tsmith_sink *tsmith_flight_sink(tsmith_flight *flight);
// Requests a file, as a trigger does. Async-signal-safe; any thread.
TSMITH_API void tsmith_flight_trigger(tsmith_flight *flight);
// Checks clocks, files and requests in the session directory (NULL: none), and writes the windows that are due. Call it at
// least every 100 ms, also if there are no batches. `dictionary` is that of the source.
TSMITH_API void tsmith_flight_look(tsmith_flight *flight, const tsmith_dictionary *dictionary,
                                   const char *session_directory);
// The wait status of the program, before the sink is finished: for the triggers "exit" and "crash". Not called if it is not known (a
// program that was attached to is another's child).
TSMITH_API void tsmith_flight_ended(tsmith_flight *flight, int wait_status);

typedef struct tsmith_flight_summary {
    size_t size;       // sizeof(tsmith_flight_summary), the caller's
    uint64_t events;   // that the sink received
    uint64_t triggers; // all
    uint64_t written;  // files
    uint64_t ignored;  // triggers within a cool-down, or beyond the maximum
    uint64_t failed;   // files that could not be written
    uint64_t
        shortened;   // files whose window is shorter than requested, because it did not fit into the memory
    char last[4096]; // the last file; "" if there is none
    char why[256];   // why a file could not be written; "" if all were
} tsmith_flight_summary;

TSMITH_API void tsmith_flight_summarize(const tsmith_flight *flight, tsmith_flight_summary *out);
TSMITH_API void tsmith_flight_destroy(tsmith_flight *flight);

// Requests that the flight recorder of a session writes its window, and waits until the request was read. STATE if this takes more
// than 10 s or the session has no flight recorder. NOT_FOUND if the directory is not a session directory.
TSMITH_API tsmith_status tsmith_flight_request(const char *session_directory, tsmith_error *error);
// For who waits for triggers of a session: takes such a request away; whether there was one.
TSMITH_API int tsmith_flight_requested(const char *directory);

#ifdef __cplusplus
}
#endif
#endif
