// SPDX-License-Identifier: Apache-2.0
// Mocks of NVIDIA's driver and of CUPTI: what passes between the two. They are written by us from the public
// headers and documents, run no kernel, and every trace made with them is marked "simulated".
#ifndef MOCK_H
#define MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../agents/cuda/cupti.h"

// Who finds this in a library knows it for a mock.
int tracesmith_simulated(void);

enum operation_kind { OPERATION_KERNEL, OPERATION_COPY, OPERATION_SET, OPERATION_PEER, OPERATION_GRAPH };

// A command of the simulated device. CUPTI gets times of its own clock, except for `done`.
struct operation {
    enum operation_kind kind;
    uint32_t device, context, stream, correlation;
    uint64_t start, end, bytes;
    uint64_t done; // when it ends by the driver's clock
    uint32_t copy_kind, value, peer;
    uint32_t grid[3], block[3], shared;
    uint32_t graph;
    uint64_t graph_node;
    const char *name;
};

// The driver's reports to CUPTI, once it has hooked itself in.
struct hooks {
    void (*call)(int site, int domain, uint32_t id, const char *name, uint32_t correlation, const int *result,
                 void *context);
    void (*called)(int domain, uint32_t id, uint64_t start, uint64_t end, uint32_t correlation, int result);
    void (*operated)(const struct operation *operation);
    void (*waited)(uint32_t type, uint64_t start, uint64_t end, uint32_t correlation, uint32_t context,
                   uint32_t stream, uint32_t event);
    // The device reaches an event that was recorded, at `time`.
    void (*reached)(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event, uint64_t time);
    // Managed memory moves to a device.
    void (*migrated)(uint32_t device, uint64_t address, uint64_t bytes);
    // A primary context was reset.
    void (*reset)(void);
    void (*memory)(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation,
                   uint32_t device, uint32_t context, uint32_t stream, uint32_t asynchronous);
    // Returns buffers with `count` launches and their kernels in them, as fast as possible. Returns the ns that the client took.
    uint64_t (*feed)(uint64_t launches);
    // Requests `count` buffers before it returns one. Returns how many it got.
    uint64_t (*hoard)(uint64_t buffers);
    // How often the client has flushed.
    uint64_t (*flushes)(void);
    // Calls the client as `count` launches do, and nothing else. Returns the ns that the client took.
    uint64_t (*callbacks)(uint64_t launches);
    // One record of each kind that is seldom, under a correlation id.
    void (*rare)(uint32_t correlation);
    // `about`: the struct cupti_module_data or cupti_graph_data that it is about, or NULL.
    void (*resource)(uint32_t id, void *context, void *stream, const void *about);
};
// clock.c: the time by the driver's clock, and what that is on CUPTI's.
uint64_t mock_time(void);
uint64_t mock_time_of_cupti(uint64_t time);
// CUPTI gives its times on this clock from now on.
void mock_clock_of_client(uint64_t (*clock)(void));
// CUPTI's clock changes now, if it is to change here.
void mock_clock_changes(const char *when);
// Writes down what happened when, by the driver's clock.
void mock_clock_set(uint64_t now); // before anybody asked: it is this time now
void mock_note(const char *what, uint32_t correlation, uint64_t start, uint64_t end);

// libcuda exports it.
void mock_hook(const struct hooks *hooks);
// The driver's big lock: held while a client is handed a buffer, and taken by a thread that forks, before the client prepares
// for it, as the driver was there first.
void mock_lock(void);
void mock_unlock(void);
// Whether cuInit is done: while it calls who is injected, it is not.
bool mock_is_ready(void);
// Whether the driver has shut down: CUPTI gives nothing any more.
bool mock_is_down(void);
uint32_t mock_context_id(void *context);
uint32_t mock_context_device(void *context);
uint32_t mock_stream_id(void *context, void *stream);
// For a green context: its parent, and its number of multiprocessors; 0: it is none.
uint32_t mock_context_parent(void *context);
uint32_t mock_context_processors(void *context);

// Mocks of other vendors' libraries are made of the same sources, with names from the vendor's table (names.sh).
#ifndef MOCK_DRIVER_CALLS
#define MOCK_DRIVER_CALLS "cu"
#define MOCK_RUNTIME_CALLS "cuda"
#define MOCK_INJECTION "CUDA_INJECTION64_PATH"
#define MOCK_VERSION 130001
#endif

// Functions of the API by number, for both mocks. X(domain, number, name)
#define MOCK_CALLS(X)                                                                                        \
    X(1, 1, cuInit)                                                                                          \
    X(1, 2, cuCtxCreate_v2)                                                                                  \
    X(1, 3, cuCtxDestroy_v2)                                                                                 \
    X(1, 4, cuCtxSynchronize)                                                                                \
    X(1, 5, cuMemAlloc_v2)                                                                                   \
    X(1, 6, cuMemFree_v2)                                                                                    \
    X(1, 7, cuMemcpyHtoDAsync_v2)                                                                            \
    X(1, 8, cuMemcpyDtoH_v2)                                                                                 \
    X(1, 9, cuMemsetD8Async)                                                                                 \
    X(1, 10, cuStreamCreate)                                                                                 \
    X(1, 11, cuStreamDestroy_v2)                                                                             \
    X(1, 12, cuStreamSynchronize)                                                                            \
    X(1, 13, cuModuleLoadData)                                                                               \
    X(1, 14, cuModuleUnload)                                                                                 \
    X(1, 15, cuModuleGetFunction)                                                                            \
    X(1, 16, cuGraphLaunch)                                                                                  \
    X(1, 17, cuMemcpyPeerAsync)                                                                              \
    X(1, 371, cuMemAllocManaged)                                                                             \
    X(1, 118, cuEventCreate)                                                                                 \
    X(1, 119, cuEventRecord)                                                                                 \
    X(1, 121, cuEventSynchronize)                                                                            \
    X(1, 295, cuStreamWaitEvent)                                                                             \
    X(1, 386, cuDevicePrimaryCtxRetain)                                                                      \
    X(1, 545, cuDevicePrimaryCtxReset_v2)                                                                    \
    X(1, 743, cuGreenCtxCreate)                                                                              \
    X(1, 744, cuGreenCtxDestroy)                                                                             \
    X(1, 749, cuGreenCtxRecordEvent)                                                                         \
    X(1, 750, cuGreenCtxWaitEvent)                                                                           \
    X(1, 753, cuCtxFromGreenCtx)                                                                             \
    X(1, 755, cuCtxRecordEvent)                                                                              \
    X(1, 756, cuCtxWaitEvent)                                                                                \
    X(1, 758, cuGreenCtxStreamCreate)                                                                        \
    X(2, 164, cudaDeviceReset_v3020)                                                                         \
    X(2, 206, cudaMallocManaged_v6000)                                                                       \
    X(1, 304, cuCtxGetCurrent)                                                                               \
    X(1, 308, cuProfilerStart)                                                                               \
    X(1, 309, cuProfilerStop)                                                                                \
    X(1, 281, cuMemcpyDtoDAsync_v2)                                                                          \
    X(1, 307, cuLaunchKernel)                                                                                \
    X(2, 20, cudaMalloc_v3020)                                                                               \
    X(2, 22, cudaFree_v3020)                                                                                 \
    X(2, 31, cudaMemcpy_v3020)                                                                               \
    X(2, 41, cudaMemcpyAsync_v3020)                                                                          \
    X(2, 49, cudaMemset_v3020)                                                                               \
    X(2, 129, cudaStreamCreate_v3020)                                                                        \
    X(2, 131, cudaStreamSynchronize_v3020)                                                                   \
    X(2, 165, cudaDeviceSynchronize_v3020)                                                                   \
    X(2, 198, cudaStreamCreateWithFlags_v5000)                                                               \
    X(2, 211, cudaLaunchKernel_v7000)                                                                        \
    X(2, 235, cudaStreamDestroy_v5050)                                                                       \
    X(2, 505, __cudaLaunchKernel_v13000)

// What a call of the driver or the runtime is while it lasts.
struct call {
    int domain;
    uint32_t id, correlation;
    const char *name;
    uint64_t start;
    const struct hooks *hooks;
};
// libcuda exports them, for the runtime: calls of the driver in between are a part of this one.
void mock_runtime_begin(uint32_t id, const char *name, struct call *call);
int mock_runtime_end(struct call *call, int result);

#endif
