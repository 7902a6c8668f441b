// SPDX-License-Identifier: Apache-2.0
// Devices and tracks, made when a record needs them first. Rules: agent.h.
#include <stdio.h>

#include "agent.h"
#include "agentkit/device.h"
#include "agentkit/track_table.h"

enum { DEVICES = 64, OF_STREAM = 1, OF_DEVICE }; // kinds of keys

static uint32_t devices[DEVICES];

// MSPTI tells no more of a device than its number.
static uint32_t device_of(uint32_t id) {
    char name[32];
    if (id >= DEVICES)
        return 0;
    if (!devices[id]) {
        snprintf(name, sizeof name, "Ascend NPU %u", id);
        const struct agent_device device = {
            .name = name, .vendor = "Huawei", .api = AGENT_API, .type = "accelerator"};
        devices[id] = device_add(&device, id + 1, "");
    }
    return devices[id];
}

// Of a key `number` is the stream, or what it is for.
static uint32_t make_track(const struct track_key *key) {
    static const char *const whats[] = {"memory", "MSPTI overhead", "external correlation"};
    const uint16_t flags = mspti.simulated ? TSMITH_TRACK_SIMULATED : 0;
    const uint32_t device = device_of((uint32_t)key->device), stream = (uint32_t)key->number;
    if (key->kind == OF_DEVICE)
        return device_track(TSMITH_TRACK_CUSTOM, whats[key->number], flags, device, 0, 0);
    return stream == (uint32_t)MSPTI_NONE ? device_track(TSMITH_TRACK_QUEUE, "no stream", flags, device, 0, 0)
                                          : device_queue_track("stream", stream, flags, device, 0);
}

uint32_t tracks_stream(uint32_t device, uint32_t stream) {
    return track_table_get(&(struct track_key){device, stream, 0, OF_STREAM}, make_track);
}

uint32_t tracks_of_device(uint32_t device, enum tracks_what what) {
    return track_table_get(&(struct track_key){device, what, 0, OF_DEVICE}, make_track);
}
