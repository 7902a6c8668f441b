// SPDX-License-Identifier: Apache-2.0
// Compares a driver's clock with the trace clock, and converts its times: foreign_clock.h. The CUDA and ROCm agents call it. One
// thread writes comparisons at a time (a thread that finds another one writing drops its own); readers take those that are not
// about to be overwritten.
#include "agentkit/foreign_clock.h"

#include <stdio.h>

#include "agentkit/agent.h"

enum { SPARE = 8, ATTEMPTS = 5 };            // SPARE: comparisons that may be overwritten while they are read
static const int64_t SLEW = 1000;            // 1 / this: more than any clock is slewed by
static const int64_t JUMP_LEAST = 100000;    // ns: comparisons may err by so much
static const uint64_t NEAR = 10000000000u;   // ns: beyond it the clocks are compared anew
static const uint64_t FAR = 86400000000000u; // ns: times that are farther apart are of two clocks
static const uint64_t AHEAD = 100000;        // ns: an offset of an older clock holds for so much more
static const uint64_t SLOPE_LEAST = 40000000u; // ns between comparisons that a slope is computed from

// A comparison as it is worked with.
struct point {
    uint64_t time;
    int64_t offset;
    bool known;
};

static struct point point_of(const struct foreign_clock_comparisons *all, uint32_t i) {
    const uint32_t at = i % FOREIGN_CLOCK_COMPARISONS;
    return (struct point){.time = atomic_load_explicit(&all->ring[at].time, memory_order_relaxed),
                          .offset = atomic_load_explicit(&all->ring[at].offset, memory_order_relaxed),
                          .known = true};
}

static uint32_t oldest_of(uint32_t count) {
    return count > FOREIGN_CLOCK_COMPARISONS - SPARE ? count - (FOREIGN_CLOCK_COMPARISONS - SPARE) : 0;
}

static uint64_t distance(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

static bool is_jump(int64_t change, uint64_t length) {
    const int64_t most = (int64_t)(length / (uint64_t)SLEW) + JUMP_LEAST;
    return change > most || -change > most;
}

// ---- comparing

static bool read_clocks(const struct foreign_clock *clock, struct point *out, int64_t *width) {
    *width = INT64_MAX;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t time;
        const int64_t before = clock_trace_now();
        if (!clock->read(&time))
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

static void append(struct foreign_clock_comparisons *all, const struct point *point) {
    const uint32_t count = atomic_load_explicit(&all->count, memory_order_relaxed);
    const uint32_t at = count % FOREIGN_CLOCK_COMPARISONS;
    atomic_store_explicit(&all->ring[at].time, point->time, memory_order_relaxed);
    atomic_store_explicit(&all->ring[at].offset, point->offset, memory_order_relaxed);
    atomic_store_explicit(&all->count, count + 1, memory_order_release);
}

static void raise_to(_Atomic int64_t *maximum, int64_t value) {
    int64_t now = atomic_load_explicit(maximum, memory_order_relaxed);
    while (value > now && !atomic_compare_exchange_weak_explicit(maximum, &now, value, memory_order_relaxed,
                                                                 memory_order_relaxed))
        ;
}

// What the offset grows per ns, by the newest comparisons that are far enough apart; 0 where that is not known.
static double newest_slope(const struct foreign_clock *clock, uint32_t count) {
    const struct point last = point_of(&clock->recent, count - 1);
    for (uint32_t i = count - 1; i > oldest_of(count); i--) {
        const struct point before = point_of(&clock->recent, i - 1);
        const uint64_t length = last.time - before.time;
        if (before.time > last.time || length > NEAR || is_jump(last.offset - before.offset, length))
            return 0;
        if (length >= SLOPE_LEAST)
            return (double)(last.offset - before.offset) / (double)length;
    }
    return 0;
}

// How far the times were off that were converted by the comparison before this one.
static void note_drift(struct foreign_clock *clock, const struct point *now) {
    const uint32_t count = atomic_load_explicit(&clock->recent.count, memory_order_relaxed);
    if (!count || !atomic_exchange_explicit(&clock->extrapolated, false, memory_order_relaxed))
        return;
    const struct point last = point_of(&clock->recent, count - 1);
    const uint64_t length = now->time - last.time;
    if (now->time < last.time || length > NEAR || is_jump(now->offset - last.offset, length))
        return;
    const int64_t expected = last.offset + (int64_t)((double)length * newest_slope(clock, count));
    raise_to(&clock->worst_drift, now->offset > expected ? now->offset - expected : expected - now->offset);
}

static void add_comparison(struct foreign_clock *clock, const struct point *now) {
    const uint32_t kept = atomic_load_explicit(&clock->old.count, memory_order_relaxed);
    note_drift(clock, now);
    append(&clock->recent, now);
    if (!kept || distance(point_of(&clock->old, kept - 1).time, now->time) >= NEAR)
        append(&clock->old, now);
}

bool foreign_clock_compare(struct foreign_clock *clock) {
    struct point now;
    int64_t width;
    if (!read_clocks(clock, &now, &width))
        return false;
    raise_to(&clock->worst_width, width);
    if (!atomic_flag_test_and_set_explicit(&clock->comparing, memory_order_acquire)) {
        add_comparison(clock, &now);
        atomic_flag_clear_explicit(&clock->comparing, memory_order_release);
    }
    return true;
}

int64_t foreign_clock_error(const struct foreign_clock *clock) {
    return (atomic_load_explicit(&clock->worst_width, memory_order_relaxed) + 1) / 2 +
           atomic_load_explicit(&clock->worst_drift, memory_order_relaxed);
}

void foreign_clock_tell_error(const struct foreign_clock *clock, const char *api) {
    char key[64], text[32];
    snprintf(key, sizeof key, "%s.clock_error_ns", api);
    snprintf(text, sizeof text, "%lld", (long long)foreign_clock_error(clock));
    channel_attribute(agent.channel, key, text);
}

// ---- converting

// The nearest comparisons on either side of a time.
struct sides {
    struct point below, above;
    bool newest; // nothing was compared after `below`
};

static bool is_near(const struct point *point, uint64_t time, uint64_t most) {
    return point->known && distance(point->time, time) <= most;
}

// The newest first: where the clock was set back, two stretches have the same times.
static void search(const struct foreign_clock *clock, const struct foreign_clock_comparisons *all,
                   uint64_t time, struct sides *sides) {
    const uint32_t count = atomic_load_explicit(&all->count, memory_order_acquire);
    for (uint32_t i = count; i > oldest_of(count); i--) {
        const struct point point = point_of(all, i - 1);
        struct point *side = point.time <= time ? &sides->below : &sides->above;
        if (distance(point.time, time) > FAR ||
            (side->known && distance(side->time, time) <= distance(point.time, time)))
            continue;
        *side = point;
        if (side == &sides->below)
            sides->newest = all == &clock->recent && i == count;
        if (is_near(&sides->below, time, NEAR) && (sides->newest || is_near(&sides->above, time, NEAR)))
            return;
    }
}

static void piece_between(struct foreign_clock_piece *piece, const struct sides *sides, uint64_t time) {
    const uint64_t low = sides->below.time, high = sides->above.time, middle = low + (high - low) / 2;
    const int64_t change = sides->above.offset - sides->below.offset;
    *piece =
        (struct foreign_clock_piece){.low = low, .high = high, .from = low, .offset = sides->below.offset};
    if (!is_jump(change, high - low))
        piece->slope = (double)change / (double)(high - low);
    else if (time < middle)
        piece->high = middle;
    else
        piece->low = piece->from = middle, piece->offset = sides->above.offset;
}

// The possible drift of a clock over a distance, if its rate is unknown.
static void note_distance(struct foreign_clock *clock, uint64_t length) {
    raise_to(&clock->worst_drift, (int64_t)(length / (2 * (uint64_t)SLEW)));
}

// After the last comparison of this clock: the previous drift continues.
static void piece_after(struct foreign_clock *clock, struct foreign_clock_piece *piece,
                        const struct sides *sides, uint64_t time) {
    const uint64_t low = sides->below.time;
    *piece = (struct foreign_clock_piece){.low = low, .from = low, .offset = sides->below.offset};
    piece->high = time + 1;
    if (sides->newest && time - low < NEAR) {
        piece->high = low + NEAR;
        piece->slope = newest_slope(clock, atomic_load_explicit(&clock->recent.count, memory_order_acquire));
        atomic_store_explicit(&clock->extrapolated, true,
                              memory_order_relaxed); // the next comparison shows the error
        return;
    }
    if (time - low < NEAR)
        piece->high += AHEAD;
    note_distance(clock, piece->high - low);
}

// Before all that was compared of this clock.
static void piece_before(struct foreign_clock *clock, struct foreign_clock_piece *piece,
                         const struct sides *sides, uint64_t time) {
    const uint32_t count = atomic_load_explicit(&clock->recent.count, memory_order_acquire);
    const uint64_t high = sides->above.time;
    *piece =
        (struct foreign_clock_piece){.low = time, .high = high, .from = high, .offset = sides->above.offset};
    if (count && distance(point_of(&clock->recent, count - 1).time, high) < NEAR)
        piece->slope = newest_slope(clock, count);
    if (piece->slope == 0)
        note_distance(clock, high - time);
}

bool foreign_clock_look_up(struct foreign_clock *clock, struct foreign_clock_piece *piece, uint64_t time) {
    struct sides sides = {.newest = false};
    if (!time)
        return false;
    search(clock, &clock->recent, time, &sides);
    if (!is_near(&sides.below, time, NEAR) && !is_near(&sides.above, time, NEAR)) {
        int64_t width;
        struct point now;
        sides = (struct sides){.newest = false};
        if (foreign_clock_compare(clock)) // the driver may have changed its clock
            search(clock, &clock->recent, time, &sides);
        search(clock, &clock->old, time, &sides);
        // Another thread was writing when this one compared.
        if (!sides.below.known && !sides.above.known && read_clocks(clock, &now, &width) &&
            distance(now.time, time) <= FAR)
            *(now.time <= time ? &sides.below : &sides.above) = now;
    }
    if (sides.below.known && sides.above.known)
        piece_between(piece, &sides, time);
    else if (sides.below.known)
        piece_after(clock, piece, &sides, time);
    else if (sides.above.known)
        piece_before(clock, piece, &sides, time);
    else
        *piece = (struct foreign_clock_piece){.low = 1}; // holds for no time
    return sides.below.known || sides.above.known;
}
