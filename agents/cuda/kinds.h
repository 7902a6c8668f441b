// SPDX-License-Identifier: Apache-2.0
// The kinds of CUPTI's activity records that are enabled, and the calls whose callbacks are taken without call stacks.
// The agent and tests/gpu/programs/cupti_only.c, which measures what the same requests cost without the agent, both use
// these lists. This file includes nothing of the project, so that it compiles together with NVIDIA's headers.
#ifndef CUDA_KINDS_H
#define CUDA_KINDS_H

#include <stddef.h>
#include <string.h>

// X(name in CUPTI_ACTIVITY_KIND_*, number, first version of cuptiGetVersion, is an error fatal)
// Devices and contexts first: CUPTI describes those that exist when their kind is enabled.
#define CUDA_ENABLED_KINDS(X)                                                                                \
    X(DEVICE, 8, 13, 0)                                                                                      \
    X(CONTEXT, 9, 13, 0)                                                                                     \
    X(MEMCPY, 1, 13, 0)                                                                                      \
    X(MEMSET, 2, 13, 0)                                                                                      \
    X(MEMCPY2, 22, 13, 0)                                                                                    \
    X(CONCURRENT_KERNEL, 10, 13, 1)                                                                          \
    X(RUNTIME, 5, 13, 0)                                                                                     \
    X(DRIVER, 4, 13, 0)                                                                                      \
    X(SYNCHRONIZATION, 38, 13, 0)                                                                            \
    X(OVERHEAD, 17, 13, 0)                                                                                   \
    X(EXTERNAL_CORRELATION, 39, 13, 0)                                                                       \
    X(MEMORY2, 49, 14, 0)                                                                                    \
    X(MEMORY_POOL, 50, 14, 0)                                                                                \
    X(JIT, 52, 18, 0)                                                                                        \
    X(MEM_DECOMPRESS, 54, 26, 0)                                                                             \
    X(GRAPH_HOST_NODE, 56, 130100, 0)                                                                        \
    X(HOST_LAUNCH, 58, 130100, 0)                                                                            \
    X(GREEN_CONTEXT, 59, 130200, 0)

// X(name without its version)
#define CUDA_LAUNCH_CALLS(X)                                                                                 \
    X("cuLaunchKernel")                                                                                      \
    X("cuLaunchKernelEx")                                                                                    \
    X("cuLaunchCooperativeKernel")                                                                           \
    X("cuLaunch")                                                                                            \
    X("cuLaunchGrid")                                                                                        \
    X("cuLaunchGridAsync")                                                                                   \
    X("cuGraphLaunch")                                                                                       \
    X("cudaLaunch")                                                                                          \
    X("cudaLaunchKernel")                                                                                    \
    X("__cudaLaunchKernel")                                                                                  \
    X("cudaLaunchKernelExC")                                                                                 \
    X("cudaLaunchCooperativeKernel")                                                                         \
    X("cudaGraphLaunch")

// A launch on several devices has several kernels, so only its thread and time are noted, as for waits. CUPTI reports
// synchronization for queries too. A host function runs later, on a thread of the driver.
#define CUDA_WAIT_CALLS(X)                                                                                   \
    X("cuCtxSynchronize")                                                                                    \
    X("cuStreamSynchronize")                                                                                 \
    X("cuEventSynchronize")                                                                                  \
    X("cudaDeviceSynchronize")                                                                               \
    X("cudaStreamSynchronize")                                                                               \
    X("cudaEventSynchronize")                                                                                \
    X("cudaThreadSynchronize")                                                                               \
    X("cuLaunchCooperativeKernelMultiDevice")                                                                \
    X("cudaLaunchCooperativeKernelMultiDevice")                                                              \
    X("cuStreamWaitEvent")                                                                                   \
    X("cudaStreamWaitEvent")                                                                                 \
    X("cuCtxWaitEvent")                                                                                      \
    X("cuGreenCtxWaitEvent")                                                                                 \
    X("cudaExecutionCtxSynchronize")                                                                         \
    X("cudaExecutionCtxWaitEvent")                                                                           \
    X("cuEventQuery")                                                                                        \
    X("cuStreamQuery")                                                                                       \
    X("cudaEventQuery")                                                                                      \
    X("cudaStreamQuery")                                                                                     \
    X("cuLaunchHostFunc")                                                                                    \
    X("cudaLaunchHostFunc")

// The length of a call's name without the version that it ends in ("_v7000", "_v2", "_ptsz").
static inline size_t cuda_call_length(const char *name) {
    const char *version = strstr(name, "_v");
    while (version && (version[2] < '0' || version[2] > '9'))
        version = strstr(version + 1, "_v");
    size_t length = version ? (size_t)(version - name) : strlen(name);
    if (length > 5 &&
        (strncmp(name + length - 5, "_ptsz", 5) == 0 || strncmp(name + length - 5, "_ptds", 5) == 0))
        length -= 5;
    return length;
}

// Whether a call, of any version, is one of those named.
static inline int cuda_call_in(const char *name, const char *const *names, size_t count) {
    const size_t length = cuda_call_length(name);
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return 1;
    return 0;
}
#define CUDA_CALL_NAME(name) name,
#define CUDA_CALL_IN(name, list) cuda_call_in(name, list, sizeof(list) / sizeof *(list))

#endif
