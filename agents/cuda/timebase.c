// SPDX-License-Identifier: Apache-2.0
// Converts times of CUPTI's clock, as described in timebase.h. Rules: agent.h. Comparisons are kept in two rings: all
// of the last minute and a half, and one per ten seconds of the last hours, for calls that last long. One thread writes
// at a time (a thread that finds another one writing drops its comparison); readers take those that are not about to be
// overwritten. Where two neighbouring comparisons show a jump (the clock was set), a time between them belongs to the
// nearer one.
#include "timebase.h"

#include <stdatomic.h>

#include "agent.h"
#include "library.h"

enum { PLACES = 1024, SPARE = 8, ATTEMPTS = 5 };
static const int64_t SLEW = 1000;              // 1 / this: more than any clock is slewed by
static const uint64_t NEAR = 10000000000u;     // ns: beyond it the clocks are compared anew
static const uint64_t FAR = 86400000000000u;   // ns: what is farther apart is of two clocks
static const uint64_t AHEAD = 100000;          // ns: an offset of an older clock holds for so much more
static const uint64_t SLOPE_LEAST = 40000000u; // ns between comparisons that a slope is computed from

struct comparison {
    _Atomic uint64_t time; // of CUPTI
    _Atomic int64_t offset;
};
struct comparisons {
    struct comparison places[PLACES];
    _Atomic uint32_t count;
};
static struct comparisons recent, old;
static atomic_flag writing = ATOMIC_FLAG_INIT;
static _Atomic int64_t worst, worst_drift;
static atomic_bool extrapolated; // a time after the newest comparison was converted

// A comparison as it is worked with.
struct point {
    uint64_t time;
    int64_t offset;
    bool known;
};

static struct point point_of(const struct comparisons *all, uint32_t i) {
    const struct comparison *at = &all->places[i % PLACES];
    return (struct point){.time = atomic_load_explicit(&at->time, memory_order_relaxed),
                          .offset = atomic_load_explicit(&at->offset, memory_order_relaxed),
                          .known = true};
}

static uint32_t oldest_of(uint32_t count) {
    return count > PLACES - SPARE ? count - (PLACES - SPARE) : 0;
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

static bool is_jump(int64_t change, uint64_t length) {
    const int64_t most = (int64_t)(length / (uint64_t)SLEW) + SLEW;
    return change > most || -change > most;
}

// ---- comparing

static bool cupti_now(uint64_t *time) {
    return !atomic_load_explicit(&library_gone, memory_order_relaxed) &&
           (cupti.shared ? cupti.GetTimestamp_v2(cupti.subscriber, time) : cupti.GetTimestamp(time)) ==
               CUPTI_OK;
}

static bool read_clocks(struct point *out, int64_t *width) {
    *width = INT64_MAX;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t time;
        const int64_t before = clock_trace_now();
        if (!cupti_now(&time))
            return false;
        const int64_t after = clock_trace_now();
        if (after - before < *width) {
            *width = after - before;
            *out = (struct point){
                .time = time, .offset = (int64_t)((uint64_t)(before + *width / 2) - time), .known = true};
        }
    }
    return true;
}

static void append(struct comparisons *all, const struct point *point) {
    const uint32_t next = atomic_load_explicit(&all->count, memory_order_relaxed);
    struct comparison *at = &all->places[next % PLACES];
    atomic_store_explicit(&at->time, point->time, memory_order_relaxed);
    atomic_store_explicit(&at->offset, point->offset, memory_order_relaxed);
    atomic_store_explicit(&all->count, next + 1, memory_order_release);
}

static void raise_to(_Atomic int64_t *what, int64_t value) {
    int64_t now = atomic_load_explicit(what, memory_order_relaxed);
    while (value > now && !atomic_compare_exchange_weak_explicit(what, &now, value, memory_order_relaxed,
                                                                 memory_order_relaxed))
        ;
}

// What the offset grows per ns, by the newest comparisons that are far enough apart; 0 where that is not known.
static double newest_slope(uint32_t count) {
    const struct point last = point_of(&recent, count - 1);
    for (uint32_t i = count - 1; i > oldest_of(count); i--) {
        const struct point before = point_of(&recent, i - 1);
        const uint64_t length = last.time - before.time;
        if (before.time > last.time || length > NEAR || is_jump(last.offset - before.offset, length))
            return 0;
        if (length >= SLOPE_LEAST)
            return (double)(last.offset - before.offset) / (double)length;
    }
    return 0;
}

// How far the times were off that were converted by the comparison before this one.
static void note_drift(const struct point *now) {
    const uint32_t count = atomic_load_explicit(&recent.count, memory_order_relaxed);
    if (!count || !atomic_exchange_explicit(&extrapolated, false, memory_order_relaxed))
        return;
    const struct point last = point_of(&recent, count - 1);
    const uint64_t length = now->time - last.time;
    if (now->time < last.time || length > NEAR || is_jump(now->offset - last.offset, length))
        return;
    const int64_t expected = last.offset + (int64_t)((double)length * newest_slope(count));
    raise_to(&worst_drift, now->offset > expected ? now->offset - expected : expected - now->offset);
}

static void keep_comparison(const struct point *now) {
    const uint32_t kept = atomic_load_explicit(&old.count, memory_order_relaxed);
    note_drift(now);
    append(&recent, now);
    if (!kept || distance(point_of(&old, kept - 1).time, now->time) >= NEAR)
        append(&old, now);
}

bool timebase_compare(void) {
    struct point now;
    int64_t width;
    if (!read_clocks(&now, &width))
        return false;
    raise_to(&worst, width);
    if (!atomic_flag_test_and_set_explicit(&writing, memory_order_acquire)) {
        keep_comparison(&now);
        atomic_flag_clear_explicit(&writing, memory_order_release);
    }
    return true;
}

int64_t timebase_error(void) {
    return (atomic_load_explicit(&worst, memory_order_relaxed) + 1) / 2 +
           atomic_load_explicit(&worst_drift, memory_order_relaxed);
}

// ---- converting

// The nearest comparisons on either side of a time.
struct sides {
    struct point below, above;
    bool newest; // nothing was compared after `below`
};

static bool near(const struct point *point, uint64_t time, uint64_t most) {
    return point->known && distance(point->time, time) <= most;
}

// The newest first: where the clock was set back, two stretches have the same times.
static void search(const struct comparisons *all, uint64_t time, struct sides *sides) {
    const uint32_t count = atomic_load_explicit(&all->count, memory_order_acquire);
    for (uint32_t i = count; i > oldest_of(count); i--) {
        const struct point point = point_of(all, i - 1);
        struct point *side = point.time <= time ? &sides->below : &sides->above;
        if (distance(point.time, time) > FAR ||
            (side->known && distance(side->time, time) <= distance(point.time, time)))
            continue;
        *side = point;
        if (side == &sides->below)
            sides->newest = all == &recent && i == count;
        if (near(&sides->below, time, NEAR) && (sides->newest || near(&sides->above, time, NEAR)))
            return;
    }
}

static void base_between(struct timebase *base, const struct sides *sides, uint64_t time) {
    const uint64_t low = sides->below.time, high = sides->above.time, middle = low + (high - low) / 2;
    const int64_t change = sides->above.offset - sides->below.offset;
    *base = (struct timebase){.low = low, .high = high, .from = low, .offset = sides->below.offset};
    if (!is_jump(change, high - low))
        base->slope = (double)change / (double)(high - low);
    else if (time < middle)
        base->high = middle;
    else
        base->low = base->from = middle, base->offset = sides->above.offset;
}

// The possible drift of a clock over a distance, if its rate is unknown.
static void note_distance(uint64_t length) {
    raise_to(&worst_drift, (int64_t)(length / (2 * (uint64_t)SLEW)));
}

// After the last comparison of this clock: the previous drift continues.
static void base_after(struct timebase *base, const struct sides *sides, uint64_t time) {
    const uint64_t low = sides->below.time;
    *base = (struct timebase){.low = low, .from = low, .offset = sides->below.offset};
    base->high = time + 1;
    if (sides->newest && time - low < NEAR) {
        base->high = low + NEAR;
        base->slope = newest_slope(atomic_load_explicit(&recent.count, memory_order_acquire));
        atomic_store_explicit(&extrapolated, true,
                              memory_order_relaxed); // the next comparison shows the error
        return;
    }
    if (time - low < NEAR)
        base->high += AHEAD;
    note_distance(base->high - low);
}

// Before all that was compared of this clock.
static void base_before(struct timebase *base, const struct sides *sides, uint64_t time) {
    const uint32_t count = atomic_load_explicit(&recent.count, memory_order_acquire);
    const uint64_t high = sides->above.time;
    *base = (struct timebase){.low = time, .high = high, .from = high, .offset = sides->above.offset};
    if (count && distance(point_of(&recent, count - 1).time, high) < NEAR)
        base->slope = newest_slope(count);
    if (base->slope == 0)
        note_distance(high - time);
}

bool timebase_look_up(struct timebase *base, uint64_t time) {
    struct sides sides = {.newest = false};
    search(&recent, time, &sides);
    if (!near(&sides.below, time, NEAR) && !near(&sides.above, time, NEAR)) {
        int64_t width;
        struct point now;
        sides = (struct sides){.newest = false};
        if (timebase_compare()) // CUPTI may have changed its clock
            search(&recent, time, &sides);
        search(&old, time, &sides);
        // Another thread was writing when this one compared.
        if (!sides.below.known && !sides.above.known && read_clocks(&now, &width) &&
            distance(now.time, time) <= FAR)
            *(now.time <= time ? &sides.below : &sides.above) = now;
    }
    if (sides.below.known && sides.above.known)
        base_between(base, &sides, time);
    else if (sides.below.known)
        base_after(base, &sides, time);
    else if (sides.above.known)
        base_before(base, &sides, time);
    else
        *base = (struct timebase){.low = 1}; // holds for no time
    return sides.below.known || sides.above.known;
}
