// SPDX-License-Identifier: Apache-2.0
// Converts times of a device's clock to the trace clock, with bounds. The collector calls it for each device record.
#include "collect/device_clock.h"

#include <string.h>

#include "collect/session_clock.h"

static const int64_t DESCRIBE_INTERVAL = 250000000;
static const int64_t TOLERANCE = 2000; // ns a host clock may miss the bounds by: calibration of the ticks
static const uint64_t NS_PER_NS_OF_DRIFT = 10000; // 100 ppm, what a device's clock may drift
static const int64_t DRIFT_MAX = 1000000000;
static const int64_t QUEUES_WITHIN = 1000000; // ns: a driver that takes longer to queue a command is rare

static const struct {
    clockid_t id;
    const char *name;
} hosts[] = {{CLOCK_MONOTONIC_RAW, "CLOCK_MONOTONIC_RAW"},
             {CLOCK_MONOTONIC, "CLOCK_MONOTONIC"},
             {CLOCK_BOOTTIME, "CLOCK_BOOTTIME"},
             {CLOCK_REALTIME, "CLOCK_REALTIME"}};
enum { HOSTS = LAYOUT_HOST_CLOCKS }; // in the order of the enum

void device_clock_init(struct device_clock *clock, uint32_t device, uint32_t process,
                       const _Atomic int64_t *kept) {
    memset(clock, 0, sizeof *clock);
    clock->kept = kept;
    clock->device = device;
    clock->process = process;
}

static int64_t host_offset(const struct device_clock *clock, int host) {
    int64_t error;
    if (clock->kept)
        return atomic_load_explicit(&clock->kept[host], memory_order_relaxed);
    return hosts[host].id == CLOCK_MONOTONIC_RAW ? 0 : session_clock_offset_of(hosts[host].id, &error);
}

static bool is_within(int64_t offset, int64_t low, int64_t high, int64_t tolerance) {
    return offset >= low - tolerance && offset <= high + tolerance;
}

// Where the offset most likely is between its bounds: in the middle, but of a call that blocks for long, near its beginning,
// where calls queue their command. The error that is stated covers all of the bounds.
static int64_t likely_offset(const struct device_clock *clock) {
    const int64_t half = (clock->high - clock->low) / 2;
    return clock->low + (half < QUEUES_WITHIN / 2 ? half : QUEUES_WITHIN / 2);
}

// Bounds from a call that blocks for long admit several clocks of the host. Of these it is the one by which the command was
// queued first; those that are as close as the bounds are wrong by stay in their order.
static void choose_model(struct device_clock *clock) {
    clock->model = DEVICE_CLOCK_FITTED;
    clock->offset = likely_offset(clock);
    for (int host = 0; host < HOSTS; host++) {
        const int64_t offset = host_offset(clock, host);
        if (!is_within(offset, clock->low, clock->high, TOLERANCE) ||
            (clock->model == DEVICE_CLOCK_HOST && offset >= clock->offset - TOLERANCE))
            continue;
        clock->model = DEVICE_CLOCK_HOST;
        clock->host = host;
        clock->offset = offset;
    }
}

// Narrows the bounds. Bounds from older records widen, because the clock may have drifted since; if old and new
// still contradict each other, the new ones are used.
static void intersect(struct device_clock *clock, int64_t low, int64_t high, int64_t now) {
    int64_t drift =
        now > clock->widened ? (int64_t)(((uint64_t)now - (uint64_t)clock->widened) / NS_PER_NS_OF_DRIFT) : 0;
    if (drift > 0) {
        drift = drift < DRIFT_MAX ? drift : DRIFT_MAX;
        clock->low -= drift;
        clock->high += drift;
        clock->widened = now;
    }
    int64_t new_low = low > clock->low ? low : clock->low;
    int64_t new_high = high < clock->high ? high : clock->high;
    bool contradiction = new_low > new_high;
    clock->low = contradiction ? low : new_low;
    clock->high = contradiction ? high : new_high;
}

void device_clock_observe(struct device_clock *clock, int64_t time, int64_t not_before, int64_t not_after) {
    int64_t low, high;
    if (not_after < not_before || __builtin_sub_overflow(not_before, time, &low) ||
        __builtin_sub_overflow(not_after, time, &high))
        return;
    // Far beyond any clock: an untrusted number, kept away from the sums below.
    if (low < INT64_MIN / 4 || high > INT64_MAX / 4)
        return;
    clock->last_time = time;
    if (clock->model == DEVICE_CLOCK_UNKNOWN) {
        clock->low = low;
        clock->high = high;
        clock->widened = not_after;
        choose_model(clock);
        return;
    }
    intersect(clock, low, high, not_after);
    if (clock->model == DEVICE_CLOCK_HOST) {
        if (is_within(clock->offset, low, high, clock->host == 0 ? TOLERANCE : 10 * TOLERANCE))
            return;
        // Not that clock after all, or it was stepped. What it is compared with from now on has a name of its own.
        choose_model(clock);
        clock->clock = 0;
        return;
    }
    // The offset is kept as long as nothing contradicts it: intervals on the device keep their length.
    if (!is_within(clock->offset, clock->low, clock->high, 0))
        clock->offset = likely_offset(clock);
}

static void describe(struct device_clock *clock, tsmith_dictionary *dictionary, int64_t error) {
    if (!clock->clock) {
        const char *name = clock->model == DEVICE_CLOCK_HOST ? hosts[clock->host].name : "device";
        clock->clock = tsmith_dictionary_add_clock(
            dictionary, &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(dictionary, name),
                                        .process = clock->process,
                                        .device = clock->device});
    }
    int64_t trace = (int64_t)((uint64_t)clock->last_time + (uint64_t)clock->offset);
    tsmith_dictionary_add_clock_pair(dictionary, &(tsmith_clock_pair){.clock = clock->clock,
                                                                      .clock_time = clock->last_time,
                                                                      .trace_time = trace,
                                                                      .error = error});
}

int64_t device_clock_offset(struct device_clock *clock, tsmith_dictionary *dictionary) {
    if (clock->model == DEVICE_CLOCK_UNKNOWN)
        return 0;
    if (clock->model == DEVICE_CLOCK_HOST && clock->host > 0)
        clock->offset = host_offset(clock, clock->host);
    if (!clock->clock ||
        (uint64_t)clock->last_time - (uint64_t)clock->described_at > (uint64_t)DESCRIBE_INTERVAL) {
        int64_t below = clock->offset - clock->low, above = clock->high - clock->offset;
        // The offset is somewhere between the bounds.
        int64_t error = below > above ? below : above;
        describe(clock, dictionary, error > 0 ? error : 0);
        clock->described_at = clock->last_time;
    }
    return clock->offset;
}
