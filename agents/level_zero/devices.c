// SPDX-License-Identifier: Apache-2.0
// What a device is, and the devices of Level Zero on this machine, for `tracesmith devices`: in a process of TraceSmith's.
#include <dlfcn.h>

#include "times.h"

enum { DRIVERS_MAX = 16, DEVICES_MAX = 64, MEMORIES_MAX = 16 };

static uint64_t memory_bytes(void *device) {
    struct zero_device_memory_properties memories[MEMORIES_MAX] = {0};
    uint32_t count = MEMORIES_MAX;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < MEMORIES_MAX; i++)
        memories[i].stype = ZERO_DEVICE_MEMORY_PROPERTIES;
    if (zero.zeDeviceGetMemoryProperties(device, &count, memories) != ZERO_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < MEMORIES_MAX; i++)
        bytes += memories[i].bytes;
    return bytes;
}

struct agent_device device_described(struct zero_device_properties *properties) {
    properties->name[sizeof properties->name - 1] = '\0';
    return (struct agent_device){
        .api = "level-zero",
        .platform = "Level Zero",
        .name = properties->name,
        .vendor = properties->vendor == 0x8086 ? "Intel" : "",
        .driver = "",
        .type = properties->type == ZERO_DEVICE_GPU   ? "gpu"
                : properties->type == ZERO_DEVICE_CPU ? "cpu"
                                                      : "accelerator",
        .compute_units = properties->eus_per_subslice * properties->subslices_per_slice * properties->slices,
        .clock_mhz = properties->clock_mhz,
    };
}

static bool list_device(void *device, void (*each)(void *context, const struct agent_device *device),
                        void *context) {
    struct zero_device_properties properties = {.stype = ZERO_DEVICE_PROPERTIES_1_2};
    if (zero.zeDeviceGetProperties(device, &properties) != ZERO_SUCCESS)
        return false;
    struct agent_device found = device_described(&properties);
    found.memory_bytes = memory_bytes(device);
    each(context, &found);
    return true;
}

AGENT_EXPORT agent_devices_function tracesmith_agent_devices;

int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device), void *context) {
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    void *drivers[DRIVERS_MAX], *devices[DEVICES_MAX];
    uint32_t driver_count = DRIVERS_MAX;
    int (*init)(uint32_t flags) = NULL, found = 0;
    if (loader)
        *(void **)&init = dlsym(loader, "zeInit");
    if (!init || !loader_find(loader))
        return AGENT_DEVICES_NO_LOADER;
    if (init(0) != ZERO_SUCCESS || zero.zeDriverGet(&driver_count, drivers) != ZERO_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < driver_count && i < DRIVERS_MAX; i++) {
        uint32_t device_count = DEVICES_MAX;
        if (zero.zeDeviceGet(drivers[i], &device_count, devices) != ZERO_SUCCESS)
            continue;
        for (uint32_t j = 0; j < device_count && j < DEVICES_MAX; j++)
            found += list_device(devices[j], each, context);
    }
    return found;
}
