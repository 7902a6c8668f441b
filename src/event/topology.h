// SPDX-License-Identifier: Apache-2.0
// The inside of a topology: nodes, what is above them on PCIe, links beyond it; and its text, which a trace keeps.
#ifndef EVENT_TOPOLOGY_H
#define EVENT_TOPOLOGY_H

#include <stdbool.h>

#include "tracesmith/topology.h"

enum {
    TOPOLOGY_NAME = 64,
    TOPOLOGY_BRIDGES = 32,
    TOPOLOGY_PIECE = 512,       // of a line of the text
    TOPOLOGY_NODES_MOST = 1024, // of a text
    TOPOLOGY_LINKS_MOST = 4096,
    TOPOLOGY_REASON = 96,
    TOPOLOGY_NVIDIA = 0x10de
};

// A PCIe link from a device or bridge up to the one above it.
struct topology_link {
    uint32_t lanes;
    uint64_t bytes_per_s; // 0: unknown
    uint64_t most;        // at the highest speed of this end; 0: unknown
};

struct topology_node {
    tsmith_topology_kind kind;
    char name[TOPOLOGY_NAME], address[TOPOLOGY_NAME];
    char uuid
        [TOPOLOGY_NAME]; // as drivers say it: "GPU-8a1f..."; AMD's: its number in hexadecimal; "": unknown
    uint32_t vendor, device;
    int32_t numa;
    uint64_t port_bits_per_s;
    int64_t kfd;      // AMD's number of the node, -1: none
    bool has_nvlinks; // NVML has stated them: those below may be 0
    uint32_t nvlinks, nvlinks_inactive;
    char nvlinks_why[TOPOLOGY_REASON]; // NVML was asked and they are unknown
    // From the host bridge ("pci0000:00") to the device; the first has no link. 0: the place is not known.
    size_t depth;
    char above[TOPOLOGY_BRIDGES][TOPOLOGY_NAME];
    struct topology_link links[TOPOLOGY_BRIDGES];
};

struct tsmith_topology {
    struct topology_node *nodes;
    size_t count, capacity;
    struct topology_xgmi { // from a GPU to another
        size_t from, to;
        uint64_t bytes_per_s;
    } * xgmi;
    size_t xgmi_count, xgmi_capacity;
    struct topology_nvlink { // links of one kind from a GPU to one device; in the order of `from`
        size_t from;
        char remote[TOPOLOGY_NAME]; // PCI address; "": unknown
        uint32_t end, source;       // enum agent_link_end, agent_link_source
        uint32_t links, version;    // version: nvmlNvlinkVersion_t; 0: unknown
        uint64_t bytes_per_s;       // of all of them, in one direction; 0: unknown
    } * nvlinks;
    size_t nvlink_count, nvlink_capacity;
    unsigned nvswitches;
    bool failed; // memory was exhausted
};

struct topology_text {
    char *bytes;
    size_t length, capacity;
};

// The text of the attribute TSMITH_TOPOLOGY_ATTRIBUTE; the caller frees it. NULL when memory is exhausted.
char *topology_text(const struct tsmith_topology *topology);
// Reads such a text, which may be of any origin. CORRUPT when it has another form.
tsmith_status topology_parse(const char *text, tsmith_topology **out, tsmith_error *error);
// The GPU that a device identity of a trace (tsmith_device.identity) names: by its place, or its UUID. The count of nodes if there is none.
size_t topology_find(const struct tsmith_topology *topology, const char *identity);
// The rate of the path between two nodes when idle links have returned to their highest speed; 0: unknown.
uint64_t topology_most(const struct tsmith_topology *topology, size_t from, size_t to);
// Whether the path between two nodes is known to be the best. Not of two GPUs of NVIDIA whose NVLinks NVML has not stated, unless
// NVSwitches connect them.
bool topology_has_all(const struct tsmith_topology *topology, size_t from, size_t to);
// False when memory is exhausted, which `failed` says too.
bool topology_add_nvlink(struct tsmith_topology *topology, const struct topology_nvlink *link);
// Puts the NVLinks between two GPUs into the path if NVML has stated any. `is_stated`: it has stated whether there are any.
void topology_find_nvlinks(const struct tsmith_topology *topology, size_t from, size_t to,
                           tsmith_topology_path *path, bool *is_stated);
// Words of the text: "speed", "switch"; their numbers, or UINT32_MAX.
const char *topology_source_word(uint32_t source);
const char *topology_end_word(uint32_t end);
uint32_t topology_source_of(const char *word);
uint32_t topology_end_of(const char *word);

#endif
