// SPDX-License-Identifier: Apache-2.0
// Tracepoints with the names and fields of THAPI's for Level Zero: a function with a structure, and one that gives a handle back.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lttng_ust_ze
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./thapi/ze.h"

#if !defined(TESTS_THAPI_ZE_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_THAPI_ZE_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    lttng_ust_ze, zeMemAllocDevice_entry,
    LTTNG_UST_TP_ARGS(uintptr_t, context, const uint8_t *, description, size_t, size, size_t, alignment,
                      uintptr_t, device),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, hContext, context)
                            lttng_ust_field_integer(size_t, size, size)
                                lttng_ust_field_integer(size_t, alignment, alignment)
                                    lttng_ust_field_integer_hex(uintptr_t, hDevice, device)
                                        lttng_ust_field_sequence_hex(uint8_t, device_desc_val, description,
                                                                     size_t, 24)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_ze, zeMemAllocDevice_exit,
                           LTTNG_UST_TP_ARGS(uint32_t, result, uintptr_t, pointer),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, zeResult, result)
                                                   lttng_ust_field_integer_hex(uintptr_t, pptr_val, pointer)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_ze, zeEventHostReset_entry, LTTNG_UST_TP_ARGS(uintptr_t, event),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer_hex(uintptr_t, hEvent, event)))
LTTNG_UST_TRACEPOINT_EVENT(lttng_ust_ze, zeEventHostReset_exit, LTTNG_UST_TP_ARGS(uint32_t, result),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, zeResult, result)))

#endif

#include <lttng/tracepoint-event.h>
