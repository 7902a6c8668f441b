// SPDX-License-Identifier: Apache-2.0
// Devices and tracks, made when a record needs them first. Rules: agent.h.
#include <stdio.h>

#include "agent.h"
#include "agentkit/device.h"
#include "agentkit/track_table.h"

enum { DEVICES = 64, OF_STREAM = 1, OF_DEVICE, OF_THREAD }; // kinds of keys

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

// Of a key `number` is the stream, what it is for, or the thread.
static uint32_t make_track(const struct track_key *key) {
    static const char *const whats[] = {"memory", "MSPTI overhead", "external correlation"};
    char name[48];
    if (key->kind == OF_THREAD)
        return channel_thread(agent.channel, (uint32_t)key->number);
    if (key->kind == OF_DEVICE)
        snprintf(name, sizeof name, "%s", whats[key->number]);
    else if (key->number == (uint32_t)MSPTI_NONE)
        snprintf(name, sizeof name, "no stream");
    else
        snprintf(name, sizeof name, "stream %u", (uint32_t)key->number);
    const tsmith_track track = {
        .kind = key->kind == OF_STREAM ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_CUSTOM,
        .flags = mspti.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = channel_string_cstr(agent.channel, name),
        .device = device_of((uint32_t)key->device),
        .queue = key->kind == OF_STREAM && key->number != (uint32_t)MSPTI_NONE ? key->number : 0,
    };
    return channel_track(agent.channel, &track);
}

uint32_t tracks_stream(uint32_t device, uint32_t stream) {
    return track_table_get(&(struct track_key){device, stream, 0, OF_STREAM}, make_track);
}

uint32_t tracks_of_device(uint32_t device, enum tracks_what what) {
    return track_table_get(&(struct track_key){device, what, 0, OF_DEVICE}, make_track);
}

uint32_t tracks_thread(uint32_t tid) {
    return tid ? track_table_get(&(struct track_key){0, tid, 0, OF_THREAD}, make_track) : 0;
}
