// SPDX-License-Identifier: Apache-2.0
// Arithmetic on times and durations that a hostile trace cannot overflow: a result that does not fit is the nearest
// value that fits.
#ifndef TRACESMITH_TIME_H
#define TRACESMITH_TIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t tsmith_time_add(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t tsmith_time_subtract(int64_t a, int64_t b) {
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (a < 0 ? INT64_MIN : INT64_MAX) : difference;
}

#ifdef __cplusplus
}
#endif

#endif
