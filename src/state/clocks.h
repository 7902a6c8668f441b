// SPDX-License-Identifier: Apache-2.0
// The offset of each device's clock from the hosts', from necessary conditions: a command starts after the call
// that launched it began (a lower bound of the offset), and a wait returns after what it waited for has ended (an
// upper bound). Where all bounds admit an offset of 0, and always when there are none, times are used as recorded.
// Else the device's times are placed by the admissible offset nearest to 0; if no offset satisfies the bounds, by a
// line through time. Bounds that contradict nearly all others (outliers) are left out and counted.
//
// Only relations between host and device use placed times; a timeline keeps what was recorded.
#ifndef STATE_CLOCKS_H
#define STATE_CLOCKS_H

#include "state/launch_order.h"
#include "state/timeline.h"
#include "tracesmith/graph.h"

// One fit for each device of the timeline, *any when one of them moves the device's times. free() it; NULL when
// memory is exhausted.
tsmith_device_clock *clocks_make(const tsmith_timeline *timeline, const struct launch_order *order,
                                 bool *any);

// A bound of the offset that a device's time `at` needs.
struct clock_bound {
    int64_t at, bound;
};

// Fits a clock to bounds, which are reordered. False when memory is exhausted.
bool clocks_fit(tsmith_device_clock *clock, struct clock_bound *lower, size_t lower_count,
                struct clock_bound *upper, size_t upper_count);

// What a clock adds to a device's time.
int64_t clocks_offset(const tsmith_device_clock *clock, int64_t time);

#endif
