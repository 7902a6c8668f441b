// SPDX-License-Identifier: Apache-2.0
// CUPTI's clock -> the trace clock. CUPTI gives all times of host and devices on one clock of its own choice
// (CLOCK_REALTIME on most systems, which is slewed and stepped). The control thread compares the two clocks ten times a
// second; in between, times are interpolated.
//
// The clock that CUPTI chooses may change while CUDA initialises: before its first context or kernel cuptiGetTimestamp may
// count from another origin. A time is therefore converted by the comparisons nearest to it on CUPTI's clock. Where the
// nearest one is more than ten seconds away, the clocks are compared again at once; where it is more than a day away, the
// time is of a clock that was never compared, and has no trace time.
//
// CUPTI would take the trace clock from us (cuptiActivityRegisterTimestampCallback). That is never used: a second
// registration in a process, as the program's own profiler makes, silently corrupts records, and with several
// subscribers it is not honoured at all.
#ifndef CUDA_TIMEBASE_H
#define CUDA_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

#define TIMEBASE_UNKNOWN INT64_MIN

// Compares the clocks. Any thread; takes no lock. False: CUPTI cannot read the time.
bool timebase_compare(void);

// What a reader of records keeps to itself: within [low, high) the offset is known.
struct timebase {
    uint64_t low, high; // times of CUPTI
    int64_t offset;     // of `from`
    uint64_t from;
    double slope; // what the offset grows per ns
};
// False: no trace time is known for this time.
bool timebase_look_up(struct timebase *base, uint64_t time);

// The trace time of a time of CUPTI, or TIMEBASE_UNKNOWN. `base` may begin as zeros.
static inline int64_t timebase_convert(struct timebase *base, uint64_t time) {
    if (__builtin_expect(time < base->low || time >= base->high, 0) && !timebase_look_up(base, time))
        return TIMEBASE_UNKNOWN;
    return (int64_t)(time + (uint64_t)base->offset +
                     (uint64_t)(int64_t)((double)(int64_t)(time - base->from) * base->slope));
}

// For the trace: how far conversions can be off, in ns, at most so far: by the time that a comparison took, and by what the
// clocks drifted apart where times after the newest comparison were converted.
int64_t timebase_error(void);

#endif
