// SPDX-License-Identifier: Apache-2.0
// What the agent uses of Level Zero and of its loader's tracing layer. Source: the oneAPI Level Zero specification 1.5, and the
// header of the tracing layer. The names are our own; tests/level_zero/abi.c compares values and layouts with the headers.
#ifndef LEVEL_ZERO_ABI_H
#define LEVEL_ZERO_ABI_H

#include <stddef.h>
#include <stdint.h>

enum zero_result { ZERO_SUCCESS = 0, ZERO_NOT_READY = 1, ZERO_UNINITIALIZED = 0x78000001 };

enum zero_structure {
    ZERO_DEVICE_PROPERTIES = 0x3, // timer_resolution in ns
    ZERO_DEVICE_MEMORY_PROPERTIES = 0x7,
    ZERO_EVENT_POOL_DESC = 0x10,
    ZERO_EVENT_DESC = 0x11,
    ZERO_MEMORY_PROPERTIES = 0x17,
    ZERO_DEVICE_PROPERTIES_1_2 = 0x00020006 // timer_resolution in cycles per second
};

enum { ZERO_POOL_HOST_VISIBLE = 1, ZERO_POOL_IPC = 2, ZERO_POOL_TIMESTAMP = 4, ZERO_POOL_KNOWN = 7 };
enum zero_memory {
    ZERO_MEMORY_UNKNOWN = 0,
    ZERO_MEMORY_HOST = 1,
    ZERO_MEMORY_DEVICE = 2,
    ZERO_MEMORY_SHARED = 3
};
enum zero_device_type { ZERO_DEVICE_GPU = 1, ZERO_DEVICE_CPU = 2 };

struct zero_device_properties {
    uint32_t stype;
    void *next;
    uint32_t type, vendor, device, flags, subdevice, clock_mhz;
    uint64_t max_alloc;
    uint32_t contexts, priority, threads_per_eu, simd_width, eus_per_subslice, subslices_per_slice, slices;
    uint64_t timer_resolution;
    uint32_t timestamp_bits, kernel_timestamp_bits;
    uint8_t uuid[16];
    char name[256];
};

struct zero_device_memory_properties {
    uint32_t stype;
    void *next;
    uint32_t flags, clock, bus_width;
    uint64_t bytes;
    char name[256];
};

struct zero_event_pool_desc {
    uint32_t stype;
    const void *next;
    uint32_t flags, count;
};

struct zero_event_desc {
    uint32_t stype;
    const void *next;
    uint32_t index, signal, wait;
};

struct zero_kernel_desc {
    uint32_t stype;
    const void *next;
    uint32_t flags;
    const char *name;
};

struct zero_module_desc {
    uint32_t stype;
    const void *next;
    uint32_t format;
    size_t size;
    const uint8_t *input;
    const char *options;
};

struct zero_memory_properties {
    uint32_t stype;
    void *next;
    uint32_t type;
    uint64_t id, page;
};

struct zero_groups {
    uint32_t count[3];
};

struct zero_region {
    uint32_t origin[3], width, height, depth;
};

struct zero_timestamps { // of the device's clock: when a kernel began and ended
    uint64_t global_start, global_end, context_start, context_end;
};

// ---- the tracing layer

struct zero_tracer_desc {
    uint32_t stype; // 1
    const void *next;
    void *user;
};

enum zero_tracer_when { ZERO_PROLOGUE = 0, ZERO_EPILOGUE = 1 };

// `arguments` are pointers to the arguments of the call, in their order. `instance` is a word of the tracer's for this call.
typedef void zero_tracer_callback(void **arguments, int result, void *user, void **instance);
typedef int zero_tracer_register(void *tracer, enum zero_tracer_when when, zero_tracer_callback *callback);

#endif
