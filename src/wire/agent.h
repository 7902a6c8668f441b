// SPDX-License-Identifier: Apache-2.0
// The functions that an agent's library exports for TraceSmith, in addition to those for the loader of its API.
#ifndef WIRE_AGENT_H
#define WIRE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

// A further property of a device, for display: "uuid", "nvlink".
struct agent_fact {
    const char *key;
    const char *text;
};

// A device of the agent's API. Strings live until `each` returns; "" when the API does not report it.
struct agent_device {
    const char *api; // "opencl"
    const char *platform;
    const char *name;
    const char *vendor;
    const char *driver; // its version
    const char *type;   // "cpu", "gpu", "accelerator"
    uint64_t memory_bytes;
    uint32_t compute_units;
    uint32_t clock_mhz;
    const struct agent_fact *facts; // up to one without a key; NULL: none
    const char *
        problem; // not NULL: not a device, but the reason why the API has none or describes them incompletely
    const char *
        library; // not NULL: not a device, but the API's library on this machine, of an API without devices (MPI)
};

// Calls `each` for every device of the API on this machine, loading the API's own loader into the calling
// process. Returns how many there were, or AGENT_DEVICES_NO_LOADER when the API is not installed. Called in a
// process of TraceSmith, never in a profiled one.
#define AGENT_DEVICES_SYMBOL "tracesmith_agent_devices"
#define AGENT_DEVICES_NO_LOADER (-1)
typedef int agent_devices_function(void (*each)(void *context, const struct agent_device *device),
                                   void *context);

// Recording was just switched on or off (layout_control.armed) by the process itself: an agent whose API reports
// events later needs the time, and ensures that everything that has ended is recorded when this returns. Optional.
#define AGENT_SWITCHED_SYMBOL "tracesmith_agent_switched"
typedef void agent_switched_function(int on);

// Samples counters of devices into the session in `directory`, `rate` times a second, until `stop` can be read or its other
// end is closed. Calls `ready` once: with NULL when sampling begins, else with why it cannot (then returns false).
// Called in a separate process of the collector.
#define AGENT_SAMPLE_SYMBOL "tracesmith_agent_sample"
typedef bool agent_sample_function(const char *directory, uint32_t rate, int stop,
                                   void (*ready)(void *context, const char *why), void *context);

// The NVLinks of a GPU, as NVML states them (`devices --topology`, and the topology of a recording). Only values, because a child
// process writes it into a pipe. Addresses are those of PCI: "0000:65:00.0". What is unknown is 0 or "".
enum { AGENT_LINK_GROUPS = 36, AGENT_LINK_TEXT = 96, AGENT_LINK_ADDRESS = 32 };
enum agent_link_end { AGENT_END_UNKNOWN, AGENT_END_GPU, AGENT_END_SWITCH, AGENT_END_OTHER };
enum agent_link_source {
    AGENT_SPEED_UNKNOWN,
    AGENT_SPEED_OF_LINK,   // NVML_FI_DEV_NVLINK_GET_SPEED
    AGENT_SPEED_COMMON,    // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
    AGENT_SPEED_OF_VERSION // the rate that the version of NVLink has by its specification
};
struct agent_gpu_links {
    char gpu[AGENT_LINK_ADDRESS]; // "": NVML cannot be used, for the reason `why`
    char uuid[AGENT_LINK_TEXT];
    char why[AGENT_LINK_TEXT]; // not "": the links are unknown, for this reason
    uint32_t device;           // of PCI
    uint32_t active, inactive;
    uint32_t count; // of groups: links of one kind to one device
    struct agent_link_group {
        char remote[AGENT_LINK_ADDRESS];
        uint32_t end, source; // agent_link_end, agent_link_source
        uint32_t links;
        uint32_t version;     // nvmlNvlinkVersion_t
        uint64_t bytes_per_s; // of all of them together, in one direction
    } groups[AGENT_LINK_GROUPS];
};

// Calls `each` for every NVIDIA GPU; returns as AGENT_DEVICES_SYMBOL does. Called in a child process of TraceSmith.
#define AGENT_LINKS_SYMBOL "tracesmith_agent_links"
typedef int agent_links_function(void (*each)(void *context, const struct agent_gpu_links *links),
                                 void *context);

#endif
