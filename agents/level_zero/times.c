// SPDX-License-Identifier: Apache-2.0
// Reads and checks kernel timestamps, and places the device's clock, by the rules in times.h. Rules: agent.h.
#include "times.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum { BRACKETS = 16, OLD_UNIT = 100000 };
static const int64_t TIGHT = 20000;                     // ns
static const int64_t REFRESH = 250000000;               // ns
static const int64_t APART = 1000000000;                // ns between two readings that together tell the rate
static const int64_t TOLERANCE = 1000000;               // ns
static const char SIMULATED[] = "TraceSmith simulated"; // what the mock's devices are called

static uint64_t scale; // ns of a host tick, << 32
static struct object *_Atomic devices;

void times_begin(void) {
    scale = channel_tick_scale(agent.channel);
}

static uint64_t mask_of(uint32_t bits) {
    return bits == 0 || bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

// The counter and the trace clock at one moment, from the first reading that was not interrupted, or the tightest.
static bool read_clock(const struct device *device, int64_t *trace, uint64_t *ticks) {
    int64_t tightest = INT64_MAX;
    agent_thread.busy++;
    for (int i = 0; i < BRACKETS && tightest > TIGHT; i++) {
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

// Only the control thread, after the first.
static void refresh_anchor(struct device *device) {
    struct anchor *anchor = &device->anchor;
    int64_t trace;
    uint64_t counter;
    if (device->nominal <= 0 || clock_trace_now() - atomic_load(&anchor->trace) < REFRESH ||
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
    device->mask = mask_of(properties.timestamp_bits);
    device->kernel_mask = mask_of(properties.kernel_timestamp_bits);
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

bool times_convert(const struct device *device, const struct zero_timestamps *from, uint64_t not_before,
                   uint64_t *now, uint64_t *start, uint64_t *end) {
    const struct anchor *anchor = &device->anchor;
    uint32_t sequence;
    int64_t trace;
    uint64_t ticks;
    double rate;
    static __thread int64_t trace_now; // when `now` was
    if (device->nominal <= 0)
        return false;
    do {
        sequence = atomic_load(&anchor->sequence);
        trace = atomic_load(&anchor->trace);
        ticks = atomic_load(&anchor->ticks);
        rate = atomic_load(&anchor->rate);
    } while (sequence & 1 || sequence != atomic_load(&anchor->sequence));
    const uint64_t taken = (from->global_end - from->global_start) & device->kernel_mask;
    const int64_t begun =
        trace +
        (int64_t)((double)device_counter_distance(from->global_start, ticks, device->kernel_mask) * rate);
    const int64_t ended = begun + (int64_t)((double)taken * rate);
    if (!*now || ended > trace_now) {
        *now = agent_tick();
        trace_now = clock_trace_now();
    }
    const int64_t called =
        scale ? trace_now - (int64_t)((unsigned __int128)(*now - not_before) * scale >> 32) : INT64_MIN;
    if (begun < 0 || ended < begun || ended > trace_now + TOLERANCE || (scale && begun < called - TOLERANCE))
        return false;
    *start = (uint64_t)begun;
    *end = (uint64_t)ended;
    return true;
}
