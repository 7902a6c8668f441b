// SPDX-License-Identifier: Apache-2.0
// Configures CUPTI's counters of unified memory; the callbacks for contexts and for managed memory call it. Rules:
// agent.h.
#include "unified_memory.h"

#include <stdio.h>

#include "library.h"
#include "subscribe.h"

enum { DEVICES = 64 };

static _Atomic uint64_t present;    // a bit per device that has had a context
static _Atomic uint64_t configured; // a bit per device
static atomic_bool wanted;

void unified_memory_init(void) {
    if (cuda_option(CUDA_OPTION_FAULTS) || cuda_option(CUDA_OPTION_MANAGED))
        atomic_store(&wanted, true);
}

// CUPTI refuses this before the end of cuInit, so it is called for a device that has a context.
static void configure(uint32_t device) {
    enum { PROCESS_ONE_DEVICE = 1, TRANSFERS = 2, AND_FAULTS = 4 };
    struct cupti_unified_memory_config config[AND_FAULTS];
    const uint32_t counters = cuda_option(CUDA_OPTION_FAULTS) ? AND_FAULTS : TRANSFERS;
    char text[256];
    if (atomic_load(&library_gone) || atomic_fetch_or(&configured, UINT64_C(1) << device) >> device & 1)
        return;
    for (uint32_t i = 0; i < counters; i++)
        config[i] = (struct cupti_unified_memory_config){
            .scope = PROCESS_ONE_DEVICE, .counter = i + 1, .device = device, .enable = 1};
    int result = cupti.ActivityConfigureUnifiedMemoryCounter
                     ? cupti.ActivityConfigureUnifiedMemoryCounter(config, counters)
                     : CUPTI_NOT_SUPPORTED;
    if (result == CUPTI_OK)
        result = subscribe_kind(CUPTI_KIND_UNIFIED_MEMORY);
    if (result == CUPTI_OK)
        return;
    snprintf(text, sizeof text,
             "migrations of unified memory on device %u are not recorded: CUPTI returned %s (%d)", device,
             library_error(result), result);
    channel_attribute(agent.channel, "notice.cuda-managed", text);
    channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

// This and the next function each set their own word before they read the other's, so one of them sees both.
void unified_memory_context(uint32_t device) {
    if (device >= DEVICES)
        return;
    atomic_fetch_or(&present, UINT64_C(1) << device);
    if (atomic_load(&wanted))
        configure(device);
}

void unified_memory_used(void) {
    if (atomic_exchange(&wanted, true))
        return;
    const uint64_t now = atomic_load(&present);
    for (uint32_t device = 0; device < DEVICES; device++)
        if (now >> device & 1)
            configure(device);
}
