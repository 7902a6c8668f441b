// SPDX-License-Identifier: Apache-2.0
// Finds the GPUs and network adapters of a machine and where they are on PCIe. `tracesmith devices --topology` calls it.
#include "launch/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "launch/launch.h"
#include "launch/launch_agents.h"
#include "launch/topology_nvlink.h"

static const int64_t NVML_PATIENCE = 20000000000; // ns: a driver that is not in use may have to be loaded

// ---- one device

// Transfers per second and lane carry so much after their encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32, flits above.
static uint64_t rate_of(double giga, uint32_t lanes) {
    const double share = giga <= 5 ? 0.8 : giga <= 32 ? 128.0 / 130 : 242.0 / 256;
    return giga > 0 && giga < 1000 && lanes && lanes <= 32 ? (uint64_t)(giga * 1e9 / 8 * share * lanes) : 0;
}

static struct topology_link read_link(const char *folder) {
    char speed[TOPOLOGY_LINE];
    int64_t lanes;
    struct topology_link link = {0, 0, 0};
    topology_line(folder, "current_link_speed", speed); // "16.0 GT/s PCIe"
    if (!topology_number(folder, "current_link_width", &lanes) || lanes <= 0 || lanes > 32)
        return link;
    link.lanes = (uint32_t)lanes;
    link.bytes_per_s = strstr(speed, "GT/s") ? rate_of(strtod(speed, NULL), link.lanes) : 0;
    topology_line(folder, "max_link_speed", speed);
    link.most = strstr(speed, "GT/s") ? rate_of(strtod(speed, NULL), link.lanes) : link.bytes_per_s;
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

// Of boards with A100, or with H100 and H200.
static bool is_nvswitch(const char *folder, int64_t class, int64_t vendor) {
    int64_t device;
    return class >> 8 == 0x0680 && vendor == TOPOLOGY_NVIDIA && topology_number(folder, "device", &device) &&
           (device == 0x1af1 || device == 0x22a3);
}

struct finding {
    struct tsmith_topology *topology;
    const char *root; // "" or a folder
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
        !topology_number(folder, "vendor", &vendor))
        return;
    finding->topology->nvswitches += is_nvswitch(folder, class, vendor);
    if (!is_gpu(class, (uint32_t)vendor))
        return;
    struct topology_node node;
    read_device(folder, address, &node);
    node.kind = TSMITH_TOPOLOGY_GPU;
    topology_find_uuid(finding->root, folder, &node);
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

tsmith_status topology_read(const char *root, struct tsmith_topology **out, tsmith_error *error) {
    struct finding finding = {.topology = calloc(1, sizeof **out), .root = root ? root : ""};
    *out = NULL;
    if (!finding.topology)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the topology");
    tsmith_status status = TSMITH_OK;
    if (strlen(finding.root) >= TOPOLOGY_PATH - TOPOLOGY_LINE ||
        !topology_join(finding.folder, finding.root, "sys/bus/pci/devices") ||
        !topology_each(finding.folder, find_gpu, &finding))
        status =
            status_set(error, TSMITH_ERROR_NOT_FOUND,
                       "%.200s/sys/bus/pci/devices cannot be read: it has no description of PCI devices.",
                       root ? root : "");
    if (status == TSMITH_OK && topology_join(finding.folder, finding.root, "sys/class/infiniband"))
        (void)topology_each(finding.folder, find_nic, &finding); // not there: no adapter
    if (status == TSMITH_OK)
        topology_find_links(finding.topology, finding.root);
    if (status == TSMITH_OK && finding.topology->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the topology");
    if (status == TSMITH_OK)
        *out = finding.topology;
    else
        tsmith_topology_close(finding.topology);
    return status;
}

// Without /sys the GPUs are those that NVML lists.
static tsmith_status add_nvlinks(struct nvlink_query *query, tsmith_status status, tsmith_topology **out,
                                 tsmith_error *error) {
    tsmith_topology *topology = *out ? *out : calloc(1, sizeof *topology);
    const bool any = nvlink_query_finish(query, NVML_PATIENCE, topology);
    *out = NULL;
    if (!topology || topology->failed)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading the topology");
    else if (status == TSMITH_OK || (any && topology->count))
        *out = topology;
    if (!*out)
        tsmith_topology_close(topology);
    return *out ? TSMITH_OK : status;
}

tsmith_status tsmith_topology_open(const char *root, tsmith_topology **out, tsmith_error *error) {
    struct nvlink_query query = {.pid = 0};
    char directory[4096];
    if (!root && launch_agent_directory(NULL, directory, sizeof directory, NULL) == TSMITH_OK)
        nvlink_query_start(&query, directory);
    const tsmith_status status = topology_read(root, out, error);
    return query.pid ? add_nvlinks(&query, status, out, error) : status;
}
