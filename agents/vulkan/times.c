// SPDX-License-Identifier: Apache-2.0
// Describes devices, and converts their timestamps, by the rules in times.h. Rules: agent.h.
#include "times.h"

#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "agentkit/device.h"
#include "base/clock.h"

enum { VENDOR_MESA = 0x10005 };

// ---- the clock

static void compare(struct device *device) {
    const VkCalibratedTimestampInfoEXT infos[2] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = device->domain}};
    const clockid_t clock =
        device->domain == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
    uint64_t tightest = UINT64_MAX, times[2], deviation = 0;
    for (int i = 0; i < 4 && tightest > DEVICE_CLOCK_TIGHT; i++) {
        if (device->next.GetCalibratedTimestampsEXT(device->handle, 2, infos, times, &deviation) !=
            VK_SUCCESS)
            return;
        // From the host's clock to the trace clock, which may be the same one.
        const int64_t before = clock_now(clock), trace = clock_trace_now(), after = clock_now(clock);
        const bool same = clock == CLOCK_MONOTONIC_RAW;
        const uint64_t error = deviation + (same ? 0 : (uint64_t)(after - before));
        if (error >= tightest)
            continue;
        tightest = error;
        device->anchor.clock.trace = (int64_t)times[1] + (same ? 0 : trace - (before + after) / 2);
        device->anchor.clock.ticks = times[0];
    }
}

int64_t times_refresh(struct device *device) {
    const int64_t now = clock_trace_now();
    if (!times_inferred(device) && now - device->anchor.clock.trace > DEVICE_CLOCK_REFRESH)
        compare(device);
    return now;
}

bool times_inferred(const struct device *device) {
    return device->domain == VK_TIME_DOMAIN_DEVICE_EXT;
}

void times_bound(struct device *device, uint64_t first, uint64_t last, uint64_t mask, int64_t not_before) {
    struct anchor *anchor = &device->anchor;
    struct device_clock *clock = &anchor->clock;
    const int64_t now = clock_trace_now();
    if (!clock->trace) {
        clock->trace = not_before;
        clock->ticks = first;
        anchor->low = 0;
        anchor->high = INT64_MAX;
        anchor->inferred = true;
    }
    // By how much the anchor is too early: at least and at most.
    const int64_t low = not_before - device_clock_time(clock, first, mask);
    const int64_t high = now - device_clock_time(clock, last, mask);
    if (low > anchor->low)
        anchor->low = low;
    anchor->high = high < anchor->high ? high : anchor->high;
    if (anchor->low > anchor->high) { // the clocks do not run alike: begin anew
        anchor->low = low;
        anchor->high = high;
    }
    clock->trace += anchor->low;
    anchor->high = anchor->high == INT64_MAX ? INT64_MAX : anchor->high - anchor->low;
    anchor->low = 0;
}

static void find_clock(struct device *device, const struct instance_next *next, VkPhysicalDevice physical) {
    VkTimeDomainEXT domains[16];
    uint32_t count = 16;
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT ask =
        next->GetPhysicalDeviceCalibrateableTimeDomainsEXT;
    if (!ask || !device->next.GetCalibratedTimestampsEXT || ask(physical, &count, domains) < VK_SUCCESS)
        return;
    bool is_readable = false;
    VkTimeDomainEXT best = VK_TIME_DOMAIN_DEVICE_EXT;
    for (uint32_t i = 0; i < count; i++) {
        is_readable |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        if (domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_RAW_EXT ||
            (domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT && best == VK_TIME_DOMAIN_DEVICE_EXT))
            best = domains[i];
    }
    if (!is_readable || best == VK_TIME_DOMAIN_DEVICE_EXT)
        return;
    device->domain = best;
    compare(device);
    if (!device->anchor.clock.trace)
        device->domain = VK_TIME_DOMAIN_DEVICE_EXT;
}

// ---- the device

// As NVML, CUPTI and the OpenCL agent write it. Software drivers give all their devices one UUID.
bool times_uuid(const struct instance_next *next, VkPhysicalDevice physical, char *out, size_t size) {
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
    PFN_vkGetPhysicalDeviceProperties2 ask = next->GetPhysicalDeviceProperties2;
    if (!ask)
        return false;
    ask(physical, &all);
    device_uuid_text("GPU-", id.deviceUUID, out, size);
    return true;
}

const char *times_type(VkPhysicalDeviceType type) {
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return "gpu";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return "cpu";
    default:
        return "";
    }
}

uint64_t times_memory(const VkPhysicalDeviceMemoryProperties *memory) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < memory->memoryHeapCount && i < VK_MAX_MEMORY_HEAPS; i++)
        if (memory->memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            bytes += memory->memoryHeaps[i].size;
    return bytes;
}

void times_driver(const VkPhysicalDeviceProperties *properties, char *out, size_t size) {
    snprintf(out, size, "%u.%u.%u", VK_API_VERSION_MAJOR(properties->driverVersion),
             VK_API_VERSION_MINOR(properties->driverVersion),
             VK_API_VERSION_PATCH(properties->driverVersion));
}

static uint64_t describe_memory(struct device *device, const struct instance_next *next,
                                VkPhysicalDevice physical) {
    VkPhysicalDeviceMemoryProperties memory;
    next->GetPhysicalDeviceMemoryProperties(physical, &memory);
    for (uint32_t i = 0; i < memory.memoryTypeCount && i < VK_MAX_MEMORY_TYPES; i++)
        device->heap_of_type[i] = memory.memoryTypes[i].heapIndex;
    const VkMemoryPropertyFlags host =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    while (device->host_type + 1 < memory.memoryTypeCount &&
           (memory.memoryTypes[device->host_type].propertyFlags & host) != host)
        device->host_type++;
    return times_memory(&memory);
}

static void describe_families(struct device *device, const struct instance_next *next,
                              VkPhysicalDevice physical) {
    VkQueueFamilyProperties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX;
    next->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    device->family_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t bits = families[i].timestampValidBits;
        device->family_flags[i] = families[i].queueFlags;
        device->family_mask[i] = bits ? device_counter_mask(bits) : 0;
    }
}

void times_device(struct device *device, const struct instance_next *next, VkPhysicalDevice physical,
                  uint32_t version, bool has_clock) {
    static _Atomic uint32_t number;
    VkPhysicalDeviceProperties properties;
    char identity[sizeof properties.deviceName + 16], driver[32];
    device->domain = VK_TIME_DOMAIN_DEVICE_EXT;
    next->GetPhysicalDeviceProperties(physical, &properties);
    properties.deviceName[sizeof properties.deviceName - 1] = '\0';
    const char *type = times_type(properties.deviceType);
    if (strcmp(type, "gpu") != 0 || version < VK_API_VERSION_1_1 ||
        properties.apiVersion < VK_API_VERSION_1_1 || !times_uuid(next, physical, identity, sizeof identity))
        snprintf(identity, sizeof identity, "vulkan:%s", properties.deviceName);
    times_driver(&properties, driver, sizeof driver);
    const struct agent_device found = {.name = properties.deviceName,
                                       .driver = driver,
                                       .api = "vulkan",
                                       .type = type,
                                       .memory_bytes = describe_memory(device, next, physical)};
    device->id = device_add(&found, 0, identity);
    device->number = atomic_fetch_add(&number, 1) + 1;
    device->anchor.clock.rate = (double)properties.limits.timestampPeriod;
    device->reading_waits =
        properties.vendorID == VENDOR_MESA && strncmp(properties.deviceName, "llvmpipe", 8) == 0;
    describe_families(device, next, physical);
    device->timed = device->timed && device->anchor.clock.rate > 0;
    if (has_clock && device->timed)
        find_clock(device, next, physical);
}
