// SPDX-License-Identifier: Apache-2.0
// Intersects conditions: first those of each pair of clocks (host_pairs.c), then, at moments, those along all paths from clock 0
// to a clock. A path that comes back below 0 is a contradiction.
#include "state/host_clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "state/host_pairs.h"

static const int64_t ROUNDING = 2;     // ns
static const double PRECISION = 1e-15; // of the numbers here
static const double FAR = 4e18;        // no offset of clocks is larger

struct host_clocks {
    uint32_t count;
    struct host_condition *conditions;
    size_t condition_count, condition_capacity;
    struct host_pair *pairs; // of clocks, each once
    size_t pair_count, pair_capacity;
    uint32_t *hops;    // from clock 0; UINT32_MAX: not related to it
    uint32_t *sources; // by clock
    uint8_t *measured;
    int64_t from, to;
    size_t moments;       // from `from` to `to`, at equal distances
    double *lows, *highs; // by moment and clock
    struct host_contradiction *found;
    size_t found_count, found_capacity;
};

struct host_clocks *host_clocks_create(uint32_t count) {
    struct host_clocks *clocks = calloc(1, sizeof *clocks);
    if (!clocks)
        return NULL;
    clocks->count = count;
    clocks->hops = calloc(count, sizeof *clocks->hops);
    clocks->sources = calloc(count, sizeof *clocks->sources);
    clocks->measured = calloc(count, sizeof *clocks->measured);
    if (clocks->hops && clocks->sources && clocks->measured)
        return clocks;
    host_clocks_destroy(clocks);
    return NULL;
}

void host_clocks_destroy(struct host_clocks *clocks) {
    if (!clocks)
        return;
    for (size_t i = 0; i < clocks->pair_count; i++)
        host_pair_finish(&clocks->pairs[i]);
    for (size_t i = 0; i < clocks->found_count; i++)
        free(clocks->found[i].clocks);
    free(clocks->conditions);
    free(clocks->pairs);
    free(clocks->hops);
    free(clocks->sources);
    free(clocks->measured);
    free(clocks->lows);
    free(clocks->highs);
    free(clocks->found);
    free(clocks);
}

bool host_clocks_add(struct host_clocks *clocks, const struct host_condition *condition) {
    if (condition->a == condition->b || (condition->low == INT64_MIN && condition->high == INT64_MAX))
        return true;
    struct host_condition *place =
        ARRAY_PUSH(clocks->conditions, clocks->condition_count, clocks->condition_capacity);
    if (place)
        *place = *condition;
    return place;
}

// ---- pairs

static int64_t negate(int64_t bound) {
    return bound == INT64_MIN ? INT64_MAX : bound == INT64_MAX ? INT64_MIN : -bound;
}

static void turn(struct host_condition *condition) {
    const struct host_condition given = *condition;
    condition->a = given.b;
    condition->b = given.a;
    condition->at_a = given.at_b;
    condition->at_b = given.at_a;
    condition->low = negate(given.high);
    condition->high = negate(given.low);
}

static int compare_conditions(const void *left, const void *right) {
    const struct host_condition *x = left, *y = right;
    const int64_t keys[][2] = {{x->a, y->a},     {x->b, y->b},       {x->at_a, y->at_a},
                               {x->low, y->low}, {x->high, y->high}, {x->source, y->source}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

// Each condition from the clock that is fewer pairs away from clock 0, then by number.
static void orient(struct host_clocks *clocks) {
    memset(clocks->hops, 0xff, clocks->count * sizeof *clocks->hops);
    clocks->hops[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < clocks->condition_count; i++) {
            uint32_t *a = &clocks->hops[clocks->conditions[i].a], *b = &clocks->hops[clocks->conditions[i].b];
            if (*a != UINT32_MAX && *a + 1 < *b)
                changed = true, *b = *a + 1;
            if (*b != UINT32_MAX && *b + 1 < *a)
                changed = true, *a = *b + 1;
        }
    }
    for (size_t i = 0; i < clocks->condition_count; i++) {
        const struct host_condition *one = &clocks->conditions[i];
        if (clocks->hops[one->a] > clocks->hops[one->b] ||
            (clocks->hops[one->a] == clocks->hops[one->b] && one->a > one->b))
            turn(&clocks->conditions[i]);
    }
    if (clocks->condition_count)
        qsort(clocks->conditions, clocks->condition_count, sizeof *clocks->conditions, compare_conditions);
}

static struct host_contradiction *add_contradiction(struct host_clocks *clocks) {
    struct host_contradiction *place = ARRAY_PUSH(clocks->found, clocks->found_count, clocks->found_capacity);
    if (place)
        *place = (struct host_contradiction){.count = 2};
    return place;
}

static bool add_pair(struct host_clocks *clocks, size_t from, size_t to) {
    struct host_pair pair = {.conditions = &clocks->conditions[from], .count = to - from};
    struct host_contradiction *found;
    if (host_pair_contradicts(&pair)) {
        found = add_contradiction(clocks);
        if (!found)
            return false;
        found->first = pair.conditions[pair.first];
        found->second = pair.conditions[pair.second];
        found->by = pair.by;
        return true;
    }
    if (!host_pair_is_bounded(&pair))
        return true;
    struct host_pair *place = ARRAY_PUSH(clocks->pairs, clocks->pair_count, clocks->pair_capacity);
    if (place)
        *place = pair;
    return place;
}

static int compare_pairs(const void *left, const void *right) {
    const struct host_pair *x = left, *y = right;
    if (x->hops != y->hops)
        return x->hops < y->hops ? -1 : 1;
    return compare_conditions(x->conditions, y->conditions);
}

static bool make_pairs(struct host_clocks *clocks) {
    for (size_t from = 0, to; from < clocks->condition_count; from = to) {
        const struct host_condition *first = &clocks->conditions[from];
        for (to = from; to < clocks->condition_count && clocks->conditions[to].a == first->a &&
                        clocks->conditions[to].b == first->b;
             to++)
            ;
        if (!add_pair(clocks, from, to))
            return false;
    }
    for (size_t i = 0; i < clocks->pair_count; i++)
        clocks->pairs[i].hops = clocks->hops[clocks->pairs[i].conditions->a];
    if (clocks->pair_count)
        qsort(clocks->pairs, clocks->pair_count, sizeof *clocks->pairs, compare_pairs);
    return true;
}

// ---- moments

static int64_t add_offset(int64_t time, double offset) {
    int64_t sum;
    return __builtin_add_overflow(time, llround(offset), &sum) ? time : sum;
}

static int64_t moment_time(const struct host_clocks *clocks, size_t moment) {
    const double part = (double)moment / (double)(clocks->moments - 1);
    return add_offset(clocks->from, part * ((double)clocks->to - (double)clocks->from));
}

// Clock b minus clock a at a moment, for each pair, as far as clock a's time is known.
static void measure_pairs(struct host_clocks *clocks, size_t moment, double *lows, double *highs) {
    const int64_t at = moment_time(clocks, moment);
    for (uint32_t i = 0; i < clocks->count; i++) {
        lows[i] = i ? -FAR : 0;
        highs[i] = i ? FAR : 0;
    }
    for (size_t i = 0; i < clocks->pair_count; i++) {
        struct host_pair *pair = &clocks->pairs[i];
        const uint32_t a = pair->conditions->a, b = pair->conditions->b;
        pair->is_usable = !pair->is_left_out && highs[a] < FAR;
        if (!pair->is_usable)
            continue;
        host_pair_range(pair, (double)at + lows[a], (double)at + highs[a], &pair->low, &pair->high);
        if (highs[b] == FAR) { // by this path first; all others follow
            lows[b] = lows[a] + pair->low;
            highs[b] = highs[a] + pair->high;
        }
    }
}

// One step along a path: from a to b, or back.
struct step {
    uint32_t from, to;
    double length; // what an upper bound of the offset grows by
};

static struct step step_of(const struct host_pair *pair, bool back, bool lower) {
    const uint32_t a = pair->conditions->a, b = pair->conditions->b;
    const double up = lower ? -pair->low : pair->high, down = lower ? pair->high : -pair->low;
    return back ? (struct step){b, a, down} : (struct step){a, b, up};
}

// The shortest paths from clock 0, by Bellman and Ford. Returns a clock on a path that comes back below where it was, or
// UINT32_MAX; `by` are the steps that led to each clock.
static uint32_t relax(const struct host_clocks *clocks, bool lower, double *bounds, struct step *by) {
    for (uint32_t i = 0; i < clocks->count; i++)
        bounds[i] = i ? FAR : 0;
    for (uint32_t round = 0; round <= clocks->count; round++) {
        uint32_t changed = UINT32_MAX;
        for (size_t i = 0; i < 2 * clocks->pair_count; i++) {
            if (!clocks->pairs[i / 2].is_usable)
                continue;
            const struct step step = step_of(&clocks->pairs[i / 2], i % 2, lower);
            if (bounds[step.from] >= FAR || bounds[step.from] + step.length >= bounds[step.to] - 1e-3)
                continue;
            bounds[step.to] = bounds[step.from] + step.length;
            by[step.to] = step;
            changed = step.to;
        }
        if (changed == UINT32_MAX)
            return UINT32_MAX;
        if (round == clocks->count)
            return changed;
    }
    return UINT32_MAX;
}

static void leave_out(struct host_clocks *clocks, const struct step *step) {
    for (size_t i = 0; i < clocks->pair_count; i++) {
        const struct host_condition *one = clocks->pairs[i].conditions;
        if ((one->a == step->from && one->b == step->to) || (one->a == step->to && one->b == step->from))
            clocks->pairs[i].is_left_out = true;
    }
}

// Of the pairs along a cycle at least one is wrong, and nothing says which: none of them is used.
static bool report_cycle(struct host_clocks *clocks, uint32_t on_path, const struct step *by) {
    double length = 0;
    uint32_t count = 0, start = on_path;
    for (uint32_t i = 0; i < clocks->count; i++)
        start = by[start].from; // certainly on the cycle
    struct host_contradiction *found = add_contradiction(clocks);
    if (!found)
        return false;
    uint32_t at = start;
    do {
        count++;
        at = by[at].from;
    } while (at != start);
    found->count = count;
    found->clocks = calloc(count, sizeof *found->clocks);
    if (!found->clocks)
        return false;
    for (uint32_t i = count; i-- > 0; at = by[at].from) {
        found->clocks[i] = at;
        length += by[at].length;
        leave_out(clocks, &by[at]);
    }
    found->by = llround(-length);
    return true;
}

// The bounds at one moment; *again if a contradiction was found, and the pairs of it are left out now.
static bool bound_moment(struct host_clocks *clocks, size_t moment, struct step *by, bool *again) {
    double *lows = &clocks->lows[moment * clocks->count], *highs = &clocks->highs[moment * clocks->count];
    measure_pairs(clocks, moment, lows, highs);
    uint32_t cycle = relax(clocks, false, highs, by);
    if (cycle == UINT32_MAX)
        cycle = relax(clocks, true, lows, by);
    *again = cycle != UINT32_MAX;
    if (*again)
        return report_cycle(clocks, cycle, by);
    for (uint32_t i = 0; i < clocks->count; i++)
        lows[i] = -lows[i];
    return true;
}

// From clocks that are reached to others, over pairs that the sources bound in both directions.
static void reach(struct host_clocks *clocks, uint32_t sources) {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < 2 * clocks->pair_count; i++) {
            const struct host_pair *pair = &clocks->pairs[i / 2];
            const uint32_t from = i % 2 ? pair->conditions->b : pair->conditions->a,
                           to = i % 2 ? pair->conditions->a : pair->conditions->b;
            if (pair->is_left_out || !(pair->low_sources & sources) || !(pair->high_sources & sources) ||
                to == 0 || clocks->sources[to] || (from && !clocks->sources[from]))
                continue;
            clocks->sources[to] = clocks->sources[from] | pair->sources;
            changed = true;
        }
    }
}

static void find_sources(struct host_clocks *clocks) {
    reach(clocks, HOST_CLOCKS_MEASURED);
    for (uint32_t i = 0; i < clocks->count; i++)
        clocks->measured[i] = i == 0 || clocks->sources[i];
    reach(clocks, UINT32_MAX);
}

// Each over the time of the run, on its clock a.
static bool fit_pairs(struct host_clocks *clocks) {
    double *middles = calloc(clocks->count, sizeof *middles);
    size_t most = 1;
    bool done = middles;
    for (size_t i = 0; done && i < clocks->pair_count; i++) {
        struct host_pair *pair = &clocks->pairs[i];
        const uint32_t a = pair->conditions->a, b = pair->conditions->b;
        done = host_pair_fit(pair, add_offset(clocks->from, middles[a]), add_offset(clocks->to, middles[a]));
        if (done && b && middles[b] == 0)
            middles[b] = middles[a] + host_pair_middle(pair);
        most = pair->part_count > most ? pair->part_count : most;
    }
    free(middles);
    clocks->moments = 4 * most + 1;
    clocks->lows = calloc(clocks->moments * clocks->count, sizeof *clocks->lows);
    clocks->highs = calloc(clocks->moments * clocks->count, sizeof *clocks->highs);
    return done && clocks->lows && clocks->highs;
}

bool host_clocks_solve(struct host_clocks *clocks, int64_t from, int64_t to) {
    clocks->from = from;
    clocks->to = to > from ? to : add_offset(from, 1);
    orient(clocks);
    struct step *by = calloc(clocks->count, sizeof *by);
    bool done = by && make_pairs(clocks) && fit_pairs(clocks);
    for (size_t moment = 0; done && moment < clocks->moments;) {
        bool again;
        done = bound_moment(clocks, moment, by, &again);
        moment = again ? 0 : moment + 1;
    }
    if (done)
        find_sources(clocks);
    free(by);
    return done;
}

// ---- answers

struct host_offset host_clocks_offset(const struct host_clocks *clocks, uint32_t clock, int64_t at) {
    const double length = fmax((double)clocks->to - (double)clocks->from, 1),
                 part = ((double)at - (double)clocks->from) / length * (double)(clocks->moments - 1);
    const double inside = fmin(fmax(part, 0), (double)(clocks->moments - 1));
    const size_t first = (size_t)fmin(floor(inside), (double)(clocks->moments - 2));
    const double *lows = &clocks->lows[first * clocks->count + clock],
                 *highs = &clocks->highs[first * clocks->count + clock];
    const double share = inside - (double)first, low = lows[0] + share * (lows[clocks->count] - lows[0]),
                 high = highs[0] + share * (highs[clocks->count] - highs[0]),
                 beyond =
                     fabs(part - inside) / (double)(clocks->moments - 1) * length * HOST_CLOCKS_PPM * 1e-6;
    if (clock == 0)
        return (struct host_offset){.is_known = true};
    if (highs[0] >= FAR || lows[0] <= -FAR || highs[clocks->count] >= FAR || lows[clocks->count] <= -FAR)
        return (struct host_offset){0};
    return (struct host_offset){true, (int64_t)floor(low - beyond - PRECISION * fabs(low)) - ROUNDING,
                                (int64_t)ceil(high + beyond + PRECISION * fabs(high)) + ROUNDING};
}

uint32_t host_clocks_sources(const struct host_clocks *clocks, uint32_t clock) {
    return clocks->sources[clock];
}

bool host_clocks_is_measured(const struct host_clocks *clocks, uint32_t clock) {
    return clocks->measured[clock];
}

const struct host_contradiction *host_clocks_contradictions(const struct host_clocks *clocks, size_t *count) {
    *count = clocks->found_count;
    return clocks->found;
}
