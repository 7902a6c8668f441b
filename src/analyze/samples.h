// SPDX-License-Identifier: Apache-2.0
// Quantiles of durations in bounded memory: exact up to SAMPLES_EXACT values, then from a histogram whose buckets are
// 1/64 of a power of two wide (a quantile is at most 1.6 % too small).
#ifndef ANALYZE_SAMPLES_H
#define ANALYZE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLES_EXACT = 65536 };

struct samples {
    int64_t *values;   // exact, or NULL
    uint64_t *buckets; // histogram, or NULL
    size_t capacity;
    uint64_t count;
    int64_t total, min, max;
};

// Negative values count as 0. False when memory is exhausted.
bool samples_add(struct samples *samples, int64_t value);
void samples_finish(struct samples *samples);
// The smallest value that at least `share` of all values do not exceed (nearest rank); 0 when there is none.
int64_t samples_quantile(struct samples *samples, double share);
static inline bool samples_exact(const struct samples *samples) {
    return !samples->buckets;
}

#endif
