// SPDX-License-Identifier: Apache-2.0
// The devices of Level Zero on this machine, for `tracesmith devices`. Runs in a process of TraceSmith's, never in a recorded one.
#include <dlfcn.h>

#include "abi.h"
#include "wire/agent.h"

enum { DRIVERS_MAX = 16, DEVICES_MAX = 64, MEMORIES_MAX = 16 };

struct asked {
    int (*init)(uint32_t flags);
    int (*drivers)(uint32_t *count, void **out);
    int (*devices)(void *driver, uint32_t *count, void **out);
    int (*properties)(void *device, struct zero_device_properties *out);
    int (*memories)(void *device, uint32_t *count, struct zero_device_memory_properties *out);
};

static bool open_loader(struct asked *out) {
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader)
        return false;
    *(void **)&out->init = dlsym(loader, "zeInit");
    *(void **)&out->drivers = dlsym(loader, "zeDriverGet");
    *(void **)&out->devices = dlsym(loader, "zeDeviceGet");
    *(void **)&out->properties = dlsym(loader, "zeDeviceGetProperties");
    *(void **)&out->memories = dlsym(loader, "zeDeviceGetMemoryProperties");
    return out->init && out->drivers && out->devices && out->properties && out->memories;
}

static uint64_t memory_bytes(const struct asked *asked, void *device) {
    struct zero_device_memory_properties memories[MEMORIES_MAX] = {0};
    uint32_t count = MEMORIES_MAX;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < MEMORIES_MAX; i++)
        memories[i].stype = ZERO_DEVICE_MEMORY_PROPERTIES;
    if (asked->memories(device, &count, memories) != ZERO_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count && i < MEMORIES_MAX; i++)
        bytes += memories[i].bytes;
    return bytes;
}

static bool describe(const struct asked *asked, void *device,
                     void (*each)(void *context, const struct agent_device *device), void *context) {
    struct zero_device_properties properties = {.stype = ZERO_DEVICE_PROPERTIES_1_2};
    if (asked->properties(device, &properties) != ZERO_SUCCESS)
        return false;
    properties.name[sizeof properties.name - 1] = '\0';
    const struct agent_device found = {
        .api = "level-zero",
        .platform = "Level Zero",
        .name = properties.name,
        .vendor = properties.vendor == 0x8086 ? "Intel" : "",
        .driver = "",
        .type = properties.type == ZERO_DEVICE_GPU   ? "gpu"
                : properties.type == ZERO_DEVICE_CPU ? "cpu"
                                                     : "accelerator",
        .memory_bytes = memory_bytes(asked, device),
        .compute_units = properties.eus_per_subslice * properties.subslices_per_slice * properties.slices,
        .clock_mhz = properties.clock_mhz,
    };
    each(context, &found);
    return true;
}

__attribute__((visibility("default"))) agent_devices_function tracesmith_agent_devices;

int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device), void *context) {
    struct asked asked;
    void *drivers[DRIVERS_MAX], *devices[DEVICES_MAX];
    uint32_t driver_count = DRIVERS_MAX;
    int found = 0;
    if (!open_loader(&asked))
        return AGENT_DEVICES_NO_LOADER;
    if (asked.init(0) != ZERO_SUCCESS || asked.drivers(&driver_count, drivers) != ZERO_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < driver_count && i < DRIVERS_MAX; i++) {
        uint32_t device_count = DEVICES_MAX;
        if (asked.devices(drivers[i], &device_count, devices) != ZERO_SUCCESS)
            continue;
        for (uint32_t j = 0; j < device_count && j < DEVICES_MAX; j++)
            found += describe(&asked, devices[j], each, context);
    }
    return found;
}
