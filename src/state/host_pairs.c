// SPDX-License-Identifier: Apache-2.0
// The conditions of one pair of clocks: contradictions, and the lines of its parts of the time. host_clocks.c calls it.
#include "state/host_pairs.h"

#include <math.h>
#include <stdlib.h>

static const double RATE = HOST_CLOCKS_PPM * 1e-6;
static const double SLACK = 1; // ns: the numbers of lines are rounded
// The rate of a clock wanders with its temperature, so a line is long only where there are too few conditions for several.
static const double PART_LONG = 20e9; // ns
enum { PART_CONDITIONS = 8 };

void host_pair_finish(struct host_pair *pair) {
    for (size_t i = 0; pair->parts && i < pair->part_count; i++)
        host_lines_finish(&pair->parts[i]);
    free(pair->parts);
    pair->parts = NULL;
}

static double distance(int64_t from, int64_t to) {
    int64_t exact;
    return __builtin_sub_overflow(to, from, &exact) ? (double)to - (double)from : (double)exact;
}

static int64_t any_bound(const struct host_condition *condition) {
    return condition->low != INT64_MIN ? condition->low : condition->high;
}

// Goes through time with the tightest bounds so far, which loosen as time goes on.
bool host_pair_contradicts(struct host_pair *pair) {
    size_t low = SIZE_MAX, high = SIZE_MAX; // which conditions bound most
    double low_value = 0, high_value = 0, worst = 0;
    int64_t before = pair->conditions->at_a;
    const int64_t base = any_bound(pair->conditions);
    for (size_t i = 0; i < pair->count; i++) {
        const struct host_condition *one = &pair->conditions[i];
        const double passed = distance(before, one->at_a) * RATE;
        low_value -= passed;
        high_value += passed;
        before = one->at_a;
        if (one->low != INT64_MIN && (low == SIZE_MAX || distance(base, one->low) > low_value)) {
            low = i;
            low_value = distance(base, one->low);
        }
        if (one->high != INT64_MAX && (high == SIZE_MAX || distance(base, one->high) < high_value)) {
            high = i;
            high_value = distance(base, one->high);
        }
        if (low == SIZE_MAX || high == SIZE_MAX || low_value - high_value <= fmax(worst, 2 * SLACK))
            continue;
        worst = low_value - high_value;
        pair->first = low;
        pair->second = high;
    }
    pair->by = llround(worst);
    return worst > 0;
}

bool host_pair_is_bounded(const struct host_pair *pair) {
    bool low = false, high = false;
    for (size_t i = 0; i < pair->count; i++) {
        low |= pair->conditions[i].low != INT64_MIN;
        high |= pair->conditions[i].high != INT64_MAX;
    }
    return low && high;
}

// The offset at a time of clock a, relative to the pair's, by the limit of the rate alone.
static void loose_range(const struct host_pair *pair, double at, double *low, double *high) {
    *low = -INFINITY;
    *high = INFINITY;
    for (size_t i = 0; i < pair->count; i++) {
        const struct host_condition *one = &pair->conditions[i];
        const double loose = fabs(at - distance(pair->origin, one->at_a)) * RATE + SLACK;
        if (one->low != INT64_MIN)
            *low = fmax(*low, distance(pair->offset, one->low) - loose);
        if (one->high != INT64_MAX)
            *high = fmin(*high, distance(pair->offset, one->high) + loose);
    }
}

static double part_start(const struct host_pair *pair, size_t part) {
    return distance(pair->origin, pair->from) +
           distance(pair->from, pair->to) * (double)part / (double)pair->part_count;
}

// What is before the first part and after the last belongs to them.
static size_t part_of(const struct host_pair *pair, double at) {
    const double length = distance(pair->from, pair->to),
                 place = floor((at - part_start(pair, 0)) / length * (double)pair->part_count);
    return (size_t)fmin(fmax(place, 0), (double)pair->part_count - 1);
}

// The conditions of one part of the time; their gates are relative to the middle of the part.
static bool fit_part(struct host_pair *pair, size_t part, struct host_gate *gates) {
    const double from = part_start(pair, part), to = part_start(pair, part + 1), middle = (from + to) / 2;
    size_t count = 0;
    double low, high;
    for (size_t i = 0; i < pair->count; i++) {
        const struct host_condition *one = &pair->conditions[i];
        const double at = distance(pair->origin, one->at_a);
        if (at != from && at != to && part_of(pair, at) != part)
            continue;
        gates[count++] = (struct host_gate){
            at - middle, one->low == INT64_MIN ? -INFINITY : distance(pair->offset, one->low) - SLACK,
            one->high == INT64_MAX ? INFINITY : distance(pair->offset, one->high) + SLACK};
    }
    loose_range(pair, middle, &low, &high);
    return host_lines_fit(&pair->parts[part], gates, count, low, high, RATE);
}

static bool fit_parts(struct host_pair *pair, size_t count, struct host_gate *gates, bool *all) {
    host_pair_finish(pair);
    pair->part_count = count;
    pair->parts = calloc(count, sizeof *pair->parts);
    *all = true;
    for (size_t i = 0; pair->parts && i < count; i++) {
        if (!fit_part(pair, i, gates))
            return false;
        *all &= pair->parts[i].count > 0;
    }
    return pair->parts;
}

// Whether each part has enough conditions that bound the offset on both sides.
static bool has_enough(struct host_pair *pair, size_t count) {
    size_t lows[HOST_PARTS_MOST] = {0}, highs[HOST_PARTS_MOST] = {0};
    pair->part_count = count;
    for (size_t i = 0; i < pair->count; i++) {
        const size_t part = part_of(pair, distance(pair->origin, pair->conditions[i].at_a));
        lows[part] += pair->conditions[i].low != INT64_MIN;
        highs[part] += pair->conditions[i].high != INT64_MAX;
    }
    for (size_t part = 0; part < count; part++)
        if (lows[part] < PART_CONDITIONS || highs[part] < PART_CONDITIONS)
            return false;
    return true;
}

static size_t least_parts(struct host_pair *pair) {
    size_t count = 1;
    while (count < HOST_PARTS_MOST && distance(pair->from, pair->to) > PART_LONG * (double)count &&
           has_enough(pair, 2 * count))
        count *= 2;
    return count;
}

bool host_pair_fit(struct host_pair *pair, int64_t from, int64_t to) {
    struct host_gate *gates = calloc(pair->count, sizeof *gates);
    bool all = false, done = gates;
    pair->from = from;
    pair->to = to;
    pair->origin = pair->conditions->at_a;
    pair->offset = any_bound(pair->conditions);
    for (size_t i = 0; i < pair->count; i++) {
        const struct host_condition *one = &pair->conditions[i];
        pair->low_sources |= one->low != INT64_MIN ? one->source : 0;
        pair->high_sources |= one->high != INT64_MAX ? one->source : 0;
    }
    pair->sources = pair->low_sources | pair->high_sources;
    for (size_t count = least_parts(pair); done && !all && count <= HOST_PARTS_MOST; count *= 2)
        done = fit_parts(pair, count, gates, &all);
    free(gates);
    return done;
}

double host_pair_middle(const struct host_pair *pair) {
    double low, high;
    loose_range(pair, (part_start(pair, 0) + part_start(pair, pair->part_count)) / 2, &low, &high);
    return (low + high) / 2 + (double)pair->offset;
}

static void range_of_part(const struct host_pair *pair, size_t part, double at, double *low, double *high) {
    const double middle = (part_start(pair, part) + part_start(pair, part + 1)) / 2;
    if (pair->parts[part].count)
        host_lines_range(&pair->parts[part], at - middle, low, high);
    else
        loose_range(pair, at, low, high);
}

// At the boundary of two parts both apply.
static void range_at(const struct host_pair *pair, double at, double *low, double *high) {
    double other_low, other_high;
    const size_t part = part_of(pair, at);
    range_of_part(pair, part, at, low, high);
    if (part == 0 || at > part_start(pair, part))
        return;
    range_of_part(pair, part - 1, at, &other_low, &other_high);
    if (fmax(*low, other_low) <= fmin(*high, other_high)) {
        *low = fmax(*low, other_low);
        *high = fmin(*high, other_high);
    }
}

void host_pair_range(const struct host_pair *pair, double from, double to, double *low, double *high) {
    double other_low, other_high;
    range_at(pair, from - (double)pair->origin, low, high);
    range_at(pair, to - (double)pair->origin, &other_low, &other_high);
    *low = fmin(*low, other_low) + (double)pair->offset;
    *high = fmax(*high, other_high) + (double)pair->offset;
}
