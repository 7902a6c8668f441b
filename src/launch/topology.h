// SPDX-License-Identifier: Apache-2.0
// The inside of a topology: what topology.c finds of PCI devices, and topology_links.c of links beyond PCIe.
#ifndef LAUNCH_TOPOLOGY_H
#define LAUNCH_TOPOLOGY_H

#include <stdbool.h>

#include "launch/topology_files.h"
#include "tracesmith/topology.h"

enum { TOPOLOGY_NAME = 64, TOPOLOGY_BRIDGES = 32 };

// A PCIe link from a device or bridge up to the one above it.
struct topology_link {
    uint32_t lanes;
    uint64_t bytes_per_s; // 0: unknown
};

struct topology_node {
    tsmith_topology_kind kind;
    char name[TOPOLOGY_NAME], address[TOPOLOGY_NAME];
    uint32_t vendor, device;
    int32_t numa;
    uint64_t port_bits_per_s;
    int64_t kfd; // AMD's number of the node, -1: none
    // From the host bridge ("pci0000:00") to the device; the first has no link. 0: the place is not known.
    size_t depth;
    char above[TOPOLOGY_BRIDGES][TOPOLOGY_NAME];
    struct topology_link links[TOPOLOGY_BRIDGES];
};

struct tsmith_topology {
    char root[TOPOLOGY_PATH];
    struct topology_node *nodes;
    size_t count, capacity;
    struct topology_xgmi { // from a GPU to another
        size_t from, to;
        uint64_t bytes_per_s;
    } * xgmi;
    size_t xgmi_count, xgmi_capacity;
    bool failed; // memory was exhausted
};

// Finds AMD's numbers and links of the GPUs, and the ports of network adapters.
void topology_find_links(struct tsmith_topology *topology);
void topology_find_ports(const char *adapter, struct topology_node *node);

#endif
