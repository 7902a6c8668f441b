// SPDX-License-Identifier: Apache-2.0
// The NVLinks of NVIDIA's GPUs for the topology of a machine, from NVML: how many lead to which device, their version and their
// rate. src/launch/topology_nvlink.c calls it, in a child process.
//
// What a call does not answer is unknown. That a GPU has no link is known only if NVML says that it does not support NVLink.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "library.h"
#include "wire/agent.h"

#define EXPORT __attribute__((visibility("default")))

// The PCI functions of NVSwitches (A100: 1af1, H100 and H200: 22a3), where NVML does not state the type of the other end.
enum { NVSWITCH_A100 = 0x1af110de, NVSWITCH_H100 = 0x22a310de };
enum { GPUS_MAX = 64 };

// Rates of one link in one direction by NVIDIA's specifications, by nvmlNvlinkVersion_t: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
static const uint64_t version_rates[] = {0,           20000000000, 25000000000, 25000000000,
                                         25000000000, 25000000000, 25000000000, 50000000000};
// The numbers before the point, up to 6.0; and nvmlNvlinkVersion_t of those numbers with .0.
static const uint8_t version_majors[] = {0, 1, 2, 2, 3, 3, 4, 5, 6}, major_versions[] = {0, 1, 2, 4, 6, 7, 8};
// The same, by nvmlDeviceArchitecture_t: Pascal, Volta, Turing, Ampere, Hopper and Blackwell have NVLinks. 0: it has none, or is unknown.
static const uint8_t architecture_majors[] = {0, 0, 0, 0, 1, 2, 2, 3, 0, 4, 5};
enum {
    VERSIONS = sizeof version_majors,
    MAJORS = sizeof major_versions,
    ARCHITECTURES = sizeof architecture_majors
};

// "00000000:65:00.0", as NVML has it, is "0000:65:00.0" in /sys.
static void copy_address(char out[AGENT_LINK_ADDRESS], const char *bus) {
    while (*bus == '0' && strcspn(bus, ":") > 4)
        bus++;
    snprintf(out, AGENT_LINK_ADDRESS, "%s", bus);
    for (char *at = out; *at; at++)
        *at = (char)tolower((unsigned char)*at);
}

// ---- one link

// MB/s that a field states; 0: unknown.
static uint64_t field_speed(const struct nvml_library *nvml, nvml_device gpu, unsigned number,
                            unsigned scope) {
    struct nvml_field field = {.field = number, .scope = scope, .result = -1};
    return ANSWERS(nvml, nvmlDeviceGetFieldValues, gpu, 1, &field) && field.result == NVML_SUCCESS &&
                   field.value.u32 < 1000000
               ? field.value.u32
               : 0;
}

static void find_rate(const struct nvml_library *nvml, nvml_device gpu, unsigned link,
                      struct agent_link_group *one) {
    const uint64_t of_link = field_speed(nvml, gpu, NVML_FIELD_NVLINK_SPEED, link),
                   common = of_link ? 0 : field_speed(nvml, gpu, NVML_FIELD_NVLINK_COMMON_SPEED, 0);
    one->source = AGENT_SPEED_UNKNOWN;
    one->bytes_per_s = (of_link ? of_link : common) * 1000000;
    if (of_link)
        one->source = AGENT_SPEED_OF_LINK;
    else if (common)
        one->source = AGENT_SPEED_COMMON;
    else if (one->version < sizeof version_rates / sizeof *version_rates && version_rates[one->version]) {
        one->bytes_per_s = version_rates[one->version];
        one->source = AGENT_SPEED_OF_VERSION;
    }
}

static bool is_gpu_here(const struct nvml_library *nvml, const char *address) {
    unsigned count = 0;
    if (nvml->nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        return false;
    for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
        struct nvml_pci pci = {.bus = 0};
        nvml_device gpu;
        char own[AGENT_LINK_ADDRESS];
        if (nvml->nvmlDeviceGetHandleByIndex_v2(i, &gpu) != NVML_SUCCESS ||
            !ANSWERS(nvml, nvmlDeviceGetPciInfo_v3, gpu, &pci))
            continue;
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        copy_address(own, pci.bus_id);
        if (strcmp(own, address) == 0)
            return true;
    }
    return false;
}

// Which device the link leads to. The type says more than the address, which a switch of another machine does not have.
static void find_end(const struct nvml_library *nvml, nvml_device gpu, unsigned link,
                     struct agent_link_group *one) {
    struct nvml_pci pci = {.bus = 0};
    unsigned type = NVML_REMOTE_UNKNOWN;
    const bool has_type = ANSWERS(nvml, nvmlDeviceGetNvLinkRemoteDeviceType, gpu, link, &type);
    one->end = AGENT_END_UNKNOWN;
    one->remote[0] = '\0';
    if (ANSWERS(nvml, nvmlDeviceGetNvLinkRemotePciInfo_v2, gpu, link, &pci)) {
        pci.bus_id[sizeof pci.bus_id - 1] = '\0';
        copy_address(one->remote, pci.bus_id);
    }
    if (strncmp(one->remote, "ffff", 4) == 0)
        one->remote[0] = '\0'; // a device that is not on this machine
    if (has_type && type != NVML_REMOTE_UNKNOWN)
        one->end = type == NVML_REMOTE_SWITCH ? AGENT_END_SWITCH
                   : type != NVML_REMOTE_GPU  ? AGENT_END_OTHER
                   : one->remote[0]           ? AGENT_END_GPU
                                              : AGENT_END_UNKNOWN;
    else if (pci.device_id == NVSWITCH_A100 || pci.device_id == NVSWITCH_H100)
        one->end = AGENT_END_SWITCH;
    else if (one->remote[0] && is_gpu_here(nvml, one->remote))
        one->end = AGENT_END_GPU;
}

// nvmlNvlinkVersion_t; 0: unknown. NVML documents that type since driver 565; before, its value was "the version", and where a driver
// means the number before the point, 4 is 4.0 and not 3.0. The architecture tells which of both a number is.
static uint32_t find_version(const struct nvml_library *nvml, nvml_device gpu, unsigned link) {
    unsigned stated = 0, architecture = 0;
    if (!ANSWERS(nvml, nvmlDeviceGetNvLinkVersion, gpu, link, &stated) || stated >= VERSIONS)
        return 0;
    if (stated <= 2)
        return stated; // the same in both
    const unsigned major =
        ANSWERS(nvml, nvmlDeviceGetArchitecture, gpu, &architecture) && architecture < ARCHITECTURES
            ? architecture_majors[architecture]
            : 0;
    if (!major) // the largest number before the point that is older than the type is 4
        return stated > 4 ? stated : 0;
    if (version_majors[stated] == major)
        return stated;
    return stated == major ? major_versions[major] : 0;
}

// ---- one GPU

static bool is_same_group(const struct agent_link_group *a, const struct agent_link_group *b) {
    return a->end == b->end && a->version == b->version && a->source == b->source &&
           strcmp(a->remote, b->remote) == 0;
}

static bool add_link(struct agent_gpu_links *links, const struct agent_link_group *one) {
    for (uint32_t i = 0; i < links->count; i++)
        if (is_same_group(&links->groups[i], one)) {
            links->groups[i].links++;
            links->groups[i].bytes_per_s += one->bytes_per_s;
            return true;
        }
    if (links->count == AGENT_LINK_GROUPS)
        return false;
    links->groups[links->count] = *one;
    links->groups[links->count++].links = 1;
    return true;
}

static void set_unknown(struct agent_gpu_links *links, const char *why) {
    links->active = links->inactive = links->count = 0;
    snprintf(links->why, sizeof links->why, "%s", why);
}

static void find_links(const struct nvml_library *nvml, nvml_device gpu, struct agent_gpu_links *links) {
    char why[AGENT_LINK_TEXT];
    if (!nvml->nvmlDeviceGetNvLinkState) {
        set_unknown(links, "libnvidia-ml.so.1 has no nvmlDeviceGetNvLinkState");
        return;
    }
    for (unsigned link = 0; link < NVML_LINKS_MAX; link++) {
        struct agent_link_group one = {.end = AGENT_END_UNKNOWN};
        unsigned active = 0;
        const int result = nvml->nvmlDeviceGetNvLinkState(gpu, link, &active);
        if (result == NVML_INVALID_ARGUMENT && link > 0)
            break; // it has no further link
        if (result == NVML_NOT_SUPPORTED)
            continue;
        if (result != NVML_SUCCESS) {
            snprintf(why, sizeof why, "nvmlDeviceGetNvLinkState of link %u gave %d", link, result);
            set_unknown(links, why);
            return;
        }
        *(active ? &links->active : &links->inactive) += 1;
        if (!active)
            continue;
        one.version = find_version(nvml, gpu, link);
        find_rate(nvml, gpu, link, &one);
        find_end(nvml, gpu, link, &one);
        if (!add_link(links, &one)) {
            set_unknown(links, "its links lead to more devices than expected");
            return;
        }
    }
}

static void describe_gpu(const struct nvml_library *nvml, nvml_device gpu, struct agent_gpu_links *links) {
    struct nvml_pci pci = {.bus = 0};
    if (!ANSWERS(nvml, nvmlDeviceGetPciInfo_v3, gpu, &pci))
        return;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    copy_address(links->gpu, pci.bus_id);
    links->device = pci.device_id >> 16;
    if (!ANSWERS(nvml, nvmlDeviceGetUUID, gpu, links->uuid, sizeof links->uuid))
        links->uuid[0] = '\0';
    find_links(nvml, gpu, links);
}

EXPORT agent_links_function tracesmith_agent_links;
EXPORT int tracesmith_agent_links(void (*each)(void *context, const struct agent_gpu_links *links),
                                  void *context) {
    static struct nvml_library nvml;
    struct agent_gpu_links links = {.count = 0};
    char why[1024];
    unsigned count = 0;
    if (!nvml_open(&nvml, why, sizeof why)) {
        if (!why[0])
            return AGENT_DEVICES_NO_LOADER;
        snprintf(links.why, sizeof links.why, "%.90s", why);
        each(context, &links);
        return 0;
    }
    if (nvml.nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        count = 0;
    for (unsigned i = 0; i < count && i < GPUS_MAX; i++) {
        nvml_device gpu;
        memset(&links, 0, sizeof links);
        if (nvml.nvmlDeviceGetHandleByIndex_v2(i, &gpu) != NVML_SUCCESS)
            continue; // no permission: not ours to use either
        describe_gpu(&nvml, gpu, &links);
        if (links.gpu[0])
            each(context, &links);
    }
    return (int)count;
}
