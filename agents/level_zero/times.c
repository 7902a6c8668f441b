// SPDX-License-Identifier: Apache-2.0
// Reads and checks kernel timestamps, and places the device's clock, by the rules in times.h. Rules: agent.h.
#include "times.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { BRACKETS = 16, OLD_UNIT = 100000 };
static const int64_t APART = 1000000000;                // ns between two readings that together tell the rate
static const char SIMULATED[] = "TraceSmith simulated"; // what the mock's devices are called

static uint64_t scale; // ns of a host tick, << 32
static struct object *_Atomic devices;

void times_begin(void) {
    scale = channel_tick_scale(agent.channel);
}

// The counter and the trace clock at one moment, from the first reading that was not interrupted, or the tightest.
static bool read_clock(const struct device *device, int64_t *trace, uint64_t *ticks) {
    int64_t tightest = INT64_MAX;
    agent_thread.busy++;
    for (int i = 0; i < BRACKETS && tightest > DEVICE_CLOCK_TIGHT; i++) {
        uint64_t host, counter;
        const int64_t before = clock_trace_now();
        if (zero.zeDeviceGetGlobalTimestamps(device->handle, &host, &counter) != ZERO_SUCCESS)
            break;
        const int64_t after = clock_trace_now();
        if (after - before >= tightest)
            continue;
        tightest = after - before;
        *trace = before + tightest / 2;
        *ticks = counter & device->mask;
    }
    agent_thread.busy--;
    return tightest != INT64_MAX;
}

static void anchor_store(struct anchor *anchor, int64_t trace, uint64_t ticks, double rate) {
    atomic_fetch_add(&anchor->sequence, 1);
    atomic_store(&anchor->trace, trace);
    atomic_store(&anchor->ticks, ticks);
    atomic_store(&anchor->rate, rate);
    atomic_fetch_add(&anchor->sequence, 1);
}

static struct device_clock anchor_load(const struct anchor *anchor) {
    struct device_clock clock;
    uint32_t sequence;
    do {
        sequence = atomic_load(&anchor->sequence);
        clock.trace = atomic_load(&anchor->trace);
        clock.ticks = atomic_load(&anchor->ticks);
        clock.rate = atomic_load(&anchor->rate);
    } while (sequence & 1 || sequence != atomic_load(&anchor->sequence));
    return clock;
}

// Only the control thread, after the first.
static void refresh_anchor(struct device *device) {
    struct anchor *anchor = &device->anchor;
    int64_t trace;
    uint64_t counter;
    if (device->nominal <= 0 || clock_trace_now() - atomic_load(&anchor->trace) < DEVICE_CLOCK_REFRESH ||
        !read_clock(device, &trace, &counter))
        return;
    const uint64_t last = atomic_load(&anchor->ticks);
    const uint64_t ticks = last + ((counter - last) & device->mask);
    double rate = atomic_load(&anchor->rate);
    if (trace - device->first_trace > APART && ticks > device->first_ticks)
        rate = (double)(trace - device->first_trace) / (double)(ticks - device->first_ticks);
    anchor_store(anchor, trace, ticks, rate);
}

void times_refresh(void) {
    for (struct object *device = atomic_load(&devices); device; device = device->device.next)
        refresh_anchor(&device->device);
}

// The unit changed in version 1.2: cycles per second, before ns per cycle. A driver that does not know the newer structure
// gives the older unit, which is a small number.
static double ns_of_tick(uint64_t resolution) {
    if (!resolution)
        return 0;
    return resolution < OLD_UNIT ? (double)resolution : 1e9 / (double)resolution;
}

static void add_device(struct device *device, struct zero_device_properties *properties, uint32_t number) {
    char identity[64];
    static const uint8_t nothing[DEVICE_UUID_BYTES];
    if (memcmp(properties->uuid, nothing, sizeof nothing) != 0)
        device_uuid_text("GPU-", properties->uuid, identity, sizeof identity);
    else
        snprintf(identity, sizeof identity, "level-zero:%u", number - 1);
    const struct agent_device described = device_described(properties);
    device->id = device_add(&described, number, identity);
}

void times_device(struct device *device, void *handle, uint32_t number) {
    struct zero_device_properties properties = {.stype = ZERO_DEVICE_PROPERTIES_1_2};
    device->handle = handle;
    agent_thread.busy++;
    const bool known = zero.zeDeviceGetProperties(handle, &properties) == ZERO_SUCCESS;
    agent_thread.busy--;
    if (!known)
        return;
    add_device(device, &properties, number);
    device->simulated = strncmp(properties.name, SIMULATED, sizeof SIMULATED - 1) == 0;
    device->mask = device_counter_mask(properties.timestamp_bits);
    device->kernel_mask = device_counter_mask(properties.kernel_timestamp_bits);
    device->nominal = ns_of_tick(properties.timer_resolution);
    if (device->nominal <= 0 || !read_clock(device, &device->first_trace, &device->first_ticks)) {
        device->nominal = 0;
        return;
    }
    anchor_store(&device->anchor, device->first_trace, device->first_ticks, device->nominal);
    struct object *object = (struct object *)((char *)device - offsetof(struct object, device));
    device->next = atomic_load(&devices);
    while (!atomic_compare_exchange_weak(&devices, &device->next, object))
        ;
}

// When the call was that began at a tick, as of `now`, which was at `trace_now` or later. Not later than it was: the scale is of clocks
// that were compared for a short time.
static int64_t called_at(uint64_t not_before, uint64_t now, int64_t trace_now) {
    enum { DRIFT_LOG2 = 10 };
    const int64_t past = (int64_t)((unsigned __int128)(now - not_before) * scale >> 32);
    return scale ? trace_now - past - (past >> DRIFT_LOG2) : 0;
}

bool times_convert(const struct device *device, const struct zero_timestamps *from, uint64_t not_before,
                   uint64_t *now, struct command_times *times) {
    static __thread int64_t trace_now __attribute__((tls_model("initial-exec"))); // when `now` was
    if (device->nominal <= 0)
        return false;
    const struct device_clock clock = anchor_load(&device->anchor);
    for (bool is_fresh = false; !is_fresh;) {
        is_fresh = !*now;
        if (is_fresh) {
            // In this order: a thread that is interrupted in between believes more, not less.
            trace_now = clock_trace_now();
            *now = agent_tick();
        }
        if (device_clock_convert(&clock, from->global_start, from->global_end, device->kernel_mask,
                                 called_at(not_before, *now, trace_now), trace_now, times))
            return true;
        *now = 0; // it may have ended since
    }
    return false;
}
