// SPDX-License-Identifier: Apache-2.0
// Devices and tracks. A device is an agent of the SDK of type GPU; a track is a stream of the program on it, or, where the stream
// is not known, a queue of the hardware: HIP distributes all streams over a few queues, and a stream's commands are in order.
// The reader of records is the only caller: no lock. Rules: agent.h.
#include <stdio.h>
#include <string.h>

#include "agent.h"

enum { AGENTS_MAX = 128, PLACES = 1 << 12, OF_AGENT = 1, OF_QUEUE, OF_THREAD };

static struct {
    uint64_t id;
    uint32_t device; // in the channel; 0: not a GPU
} agents[AGENTS_MAX];
static uint32_t agent_count;

struct key {
    uint64_t agent, queue; // or what of an agent, or the thread's id
    uint32_t stream, kind;
};
static struct place {
    struct key key;
    uint32_t track; // 0: the place is empty
} places[PLACES];
static uint32_t used;

// ---- devices

static bool is_gpu(const void *record) {
    return SDK_HAS(record, agent, type) && sdk_agent_type(record) == SDK_AGENT_GPU;
}

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

static uint32_t string_of(const char *text) {
    return text && *text ? channel_string_cstr(agent.channel, text) : 0;
}

static uint32_t add_device(const void *record) {
    char identity[64];
    const char *product = SDK_HAS(record, agent, product) ? sdk_agent_product(record) : NULL;
    const char *name = SDK_HAS(record, agent, name) ? sdk_agent_name(record) : NULL;
    const tsmith_device device = {
        .name = string_of(product && *product ? product : name),
        .vendor = string_of(SDK_HAS(record, agent, vendor) ? sdk_agent_vendor(record) : NULL),
        .api = channel_string_cstr(agent.channel, AGENT_API),
        .type = channel_string_cstr(agent.channel, "gpu"),
        .memory_bytes = SDK_OR_0(record, agent, memory_bytes),
        .compute_units = SDK_OR_0(record, agent, compute_units),
        .clock_mhz = SDK_OR_0(record, agent, clock_mhz),
        .number = SDK_HAS(record, agent, number) ? (uint32_t)sdk_agent_number(record) + 1 : agent_count + 1,
    };
    identify(record, identity, sizeof identity);
    return channel_device_identified(agent.channel, &device, identity);
}

static int each_agents(int version, const void **records, size_t count, void *unused) {
    (void)version, (void)unused;
    for (size_t i = 0; i < count && agent_count < AGENTS_MAX; i++) {
        if (!SDK_HAS(records[i], agent, type))
            continue;
        agents[agent_count].device = is_gpu(records[i]) ? add_device(records[i]) : 0;
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

static uint32_t hash_of(const struct key *key) {
    uint64_t hash = key->agent * UINT64_C(0x9e3779b97f4a7c15) + key->queue;
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + ((uint64_t)key->stream << 8 | key->kind);
    hash = (hash ^ hash >> 31) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(hash >> 32) % PLACES;
}

static void name_of(const struct key *key, char *out, size_t size) {
    static const char *const whats[] = {"memory", "copies", "page migration"};
    if (key->kind == OF_AGENT)
        snprintf(out, size, "%s", whats[key->queue]);
    else if (key->stream)
        snprintf(out, size, "%sstream %u", key->stream == 1 ? "default " : "", key->stream - 1);
    else
        snprintf(out, size, "queue %llu", (unsigned long long)key->queue);
}

static uint32_t make_track(const struct key *key) {
    char name[64];
    if (key->kind == OF_THREAD)
        return channel_thread(agent.channel, (uint32_t)key->queue);
    name_of(key, name, sizeof name);
    const tsmith_track track = {
        .kind = key->kind == OF_QUEUE                                  ? TSMITH_TRACK_QUEUE
                : key->kind == OF_AGENT && key->queue == TRACKS_COPIES ? TSMITH_TRACK_COPY_ENGINE
                                                                       : TSMITH_TRACK_CUSTOM,
        .flags = sdk.simulated ? TSMITH_TRACK_SIMULATED : 0,
        .name = channel_string_cstr(agent.channel, name),
        .device = device_of(key->agent),
        .queue = key->kind != OF_QUEUE ? 0
                 : key->stream         ? key->stream - 1
                                       : key->queue,
    };
    return channel_track(agent.channel, &track);
}

static uint32_t find(const struct key *key) {
    for (uint32_t at = hash_of(key), looks = 0; looks < PLACES; looks++, at = (at + 1) % PLACES) {
        struct place *place = &places[at];
        if (place->track && memcmp(&place->key, key, sizeof *key) == 0)
            return place->track;
        if (place->track)
            continue;
        // A table that is nearly full would be slow to search.
        if (used < PLACES / 4 * 3 && (place->track = make_track(key)) != 0) {
            place->key = *key;
            used++;
            return place->track;
        }
        break;
    }
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return 0;
}

uint32_t tracks_queue(uint64_t agent_id, uint64_t queue, uint32_t stream) {
    return find(&(struct key){agent_id, stream ? 0 : queue, stream, OF_QUEUE});
}

uint32_t tracks_of_agent(uint64_t agent_id, enum tracks_what what) {
    return find(&(struct key){agent_id, what, 0, OF_AGENT});
}

uint32_t tracks_thread(uint64_t tid) {
    return tid ? find(&(struct key){0, tid, 0, OF_THREAD}) : 0;
}
