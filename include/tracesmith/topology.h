// SPDX-License-Identifier: Apache-2.0
// How the GPUs and network adapters of a machine are connected, as the operating system's kernel describes it in /sys: PCIe
// switches, host bridges, NUMA nodes, and AMD's XGMI links. NVLink is not described there: NVIDIA's driver states it (NVML), and without
// that, of boards with NVSwitches it is known from the models of their devices. A trace keeps it, for answers on other machines.
#ifndef TRACESMITH_TOPOLOGY_H
#define TRACESMITH_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_topology tsmith_topology;

typedef enum tsmith_topology_kind { TSMITH_TOPOLOGY_GPU = 1, TSMITH_TOPOLOGY_NIC = 2 } tsmith_topology_kind;

// The paths between two nodes, from the best. The names up to SYS are those that `nvidia-smi topo` prints.
// X(NAME, "what it means")
#define TSMITH_TOPOLOGY_PATH_TABLE(X)                                                                        \
    X(XGMI, "a direct link between AMD GPUs")                                                                \
    X(NVSWITCH, "NVLink through the NVSwitches of NVIDIA's board")                                           \
    X(NVLINK, "NVLink to the other GPU")                                                                     \
    X(PIX, "one PCIe switch")                                                                                \
    X(PXB, "several PCIe switches")                                                                          \
    X(PHB, "the PCIe host bridge of a processor")                                                            \
    X(NODE, "several host bridges of one NUMA node")                                                         \
    X(SYS, "the link between NUMA nodes")                                                                    \
    X(UNKNOWN, "not described")

typedef enum tsmith_topology_path_kind {
#define TSMITH_TOPOLOGY_PATH_ENUM(NAME, text) TSMITH_TOPOLOGY_##NAME,
    TSMITH_TOPOLOGY_PATH_TABLE(TSMITH_TOPOLOGY_PATH_ENUM)
#undef TSMITH_TOPOLOGY_PATH_ENUM
} tsmith_topology_path_kind;

// A GPU or a network adapter (InfiniBand, RoCE). Texts live as long as the topology.
typedef struct tsmith_topology_node {
    size_t size; // of this struct; set by the caller
    tsmith_topology_kind kind;
    const char *name;    // "GPU0" in the order of PCI addresses, "mlx5_0"
    const char *address; // "0000:65:00.0"
    uint32_t vendor, device;
    int32_t numa;             // -1: unknown
    uint32_t lanes;           // of its PCIe link as it is now; 0: unknown
    uint64_t bytes_per_s;     // what that link transfers in one direction, after its encoding; 0: unknown
    uint64_t port_bits_per_s; // of a network adapter's fastest active port; 0: unknown, or none is active
    const char *uuid;         // of a GPU, as files of its driver have it; "": unknown
    // Of an NVIDIA GPU, as NVML states it: its NVLinks that transfer, and those that do not (down, or nothing is connected). -1: unknown
    int32_t nvlinks, nvlinks_inactive;
    const char *nvlinks_why; // NVML was asked and they are unknown: the reason; else ""
} tsmith_topology_node;

typedef struct tsmith_topology_path {
    size_t size; // of this struct; set by the caller
    tsmith_topology_path_kind kind;
    uint64_t
        bytes_per_s; // the slowest PCIe link between the two, the XGMI link, or NVLink, in one direction; 0: unknown
    uint32_t nvlinks; // of NVLINK and NVSWITCH: how many links (NV18); 0: unknown, or another path
    // What the rate is from, static: "pcie" (link speed and width in /sys), "kfd", "model" (specification of the GPU's model), "link_speed"
    // and "common_speed" (NVML's speed of a link, or of all links), "version" (specification of the NVLink version); "": it is unknown.
    const char *source;
} tsmith_topology_path;

typedef enum tsmith_topology_end {
    TSMITH_TOPOLOGY_END_UNKNOWN,
    TSMITH_TOPOLOGY_END_GPU,
    TSMITH_TOPOLOGY_END_SWITCH,
    TSMITH_TOPOLOGY_END_OTHER
} tsmith_topology_end;

// The NVLinks of one kind that lead from a GPU to one device.
typedef struct tsmith_topology_nvlink {
    size_t size; // of this struct; set by the caller
    size_t from; // index of the GPU
    tsmith_topology_end end;
    const char *remote; // PCI address of the device; "": unknown
    uint32_t links;
    const char *version;  // "4.0"; "": unknown
    uint64_t bytes_per_s; // of all of them, in one direction; 0: unknown
    const char *source;   // as of a path
} tsmith_topology_nvlink;

// Reads below `root` (NULL: "/"), which may be a folder with a copy of another machine's /sys. NOT_FOUND when there is no
// /sys/bus/pci below it. What is missing or of another form is unknown, and no failure. With NULL it also asks NVML for NVLinks if NVIDIA's driver is
// there, in a child process and for at most 20 s.
TSMITH_API tsmith_status tsmith_topology_open(const char *root, tsmith_topology **out, tsmith_error *error);
// What a trace has of the machine that it was recorded on, in an attribute with this name (docs/topology.md has its text). NOT_FOUND when it
// has none, CORRUPT when it has another form. Nothing of the dictionary is kept.
#define TSMITH_TOPOLOGY_ATTRIBUTE "topology"
TSMITH_API tsmith_status tsmith_topology_of_trace(const tsmith_dictionary *dictionary, tsmith_topology **out,
                                                  tsmith_error *error);
TSMITH_API void tsmith_topology_close(tsmith_topology *topology);
// GPUs come first. 0 (and nothing is written) beyond the last.
TSMITH_API size_t tsmith_topology_count(const tsmith_topology *topology);
TSMITH_API int tsmith_topology_node_get(const tsmith_topology *topology, size_t index,
                                        tsmith_topology_node *out);
// Between two different nodes; 0 for a node and itself, or beyond the last.
TSMITH_API int tsmith_topology_path_get(const tsmith_topology *topology, size_t from, size_t to,
                                        tsmith_topology_path *out);
// The groups of NVLinks, in the order of their GPUs; 0 (and nothing is written) beyond the last.
TSMITH_API int tsmith_topology_nvlink_get(const tsmith_topology *topology, size_t index,
                                          tsmith_topology_nvlink *out);
// "PIX"; never NULL, static.
TSMITH_API const char *tsmith_topology_path_name(tsmith_topology_path_kind kind);

#ifdef __cplusplus
}
#endif
#endif
