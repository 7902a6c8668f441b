// SPDX-License-Identifier: Apache-2.0
// A mock of libcudart.so.13 over the mock of the driver: what a program of nvcc -cudart shared needs to register its
// kernels and to launch them, and what the programs of tests/gpu call. Kernels do not run; that their arguments can be read is
// seen to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mock.h"

enum { FUNCTIONS = 256 };

struct size {
    unsigned x, y, z;
};

extern int cuInit(unsigned);
extern int cuDriverGetVersion(int *);
extern int cuDevicePrimaryCtxRetain(void **, int);
extern int cuDevicePrimaryCtxReset_v2(int);
extern int cuMemAllocManaged(uint64_t *, size_t, unsigned);
extern int cuCtxSetCurrent(void *);
extern int cuCtxGetCurrent(void **);
extern int cuCtxSynchronize(void);
extern int cuModuleLoadData(void **, const void *);
extern int cuModuleGetFunction(void **, void *, const char *);
extern int cuMemAlloc_v2(uint64_t *, size_t);
extern int cuMemFree_v2(uint64_t);
extern int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *);
extern int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
extern int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void *);
extern int cuMemsetD8Async(uint64_t, unsigned char, size_t, void *);
extern int cuDeviceGetCount(int *);
extern int cuStreamSynchronize(void *);
extern uint64_t mock_stream_time(void *);
extern int cuStreamCreate(void **, unsigned);
extern int cuStreamDestroy_v2(void *);
extern int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void *, void **, void **);

static struct {
    const void *host;
    const char *name;
    void *function;
} functions[FUNCTIONS];
static uint32_t function_count;
static void *context, *module;
static __thread struct {
    struct size grid, block;
    size_t shared;
    void *stream;
} configuration;

enum { THIS_RUNTIME = 13000, INSUFFICIENT_DRIVER = 35 };

// As the runtime does it: at the first call that needs a device. It refuses a driver of an older CUDA than its own.
static int ready(void) {
    void *now = NULL;
    int driver = 0;
    if (cuDriverGetVersion(&driver) == 0 && driver / 1000 < THIS_RUNTIME / 1000)
        return INSUFFICIENT_DRIVER;
    int result = context ? 0 : cuInit(0);
    if (!context && !result && !(result = cuDevicePrimaryCtxRetain(&context, 0)) &&
        !(result = cuCtxSetCurrent(context)))
        result = cuModuleLoadData(&module, "a fat binary");
    if (!result && !cuCtxGetCurrent(&now) && !now)
        result = cuCtxSetCurrent(context);
    return result;
}

#define API(type, name, ...)                                                                                 \
    type name(__VA_ARGS__);                                                                                  \
    type name(__VA_ARGS__)

API(void **, __cudaRegisterFatBinary, void *binary) {
    static void *handle;
    handle = binary;
    return &handle;
}
API(void, __cudaRegisterFatBinaryEnd, void **handle) {
    (void)handle;
}
API(void, __cudaUnregisterFatBinary, void **handle) {
    (void)handle;
}
API(char, __cudaInitModule, void **handle) {
    return handle != NULL;
}
API(void, __cudaRegisterFunction, void **handle, const void *host, char *device, const char *name) {
    (void)handle;
    (void)device;
    if (function_count < FUNCTIONS) {
        functions[function_count].host = host;
        functions[function_count++].name = name;
    }
}
API(unsigned, __cudaPushCallConfiguration, struct size grid, struct size block, size_t shared, void *stream) {
    configuration.grid = grid;
    configuration.block = block;
    configuration.shared = shared;
    configuration.stream = stream;
    return 0;
}
API(int, __cudaPopCallConfiguration, struct size *grid, struct size *block, size_t *shared, void *stream) {
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *(void **)stream = configuration.stream;
    return 0;
}

static int find(const void *host, uint32_t *out) {
    for (*out = 0; *out < function_count; ++*out)
        if (functions[*out].host == host)
            return 0;
    return 98; // cudaErrorInvalidDeviceFunction
}

API(int, __cudaGetKernel, void **kernel, const void *host) {
    uint32_t at;
    const int result = find(host, &at);
    *kernel = &functions[at];
    return result;
}

static int launch(uint32_t id, const char *name, uint32_t at, struct size grid, struct size block,
                  void **arguments, size_t shared, void *stream) {
    struct call call;
    int result = ready();
    if (!result && !functions[at].function)
        result = cuModuleGetFunction(&functions[at].function, module, functions[at].name);
    if (result)
        return result;
    mock_runtime_begin(id, name, &call);
    // Only a C++ name shows whether there are arguments: "v" at its end is (void).
    const size_t length = strlen(functions[at].name);
    const bool has_arguments = functions[at].name[0] == '_' && functions[at].name[length - 1] != 'v';
    volatile char first = has_arguments && arguments[0] ? *(char *)arguments[0] : 0;
    (void)first;
    result = cuLaunchKernel(functions[at].function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                            (unsigned)shared, stream, arguments, NULL);
    return mock_runtime_end(&call, result);
}

API(int, cudaLaunchKernel, const void *host, struct size grid, struct size block, void **arguments,
    size_t shared, void *stream) {
    uint32_t at;
    const int result = find(host, &at);
    return result ? result
                  : launch(211, "cudaLaunchKernel_v7000", at, grid, block, arguments, shared, stream);
}
API(int, __cudaLaunchKernel, void *kernel, struct size grid, struct size block, void **arguments,
    size_t shared, void *stream) {
    const uint32_t at = (uint32_t)(((char *)kernel - (char *)functions) / (long)sizeof *functions);
    return launch(505, "__cudaLaunchKernel_v13000", at, grid, block, arguments, shared, stream);
}

#define RUNTIME(id, text, ...)                                                                               \
    struct call call;                                                                                        \
    int result = ready();                                                                                    \
    if (result)                                                                                              \
        return result;                                                                                       \
    mock_runtime_begin(id, text, &call);                                                                     \
    result = __VA_ARGS__;                                                                                    \
    return mock_runtime_end(&call, result)

API(int, cudaMalloc, void **memory, size_t bytes) {
    RUNTIME(20, "cudaMalloc_v3020", cuMemAlloc_v2((uint64_t *)(void *)memory, bytes));
}
API(int, cudaFree, void *memory) {
    RUNTIME(22, "cudaFree_v3020", cuMemFree_v2((uint64_t)(uintptr_t)memory));
}
static int copy(void *to, const void *from, size_t bytes, int kind, void *stream) {
    enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };
    const uint64_t target = (uint64_t)(uintptr_t)to, source = (uint64_t)(uintptr_t)from;
    return kind == HOST_TO_DEVICE   ? cuMemcpyHtoDAsync_v2(target, from, bytes, stream)
           : kind == DEVICE_TO_HOST ? cuMemcpyDtoH_v2(to, source, bytes)
                                    : cuMemcpyDtoDAsync_v2(target, source, bytes, stream);
}

API(int, cudaMemcpy, void *to, const void *from, size_t bytes, int kind) {
    RUNTIME(31, "cudaMemcpy_v3020", copy(to, from, bytes, kind, NULL));
}
API(int, cudaMemcpyAsync, void *to, const void *from, size_t bytes, int kind, void *stream) {
    RUNTIME(41, "cudaMemcpyAsync_v3020", copy(to, from, bytes, kind, stream));
}
API(int, cudaMemset, void *memory, int value, size_t bytes) {
    RUNTIME(49, "cudaMemset_v3020",
            cuMemsetD8Async((uint64_t)(uintptr_t)memory, (unsigned char)value, bytes, NULL));
}
API(int, cudaMallocManaged, void **memory, size_t bytes, unsigned flags) {
    RUNTIME(206, "cudaMallocManaged_v6000", cuMemAllocManaged((uint64_t *)(void *)memory, bytes, flags));
}
API(int, cudaMallocHost, void **memory, size_t bytes) {
    *memory = malloc(bytes);
    return *memory ? ready() : 2;
}
API(int, cudaFreeHost, void *memory) {
    free(memory);
    return 0;
}
API(int, cudaStreamCreate, void **stream) {
    RUNTIME(129, "cudaStreamCreate_v3020", cuStreamCreate(stream, 0));
}
API(int, cudaStreamDestroy, void *stream) {
    RUNTIME(235, "cudaStreamDestroy_v5050", cuStreamDestroy_v2(stream));
}
API(int, cudaStreamCreateWithFlags, void **stream, unsigned flags) {
    RUNTIME(198, "cudaStreamCreateWithFlags_v5000", cuStreamCreate(stream, flags));
}
API(int, cudaStreamSynchronize, void *stream) {
    RUNTIME(131, "cudaStreamSynchronize_v3020", cuStreamSynchronize(stream));
}
// The next call makes the context and the module again.
static int reset(void) {
    context = NULL;
    for (uint32_t i = 0; i < function_count; i++)
        functions[i].function = NULL;
    return cuDevicePrimaryCtxReset_v2(0);
}

API(int, cudaDeviceReset, void) {
    RUNTIME(164, "cudaDeviceReset_v3020", reset());
}
API(int, cudaDeviceSynchronize, void) {
    RUNTIME(165, "cudaDeviceSynchronize_v3020", cuCtxSynchronize());
}

// ---- what CUPTI has no record of here

API(int, cudaGetDeviceCount, int *count) {
    const int result = ready();
    return result ? result : cuDeviceGetCount(count);
}
API(int, cudaSetDevice, int device) {
    (void)device;
    return ready();
}
API(int, cudaDeviceGetAttribute, int *value, int attribute, int device) {
    (void)attribute;
    (void)device;
    *value = 1000000;
    return 0;
}
API(int, cudaGetDeviceProperties, void *properties, int device) {
    // From the structure of CUDA 13.
    static const char name[] = "Mock GPU, simulated"; // it stands first
    enum { BYTES = 1008, MEMORY_AT = 288, MAJOR_AT = 360, PROCESSORS_AT = 384 };
    const uint64_t memory = UINT64_C(16) << 30;
    const int major = 8, processors = 40;
    (void)device;
    memset(properties, 0, BYTES);
    memcpy(properties, name, sizeof name);
    memcpy((char *)properties + MEMORY_AT, &memory, sizeof memory);
    memcpy((char *)properties + MAJOR_AT, &major, sizeof major);
    memcpy((char *)properties + PROCESSORS_AT, &processors, sizeof processors);
    return 0;
}
API(int, cudaDriverGetVersion, int *version) {
    return cuDriverGetVersion(version);
}
API(int, cudaRuntimeGetVersion, int *version) {
    *version = THIS_RUNTIME;
    return 0;
}
API(int, cudaGetLastError, void) {
    return 0;
}
API(const char *, cudaGetErrorString, int error) {
    if (error == INSUFFICIENT_DRIVER)
        return "CUDA driver version is insufficient for CUDA runtime version";
    return error ? "a simulated error" : "no error";
}

// An event is the time it was recorded at.
API(int, cudaEventCreate, void **event) {
    *event = calloc(1, sizeof(uint64_t));
    return *event ? 0 : 2;
}
API(int, cudaEventRecord, void *event, void *stream) {
    *(uint64_t *)event = mock_stream_time(stream);
    return 0;
}
API(int, cudaEventSynchronize, void *event) {
    (void)event;
    return cuCtxSynchronize();
}
API(int, cudaEventElapsedTime, float *milliseconds, void *from, void *to) {
    *milliseconds = (float)((double)(int64_t)(*(uint64_t *)to - *(uint64_t *)from) / 1e6);
    return 0;
}
API(int, cudaStreamWaitEvent, void *stream, void *event, unsigned flags) {
    (void)stream;
    (void)event;
    (void)flags;
    return 0;
}
