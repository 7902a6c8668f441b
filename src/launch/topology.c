// SPDX-License-Identifier: Apache-2.0
// Finds the GPUs and network adapters of a machine and where they are on PCIe. `tracesmith devices --topology` calls it.
#include "launch/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"

static const char *const path_names[] = {
#define PATH_NAME(NAME, text) #NAME,
    TSMITH_TOPOLOGY_PATH_TABLE(PATH_NAME)
#undef PATH_NAME
};

const char *tsmith_topology_path_name(tsmith_topology_path_kind kind) {
    return kind >= TSMITH_TOPOLOGY_XGMI && kind < TSMITH_TOPOLOGY_UNKNOWN ? path_names[kind] : "UNKNOWN";
}

// ---- one device

// Transfers per second and lane carry so much after their encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32, flits above.
static uint64_t rate_of(double giga, uint32_t lanes) {
    const double share = giga <= 5 ? 0.8 : giga <= 32 ? 128.0 / 130 : 242.0 / 256;
    return giga > 0 && giga < 1000 && lanes && lanes <= 32 ? (uint64_t)(giga * 1e9 / 8 * share * lanes) : 0;
}

static struct topology_link read_link(const char *folder) {
    char speed[TOPOLOGY_LINE];
    int64_t lanes;
    struct topology_link link = {0, 0};
    topology_line(folder, "current_link_speed", speed); // "16.0 GT/s PCIe"
    if (!topology_number(folder, "current_link_width", &lanes) || lanes <= 0 || lanes > 32)
        return link;
    link.lanes = (uint32_t)lanes;
    link.bytes_per_s = strstr(speed, "GT/s") ? rate_of(strtod(speed, NULL), link.lanes) : 0;
    return link;
}

// The folders above a device, from its real path ".../devices/pci0000:00/0000:00:01.0/0000:01:00.0".
static void read_place(const char *real, struct topology_node *node) {
    static const char START[] = "/devices/pci";
    const char *at = strstr(real, START);
    for (at = at ? at + sizeof "/devices" : NULL; at && *at;) {
        const size_t length = strcspn(at, "/");
        if (length >= TOPOLOGY_NAME || node->depth == TOPOLOGY_BRIDGES) {
            node->depth = 0;
            return;
        }
        memcpy(node->above[node->depth], at, length);
        node->above[node->depth][length] = '\0';
        if (node->depth) {
            char folder[TOPOLOGY_PATH];
            (void)snprintf(folder, sizeof folder, "%.*s", (int)(at + length - real), real);
            node->links[node->depth] = read_link(folder);
        }
        node->depth++;
        at += length + (at[length] == '/');
    }
}

static void read_device(const char *folder, const char *address, struct topology_node *node) {
    char real[TOPOLOGY_PATH];
    int64_t value;
    *node = (struct topology_node){.numa = -1, .kfd = -1};
    (void)snprintf(node->address, sizeof node->address, "%.*s", TOPOLOGY_NAME - 1, address);
    node->vendor = topology_number(folder, "vendor", &value) ? (uint32_t)value : 0;
    node->device = topology_number(folder, "device", &value) ? (uint32_t)value : 0;
    if (topology_number(folder, "numa_node", &value) && value >= 0 && value < INT32_MAX)
        node->numa = (int32_t)value;
    if (realpath(folder, real))
        read_place(real, node);
}

// ---- which devices

// Displays, 3D controllers and accelerators. A server's management controller shows a picture and computes nothing.
static bool is_gpu(int64_t class, uint32_t vendor) {
    enum {
        ASPEED = 0x1a03,
        MATROX = 0x102b,
        CIRRUS = 0x1013,
        BOCHS = 0x1234,
        VIRTIO = 0x1af4,
        VMWARE = 0x15ad
    };
    switch (class >> 8) {
    case 0x0302: // 3D controller
    case 0x1200: // accelerator
        return true;
    case 0x0300: // VGA
    case 0x0380: // other display
        return vendor != ASPEED && vendor != MATROX && vendor != CIRRUS && vendor != BOCHS &&
               vendor != VIRTIO && vendor != VMWARE;
    default:
        return false;
    }
}

struct finding {
    struct tsmith_topology *topology;
    char folder[TOPOLOGY_PATH];
    unsigned gpus;
};

static void add_node(struct finding *finding, const struct topology_node *node) {
    struct tsmith_topology *topology = finding->topology;
    struct topology_node *place = ARRAY_PUSH(topology->nodes, topology->count, topology->capacity);
    if (place)
        *place = *node;
    topology->failed |= !place;
}

static void find_gpu(void *context, const char *address) {
    struct finding *finding = context;
    char folder[TOPOLOGY_PATH];
    int64_t class, vendor;
    if (!topology_join(folder, finding->folder, address) || !topology_number(folder, "class", &class) ||
        !topology_number(folder, "vendor", &vendor) || !is_gpu(class, (uint32_t)vendor))
        return;
    struct topology_node node;
    read_device(folder, address, &node);
    node.kind = TSMITH_TOPOLOGY_GPU;
    (void)snprintf(node.name, sizeof node.name, "GPU%u", finding->gpus++);
    add_node(finding, &node);
}

static void find_nic(void *context, const char *name) {
    struct finding *finding = context;
    char folder[TOPOLOGY_PATH], device[TOPOLOGY_PATH], real[TOPOLOGY_PATH];
    if (!topology_join(folder, finding->folder, name) || !topology_join(device, folder, "device") ||
        !realpath(device, real))
        return;
    struct topology_node node;
    read_device(device, strrchr(real, '/') + 1, &node);
    node.kind = TSMITH_TOPOLOGY_NIC;
    (void)snprintf(node.name, sizeof node.name, "%.*s", TOPOLOGY_NAME - 1, name);
    topology_find_ports(folder, &node);
    add_node(finding, &node);
}

tsmith_status tsmith_topology_open(const char *root, tsmith_topology **out, tsmith_error *error) {
    struct finding finding = {.topology = calloc(1, sizeof **out)};
    *out = NULL;
    if (!finding.topology)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the topology");
    const int length = snprintf(finding.topology->root, TOPOLOGY_PATH, "%s", root ? root : "");
    tsmith_status status = TSMITH_OK;
    if (length < 0 || length >= TOPOLOGY_PATH - TOPOLOGY_LINE ||
        !topology_join(finding.folder, finding.topology->root, "sys/bus/pci/devices") ||
        !topology_each(finding.folder, find_gpu, &finding))
        status =
            status_set(error, TSMITH_ERROR_NOT_FOUND,
                       "%.200s/sys/bus/pci/devices cannot be read: it has no description of PCI devices.",
                       root ? root : "");
    if (status == TSMITH_OK && topology_join(finding.folder, finding.topology->root, "sys/class/infiniband"))
        (void)topology_each(finding.folder, find_nic, &finding); // not there: no adapter
    if (status == TSMITH_OK)
        topology_find_links(finding.topology);
    if (status == TSMITH_OK && finding.topology->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the topology");
    if (status == TSMITH_OK)
        *out = finding.topology;
    else
        tsmith_topology_close(finding.topology);
    return status;
}

void tsmith_topology_close(tsmith_topology *topology) {
    if (!topology)
        return;
    free(topology->nodes);
    free(topology->xgmi);
    free(topology);
}

size_t tsmith_topology_count(const tsmith_topology *topology) {
    return topology->count;
}

int tsmith_topology_node_get(const tsmith_topology *topology, size_t index, tsmith_topology_node *out) {
    if (index >= topology->count)
        return 0;
    const struct topology_node *node = &topology->nodes[index];
    const struct topology_link *link = &node->links[node->depth ? node->depth - 1 : 0];
    const tsmith_topology_node made = {.size = sizeof made,
                                       .kind = node->kind,
                                       .name = node->name,
                                       .address = node->address,
                                       .vendor = node->vendor,
                                       .device = node->device,
                                       .numa = node->numa,
                                       .lanes = link->lanes,
                                       .bytes_per_s = link->bytes_per_s,
                                       .port_bits_per_s = node->port_bits_per_s};
    sized_give(tsmith_topology_node, &made, out);
    return 1;
}

// ---- paths

// The slowest link below the first `common` folders of a node; 0 when one is unknown.
static uint64_t slowest(const struct topology_node *node, size_t common) {
    uint64_t rate = UINT64_MAX;
    for (size_t i = common; i < node->depth; i++)
        rate = node->links[i].bytes_per_s < rate ? node->links[i].bytes_per_s : rate;
    return rate == UINT64_MAX ? 0 : rate;
}

static tsmith_topology_path pcie_path(const struct topology_node *a, const struct topology_node *b) {
    tsmith_topology_path path = {.size = sizeof path, .kind = TSMITH_TOPOLOGY_UNKNOWN};
    size_t common = 0;
    while (common < a->depth && common < b->depth && strcmp(a->above[common], b->above[common]) == 0)
        common++;
    if (common > 1) // below one port; a switch is a port up and ports down
        path.kind =
            a->depth - common <= 2 && b->depth - common <= 2 ? TSMITH_TOPOLOGY_PIX : TSMITH_TOPOLOGY_PXB;
    else if (common == 1)
        path.kind = TSMITH_TOPOLOGY_PHB;
    else if (a->numa >= 0 && b->numa >= 0 && (a->numa != b->numa || (a->depth && b->depth)))
        path.kind = a->numa == b->numa ? TSMITH_TOPOLOGY_NODE : TSMITH_TOPOLOGY_SYS;
    if (!a->depth || !b->depth)
        return path;
    // Bridges that are common have no part in it; those of different host bridges all have.
    const size_t from = common ? common : 1;
    const uint64_t first = slowest(a, from), second = slowest(b, from);
    path.bytes_per_s = first < second ? first : second;
    return path;
}

int tsmith_topology_path_get(const tsmith_topology *topology, size_t from, size_t to,
                             tsmith_topology_path *out) {
    if (from == to || from >= topology->count || to >= topology->count)
        return 0;
    tsmith_topology_path path = pcie_path(&topology->nodes[from], &topology->nodes[to]);
    for (size_t i = 0; i < topology->xgmi_count; i++) {
        if (topology->xgmi[i].from != from || topology->xgmi[i].to != to)
            continue;
        path.kind = TSMITH_TOPOLOGY_XGMI;
        path.bytes_per_s = topology->xgmi[i].bytes_per_s;
    }
    sized_give(tsmith_topology_path, &path, out);
    return 1;
}
