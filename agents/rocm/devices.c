// SPDX-License-Identifier: Apache-2.0
// What rocprofiler-sdk says of a device, and the AMD devices of this machine, for `tracesmith devices`: in a process of TraceSmith,
// where none of agent.h's rules apply.
#include <stdio.h>

#include "agent.h"

struct agent_device device_described(const void *record) {
    const char *product = SDK_OR_0(record, agent, product);
    return (struct agent_device){.api = AGENT_API,
                                 .platform = "AMD ROCm",
                                 .name = product && *product ? product : SDK_OR_0(record, agent, name),
                                 .vendor = SDK_OR_0(record, agent, vendor),
                                 .driver = "",
                                 .type = "gpu",
                                 .memory_bytes = SDK_OR_0(record, agent, memory_bytes),
                                 .compute_units = SDK_OR_0(record, agent, compute_units),
                                 .clock_mhz = SDK_OR_0(record, agent, clock_mhz)};
}

struct listing {
    void (*each)(void *context, const struct agent_device *device);
    void *context;
    int count;
};

static int each_agents(int version, const void **records, size_t count, void *data) {
    struct listing *listing = data;
    (void)version;
    for (size_t i = 0; i < count; i++) {
        char architecture[32] = "";
        if (!SDK_HAS(records[i], agent, number) || sdk_agent_type(records[i]) != SDK_AGENT_GPU)
            continue;
        const uint32_t target = sdk_agent_target(records[i]); // 90402 is gfx942, 110000 gfx1100
        snprintf(architecture, sizeof architecture, "gfx%u%x%x", target / 10000, target / 100 % 100,
                 target % 100);
        const struct agent_fact facts[] = {{"architecture", architecture}, {NULL, NULL}};
        struct agent_device device = device_described(records[i]);
        device.facts = facts;
        listing->each(listing->context, &device);
        listing->count++;
    }
    return SDK_SUCCESS;
}

AGENT_EXPORT agent_devices_function tracesmith_agent_devices;
AGENT_EXPORT int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device),
                                          void *context) {
    struct listing listing = {each, context, 0};
    char why[400];
    if (!library_load(true, why, sizeof why))
        return AGENT_DEVICES_NO_LOADER;
    if (sdk.query_available_agents(SDK_AGENT_VERSION, each_agents, SDK_END_agent_type, &listing) !=
        SDK_SUCCESS)
        each(context, &(struct agent_device){.api = AGENT_API,
                                             .problem = "rocprofiler-sdk does not list its devices"});
    return listing.count;
}
