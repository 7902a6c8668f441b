// SPDX-License-Identifier: Apache-2.0
// Clocks. The trace clock is CLOCK_MONOTONIC_RAW in ns: never stepped, never slewed. Ticks are the cheapest
// clock of the machine (TSC, or the same CLOCK_MONOTONIC_RAW where there is no invariant TSC), turned into ns
// afterwards.
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline int64_t clock_now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The trace clock.
static inline int64_t clock_trace_now(void) {
    return clock_now(CLOCK_MONOTONIC_RAW);
}

// Whether ticks can be the TSC: invariant, and used by the kernel as its own clock source.
bool clock_tick_is_tsc(void);

// One tick reading, given the result of clock_tick_is_tsc at the start of the process or session.
static inline uint64_t clock_tick(bool tsc) {
#if defined(__x86_64__)
    if (tsc)
        return __rdtsc();
#endif
    (void)tsc;
    return (uint64_t)clock_trace_now();
}

// A tick and the trace time at the same moment; `error` is half the duration of the reading, in ns. The best of several
// attempts.
struct clock_sample {
    uint64_t tick;
    int64_t trace;
    int64_t error;
};
struct clock_sample clock_sample_take(bool tsc);

#endif
