// SPDX-License-Identifier: Apache-2.0
// The tracepoint that bench_emit_peers measures: a name's id, as our marks have. LTTng includes this file several times.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tracesmith_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./emit_lttng.h"

#if !defined(BENCH_EMIT_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_EMIT_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(tracesmith_bench, mark, LTTNG_UST_TP_ARGS(uint32_t, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, name, name)))

#endif

#include <lttng/tracepoint-event.h>
