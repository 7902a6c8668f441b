// SPDX-License-Identifier: Apache-2.0
// Times of a device's counter as times of the trace, for agents that read the counter on the host now and then (Level Zero, Vulkan).
// The counter may have fewer than 64 bits.
//
// What is believed: an end at or after the start, a start no earlier than the call that launched the command, an end no later
// than now, within DEVICE_CLOCK_TOLERANCE.
#ifndef AGENTKIT_DEVICE_CLOCK_H
#define AGENTKIT_DEVICE_CLOCK_H

#include "agentkit/command_record.h"

#define DEVICE_CLOCK_TOLERANCE INT64_C(1000000) // ns
#define DEVICE_CLOCK_REFRESH INT64_C(250000000) // ns after which the counter is read again
#define DEVICE_CLOCK_TIGHT INT64_C(20000)       // ns within which a reading is good enough

// The counter showed `ticks` at `trace`, a time on the trace clock; 0: it was not read yet.
struct device_clock {
    int64_t trace;
    uint64_t ticks;
    double rate; // ns of a tick
};

// The valid bits of a counter that has so many; 0 of them stands for all.
static inline uint64_t device_counter_mask(uint32_t bits) {
    return bits == 0 || bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

// How far the counter with these bits is from a reading of it: the nearer of the two ways around.
static inline int64_t device_counter_distance(uint64_t counter, uint64_t reading, uint64_t mask) {
    const uint64_t ahead = (counter - reading) & mask;
    return ahead > mask / 2 ? (int64_t)ahead - (int64_t)mask - 1 : (int64_t)ahead;
}

// Of a counter that is damaged the result is far away, and not believed.
static inline int64_t device_clock_ns(const struct device_clock *clock, double ticks) {
    const double ns = ticks * clock->rate, far = 0x1p60;
    return ns > far ? (int64_t)far : ns < -far ? -(int64_t)far : (int64_t)ns;
}

static inline int64_t device_clock_time(const struct device_clock *clock, uint64_t counter, uint64_t mask) {
    return clock->trace +
           device_clock_ns(clock, (double)device_counter_distance(counter, clock->ticks, mask));
}

// From the counter at a command's start and end. False: they are not believed.
static inline bool device_clock_convert(const struct device_clock *clock, uint64_t start, uint64_t end,
                                        uint64_t mask, int64_t not_before, int64_t now,
                                        struct command_times *out) {
    const int64_t begun = device_clock_time(clock, start, mask);
    const int64_t ended = begun + device_clock_ns(clock, (double)((end - start) & mask));
    out->start = (uint64_t)begun;
    out->end = (uint64_t)ended;
    return begun > 0 && begun >= not_before - DEVICE_CLOCK_TOLERANCE && ended <= now + DEVICE_CLOCK_TOLERANCE;
}

#endif
