// SPDX-License-Identifier: Apache-2.0
// The ranges of the program while a device was idle: the ranges (operators, Python functions, the program's own) of
// the thread that launches next, each by its own time, without what calls of the GPU API or ranges within it took.
// They are collected while the ranges are in memory, and reported with the states of the gaps.
#ifndef ANALYZE_GAP_RANGES_H
#define ANALYZE_GAP_RANGES_H

#include "analyze/ranges.h"
#include "state/timeline.h"

enum { GAP_RANGES = 8 };

struct gap_range {
    uint32_t name, around; // strings: of the range, and of what it was in mostly (0: nothing)
    uint64_t count;        // ranges
    int64_t time;          // ns; 0: there is none
};

// Ranges of one device, those with the most time first.
struct gap_ranges_of_device {
    struct gap_range startup[GAP_RANGES]; // before its first command
    struct gap_range gaps[GAP_RANGES];    // between its first and last
};

// A zeroed struct is valid: nothing is known.
struct gap_ranges {
    struct gap_ranges_of_device *devices; // by index of the device
};

// For the first 64 devices that are busy at least half as long as the busiest. False when memory is exhausted.
bool gap_ranges_make(struct gap_ranges *gaps, const tsmith_timeline *timeline, const struct ranges *ranges);
void gap_ranges_finish(struct gap_ranges *gaps);

#endif
