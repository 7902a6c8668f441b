// SPDX-License-Identifier: Apache-2.0
// Links beyond PCIe: XGMI between AMD GPUs, from the topology of the kernel's driver kfd (its format: the kernel's
// drivers/gpu/drm/amd/amdkfd), and the ports of network adapters. topology.c calls it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launch/topology.h"

enum { KFD_LINK_XGMI = 11 }; // CRAT_IOLINK_TYPE_XGMI

struct kfd {
    struct tsmith_topology *topology;
    char folder[TOPOLOGY_PATH]; // of the nodes, then of the links of one
};

static struct topology_node *node_by_address(struct tsmith_topology *topology, const char *address) {
    for (size_t i = 0; i < topology->count; i++)
        if (topology->nodes[i].kind == TSMITH_TOPOLOGY_GPU &&
            strcmp(topology->nodes[i].address, address) == 0)
            return &topology->nodes[i];
    return NULL;
}

// The node of kfd is a GPU if it has a place on PCI: bus, device and function in 16 bits.
static void find_number(void *context, const char *number) {
    struct kfd *kfd = context;
    char folder[TOPOLOGY_PATH], address[TOPOLOGY_NAME];
    uint64_t location, domain = 0;
    if (!topology_join(folder, kfd->folder, number) ||
        !topology_property(folder, "properties", "location_id", &location) || !location || location > 0xffff)
        return;
    (void)topology_property(folder, "properties", "domain", &domain);
    (void)snprintf(address, sizeof address, "%04x:%02x:%02x.%x", (unsigned)(domain & 0xffffffff),
                   (unsigned)(location >> 8), (unsigned)(location >> 3 & 0x1f), (unsigned)(location & 7));
    struct topology_node *node = node_by_address(kfd->topology, address);
    if (node)
        node->kfd = strtol(number, NULL, 10);
}

static bool index_of(const struct tsmith_topology *topology, uint64_t kfd, size_t *out) {
    for (*out = 0; *out < topology->count; ++*out)
        if (topology->nodes[*out].kfd >= 0 && (uint64_t)topology->nodes[*out].kfd == kfd)
            return true;
    return false;
}

static void find_link(void *context, const char *number) {
    struct kfd *kfd = context;
    char folder[TOPOLOGY_PATH];
    uint64_t type, from, to, rate = 0;
    struct topology_xgmi link;
    if (!topology_join(folder, kfd->folder, number) ||
        !topology_property(folder, "properties", "type", &type) || type != KFD_LINK_XGMI ||
        !topology_property(folder, "properties", "node_from", &from) ||
        !topology_property(folder, "properties", "node_to", &to) ||
        !index_of(kfd->topology, from, &link.from) || !index_of(kfd->topology, to, &link.to))
        return;
    (void)topology_property(folder, "properties", "max_bandwidth", &rate); // MB/s
    link.bytes_per_s = rate < UINT32_MAX ? rate * 1000000 : 0;
    struct topology_xgmi *place =
        ARRAY_PUSH(kfd->topology->xgmi, kfd->topology->xgmi_count, kfd->topology->xgmi_capacity);
    if (place)
        *place = link;
    kfd->topology->failed |= !place;
}

static void find_links_of(void *context, const char *number) {
    struct kfd *kfd = context;
    struct kfd links = {.topology = kfd->topology};
    char folder[TOPOLOGY_PATH];
    if (topology_join(folder, kfd->folder, number) && topology_join(links.folder, folder, "io_links"))
        (void)topology_each(links.folder, find_link, &links);
}

void topology_find_links(struct tsmith_topology *topology, const char *root) {
    struct kfd kfd = {.topology = topology};
    if (!topology_join(kfd.folder, root, "sys/class/kfd/kfd/topology/nodes"))
        return;
    (void)topology_each(kfd.folder, find_number, &kfd); // not there: no AMD driver
    (void)topology_each(kfd.folder, find_links_of, &kfd);
}

struct ports {
    struct topology_node *node;
    char folder[TOPOLOGY_PATH];
};

static void find_port(void *context, const char *number) {
    struct ports *ports = context;
    char folder[TOPOLOGY_PATH], state[TOPOLOGY_LINE], rate[TOPOLOGY_LINE];
    if (!topology_join(folder, ports->folder, number))
        return;
    topology_line(folder, "state", state); // "4: ACTIVE"
    topology_line(folder, "rate", rate);   // "400 Gb/sec (4X NDR)"
    const double giga = strstr(rate, "Gb/sec") ? strtod(rate, NULL) : 0;
    if (!strstr(state, "ACTIVE") || !(giga > 0 && giga < 1e6))
        return;
    const uint64_t bits = (uint64_t)(giga * 1e9);
    ports->node->port_bits_per_s = bits > ports->node->port_bits_per_s ? bits : ports->node->port_bits_per_s;
}

void topology_find_ports(const char *adapter, struct topology_node *node) {
    struct ports ports = {.node = node};
    if (topology_join(ports.folder, adapter, "ports"))
        (void)topology_each(ports.folder, find_port, &ports);
}

// NVIDIA's driver has "GPU UUID: \t GPU-8a1f..." in a file of /proc, AMD's a number in /sys.
void topology_find_uuid(const char *root, const char *device, struct topology_node *node) {
    static const char PREFIX[] = "GPU UUID:";
    char folder[TOPOLOGY_PATH], driver[TOPOLOGY_PATH], text[TOPOLOGY_TEXT + 1], line[TOPOLOGY_LINE];
    topology_line(device, "unique_id", line);
    if (node->vendor != TOPOLOGY_NVIDIA) {
        (void)snprintf(node->uuid, sizeof node->uuid, "%.16s", line);
        return;
    }
    if (!topology_join(driver, root, "proc/driver/nvidia/gpus") ||
        !topology_join(folder, driver, node->address))
        return;
    topology_text_of(folder, "information", text);
    const char *at = strstr(text, PREFIX);
    at = at ? at + sizeof PREFIX - 1 : "";
    at += strspn(at, " \t");
    const size_t length = strcspn(at, " \t\n");
    if (length && length < sizeof node->uuid) {
        memcpy(node->uuid, at, length);
        node->uuid[length] = '\0';
    }
}
