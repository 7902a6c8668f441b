// SPDX-License-Identifier: Apache-2.0
// Joins a recording with a trace that another profiler made of the same run (torch.profiler, JAX), on one clock.
#ifndef TRACESMITH_MERGE_H
#define TRACESMITH_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_merge_result {
    size_t size;       // sizeof(tsmith_merge_result)
    uint64_t added;    // events of the other trace that are in the new one
    uint64_t left_out; // events of the other trace that the recording has itself: calls and work of devices
    int64_t error;     // ns: the bound of the recording's comparisons of its clock with the wall clock
} tsmith_merge_result;

// Writes a new file with the events of `recording`, an SBT file that TraceSmith recorded, and those of `other`. Times of
// `other` are converted by the wall clock: the recording compared its own clock with it, and the other trace says when its
// time began (Kineto: baseTimeNanoseconds, or times since 1970; XPlane: profile_start_time). Processes and threads of one
// number are the same ones. Calls and work of devices are taken from `other` only if the recording has none. What
// --capture recorded for replay is not carried over.
//
// `result` may be NULL. OK, or TRUNCATED when one of the traces ends early or is damaged (`error` says which): what could be
// read of it is in the file. The file is created with mode 0600, and removed after a failure. ERROR_UNSUPPORTED: one of the traces
// does not say how its clock and the wall clock relate. ERROR_INVALID_ARGUMENT: they were not recorded at the same time, or
// `output` exists. Any thread.
TSMITH_API tsmith_status tsmith_traces_merge(const char *recording, const char *other, const char *output,
                                             tsmith_merge_result *result, tsmith_error *error);

#ifdef __cplusplus
}
#endif
#endif
