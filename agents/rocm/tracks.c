// SPDX-License-Identifier: Apache-2.0
// Devices and tracks. A device is an agent of the SDK of type GPU; a track is a stream of the program on it, or, where the stream
// is not known, a queue of the hardware: HIP distributes all streams over a few queues, and a stream's commands are in order.
// Rules: agent.h.
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "agentkit/device.h"
#include "agentkit/track_table.h"

enum { AGENTS_MAX = 128, OF_AGENT = 1, OF_QUEUE, OF_THREAD }; // kinds of keys

static struct {
    uint64_t id;
    uint32_t device; // in the channel; 0: not a GPU
} agents[AGENTS_MAX];
static uint32_t agent_count;

// ---- devices

// The same in every process and API: the identity that AMD gives the board, else its place.
static void identify(const void *record, char *out, size_t size) {
    uint8_t bytes[16] = {0};
    unsigned any = 0;
    size_t length = (size_t)snprintf(out, size, "GPU-");
    if (sdk_head_size(record) >= SDK_AT_agent_uuid + sizeof bytes)
        memcpy(bytes, (const char *)record + SDK_AT_agent_uuid, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        any |= bytes[i];
        length += (size_t)snprintf(out + length, size - length, "%02x", bytes[i]);
    }
    if (any)
        return;
    out[0] = '\0';
    if (SDK_HAS(record, agent, domain))
        snprintf(out, size, "PCI-%04x:%02x:%02x.%u", sdk_agent_domain(record),
                 sdk_agent_location(record) >> 8 & 0xff, sdk_agent_location(record) >> 3 & 0x1f,
                 sdk_agent_location(record) & 7);
}

static uint32_t add_device(const void *record) {
    char identity[64];
    const struct agent_device device = device_described(record);
    identify(record, identity, sizeof identity);
    return device_add(
        &device, SDK_HAS(record, agent, number) ? (uint32_t)sdk_agent_number(record) + 1 : agent_count + 1,
        identity);
}

static int each_agents(int version, const void **records, size_t count, void *unused) {
    (void)version, (void)unused;
    for (size_t i = 0; i < count && agent_count < AGENTS_MAX; i++) {
        if (!SDK_HAS(records[i], agent, type))
            continue;
        agents[agent_count].device = sdk_agent_type(records[i]) == SDK_AGENT_GPU ? add_device(records[i]) : 0;
        agents[agent_count++].id = sdk_agent_id(records[i]);
    }
    return SDK_SUCCESS;
}

void tracks_start(void) {
    // The SDK refuses a caller whose form is longer than its own. Members are read by the record's own size.
    (void)sdk.query_available_agents(SDK_AGENT_VERSION, each_agents, SDK_END_agent_type, NULL);
}

static uint32_t device_of(uint64_t id) {
    for (uint32_t i = 0; i < agent_count; i++)
        if (agents[i].id == id)
            return agents[i].device;
    return 0;
}

bool tracks_is_device(uint64_t agent_id) {
    return device_of(agent_id) != 0;
}

// ---- tracks

// Of a key `device` is the SDK's agent, `number` a queue, what of the agent, or the thread; `more` the stream.
static void name_of(const struct track_key *key, char *out, size_t size) {
    static const char *const whats[] = {"memory", "copies", "page migration"};
    if (key->kind == OF_AGENT)
        snprintf(out, size, "%s", whats[key->number]);
    else if (key->more)
        snprintf(out, size, "%sstream %u", key->more == 1 ? "default " : "", key->more - 1);
    else
        snprintf(out, size, "queue %llu", (unsigned long long)key->number);
}

static uint32_t make_track(const struct track_key *key) {
    char name[64];
    if (key->kind == OF_THREAD)
        return channel_thread(agent.channel, (uint32_t)key->number);
    name_of(key, name, sizeof name);
    const tsmith_track track = {
        .kind = key->kind == OF_QUEUE          ? TSMITH_TRACK_QUEUE
                : key->number == TRACKS_COPIES ? TSMITH_TRACK_COPY_ENGINE
                                               : TSMITH_TRACK_CUSTOM,
        .flags = sdk.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = channel_string_cstr(agent.channel, name),
        .device = device_of(key->device),
        .queue = key->kind != OF_QUEUE ? 0
                 : key->more           ? key->more - 1
                                       : key->number,
    };
    return channel_track(agent.channel, &track);
}

uint32_t tracks_queue(uint64_t agent_id, uint64_t queue, uint32_t stream) {
    return track_table_get(&(struct track_key){agent_id, stream ? 0 : queue, stream, OF_QUEUE}, make_track);
}

uint32_t tracks_of_agent(uint64_t agent_id, enum tracks_what what) {
    return track_table_get(&(struct track_key){agent_id, what, 0, OF_AGENT}, make_track);
}

uint32_t tracks_thread(uint64_t tid) {
    return tid ? track_table_get(&(struct track_key){0, tid, 0, OF_THREAD}, make_track) : 0;
}
