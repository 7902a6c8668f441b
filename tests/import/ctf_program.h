// SPDX-License-Identifier: Apache-2.0
// The tracepoints of ctf_program.c, of every kind of field that LTTng-UST has. LTTng includes this file several times.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tracesmith_test
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./ctf_program.h"

#if !defined(TESTS_CTF_PROGRAM_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_CTF_PROGRAM_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(tracesmith_test, color,
                          LTTNG_UST_TP_ENUM_VALUES(lttng_ust_field_enum_value("RED", 0)
                                                       lttng_ust_field_enum_value("GREEN AND BLUE", 1)
                                                           lttng_ust_field_enum_range("REST", 2, 9)))

LTTNG_UST_TRACEPOINT_EVENT(
    tracesmith_test, every,
    LTTNG_UST_TP_ARGS(int, number, const char *, text, const int *, values, size_t, count, size_t, length),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int8_t, small, (int8_t)number) lttng_ust_field_integer(
            int, signed_, -number) lttng_ust_field_integer(uint64_t, large, UINT64_MAX - (uint64_t)number)
            lttng_ust_field_integer_hex(uint32_t, hexadecimal, (uint32_t)number * 3u)
                lttng_ust_field_integer_network(uint16_t, network, (uint16_t)(number & 0xff))
                    lttng_ust_field_float(double, real, number / 8.0) lttng_ust_field_float(float, single,
                                                                                            (float)number / 4)
                        lttng_ust_field_string(words, text) lttng_ust_field_array(int, fixed, values, 3)
                            lttng_ust_field_array_text(char, letters, text, 4)
                                lttng_ust_field_sequence(int, numbers, values, size_t, count)
                                    lttng_ust_field_sequence_text(char, part, text, size_t, length)
                                        lttng_ust_field_enum(tracesmith_test, color, int, color, number % 4)))

LTTNG_UST_TRACEPOINT_EVENT(tracesmith_test, work_entry, LTTNG_UST_TP_ARGS(int, step),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, step, step)))
LTTNG_UST_TRACEPOINT_EVENT(tracesmith_test, work_exit, LTTNG_UST_TP_ARGS(int, step),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, step, step)))

#endif

#include <lttng/tracepoint-event.h>
