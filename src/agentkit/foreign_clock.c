// SPDX-License-Identifier: Apache-2.0
// Comparing a driver's clock with the trace clock, and converting its times: foreign_clock.h. Called by agents.
#include "agentkit/foreign_clock.h"

#include "base/clock.h"

enum { ATTEMPTS = 5, SPARE = 8 };             // SPARE: places that may be overwritten while they are read
static const int64_t SLEW = 1000;             // 1 / this is more than any clock is slewed by
static const int64_t JUMP_LEAST = 100000;     // ns
static const uint64_t SLOPE_LEAST = 40000000; // ns between comparisons that a slope is computed from

struct point {
    uint64_t time;
    int64_t offset;
};

static struct point point_of(const struct foreign_clock *clock, uint32_t i) {
    return (struct point){
        atomic_load_explicit(&clock->places[i % FOREIGN_CLOCK_PLACES].time, memory_order_relaxed),
        atomic_load_explicit(&clock->places[i % FOREIGN_CLOCK_PLACES].offset, memory_order_relaxed)};
}

static bool is_jump(const struct point *before, const struct point *after) {
    const int64_t change = after->offset - before->offset;
    const int64_t most = (int64_t)((after->time - before->time) / (uint64_t)SLEW) + JUMP_LEAST;
    return after->time < before->time || change > most || -change > most;
}

static void keep(struct foreign_clock *clock, const struct point *point) {
    const uint32_t count = atomic_load_explicit(&clock->count, memory_order_relaxed);
    atomic_store_explicit(&clock->places[count % FOREIGN_CLOCK_PLACES].time, point->time,
                          memory_order_relaxed);
    atomic_store_explicit(&clock->places[count % FOREIGN_CLOCK_PLACES].offset, point->offset,
                          memory_order_relaxed);
    atomic_store_explicit(&clock->count, count + 1, memory_order_release);
}

bool foreign_clock_compare(struct foreign_clock *clock) {
    struct point best = {0};
    int64_t width = INT64_MAX;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t time;
        const int64_t before = clock_trace_now();
        if (!clock->read(&time))
            return false;
        const int64_t after = clock_trace_now();
        if (after - before < width) {
            width = after - before;
            best = (struct point){time, (int64_t)((uint64_t)(before + width / 2) - time)};
        }
    }
    if (atomic_flag_test_and_set_explicit(&clock->comparing, memory_order_acquire))
        return true;
    keep(clock, &best);
    if ((width + 1) / 2 > atomic_load_explicit(&clock->error, memory_order_relaxed))
        atomic_store_explicit(&clock->error, (width + 1) / 2, memory_order_relaxed);
    atomic_flag_clear_explicit(&clock->comparing, memory_order_release);
    return true;
}

static uint32_t oldest_of(uint32_t count) {
    return count > FOREIGN_CLOCK_PLACES - SPARE ? count - (FOREIGN_CLOCK_PLACES - SPARE) : 0;
}

// What the offset grows per ns by the newest comparisons, if those tell.
static double newest_slope(const struct foreign_clock *clock, uint32_t count) {
    const struct point last = point_of(clock, count - 1);
    for (uint32_t i = count - 1; i > oldest_of(count); i--) {
        const struct point before = point_of(clock, i - 1);
        if (is_jump(&before, &last))
            return 0;
        if (last.time - before.time >= SLOPE_LEAST)
            return (double)(last.offset - before.offset) / (double)(last.time - before.time);
    }
    return 0;
}

static void between(struct foreign_clock_piece *piece, const struct point *below, const struct point *above,
                    uint64_t time) {
    const uint64_t middle = below->time + (above->time - below->time) / 2;
    *piece = (struct foreign_clock_piece){
        .low = below->time, .high = above->time, .from = below->time, .offset = below->offset};
    if (!is_jump(below, above))
        piece->slope = (double)(above->offset - below->offset) / (double)(above->time - below->time);
    else if (time < middle)
        piece->high = middle;
    else
        piece->low = piece->from = middle, piece->offset = above->offset;
}

bool foreign_clock_look_up(struct foreign_clock *clock, struct foreign_clock_piece *piece, uint64_t time) {
    const uint32_t count = atomic_load_explicit(&clock->count, memory_order_acquire);
    if (!count || !time)
        return false;
    const struct point last = point_of(clock, count - 1);
    if (time >= last.time) {
        *piece = (struct foreign_clock_piece){.low = last.time,
                                              .high = UINT64_MAX,
                                              .from = last.time,
                                              .offset = last.offset,
                                              .slope = newest_slope(clock, count)};
        return true;
    }
    struct point above = last;
    for (uint32_t i = count - 1; i > oldest_of(count); i--) {
        const struct point below = point_of(clock, i - 1);
        if (below.time <= time && time < above.time) {
            between(piece, &below, &above, time);
            return true;
        }
        above = below;
    }
    *piece = (struct foreign_clock_piece){.high = above.time, .from = above.time, .offset = above.offset};
    return time < above.time;
}
