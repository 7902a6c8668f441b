// SPDX-License-Identifier: Apache-2.0
// The time in which at least one of several tracks was busy, from batches in any order: a sorted list of intervals. If there are
// many, the oldest are added up and removed. src/collect/live_totals.c calls it.
#ifndef COLLECT_LIVE_BUSY_H
#define COLLECT_LIVE_BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_span {
    int64_t from, to;
};

// Zero it first.
struct live_busy {
    struct live_span *spans; // sorted, apart from each other
    size_t count, capacity;
    int64_t settled;       // the sum of older ones
    int64_t settled_until; // where they end
    bool has_settled;
    int64_t listed; // the sum of `spans`
};

enum { LIVE_SPANS_MOST = 1 << 19 };

// Adds intervals that are sorted by `from`; they may overlap, and are changed. Returns the time of those parts that lie before
// what is settled, and are left out. *failed is set when memory is exhausted.
int64_t live_busy_add(struct live_busy *busy, struct live_span *spans, size_t count, bool *failed);
static inline int64_t live_busy_sum(const struct live_busy *busy) {
    return busy->settled + busy->listed;
}
// Of it, what lies in a window after `settled_until`.
int64_t live_busy_within(const struct live_busy *busy, int64_t from, int64_t to);
void live_busy_finish(struct live_busy *busy);

#endif
