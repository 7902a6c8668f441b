// SPDX-License-Identifier: Apache-2.0
// A mock of libnvidia-ml.so.1, as far as NVLinks are asked for: simulated machines. NVML_MOCK_MACHINE selects one: "dgx" (eight GPUs
// with 18 links to four NVSwitches), "direct" (four GPUs, four links between each two), "none" (two GPUs without NVLink). What
// NVML_MOCK_BROKEN names is broken. NVML_MOCK_VERSION is the version of links, NVML_MOCK_ARCHITECTURE that of the GPUs (-1: no answer).
// NVML_MOCK_HANG is a named pipe: the process writes its number there and then does not answer. NO_STATE, NO_TYPE and NO_REMOTE leave
// functions out, as an old library does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

enum { NOT_SUPPORTED = 3, INVALID = 2, IS_LOST = 15, MISMATCH = 18, SWITCHES = 4 };

struct nvml_device {
    unsigned index;
};
static struct nvml_device gpus[8];
static const unsigned buses[8] = {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf};

static int is_set(const char *variable, const char *wanted) {
    const char *set = getenv(variable);
    return set && strcmp(set, wanted) == 0;
}

static int is_machine(const char *name) {
    return is_set("NVML_MOCK_MACHINE", name);
}

static int is_broken(const char *what) {
    return is_set("NVML_MOCK_BROKEN", what);
}

static int number_of(const char *variable, int otherwise) {
    const char *set = getenv(variable);
    return set ? atoi(set) : otherwise;
}

static void hang(void) {
    FILE *pipe = getenv("NVML_MOCK_HANG") ? fopen(getenv("NVML_MOCK_HANG"), "w") : NULL;
    if (!pipe)
        return;
    fprintf(pipe, "%d", (int)getpid());
    fclose(pipe);
    for (;;)
        pause();
}

static unsigned count_gpus(void) {
    return is_machine("dgx") ? 8 : is_machine("direct") ? 4 : 2;
}

static unsigned count_links(void) {
    return is_machine("dgx") ? 18 : is_machine("direct") ? 12 : 0;
}

int nvmlInit_v2(void) {
    for (unsigned i = 0; i < 8; i++)
        gpus[i].index = i;
    return is_broken("library") ? MISMATCH : 0;
}
const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) {
    return result == MISMATCH ? "Driver/library version mismatch" : "another";
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = count_gpus();
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device) {
    *device = &gpus[index & 7];
    return index < count_gpus() ? 0 : INVALID;
}
int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size) {
    return snprintf(text, size, "GPU-51a70000-0000-0000-0000-%012x", device->index) < 0;
}
int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci) {
    pci->device_id = 0x233010de;
    snprintf(pci->bus_id, sizeof pci->bus_id, "%08X:%02X:00.0", 0, buses[device->index]);
    return 0;
}
// MB/s of a link; in each direction.
int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields) {
    (void)device;
    for (int i = 0; i < count; i++) {
        const int has = !is_broken("speed") &&
                        fields[i].field == (unsigned)(is_machine("dgx") ? NVML_FIELD_NVLINK_SPEED
                                                                        : NVML_FIELD_NVLINK_COMMON_SPEED);
        fields[i].result = has ? 0 : NOT_SUPPORTED;
        fields[i].value.u32 = is_machine("dgx") ? 26562 : 25781;
    }
    return 0;
}
#ifndef NO_STATE
int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *active) {
    hang();
    if (is_broken("crash") && device->index == 1)
        abort();
    if (is_broken("gpu") && device->index == 1)
        return IS_LOST;
    if (is_machine("none"))
        return NOT_SUPPORTED;
    *active = !(is_broken("link") && device->index == 3 && link == 7);
    return link < count_links() ? 0 : INVALID;
}
#endif
int nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned link, unsigned *version) {
    (void)device, (void)link;
    *version = (unsigned)number_of("NVML_MOCK_VERSION", is_machine("dgx") ? 6 : 4); // NVLink 4.0, 3.0
    return 0;
}
int nvmlDeviceGetArchitecture(nvml_device device, unsigned *architecture) {
    const int number = number_of("NVML_MOCK_ARCHITECTURE", is_machine("dgx") ? 9 : 7); // Hopper, Ampere
    (void)device;
    *architecture = (unsigned)number;
    return number < 0 ? NOT_SUPPORTED : 0;
}
#ifndef NO_REMOTE
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link, struct nvml_pci *pci) {
    pci->device_id = is_machine("dgx") ? 0x22a310de : 0x233010de;
    if (is_machine("dgx"))
        snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 7 + link % SWITCHES);
    else // to the others, in turn
        snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0",
                 buses[(device->index + 1 + link % 3) % 4]);
    return 0;
}
#endif
#ifndef NO_TYPE
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned link, unsigned *type) {
    (void)device, (void)link;
    *type = is_machine("dgx") ? NVML_REMOTE_SWITCH : NVML_REMOTE_GPU;
    return 0;
}
#endif
