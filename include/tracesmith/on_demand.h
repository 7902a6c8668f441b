// SPDX-License-Identifier: Apache-2.0
// Recording on demand: the agents of a program are loaded but inactive until another process requests a recording.
// `tracesmith profile --armed` uses the recorder's side, `tracesmith record` the other side.
//
// Both sides belong to the same user: a request is a file in the session directory (0700), which names the file to be written.
#ifndef TRACESMITH_ON_DEMAND_H
#define TRACESMITH_ON_DEMAND_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- the recorder: over a capture that was made with `armed` and is not started yet

typedef struct tsmith_on_demand tsmith_on_demand;

TSMITH_API tsmith_status tsmith_on_demand_create(tsmith_capture *capture, tsmith_on_demand **out,
                                                 tsmith_error *error);
// Takes what the capture's source yields: writes it while a recording is under way, drops it otherwise. Destroyed with the
// recorder.
TSMITH_API tsmith_sink *tsmith_on_demand_sink(tsmith_on_demand *on_demand);
// Takes requests, begins and ends recordings. To be called about every 100 ms or more often, also when there are no batches.
TSMITH_API void tsmith_on_demand_look(tsmith_on_demand *on_demand);
// How many recordings were written, and how many failed.
TSMITH_API void tsmith_on_demand_count(const tsmith_on_demand *on_demand, uint64_t *written,
                                       uint64_t *failed);
TSMITH_API void tsmith_on_demand_destroy(tsmith_on_demand *on_demand);

// ---- the other side

typedef struct tsmith_on_demand_request {
    size_t size;        // sizeof(tsmith_on_demand_request)
    const char *output; // absolute path of the trace; NULL is an error
    int64_t duration;   // ns; 0: 5 s, or, with steps, without a limit
    uint64_t steps;     // end when so many ranges called `step` have ended; 0: not
    const char *step;   // NULL: "step"
    int64_t at;         // ns of CLOCK_REALTIME when it begins; 0: now
    const char *api;    // fail unless a process has used this API; NULL: any
} tsmith_on_demand_request;

// What becomes of a request. X(NAME, number, "name", "doc")
#define TSMITH_ON_DEMAND_STATE_TABLE(X)                                                                      \
    X(IDLE, 0, "idle", "nothing was asked for yet")                                                          \
    X(WAITING, 1, "waiting", "for the time of the request")                                                  \
    X(RECORDING, 2, "recording", "the agents record")                                                        \
    X(DONE, 3, "done", "the file is complete")                                                               \
    X(FAILED, 4, "failed", "there is no file")

typedef enum tsmith_on_demand_state {
#define TSMITH_ON_DEMAND_ENUM(NAME, number, name, doc) TSMITH_ON_DEMAND_##NAME = number,
    TSMITH_ON_DEMAND_STATE_TABLE(TSMITH_ON_DEMAND_ENUM)
#undef TSMITH_ON_DEMAND_ENUM
} tsmith_on_demand_state;

// Whether the session in a directory records on demand.
TSMITH_API int tsmith_on_demand_is_armed(const char *directory);
// BUSY: another request is under way. STATE: the session does not record on demand.
TSMITH_API tsmith_status tsmith_on_demand_ask(const char *directory, const tsmith_on_demand_request *request,
                                              tsmith_error *error);
// What became of it; `note` has the reason of a failure, and what is missing in a file. GONE processes: STATE.
TSMITH_API tsmith_status tsmith_on_demand_look_at(const char *directory, tsmith_on_demand_state *out,
                                                  char note[512], tsmith_error *error);
// Ends a recording before its time.
TSMITH_API void tsmith_on_demand_end(const char *directory);

#ifdef __cplusplus
}
#endif
#endif
