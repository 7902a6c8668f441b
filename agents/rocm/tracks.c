// SPDX-License-Identifier: Apache-2.0
// Devices and tracks. A device is an agent of the SDK of type GPU; a track is a stream of the program on it, or, where the stream
// is not known, a queue of the hardware: HIP distributes all streams over a few queues, and a stream's commands are in order.
// Rules: agent.h.
#include <stdio.h>

#include "agent.h"
#include "agentkit/device.h"
#include "agentkit/track_table.h"
#include "base/pci.h"

enum { AGENTS_MAX = 128, OF_AGENT = 1, OF_QUEUE }; // kinds of keys

static struct {
    uint64_t id;
    uint32_t device; // in the channel; 0: not a GPU
} agents[AGENTS_MAX];
static uint32_t agent_count;

// ---- devices

// The same in every process and API: its place, which parts of a partitioned GPU have of their own (the function), and other APIs give
// too. AMD's number of the board, if there is no place.
static void identify(const void *record, char out[PCI_IDENTITY_SIZE]) {
    const uint32_t place = SDK_OR_0(record, agent, location), domain = SDK_OR_0(record, agent, domain);
    const uint64_t board = SDK_OR_0(record, agent, uuid);
    out[0] = '\0';
    if (place || domain)
        pci_identity(domain, place >> 8, place >> 3 & 0x1f, place & 7, out);
    if (!out[0] && board)
        snprintf(out, PCI_IDENTITY_SIZE, "GPU-%016llx", (unsigned long long)board);
}

static uint32_t add_device(const void *record) {
    char identity[PCI_IDENTITY_SIZE];
    const struct agent_device device = device_described(record);
    identify(record, identity);
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

// Of a key `device` is the SDK's agent, `number` a queue or what of the agent, `more` the stream.
static uint32_t make_track(const struct track_key *key) {
    static const char *const whats[] = {"memory", "copies", "page migration"};
    const uint16_t flags = sdk.simulated ? TSMITH_TRACK_SIMULATED : 0;
    const uint32_t device = device_of(key->device);
    if (key->kind == OF_AGENT)
        return device_track(key->number == TRACKS_COPIES ? TSMITH_TRACK_COPY_ENGINE : TSMITH_TRACK_CUSTOM,
                            whats[key->number], flags, device, 0, 0);
    return key->more ? device_queue_track(key->more == 1 ? "default stream" : "stream", key->more - 1, flags,
                                          device, 0)
                     : device_queue_track("queue", key->number, flags, device, 0);
}

uint32_t tracks_queue(uint64_t agent_id, uint64_t queue, uint32_t stream) {
    return track_table_get(&(struct track_key){agent_id, stream ? 0 : queue, stream, OF_QUEUE}, make_track);
}

uint32_t tracks_of_agent(uint64_t agent_id, enum tracks_what what) {
    return track_table_get(&(struct track_key){agent_id, what, 0, OF_AGENT}, make_track);
}
