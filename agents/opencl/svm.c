// SPDX-License-Identifier: Apache-2.0
// Shared virtual memory. Rules: agent.h. The form of a wrapper: command.h.
#include "command.h"
#include "memory.h"
#include "released.h"

static void command_svm_migrate(struct command *command, cl_uint count, const size_t *sizes,
                                cl_mem_migration_flags flags) {
    uint64_t bytes = 0; // a size of 0 means the whole allocation: not known here
    for (cl_uint i = 0; sizes && i < count; i++)
        bytes += sizes[i];
    const bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
    command_copy(command, TSMITH_OPERATION_SVM_MIGRATE,
                 to_host ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_NONE, bytes, NULL, NULL);
    command_flags(command, flags);
}

void *layer_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
    struct call call = call_begin_with_stack(CALL_clSVMAlloc);
    void *pointer = opencl_next.clSVMAlloc(context, flags, size, alignment);
    memory_created(&call, TSMITH_OPERATION_SVM, pointer,
                   pointer ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE, NULL,
                   (struct memory){.bytes = size, .owned = size, .flags = flags});
    return pointer;
}

void layer_clSVMFree(cl_context context, void *pointer) {
    struct call call = call_begin_to_release(CALL_clSVMFree);
    struct object *object = memory_forget(pointer);
    if (released_on)
        released_note(&call, pointer, object);
    opencl_next.clSVMFree(context, pointer);
    memory_freed(&call, object);
}

// The memory is freed when the command runs; it is counted as freed at the program's call.
static void svm_free_queued(struct command *command, cl_int result, cl_uint count, void **pointers) {
    command_plain(command, CLASS_FREE, TSMITH_OPERATION_SVM_FREE);
    for (cl_uint i = 0; result == CL_SUCCESS && pointers && i < count; i++) {
        struct call call = command->call;
        struct object *object = memory_forget(pointers[i]);
        if (released_on)
            released_note(&call, pointers[i], object);
        memory_freed(&call, object);
    }
}

ENQUEUE(clEnqueueSVMFree, BLOCKING_NEVER, svm_free_queued(&command, result, pointer_count, pointers))

ENQUEUE_COPY(clEnqueueSVMMemcpy, blocking_of(blocking), SVM_COPY, NONE, size, NULL, NULL)

ENQUEUE(clEnqueueSVMMemFill, BLOCKING_NEVER, command_fill(&command, TSMITH_OPERATION_SVM_FILL, size, NULL))

ENQUEUE(clEnqueueSVMMap, blocking_of(blocking),
        command_map(&command, TSMITH_OPERATION_SVM_MAP, flags, size, NULL))

ENQUEUE_COPY(clEnqueueSVMUnmap, BLOCKING_NEVER, SVM_UNMAP, HOST_TO_DEVICE, 0, NULL, NULL)

ENQUEUE(clEnqueueSVMMigrateMem, BLOCKING_NEVER, command_svm_migrate(&command, pointer_count, sizes, flags))
