// SPDX-License-Identifier: Apache-2.0
// The AMD devices of this machine, for `tracesmith devices`: what rocprofiler-sdk knows of them. In a process of TraceSmith, where
// none of agent.h's rules apply.
#include <stdio.h>

#include "agent.h"
#include "wire/agent.h"

struct listing {
    void (*each)(void *context, const struct agent_device *device);
    void *context;
    int count;
};

static int each_agents(int version, const void **records, size_t count, void *data) {
    struct listing *listing = data;
    (void)version;
    for (size_t i = 0; i < count; i++) {
        const void *record = records[i];
        char architecture[32] = "";
        if (!SDK_HAS(record, agent, number) || sdk_agent_type(record) != SDK_AGENT_GPU)
            continue;
        const char *name = sdk_agent_product(record);
        const uint32_t target = sdk_agent_target(record); // 90402 is gfx942, 110000 gfx1100
        snprintf(architecture, sizeof architecture, "gfx%u%x%x", target / 10000, target / 100 % 100,
                 target % 100);
        const struct agent_fact facts[] = {{"architecture", architecture}, {NULL, NULL}};
        const struct agent_device device = {.api = AGENT_API,
                                            .platform = "AMD ROCm",
                                            .name = name && *name ? name : sdk_agent_name(record),
                                            .vendor = sdk_agent_vendor(record),
                                            .driver = "",
                                            .type = "gpu",
                                            .memory_bytes = sdk_agent_memory_bytes(record),
                                            .compute_units = sdk_agent_compute_units(record),
                                            .clock_mhz = sdk_agent_clock_mhz(record),
                                            .facts = facts};
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
