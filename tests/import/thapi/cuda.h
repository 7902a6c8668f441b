// SPDX-License-Identifier: Apache-2.0
// Tracepoints with the names and fields of THAPI's for CUDA's driver: a function that calls itself, as one with callbacks does.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lttng_ust_cuda
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./thapi/cuda.h"

#if !defined(TESTS_THAPI_CUDA_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_THAPI_CUDA_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_cuda, cuMemAlloc_v2_entry,
                           LTTNG_UST_TP_ARGS(uintptr_t, pointer, size_t, size),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, dptr, pointer)
                                                   lttng_ust_field_integer(size_t, bytesize, size)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_cuda, cuMemAlloc_v2_exit,
                           LTTNG_UST_TP_ARGS(int, result, uintptr_t, pointer),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, cuResult, result)
                                                   lttng_ust_field_integer_hex(uintptr_t, dptr_val, pointer)))

#endif

#include <lttng/tracepoint-event.h>
