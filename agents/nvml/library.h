// SPDX-License-Identifier: Apache-2.0
// What of NVML and of the CUDA driver is used, declared by ourselves and found by dlopen: this library is built, and
// does no harm, where neither is. It runs in processes of ours only: `tracesmith devices`, and the sampler of a recording.
#ifndef NVML_LIBRARY_H
#define NVML_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NVML_SUCCESS = 0, CUDA_SUCCESS = 0 };
enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_TEMPERATURE_GPU = 0,
    NVML_PCIE_SENT = 0,
    NVML_PCIE_RECEIVED = 1
};
enum {
    NVML_FIELD_NVLINK_COMMON_SPEED = 90, // MB/s of one link, in one direction
    NVML_FIELD_NVLINK_SENT = 138,        // KiB so far
    NVML_FIELD_NVLINK_RECEIVED = 139,
    NVML_FIELD_NVLINK_SPEED = 164, // MB/s of the link in `scope`
    NVML_LINKS_MAX = 36
};
enum { NVML_INVALID_ARGUMENT = 2, NVML_NOT_SUPPORTED = 3 };
enum { NVML_REMOTE_GPU = 0, NVML_REMOTE_SWITCH = 2, NVML_REMOTE_UNKNOWN = 255 };

typedef struct nvml_device *nvml_device;
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory; // % of the driver's own last period
};
struct nvml_pci {
    char bus_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency;
    unsigned type;
    int result;
    union {
        double f64;
        unsigned u32;
        unsigned long ulong;
        unsigned long long u64;
        long long i64;
        int i32;
    } value;
};

// X(name, (arguments)): of NVML, each may be missing in an older driver
#define NVML_FUNCTIONS(X)                                                                                    \
    X(nvmlInit_v2, (void))                                                                                   \
    X(nvmlSystemGetDriverVersion, (char *, unsigned))                                                        \
    X(nvmlDeviceGetCount_v2, (unsigned *))                                                                   \
    X(nvmlDeviceGetHandleByIndex_v2, (unsigned, nvml_device *))                                              \
    X(nvmlDeviceGetName, (nvml_device, char *, unsigned))                                                    \
    X(nvmlDeviceGetUUID, (nvml_device, char *, unsigned))                                                    \
    X(nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *))                                             \
    X(nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                                          \
    X(nvmlDeviceGetPowerUsage, (nvml_device, unsigned *))                                                    \
    X(nvmlDeviceGetEnforcedPowerLimit, (nvml_device, unsigned *))                                            \
    X(nvmlDeviceGetClockInfo, (nvml_device, int, unsigned *))                                                \
    X(nvmlDeviceGetMaxClockInfo, (nvml_device, int, unsigned *))                                             \
    X(nvmlDeviceGetUtilizationRates, (nvml_device, struct nvml_utilization *))                               \
    X(nvmlDeviceGetTemperature, (nvml_device, int, unsigned *))                                              \
    X(nvmlDeviceGetPcieThroughput, (nvml_device, int, unsigned *))                                           \
    X(nvmlDeviceGetCurrPcieLinkGeneration, (nvml_device, unsigned *))                                        \
    X(nvmlDeviceGetCurrPcieLinkWidth, (nvml_device, unsigned *))                                             \
    X(nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *))                                     \
    X(nvmlDeviceGetMigMode, (nvml_device, unsigned *, unsigned *))                                           \
    X(nvmlDeviceGetArchitecture, (nvml_device, unsigned *))                                                  \
    X(nvmlDeviceGetNvLinkState, (nvml_device, unsigned, unsigned *))                                         \
    X(nvmlDeviceGetNvLinkVersion, (nvml_device, unsigned, unsigned *))                                       \
    X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvml_device, unsigned, struct nvml_pci *))                       \
    X(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned, unsigned *))                              \
    X(nvmlDeviceGetTopologyCommonAncestor, (nvml_device, nvml_device, int *))

#define CUDA_FUNCTIONS(X)                                                                                    \
    X(cuInit, (unsigned))                                                                                    \
    X(cuDriverGetVersion, (int *))                                                                           \
    X(cuDeviceGetCount, (int *))                                                                             \
    X(cuDeviceGet, (int *, int))                                                                             \
    X(cuDeviceGetName, (char *, int, int))                                                                   \
    X(cuDeviceTotalMem_v2, (size_t *, int))                                                                  \
    X(cuDeviceGetAttribute, (int *, int, int))                                                               \
    X(cuDeviceGetPCIBusId, (char *, int, int))
enum {
    CUDA_CLOCK_KHZ = 13,
    CUDA_MULTIPROCESSORS = 16,
    CUDA_CAPABILITY_MAJOR = 75,
    CUDA_CAPABILITY_MINOR = 76
};

#define LIBRARY_MEMBER(name, arguments) int(*name) arguments;
struct nvml_library {
    NVML_FUNCTIONS(LIBRARY_MEMBER)
    const char *(*nvmlErrorString)(int);
};
struct cuda_library {
    CUDA_FUNCTIONS(LIBRARY_MEMBER)
};
#undef LIBRARY_MEMBER

// Opened and initialized. False: not there, or it cannot be used, and `why` then has the reason (empty: not there).
bool nvml_open(struct nvml_library *nvml, char *why, size_t size);
bool cuda_open(struct cuda_library *cuda, char *why, size_t size);

// Whether the library has the function, and it answered.
#define ANSWERS(library, name, ...) ((library)->name && (library)->name(__VA_ARGS__) == 0)

#endif
