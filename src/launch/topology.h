// SPDX-License-Identifier: Apache-2.0
// Reading the topology of this machine: what topology.c finds of PCI devices, and topology_links.c of links beyond PCIe.
#ifndef LAUNCH_TOPOLOGY_H
#define LAUNCH_TOPOLOGY_H

#include "event/topology.h"
#include "launch/topology_files.h"

// Finds AMD's numbers and links of the GPUs, and the ports of network adapters.
void topology_find_links(struct tsmith_topology *topology, const char *root);
void topology_find_ports(const char *adapter, struct topology_node *node);
// The UUID of a GPU, as files of its driver have it.
void topology_find_uuid(const char *root, const char *device, struct topology_node *node);

#endif
