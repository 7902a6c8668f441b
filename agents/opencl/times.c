// SPDX-License-Identifier: Apache-2.0
// Decides whether a command's times are believed where times.h alone cannot. Rules: agent.h.
#include "times.h"

static const int64_t DRIFT = 1000;     // ns per tick
static const int64_t APART = 20000000; // ns between two commands that together place a clock anew

uint64_t times_scale;

void times_begin(void) {
    times_scale = channel_tick_scale(agent.channel);
}

static int64_t distance(int64_t a, int64_t b) {
    return a > b ? a - b : b - a;
}

static bool agree_with_drift(struct times_bounds a, struct times_bounds b) {
    return times_agree(a, b, TIMES_TOLERANCE + distance(a.at, b.at) / DRIFT);
}

bool times_placed_anew(struct device *device, struct times_bounds seen) {
    const struct times_bounds known = times_load(&device->clock), other = times_load(&device->other_clock);
    if (known.at == 0 || agree_with_drift(known, seen)) {
        times_store(&device->clock, seen);
        times_store(&device->other_clock,
                    (struct times_bounds){.at = 0}); // the clock was not set: it is where it was
        return true;
    }
    if (other.at == 0 || !agree_with_drift(other, seen)) {
        times_store(&device->other_clock, seen);
        return false;
    }
    if (distance(other.at, seen.at) < APART)
        return false;
    times_store(&device->clock, seen);
    times_store(&device->other_clock, (struct times_bounds){.at = 0});
    return true;
}

// Whether the command took no longer than there was between `call` and `now`, both ns.
static bool is_possible(int64_t took, int64_t call, int64_t now) {
    const int64_t past = now - call;
    return took <= past + TIMES_TOLERANCE || took <= past + TIMES_TOLERANCE + past / DRIFT;
}

bool times_possible_now(int64_t took, int64_t call, uint64_t *now) {
    *now = (uint64_t)times_ns(agent_tick());
    return is_possible(took, call, (int64_t)*now);
}
