// SPDX-License-Identifier: Apache-2.0
// An open trace from inside: trace.c opens it, trace_tiles.c keeps its detail.
#ifndef API_OPENED_TRACE_H
#define API_OPENED_TRACE_H

#include "tracesmith/trace.h"

// The folder of its cache, and how large that may become; NULL: none. Lives as long as the trace.
const char *opened_trace_cache(const tsmith_trace *trace, uint64_t *limit);

#endif
