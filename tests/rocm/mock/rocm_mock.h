// SPDX-License-Identifier: Apache-2.0
// What the mocks of ROCm share: HIP (hip.c), rocprofiler-register (register.c) and rocprofiler-sdk (sdk.c). The layouts of the
// records are the agent's table; tests/rocm/test_layouts.sh compares that with a second source.
#ifndef ROCM_MOCK_H
#define ROCM_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "layouts.h"

// sdk_set_LAYOUT_MEMBER(record, value)
#define MOCK_SETTER(layout, type, member, offset)                                                            \
    static inline void sdk_set_##layout##_##member(void *record, type value) {                               \
        __builtin_memcpy((char *)record + (offset), &value, sizeof value);                                   \
    }
#define MOCK_SETTERS(layout, LIST) LIST(MOCK_SETTER, layout)
SDK_LAYOUTS(MOCK_SETTERS)

enum mock_kind {
    MOCK_HSA = 1,
    MOCK_HIP = 5,
    MOCK_MARKER = 7,
    MOCK_COPY = 10,
    MOCK_DISPATCH = 11,
    MOCK_SCRATCH = 12,
    MOCK_RCCL = 14,
    MOCK_ALLOCATION = 16,
    MOCK_KFD_DROPPED = 28,
    MOCK_MIGRATION = 29,
    MOCK_GRAPH = 33,
    MOCK_EVENT = 38,
    MOCK_FUTURE = 60
};
enum {
    MOCK_AGENT_HOST = 7001,
    MOCK_AGENT_GPU = 7002,
    MOCK_AGENT_GPU_2 = 7003,
    MOCK_QUEUE = 42,
    MOCK_RECORD_MOST = 256
};
// Handles of streams: the default one, those that HIP has without making them (hipStreamLegacy, hipStreamPerThread), and made ones.
enum { MOCK_STREAM_DEFAULT, MOCK_STREAM_LEGACY, MOCK_STREAM_PER_THREAD, MOCK_STREAM_FIRST = 0x100 };

// Calls by operation. CALL(NAME)
#define MOCK_HIP_CALLS(CALL)                                                                                 \
    CALL(hipInit)                                                                                            \
    CALL(hipMalloc)                                                                                          \
    CALL(hipFree)                                                                                            \
    CALL(hipMemcpyWithStream)                                                                                \
    CALL(hipStreamCreate)                                                                                    \
    CALL(hipStreamDestroy)                                                                                   \
    CALL(hipModuleLaunchKernel)                                                                              \
    CALL(hipDeviceSynchronize)                                                                               \
    CALL(hipEventRecord)                                                                                     \
    CALL(hipStreamWaitEvent)                                                                                 \
    CALL(hipGraphLaunch)

#define MOCK_OPERATION(name) MOCK_##name,
enum mock_operation { MOCK_HIP_CALLS(MOCK_OPERATION) MOCK_OPERATIONS };

// What the SDK puts into a runtime's table of functions, to be called by it.
struct mock_table {
    uint64_t (*now)(void);
    // A call begins: its correlation id. It ends.
    uint64_t (*enter)(int32_t kind, int32_t operation);
    void (*leave)(int32_t kind, int32_t operation, uint64_t correlation, uint64_t start);
    // Before the call on a stream begins, and after it: as in the SDK it has no number then.
    void (*stream)(bool enters, uint64_t stream);
    // A stream was made; it was destroyed.
    void (*stream_made)(uint64_t stream);
    void (*stream_ended)(uint64_t stream);
    // A copy is about to be enqueued.
    void (*copy)(void);
    // A kernel is about to be enqueued: gives the record its number. It was: the record is due at its end.
    void (*launch)(void *record);
    void (*dispatch)(void *record);
    // A record of any kind, due at `due` by now().
    void (*record)(void *record, size_t size, uint64_t due);
    void (*kernel)(uint64_t kernel, const char *name);
    void (*marker)(int32_t operation, uint64_t argument, uint64_t result);
    void (*wait)(void); // for all that is enqueued
};

void mock_register(const char *name, struct mock_table *table);

#endif
