// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's PM Sampling API that is used (cupti_pmsampling.h, cupti_profiler_host.h,
// cupti_profiler_target.h, cupti_target.h), declared by ourselves as cupti.h is. Every struct begins with its own
// size, from which CUPTI knows its members: all are in the form of CUDA 12.6, the first that has them, which later
// versions read as well. So the buffer's append mode (12.8) stays 0, "keep the oldest", and no set of metrics (13.2)
// is named. tests/cuda/test_sampling_layouts.sh compares them with the headers of all versions.
#ifndef CUDA_CUPTI_METRICS_H
#define CUDA_CUPTI_METRICS_H

#include "cupti.h"

// The size that CUPTI wants: without what the compiler adds at the end.
#define CUPTI_METRICS_BYTES(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

enum {
    CUPTI_HARDWARE_BUSY = 26,
    CUPTI_PM_PROFILER = 1,
    CUPTI_TRIGGER_CLOCKS = 0, // the interval is in cycles of the system's clock
    CUPTI_TRIGGER_TIME = 1,   // in ns; not on Turing and GA100
    CUPTI_DECODE_IMAGE_FULL = 1,
};

#define CUPTI_METRICS_HEAD                                                                                   \
    size_t size;                                                                                             \
    void *priv;

struct cupti_profiler_start {
    CUPTI_METRICS_HEAD
} CUPTI_RECORD;

struct cupti_chip {
    CUPTI_METRICS_HEAD
    size_t device;
    const char *name;
} CUPTI_RECORD;

struct cupti_host_start {
    CUPTI_METRICS_HEAD
    int type, padding;
    const char *chip;
    const uint8_t *available;
    void *host;
} CUPTI_RECORD;

// Of ending.
struct cupti_host {
    CUPTI_METRICS_HEAD
    void *host;
} CUPTI_RECORD;

struct cupti_host_add {
    CUPTI_METRICS_HEAD
    void *host;
    const char **names;
    size_t count;
} CUPTI_RECORD;

struct cupti_host_image_size {
    CUPTI_METRICS_HEAD
    void *host;
    size_t bytes;
} CUPTI_RECORD;

struct cupti_host_image {
    CUPTI_METRICS_HEAD
    void *host;
    size_t bytes;
    uint8_t *image;
} CUPTI_RECORD;

struct cupti_host_passes {
    CUPTI_METRICS_HEAD
    size_t bytes;
    uint8_t *image;
    size_t passes;
} CUPTI_RECORD;

struct cupti_host_values {
    CUPTI_METRICS_HEAD
    void *host;
    const uint8_t *image;
    size_t bytes, sample;
    const char **names;
    size_t count;
    double *values;
} CUPTI_RECORD;

struct cupti_pm_available {
    CUPTI_METRICS_HEAD
    size_t device, bytes;
    uint8_t *image;
} CUPTI_RECORD;

struct cupti_pm_enable {
    CUPTI_METRICS_HEAD
    size_t device;
    void *object;
} CUPTI_RECORD;

// Of disabling, starting, stopping.
struct cupti_pm {
    CUPTI_METRICS_HEAD
    void *object;
} CUPTI_RECORD;

struct cupti_pm_config {
    CUPTI_METRICS_HEAD
    void *object;
    size_t bytes;
    const uint8_t *image;
    size_t buffer;
    uint64_t interval;
    int trigger;
} CUPTI_RECORD;

struct cupti_pm_data_size {
    CUPTI_METRICS_HEAD
    void *object;
    const char **names;
    size_t count;
    uint32_t samples, padding;
    size_t bytes;
} CUPTI_RECORD;

struct cupti_pm_data_start {
    CUPTI_METRICS_HEAD
    void *object;
    size_t bytes;
    uint8_t *image;
} CUPTI_RECORD;

struct cupti_pm_decode {
    CUPTI_METRICS_HEAD
    void *object;
    uint8_t *image;
    size_t bytes;
    int stopped;
    uint8_t overflow; // the hardware's buffer was full
} CUPTI_RECORD;

struct cupti_pm_info {
    CUPTI_METRICS_HEAD
    const uint8_t *image;
    size_t bytes, total, populated, completed;
} CUPTI_RECORD;

struct cupti_pm_sample {
    CUPTI_METRICS_HEAD
    void *object;
    const uint8_t *image;
    size_t bytes, index;
    uint64_t start, end;
} CUPTI_RECORD;

// X(member, name of the function, its struct, the struct's last field)
#define CUPTI_METRICS_FUNCTIONS(X)                                                                           \
    X(Initialize, cuptiProfilerInitialize, cupti_profiler_start, priv)                                       \
    X(GetChipName, cuptiDeviceGetChipName, cupti_chip, name)                                                 \
    X(HostInitialize, cuptiProfilerHostInitialize, cupti_host_start, host)                                   \
    X(HostDeinitialize, cuptiProfilerHostDeinitialize, cupti_host, host)                                     \
    X(HostAddMetrics, cuptiProfilerHostConfigAddMetrics, cupti_host_add, count)                              \
    X(HostImageSize, cuptiProfilerHostGetConfigImageSize, cupti_host_image_size, bytes)                      \
    X(HostImage, cuptiProfilerHostGetConfigImage, cupti_host_image, image)                                   \
    X(HostPasses, cuptiProfilerHostGetNumOfPasses, cupti_host_passes, passes)                                \
    X(HostValues, cuptiProfilerHostEvaluateToGpuValues, cupti_host_values, values)                           \
    X(GetAvailability, cuptiPmSamplingGetCounterAvailability, cupti_pm_available, image)                     \
    X(Enable, cuptiPmSamplingEnable, cupti_pm_enable, object)                                                \
    X(Disable, cuptiPmSamplingDisable, cupti_pm, object)                                                     \
    X(SetConfig, cuptiPmSamplingSetConfig, cupti_pm_config, trigger)                                         \
    X(Start, cuptiPmSamplingStart, cupti_pm, object)                                                         \
    X(Stop, cuptiPmSamplingStop, cupti_pm, object)                                                           \
    X(DataSize, cuptiPmSamplingGetCounterDataSize, cupti_pm_data_size, bytes)                                \
    X(DataStart, cuptiPmSamplingCounterDataImageInitialize, cupti_pm_data_start, image)                      \
    X(Decode, cuptiPmSamplingDecodeData, cupti_pm_decode, overflow)                                          \
    X(DataInfo, cuptiPmSamplingGetCounterDataInfo, cupti_pm_info, completed)                                 \
    X(SampleInfo, cuptiPmSamplingCounterDataGetSampleInfo, cupti_pm_sample, end)

#endif
