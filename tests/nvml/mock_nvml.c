// SPDX-License-Identifier: Apache-2.0
// A mock of libnvidia-ml.so.1: two simulated GPUs that are joined by four links, of which the second does not report
// its power. NVML_MOCK selects a failure: "mismatch" (cannot be initialized), "crash", "hang" (when it is sampled). A
// byte for each time that a GPU is sampled comes into the file NVML_MOCK_SAMPLES.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "library.h"

enum { NOT_SUPPORTED = 3, INVALID = 2, MISMATCH = 18 };

struct nvml_device {
    unsigned index;
};
static struct nvml_device gpus[] = {{0}, {1}};
static const char *const buses[] = {"00000000:17:00.0", "00000000:65:00.0"};

static int misbehaves(const char *how) {
    const char *set = getenv("NVML_MOCK");
    return set && strcmp(set, how) == 0;
}

static unsigned long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (unsigned long long)time.tv_sec * 1000000000u + (unsigned long long)time.tv_nsec;
}

int nvmlInit_v2(void) {
    return misbehaves("mismatch") ? MISMATCH : 0;
}
const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) {
    return result == MISMATCH ? "Driver/library version mismatch" : "another";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    return snprintf(text, size, "999.1 (simulated)") < 0;
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 2;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *device) {
    *device = &gpus[index & 1];
    return index > 1 ? INVALID : 0;
}
int nvmlDeviceGetName(nvml_device device, char *text, unsigned size) {
    return snprintf(text, size, "Simulated GPU %u", device->index) < 0;
}
int nvmlDeviceGetUUID(nvml_device device, char *text, unsigned size) {
    return snprintf(text, size, "GPU-51a70000-0000-0000-0000-%012x", device->index) < 0;
}
int nvmlDeviceGetPciInfo_v3(nvml_device device, struct nvml_pci *pci) {
    snprintf(pci->bus_id, sizeof pci->bus_id, "%s", buses[device->index]);
    return 0;
}
int nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *memory) {
    *memory = (struct nvml_memory){80000000000, 79000000000, 1000000000ull * (device->index + 1)};
    return 0;
}
int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts) {
    if (misbehaves("crash"))
        abort();
    while (misbehaves("hang"))
        pause();
    *milliwatts = 123500;
    return device->index ? NOT_SUPPORTED : 0;
}
int nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts) {
    (void)device;
    *milliwatts = 700000;
    return 0;
}
int nvmlDeviceGetClockInfo(nvml_device device, int which, unsigned *mhz) {
    *mhz = (which == NVML_CLOCK_SM ? 1000 : 2000) + device->index;
    return 0;
}
int nvmlDeviceGetMaxClockInfo(nvml_device device, int which, unsigned *mhz) {
    (void)device;
    *mhz = which == NVML_CLOCK_SM ? 1980 : 2619;
    return 0;
}
int nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *busy) {
    *busy = (struct nvml_utilization){40 + device->index, 7};
    return 0;
}
int nvmlDeviceGetPcieThroughput(nvml_device device, int which, unsigned *kilobytes) {
    (void)device;
    *kilobytes = which == NVML_PCIE_SENT ? 5000 : 6000;
    return 0;
}
static void count_sample(void) {
    const char *path = getenv("NVML_MOCK_SAMPLES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        putc('.', file);
        fclose(file);
    }
}
// 1 GB/s is sent all the time, and nothing received: KiB since the machine was started.
int nvmlDeviceGetFieldValues(nvml_device device, int count, struct nvml_field *fields) {
    (void)device;
    count_sample();
    for (int i = 0; i < count; i++) {
        fields[i].result = 0;
        fields[i].value.u64 = fields[i].field == NVML_FIELD_NVLINK_SENT ? now() / 1024 : 0;
    }
    return 0;
}
int nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending) {
    *current = 0;
    *pending = device->index;
    return 0;
}
int nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *active) {
    (void)device;
    *active = link < 4;
    return link < 6 ? 0 : INVALID;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link, struct nvml_pci *pci) {
    (void)link;
    snprintf(pci->bus_id, sizeof pci->bus_id, "%s", link < 3 ? buses[!device->index] : "00000000:99:00.0");
    return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(nvml_device left, nvml_device right, int *level) {
    (void)left, (void)right;
    *level = 30;
    return 0;
}
