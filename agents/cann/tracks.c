// SPDX-License-Identifier: Apache-2.0
// Devices and tracks, made when a record needs them first. The reader of records is the only caller: no lock. Rules: agent.h.
#include <stdio.h>
#include <string.h>

#include "agent.h"

enum { DEVICES = 64, PLACES = 1 << 12, OF_STREAM = 1, OF_DEVICE, OF_THREAD };

struct key {
    uint32_t kind, device, number; // of the stream, of what it is for, of the thread
};
static struct {
    struct key key;
    uint32_t track; // 0: the place is empty
} places[PLACES];
static uint32_t used, devices[DEVICES];

// MSPTI tells no more of a device than its number.
static uint32_t device_of(uint32_t id) {
    char name[32];
    if (id >= DEVICES)
        return 0;
    if (!devices[id]) {
        snprintf(name, sizeof name, "Ascend NPU %u", id);
        const tsmith_device device = {.name = channel_string_cstr(agent.channel, name),
                                      .vendor = channel_string_cstr(agent.channel, "Huawei"),
                                      .api = channel_string_cstr(agent.channel, AGENT_API),
                                      .type = channel_string_cstr(agent.channel, "accelerator"),
                                      .number = id + 1};
        devices[id] = channel_device_identified(agent.channel, &device, "");
    }
    return devices[id];
}

static __attribute__((noinline)) uint32_t make_track(const struct key *key) {
    static const char *const whats[] = {"memory", "MSPTI overhead", "external correlation"};
    char name[48];
    if (key->kind == OF_THREAD)
        return channel_thread(agent.channel, key->number);
    if (key->kind == OF_DEVICE)
        snprintf(name, sizeof name, "%s", whats[key->number]);
    else if (key->number == (uint32_t)MSPTI_NONE)
        snprintf(name, sizeof name, "no stream");
    else
        snprintf(name, sizeof name, "stream %u", key->number);
    const tsmith_track track = {
        .kind = key->kind == OF_STREAM ? TSMITH_TRACK_QUEUE : TSMITH_TRACK_CUSTOM,
        .flags = mspti.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = channel_string_cstr(agent.channel, name),
        .device = device_of(key->device),
        .queue = key->kind == OF_STREAM && key->number != (uint32_t)MSPTI_NONE ? key->number : 0,
    };
    return channel_track(agent.channel, &track);
}

static bool is_of(const struct key *key, uint32_t kind, uint32_t device, uint32_t number) {
    return key->number == number && key->device == device && key->kind == kind;
}

// The key is not in its first place.
static __attribute__((noinline)) uint32_t search(struct key key, uint32_t at) {
    for (uint32_t looks = 0; looks < PLACES; looks++, at = (at + 1) % PLACES) {
        if (places[at].track && is_of(&places[at].key, key.kind, key.device, key.number))
            return places[at].track;
        if (places[at].track)
            continue;
        // A table that is nearly full would be slow to search.
        const uint32_t track = used < PLACES / 4 * 3 ? make_track(&key) : 0;
        if (!track)
            break;
        places[at].key = key;
        places[at].track = track;
        used++;
        return track;
    }
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return 0;
}

static uint32_t find(uint32_t kind, uint32_t device, uint32_t number) {
    const uint64_t hash = ((uint64_t)number << 32 | device << 2 | kind) * UINT64_C(0x9e3779b97f4a7c15);
    const uint32_t at = (uint32_t)(hash >> 32) % PLACES;
    if (places[at].track && is_of(&places[at].key, kind, device, number))
        return places[at].track;
    return search((struct key){kind, device, number}, at);
}

uint32_t tracks_stream(uint32_t device, uint32_t stream) {
    return find(OF_STREAM, device, stream);
}

uint32_t tracks_of_device(uint32_t device, enum tracks_what what) {
    return find(OF_DEVICE, device, what);
}

uint32_t tracks_thread(uint32_t tid) {
    return tid ? find(OF_THREAD, 0, tid) : 0;
}
