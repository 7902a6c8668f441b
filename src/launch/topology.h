// SPDX-License-Identifier: Apache-2.0
// Reading the topology of this machine: what topology.c finds of PCI devices, topology_links.c of links beyond PCIe in files, and
// topology_nvlink.c of NVLink.
#ifndef LAUNCH_TOPOLOGY_H
#define LAUNCH_TOPOLOGY_H

#include "event/topology.h"
#include "launch/topology_files.h"

// What /sys below `root` (NULL: of this machine) describes. As tsmith_topology_open, without NVML.
tsmith_status topology_read(const char *root, struct tsmith_topology **out, tsmith_error *error);
// Finds AMD's numbers and links of the GPUs, and the ports of network adapters.
void topology_find_links(struct tsmith_topology *topology, const char *root);
void topology_find_ports(const char *adapter, struct topology_node *node);
// The UUID of a GPU, as files of its driver have it.
void topology_find_uuid(const char *root, const char *device, struct topology_node *node);

#endif
