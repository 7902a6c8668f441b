// SPDX-License-Identifier: Apache-2.0
// Quantiles of durations in bounded memory. kernels.c and launches.c call it.
#include "analyze/samples.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "state/sweep.h"

enum { SUB_BITS = 6, SUBS = 1 << SUB_BITS, BUCKETS = (64 - SUB_BITS) * SUBS };

static size_t bucket_of(uint64_t value) {
    if (value < SUBS)
        return value;
    unsigned shift = 63 - SUB_BITS - (unsigned)__builtin_clzll(value);
    return ((size_t)(shift + 1) << SUB_BITS) + (value >> shift & (SUBS - 1));
}

static int64_t bucket_start(size_t bucket) {
    if (bucket < SUBS)
        return (int64_t)bucket;
    unsigned shift = (unsigned)(bucket >> SUB_BITS) - 1;
    return (int64_t)((uint64_t)(SUBS + bucket % SUBS) << shift);
}

static bool to_histogram(struct samples *samples) {
    samples->buckets = calloc(BUCKETS, sizeof *samples->buckets);
    if (!samples->buckets)
        return false;
    for (uint64_t i = 0; i < samples->count; i++)
        samples->buckets[bucket_of((uint64_t)samples->values[i])]++;
    free(samples->values);
    samples->values = NULL;
    return true;
}

bool samples_add(struct samples *samples, int64_t value) {
    value = value < 0 ? 0 : value;
    if (samples->count == SAMPLES_EXACT && !samples->buckets && !to_histogram(samples))
        return false;
    if (samples->buckets) {
        samples->buckets[bucket_of((uint64_t)value)]++;
    } else {
        if (!ARRAY_RESERVE(samples->values, samples->capacity, samples->count + 1))
            return false;
        samples->values[samples->count] = value;
    }
    samples->min = samples->count == 0 || value < samples->min ? value : samples->min;
    samples->max = value > samples->max ? value : samples->max;
    samples->total = sweep_add(samples->total, value);
    samples->count++;
    return true;
}

void samples_finish(struct samples *samples) {
    free(samples->values);
    free(samples->buckets);
}

static int64_t histogram_quantile(const struct samples *samples, uint64_t rank) {
    uint64_t before = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        before += samples->buckets[i];
        if (before < rank)
            continue;
        int64_t start = bucket_start(i);
        return start < samples->min ? samples->min : start > samples->max ? samples->max : start;
    }
    return samples->max;
}

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static void sort(struct samples *samples) {
    int64_t *scratch = malloc(samples->count * sizeof *scratch);
    if (scratch)
        sweep_sort(samples->values, scratch, samples->count);
    else
        qsort(samples->values, samples->count, sizeof *samples->values, by_value);
    free(scratch);
}

int64_t samples_quantile(struct samples *samples, double share) {
    if (!samples->count)
        return 0;
    uint64_t rank = (uint64_t)ceil(share * (double)samples->count);
    rank = rank < 1 ? 1 : rank > samples->count ? samples->count : rank;
    if (samples->buckets)
        return histogram_quantile(samples, rank);
    sort(samples); // quick when it is sorted
    return samples->values[rank - 1];
}
