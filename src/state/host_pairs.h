// SPDX-License-Identifier: Apache-2.0
// The conditions of one pair of clocks, in the order of time: whether they contradict each other, and the offset that they leave.
#ifndef STATE_HOST_PAIRS_H
#define STATE_HOST_PAIRS_H

#include "state/host_clocks.h"
#include "state/host_lines.h"

enum { HOST_PARTS_MOST = 64 };

struct host_pair {
    const struct host_condition *conditions; // of one pair, sorted by at_a; the caller's
    size_t count;
    uint32_t hops;                      // of clock a
    uint32_t sources;                   // of the conditions
    uint32_t low_sources, high_sources; // of those that bound the offset from below, and from above
    size_t first, second;               // that contradict each other
    int64_t by;                         // by so many ns
    int64_t origin, offset;             // what lines are relative to: a time of clock a, an offset
    int64_t from, to;                   // first and last condition, times of clock a
    struct host_lines *parts;           // one for each of part_count equal parts of that time
    size_t part_count;
    bool is_left_out;
    bool is_usable; // of the moment at hand: clock b minus clock a is within low and high
    double low, high;
};

void host_pair_finish(struct host_pair *pair);
// Whether two conditions contradict each other at any rate that is possible: `first` needs the offset to be above what `second`
// allows; the worst two.
bool host_pair_contradicts(struct host_pair *pair);
// Whether the offset has a lower and an upper bound.
bool host_pair_is_bounded(const struct host_pair *pair);
// Finds the lines of the parts of the time from `from` to `to`, of clock a. False when memory is exhausted.
bool host_pair_fit(struct host_pair *pair, int64_t from, int64_t to);
// The offset in the middle of that time, about.
double host_pair_middle(const struct host_pair *pair);
// The offset while clock a shows times from `from` to `to`.
void host_pair_range(const struct host_pair *pair, double from, double to, double *low, double *high);

#endif
