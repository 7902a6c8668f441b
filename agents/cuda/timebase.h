// SPDX-License-Identifier: Apache-2.0
// CUPTI's clock -> the trace clock. CUPTI gives all times of host and devices on one clock of its own choice
// (CLOCK_REALTIME on most systems, which is slewed and stepped). The control thread compares the two clocks ten times a
// second; in between, times are interpolated.
//
// CUPTI would take the trace clock from us (cuptiActivityRegisterTimestampCallback). That is never used: a second
// registration in a process, as the program's own profiler makes, silently corrupts records, and with several
// subscribers it is not honoured at all.
#ifndef CUDA_TIMEBASE_H
#define CUDA_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

// Compares the clocks. One thread at a time: the attaching one, then the control thread.
bool timebase_compare(void);

// What a reader of records keeps to itself: within [low, high) the offset is known.
struct timebase {
    uint64_t low, high; // times of CUPTI
    int64_t offset;     // of low
    double slope;       // what the offset grows per ns
};
void timebase_look_up(struct timebase *base, uint64_t time);

// The trace time of a time of CUPTI. `base` may begin as zeros.
static inline int64_t timebase_convert(struct timebase *base, uint64_t time) {
    if (__builtin_expect(time < base->low || time >= base->high, 0))
        timebase_look_up(base, time);
    return (int64_t)(time + (uint64_t)base->offset +
                     (uint64_t)(int64_t)((double)(int64_t)(time - base->low) * base->slope));
}

// For the trace: how far conversions can be off, in ns, at most so far.
int64_t timebase_error(void);

#endif
