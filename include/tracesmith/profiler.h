// SPDX-License-Identifier: Apache-2.0
// Switching the agents of the calling process on and off, and reading what they record while it runs.
#ifndef TRACESMITH_PROFILER_H
#define TRACESMITH_PROFILER_H

#include <stddef.h>

#include "tracesmith/capture.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"
#include "tracesmith/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_profiler tsmith_profiler;

// Prepares the agents for this process. Must come before the process first uses the GPU API (the API's loader
// reads its injection variable once); ERROR_STATE if it is too late. Recording is off until the
// start. `options` may be NULL. One profiler per process.
TSMITH_API tsmith_status tsmith_profiler_create(const tsmith_capture_options *options, tsmith_profiler **out,
                                                tsmith_error *error);
TSMITH_API tsmith_status tsmith_profiler_start(tsmith_profiler *profiler, tsmith_error *error);
TSMITH_API tsmith_status tsmith_profiler_stop(tsmith_profiler *profiler, tsmith_error *error);
// What has been recorded: next() gives AGAIN while recording is on and there is nothing, END after a stop
// when all has been handed out (a later start makes it yield again).
TSMITH_API tsmith_source *tsmith_profiler_events(tsmith_profiler *profiler);
TSMITH_API void tsmith_profiler_destroy(tsmith_profiler *profiler);

#ifdef __cplusplus
}
#endif
#endif
