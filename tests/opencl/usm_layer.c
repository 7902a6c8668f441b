// SPDX-License-Identifier: Apache-2.0
// A layer below the agent that simulates Intel's unified shared memory (cl_intel_unified_shared_memory) by the driver's shared virtual
// memory: its functions are fetched by name. Memory is never given back, so that a program may name what it has freed; such calls fail. With
// USM_LAYER_REUSES set, what was freed is given out again.
#include "layer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALLOCATIONS = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *pointer;
    int live;
} allocations[ALLOCATIONS];

// Of any size: the program asks for one only.
static void *take_freed(void) {
    void *pointer = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS && !pointer && getenv("USM_LAYER_REUSES"); i++)
        if (allocations[i].pointer && !allocations[i].live) {
            pointer = allocations[i].pointer;
            allocations[i].live = 1;
        }
    pthread_mutex_unlock(&lock);
    return pointer;
}

static void *allocate(cl_context context, size_t size, cl_uint alignment, cl_int *error) {
    void *pointer = take_freed();
    if (pointer) {
        if (error)
            *error = CL_SUCCESS;
        return pointer;
    }
    pointer = next->clSVMAlloc(context, CL_MEM_READ_WRITE, size, alignment);
    pthread_mutex_lock(&lock);
    for (int i = 0; pointer && i < ALLOCATIONS; i++) {
        if (allocations[i].pointer)
            continue;
        allocations[i].pointer = pointer;
        allocations[i].live = 1;
        break;
    }
    pthread_mutex_unlock(&lock);
    if (error)
        *error = pointer ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
    return pointer;
}

// Whether it was freed; `now`: from now on.
static int is_freed(const void *pointer, int now) {
    int freed = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (!pointer || allocations[i].pointer != pointer)
            continue;
        freed = !allocations[i].live;
        allocations[i].live = allocations[i].live && !now;
    }
    pthread_mutex_unlock(&lock);
    return freed;
}

static void *CL_API_CALL host_alloc(cl_context context, const cl_bitfield *properties, size_t size,
                                    cl_uint alignment, cl_int *error) {
    (void)properties;
    return allocate(context, size, alignment, error);
}

static void *CL_API_CALL device_alloc(cl_context context, cl_device_id device, const cl_bitfield *properties,
                                      size_t size, cl_uint alignment, cl_int *error) {
    (void)device;
    (void)properties;
    return allocate(context, size, alignment, error);
}

static cl_int CL_API_CALL release(cl_context context, void *pointer) {
    if (!context)
        return CL_INVALID_CONTEXT;
    return is_freed(pointer, 1) ? CL_INVALID_VALUE : CL_SUCCESS;
}

static cl_int CL_API_CALL set_pointer(cl_kernel kernel, cl_uint index, const void *pointer) {
    return next->clSetKernelArgSVMPointer(kernel, index, pointer);
}

static cl_int CL_API_CALL copy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                               size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    if (is_freed(to, 0) || is_freed(from, 0))
        return CL_INVALID_VALUE;
    return next->clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, waits, event);
}

static cl_int CL_API_CALL fill(cl_command_queue queue, void *to, const void *pattern, size_t pattern_size,
                               size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    if (is_freed(to, 0))
        return CL_INVALID_VALUE;
    return next->clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, count, waits, event);
}

// There is one device: nothing moves.
static cl_int CL_API_CALL migrate(cl_command_queue queue, const void *pointer, size_t size,
                                  cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    (void)size;
    (void)flags;
    if (is_freed(pointer, 0))
        return CL_INVALID_VALUE;
    return next->clEnqueueMarkerWithWaitList(queue, count, waits, event);
}

static void *CL_API_CALL find(cl_platform_id platform, const char *name) {
    static const struct {
        const char *name;
        uintptr_t function;
    } functions[] = {
        {"clHostMemAllocINTEL", (uintptr_t)host_alloc},
        {"clDeviceMemAllocINTEL", (uintptr_t)device_alloc},
        {"clSharedMemAllocINTEL", (uintptr_t)device_alloc},
        {"clMemFreeINTEL", (uintptr_t)release},
        {"clMemBlockingFreeINTEL", (uintptr_t)release},
        {"clEnqueueMemcpyINTEL", (uintptr_t)copy},
        {"clSetKernelArgMemPointerINTEL", (uintptr_t)set_pointer},
        {"clEnqueueMemFillINTEL", (uintptr_t)fill},
        {"clEnqueueMigrateMemINTEL", (uintptr_t)migrate},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return (void *)functions[i].function;
    return next->clGetExtensionFunctionAddressForPlatform(platform, name);
}

static void layer_begin(void) {
    layer.clGetExtensionFunctionAddressForPlatform = find;
}
