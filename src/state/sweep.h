// SPDX-License-Identifier: Apache-2.0
// Intervals as two ascending arrays of times: what unions, depths and overlaps are computed from.
#ifndef STATE_SWEEP_H
#define STATE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/timeline.h"
#include "tracesmith/time.h"

struct sweep {
    int64_t *starts, *ends; // each ascending by itself
    size_t count;
};

// The commands of the row or device that run and are of the kinds of work in `works`, cut to the window.
bool sweep_make(struct sweep *sweep, const tsmith_timeline *timeline, const tsmith_row *row, uint32_t works);
void sweep_finish(struct sweep *sweep);

// Sorts times ascending, in linear time; `scratch` has room for `count`.
void sweep_sort(int64_t *times, int64_t *scratch, size_t count);

// Adds durations; a hostile trace can make them larger than 64 bits.
static inline int64_t sweep_add(int64_t a, int64_t b) {
    return tsmith_time_add(a, b);
}

// ns in both of two lists of disjoint ascending intervals.
int64_t sweep_common(const tsmith_interval *a, size_t a_count, const tsmith_interval *b, size_t b_count);
int64_t sweep_length(const tsmith_interval *intervals, size_t count);

#endif
