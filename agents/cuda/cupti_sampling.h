// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI's PC Sampling API that is used (cupti_pcsampling.h), declared by ourselves as cupti.h is, of CUDA 12.2
// and later. Every struct begins with its own size; tests/cuda/test_sampling_layouts.sh compares all with a toolkit's.
#ifndef CUDA_CUPTI_SAMPLING_H
#define CUDA_CUPTI_SAMPLING_H

#include "cupti.h"

// A `struct cupti_pc` has a correlation id from 12.4 on: arrays of it have another stride before.
#define CUPTI_PC_BYTES_OLD offsetof(struct cupti_pc, correlation)

enum { CUPTI_STALL_NAME_BYTES = 128 };

enum cupti_sampling_attribute {
    CUPTI_SAMPLING_PERIOD = 1, // 5 to 31: a sample of each SM every 2^N cycles
    CUPTI_SAMPLING_STALL_REASONS = 2,
    CUPTI_SAMPLING_MODE = 5,
    CUPTI_SAMPLING_BUFFER = 8,
};
enum { CUPTI_SAMPLING_CONTINUOUS = 1 }; // kernels are not serialized

struct cupti_pc_stall {
    uint32_t reason, samples;
} CUPTI_RECORD;

struct cupti_pc {
    size_t size;
    uint64_t cubin_crc, offset;
    uint32_t function_index, padding;
    const char *function;
    size_t stall_count;
    struct cupti_pc_stall *stalls;
    uint32_t correlation; // 12.4; 0 unless kernels are serialized
} CUPTI_RECORD;

struct cupti_pc_data {
    size_t size;
    size_t room; // in `pcs`
    uint64_t samples, dropped;
    size_t count, remaining;
    uint64_t range;
    struct cupti_pc *pcs;
    uint64_t not_users; // samples of kernels that are not the program's
    uint8_t full;       // the hardware's buffer was
} CUPTI_RECORD;

struct cupti_sampling_info {
    int attribute, status;
    union {
        uint64_t data[3];
        uint32_t number;
        struct {
            size_t count;
            uint32_t *indices;
        } reasons;
        void *buffer;
    } value;
};

// Of enabling, disabling.
struct cupti_sampling_context {
    size_t size;
    void *priv;
    void *context;
};

struct cupti_sampling_configuration {
    size_t size;
    void *priv;
    void *context;
    size_t count;
    struct cupti_sampling_info *infos;
};

struct cupti_sampling_data {
    size_t size;
    void *priv;
    void *context;
    void *data;
};

struct cupti_sampling_reason_count {
    size_t size;
    void *priv;
    void *context;
    size_t *count;
};

struct cupti_sampling_reasons {
    size_t size;
    void *priv;
    void *context;
    size_t count;
    uint32_t *indices;
    char **names;
};

struct cupti_cubin_crc {
    size_t size;
    size_t bytes;
    const void *cubin;
    uint64_t crc;
};

struct cupti_source {
    size_t size;
    const void *cubin;
    const char *function;
    size_t bytes;
    uint32_t line;
    uint64_t offset;
    char *file, *directory; // malloc'ed by CUPTI, to be freed by us
};

#endif
