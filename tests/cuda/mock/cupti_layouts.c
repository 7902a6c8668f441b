// SPDX-License-Identifier: Apache-2.0
// How long a record is in a version of CUPTI. tests/cuda/test_versions.sh compares this table with the headers of every version.

#include <stdatomic.h>

#include "cupti_mock.h"

enum { KIND_LIMIT = 64 };

static const struct {
    uint32_t kind, since;
    size_t bytes;
} layouts[] = {
    {CUPTI_KIND_CONCURRENT_KERNEL, 13, 160},
    {CUPTI_KIND_CONCURRENT_KERNEL, 15, 168},
    {CUPTI_KIND_CONCURRENT_KERNEL, 17, 176},
    {CUPTI_KIND_CONCURRENT_KERNEL, 18, 200},
    {CUPTI_KIND_CONCURRENT_KERNEL, 20, 208},
    {CUPTI_KIND_CONCURRENT_KERNEL, 130000, 216},
    {CUPTI_KIND_CONCURRENT_KERNEL, 130100, 224},
    {CUPTI_KIND_CONCURRENT_KERNEL, 130300, 232},
    {CUPTI_KIND_CONCURRENT_KERNEL, 130400, 248},
    {CUPTI_KIND_MEMCPY, 13, 72},
    {CUPTI_KIND_MEMCPY, 14, 80},
    {CUPTI_KIND_MEMCPY, 17, 88},
    {CUPTI_KIND_MEMCPY, 26, 96},
    {CUPTI_KIND_MEMCPY, 130400, 112},
    {CUPTI_KIND_MEMCPY2, 13, 80},
    {CUPTI_KIND_MEMCPY2, 14, 88},
    {CUPTI_KIND_MEMCPY2, 17, 96},
    {CUPTI_KIND_MEMSET, 13, 72},
    {CUPTI_KIND_MEMSET, 14, 80},
    {CUPTI_KIND_MEMSET, 17, 88},
    {CUPTI_KIND_MEMSET, 130400, 104},
    {CUPTI_KIND_DRIVER, 13, 40},
    {CUPTI_KIND_RUNTIME, 13, 40},
    {CUPTI_KIND_SYNCHRONIZATION, 13, 40},
    {CUPTI_KIND_SYNCHRONIZATION, 26, 56},
    {CUPTI_KIND_MEMORY2, 14, 112},
    {CUPTI_KIND_MEMORY2, 17, 120},
    {CUPTI_KIND_MEMORY2, 24, 128},
    {CUPTI_KIND_GRAPH_TRACE, 17, 48},
    {CUPTI_KIND_GRAPH_TRACE, 21, 56},
    {CUPTI_KIND_DEVICE, 13, 152},
    {CUPTI_KIND_DEVICE, 17, 176},
    {CUPTI_KIND_DEVICE, 20, 184},
    {CUPTI_KIND_DEVICE, 130200, 192},
    {CUPTI_KIND_CONTEXT, 13, 16},
    {CUPTI_KIND_CONTEXT, 22, 24},
    {CUPTI_KIND_CONTEXT, 23, 32},
    {CUPTI_KIND_CONTEXT, 130100, 40},
    {CUPTI_KIND_OVERHEAD, 13, 40},
    {CUPTI_KIND_OVERHEAD, 21, 48},
    {CUPTI_KIND_OVERHEAD, 22, 56},
    {CUPTI_KIND_EXTERNAL_CORRELATION, 13, 24},
    {CUPTI_KIND_JIT, 18, 64},
    {CUPTI_KIND_JIT, 22, 72},
    {CUPTI_KIND_UNIFIED_MEMORY, 13, 64},
    {CUPTI_KIND_UNIFIED_MEMORY, 26, 104},
    {CUPTI_KIND_MEMORY_POOL, 14, 64},
    {CUPTI_KIND_MEMORY_POOL, 17, 72},
    {CUPTI_KIND_MEMORY_POOL, 130000, 80},
    {CUPTI_KIND_CUDA_EVENT, 13, 24},
    {CUPTI_KIND_CUDA_EVENT, 26, 56},
    {CUPTI_KIND_CUDA_EVENT, 130500, 80},
    {CUPTI_KIND_MEM_DECOMPRESS, 26, 64},
    {CUPTI_KIND_DEVICE_GRAPH_TRACE, 26, 56},
    {CUPTI_KIND_GRAPH_HOST_NODE, 130100, 56},
    {CUPTI_KIND_HOST_LAUNCH, 130100, 48},
    {CUPTI_KIND_CONTEXT_SWITCH, 130100, 24},
    {CUPTI_KIND_GREEN_CONTEXT, 130200, 168},
    {CUPTI_KIND_GREEN_CONTEXT, 130400, 304},
};

enum { LARGER = 40 };

size_t mock_bytes_of(uint32_t kind) {
    static _Atomic size_t known[KIND_LIMIT];
    size_t bytes = kind < KIND_LIMIT ? known[kind] : 16;
    for (size_t i = 0; !bytes && i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].kind == kind && layouts[i].since <= mock_value("version", MOCK_VERSION))
            known[kind] = layouts[i].bytes + (mock_has("larger") ? LARGER : 0);
    return bytes ? bytes : known[kind];
}
