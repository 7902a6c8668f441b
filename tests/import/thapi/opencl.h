// SPDX-License-Identifier: Apache-2.0
// Tracepoints with the names and fields of THAPI's for OpenCL: of its newer versions, and of older ones, which end in start and stop.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lttng_ust_opencl
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./thapi/opencl.h"

#if !defined(TESTS_THAPI_OPENCL_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_THAPI_OPENCL_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    lttng_ust_opencl, clEnqueueNDRangeKernel_entry,
    LTTNG_UST_TP_ARGS(uintptr_t, queue, uintptr_t, kernel, unsigned, dimensions, const size_t *, sizes,
                      unsigned, waits, const uintptr_t *, events),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, command_queue, queue)
                            lttng_ust_field_integer_hex(uintptr_t, kernel, kernel)
                                lttng_ust_field_integer(unsigned, work_dim, dimensions)
                                    lttng_ust_field_sequence(size_t, global_work_size_vals, sizes, unsigned,
                                                             dimensions)
                                        lttng_ust_field_integer(unsigned, num_events_in_wait_list, waits)
                                            lttng_ust_field_sequence_hex(uintptr_t, event_wait_list_vals,
                                                                         events, unsigned, waits)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_opencl, clEnqueueNDRangeKernel_exit,
                           LTTNG_UST_TP_ARGS(int, result, uintptr_t, event),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, _retval, result)
                                                   lttng_ust_field_integer_hex(uintptr_t, event_val, event)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_opencl, clFinish_start, LTTNG_UST_TP_ARGS(uintptr_t, queue),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, command_queue, queue)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_opencl, clFinish_stop, LTTNG_UST_TP_ARGS(int, result),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, _retval, result)))

#endif

#include <lttng/tracepoint-event.h>
