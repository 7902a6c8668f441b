// SPDX-License-Identifier: Apache-2.0
// What of NVTX's binary interface is used, declared by ourselves: the agent is built where no toolkit is. A test
// compares sizes, offsets and numbers with NVIDIA's headers where those are installed (tests/nvtx/).
//
// A library or program that includes NVTX's headers has an instance of NVTX of its own. At its first call the instance
// opens the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2 with a function that hands out
// tables; each table is one module's list of places for our functions, by number. A place that stays empty becomes a
// call of nothing.
#ifndef NVTX_ABI_H
#define NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_TABLE_CALLBACKS 1u // of the export tables

enum nvtx_module {
    NVTX_MODULE_CORE = 1,
    NVTX_MODULE_CUDA = 2,
    NVTX_MODULE_OPENCL = 3,
    NVTX_MODULE_CUDART = 4,
    NVTX_MODULE_CORE2 = 5,
};

typedef void nvtx_function(void);
typedef const void *nvtx_get_table(uint32_t table);
typedef int nvtx_initialize(nvtx_get_table *get);

// The export table NVTX_TABLE_CALLBACKS.
struct nvtx_callbacks {
    size_t size;
    // `table` is a list of `size` pointers to the places; the first and last may be NULL.
    int (*module)(int module, nvtx_function ****table, unsigned *size);
};

enum { NVTX_COLOR_ARGB = 1 };
enum nvtx_message { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum nvtx_payload {
    NVTX_PAYLOAD_NONE,
    NVTX_PAYLOAD_U64,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_F64,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_F32,
    NVTX_PAYLOAD_STRUCT, // our own number: structured, as a text (payload.h)
    NVTX_PAYLOAD_LIMIT
};

union nvtx_text {
    const char *ascii;
    const wchar_t *unicode;
    void *registered;
};

struct nvtx_attributes {
    uint16_t version;
    uint16_t size; // what the caller has of it
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union nvtx_text message;
};

struct nvtx_resource {
    uint16_t version;
    uint16_t size;
    int32_t type;
    union {
        const void *pointer;
        uint64_t handle;
    } identifier;
    int32_t message_type;
    union nvtx_text message;
};

enum { NVTX_RESOURCE_THREAD_NATIVE = 0x10003 };

// X(name, return, (types)): by number from 1, as the module's table has them.
#define NVTX_CORE(X)                                                                                         \
    X(MarkEx, void, (const struct nvtx_attributes *))                                                        \
    X(MarkA, void, (const char *))                                                                           \
    X(MarkW, void, (const wchar_t *))                                                                        \
    X(RangeStartEx, uint64_t, (const struct nvtx_attributes *))                                              \
    X(RangeStartA, uint64_t, (const char *))                                                                 \
    X(RangeStartW, uint64_t, (const wchar_t *))                                                              \
    X(RangeEnd, void, (uint64_t))                                                                            \
    X(RangePushEx, int, (const struct nvtx_attributes *))                                                    \
    X(RangePushA, int, (const char *))                                                                       \
    X(RangePushW, int, (const wchar_t *))                                                                    \
    X(RangePop, int, (void))                                                                                 \
    X(NameCategoryA, void, (uint32_t, const char *))                                                         \
    X(NameCategoryW, void, (uint32_t, const wchar_t *))                                                      \
    X(NameOsThreadA, void, (uint32_t, const char *))                                                         \
    X(NameOsThreadW, void, (uint32_t, const wchar_t *))

#define NVTX_CORE2(X)                                                                                        \
    X(DomainMarkEx, void, (void *, const struct nvtx_attributes *))                                          \
    X(DomainRangeStartEx, uint64_t, (void *, const struct nvtx_attributes *))                                \
    X(DomainRangeEnd, void, (void *, uint64_t))                                                              \
    X(DomainRangePushEx, int, (void *, const struct nvtx_attributes *))                                      \
    X(DomainRangePop, int, (void *))                                                                         \
    X(DomainResourceCreate, void *, (void *, const struct nvtx_resource *))                                  \
    X(DomainResourceDestroy, void, (void *))                                                                 \
    X(DomainNameCategoryA, void, (void *, uint32_t, const char *))                                           \
    X(DomainNameCategoryW, void, (void *, uint32_t, const wchar_t *))                                        \
    X(DomainRegisterStringA, void *, (void *, const char *))                                                 \
    X(DomainRegisterStringW, void *, (void *, const wchar_t *))                                              \
    X(DomainCreateA, void *, (const char *))                                                                 \
    X(DomainCreateW, void *, (const wchar_t *))                                                              \
    X(DomainDestroy, void, (void *))                                                                         \
    X(Initialize, void, (const void *))

// Objects of other APIs that a program names: X(module, name, type of the object, "what it is"). Each is two functions,
// ...A and ...W, in this order.
#define NVTX_CUDA_NAMES(X)                                                                                   \
    X(CuDevice, int, "CUDA device")                                                                          \
    X(CuContext, void *, "CUDA context")                                                                     \
    X(CuStream, void *, "CUDA stream")                                                                       \
    X(CuEvent, void *, "CUDA event")
#define NVTX_OPENCL_NAMES(X)                                                                                 \
    X(ClDevice, void *, "OpenCL device")                                                                     \
    X(ClContext, void *, "OpenCL context")                                                                   \
    X(ClCommandQueue, void *, "OpenCL queue")                                                                \
    X(ClMemObject, void *, "OpenCL memory object")                                                           \
    X(ClSampler, void *, "OpenCL sampler")                                                                   \
    X(ClProgram, void *, "OpenCL program")                                                                   \
    X(ClEvent, void *, "OpenCL event")
#define NVTX_CUDART_NAMES(X)                                                                                 \
    X(CudaDevice, int, "CUDA device")                                                                        \
    X(CudaStream, void *, "CUDA stream")                                                                     \
    X(CudaEvent, void *, "CUDA event")

#endif
