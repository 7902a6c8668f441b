// SPDX-License-Identifier: Apache-2.0
// Unified shared memory of Intel's extension: recorded as shared virtual memory is (svm.c). Rules: agent.h. The form of a wrapper:
// command.h; but the driver's function is the one that was fetched.
//
// An allocation is known by its address: a command that is given the middle of one names no object. Which of both is the host's is
// known to the driver only, so that copies have no direction.
#include "usm.h"

#include <string.h>

#include "command.h"
#include "memory.h"
#include "released.h"

#define WRAPPER_DECLARE(name) OPENCL_DEFINE(WRAPPER_TYPE, name, )
#define WRAPPER_TYPE(name, result_type, parameters, arguments, ...)                                          \
    static result_type CL_API_CALL usm_##name parameters;
OPENCL_FETCHED_CALLS(WRAPPER_DECLARE)

static _Atomic uintptr_t fetched[CALL_LIMIT];
#define NEXT(name)                                                                                           \
    ((__typeof__(&usm_##name))atomic_load_explicit(&fetched[CALL_##name], memory_order_relaxed))

void *usm_wrapper(const char *name, void *function) {
    static const struct {
        const char *name;
        enum call_id call;
        uintptr_t wrapper;
    } wrappers[] = {
#define WRAPPER_ROW(name) {#name, CALL_##name, (uintptr_t)usm_##name},
        OPENCL_FETCHED_CALLS(WRAPPER_ROW)};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        uintptr_t before = 0;
        if (strcmp(wrappers[i].name, name) != 0)
            continue;
        const bool is_same =
            atomic_compare_exchange_strong(&fetched[wrappers[i].call], &before, (uintptr_t)function) ||
            before == (uintptr_t)function;
        return is_same ? (void *)wrappers[i].wrapper : NULL;
    }
    return NULL;
}

// ---- allocations

static void allocated(struct call *call, tsmith_operation operation, void *pointer, cl_int result,
                      size_t size) {
    memory_created(call, operation, pointer,
                   pointer  ? CL_SUCCESS
                   : result ? result
                            : CL_OUT_OF_RESOURCES,
                   NULL, (struct memory){.bytes = size, .owned = size});
}

#define ALLOCATE(name, operation) OPENCL_DEFINE(ALLOCATE_WRAPPER, name, operation)
#define ALLOCATE_WRAPPER(name, result_type, parameters, arguments, operation)                                \
    static result_type CL_API_CALL usm_##name parameters {                                                   \
        struct call call = call_begin_with_stack(CALL_##name);                                               \
        cl_int own = CL_SUCCESS;                                                                             \
        error = error ? error : &own;                                                                        \
        void *const pointer = NEXT(name) arguments;                                                          \
        allocated(&call, TSMITH_OPERATION_##operation, pointer, *error, size);                               \
        return pointer;                                                                                      \
    }

ALLOCATE(clHostMemAllocINTEL, SVM)
ALLOCATE(clDeviceMemAllocINTEL, BUFFER)
ALLOCATE(clSharedMemAllocINTEL, SVM)

// What the driver refused to free lives on.
static void freed(struct call *call, const void *pointer, struct object *object, cl_int result) {
    if (object && result != CL_SUCCESS) {
        object_keep(object);
        object = NULL;
    }
    if (released_on && object)
        released_note(call, pointer, object);
    memory_freed(call, object);
}

#define FREE(name) OPENCL_DEFINE(FREE_WRAPPER, name, )
#define FREE_WRAPPER(name, result_type, parameters, arguments, ...)                                          \
    static result_type CL_API_CALL usm_##name parameters {                                                   \
        struct call call = call_begin_to_release(CALL_##name);                                               \
        struct object *object = memory_forget(pointer);                                                      \
        if (released_on && !object)                                                                          \
            released_note(&call, pointer, NULL);                                                             \
        const cl_int result = NEXT(name) arguments;                                                          \
        freed(&call, pointer, object, result);                                                               \
        return result;                                                                                       \
    }

FREE(clMemFreeINTEL)
FREE(clMemBlockingFreeINTEL)

static cl_int CL_API_CALL usm_clSetKernelArgMemPointerINTEL(cl_kernel kernel, cl_uint index,
                                                            const void *pointer) {
    const uint32_t stack = released_on ? stacks_capture() : 0;
    const cl_int result = NEXT(clSetKernelArgMemPointerINTEL)(kernel, index, pointer);
    if (released_on && result == CL_SUCCESS)
        released_set_pointer(kernel, index, pointer, stack);
    return result;
}

// ---- commands

// The object's number; not asked for from the driver, which knows no memory object of this address.
static uint64_t number_of(const struct command *command, const void *pointer) {
    const struct object *object = object_find(OBJECT_MEMORY, pointer);
    if (released_on && pointer && !object)
        released_passed(command->call.function, command->call.stack, pointer, 0, -1);
    return object_number(object);
}

static void copy(struct command *command, void *to, const void *from, size_t size) {
    command_copy(command, TSMITH_OPERATION_SVM_COPY, TSMITH_DIRECTION_NONE, size, NULL, NULL);
    command_objects(command, number_of(command, from), number_of(command, to));
}

static void fill(struct command *command, void *to, size_t size) {
    command_fill(command, TSMITH_OPERATION_SVM_FILL, size, NULL);
    command_filled(command, number_of(command, to));
}

static void migrate(struct command *command, const void *pointer, size_t size, cl_mem_migration_flags flags) {
    const bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
    command_copy(command, TSMITH_OPERATION_SVM_MIGRATE,
                 to_host ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_NONE, size, NULL, NULL);
    command_flags(command, flags);
    command_objects(command, number_of(command, pointer), 0);
}

#define USM_ENQUEUE(name, blocks, ...) OPENCL_DEFINE(USM_WRAPPER, name, blocks, __VA_ARGS__)
#define USM_WRAPPER(name, result_type, parameters, arguments, blocks, ...)                                   \
    static result_type CL_API_CALL usm_##name parameters {                                                   \
        struct command command;                                                                              \
        cl_event own;                                                                                        \
        if (!command_begin(&command, &event, &own))                                                          \
            return NEXT(name) arguments; /* not recorded */                                                  \
        const cl_int result = NEXT(name) arguments;                                                          \
        command_returned(&command, CALL_##name, queue, blocks, waits ? count : 0);                           \
        __VA_ARGS__;                                                                                         \
        return command_end(&command, event, result, count, waits);                                           \
    }

USM_ENQUEUE(clEnqueueMemcpyINTEL, blocking_of(blocking), copy(&command, to, from, size))
USM_ENQUEUE(clEnqueueMemFillINTEL, BLOCKING_NEVER, fill(&command, to, size))
USM_ENQUEUE(clEnqueueMemsetINTEL, BLOCKING_NEVER, fill(&command, to, size))
USM_ENQUEUE(clEnqueueMigrateMemINTEL, BLOCKING_NEVER, migrate(&command, pointer, size, flags))
