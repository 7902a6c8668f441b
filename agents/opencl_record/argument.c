// SPDX-License-Identifier: Apache-2.0
// Arguments of kernels. They are remembered when they are set and written down by the next recorded launch, those that
// changed. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static bool is_global(const struct argument *argument) {
    return argument->space == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
           argument->space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
}

static bool copy_value(struct argument *argument, size_t size, const void *value) {
    if (value && size > argument->capacity) {
        uint8_t *room = realloc(argument->value, size);
        if (!room)
            return false;
        argument->value = room;
        argument->capacity = size;
    }
    if (!value) {
        free(argument->value);
        argument->value = NULL;
        argument->capacity = 0;
    } else {
        memcpy(argument->value, value, size);
    }
    argument->size = size;
    return true;
}

// With the lock held, as all that names an object.
static void set_target(struct argument *argument, struct object *target) {
    object_name(target);
    object_drop(argument->target);
    argument->target = target;
}

// With the lock held. A value of the size of a handle may be one: the driver's declaration decides, or whether the
// handle is known.
static struct object *target_of(const struct argument *argument, size_t size, const void *value) {
    const void *handle = NULL;
    if (value && size == sizeof handle)
        memcpy(&handle, value, sizeof handle);
    struct object *target =
        handle && (!argument->space || is_global(argument)) ? object_find_memory(handle) : NULL;
    return target;
}

static struct argument *find_argument(cl_kernel kernel, cl_uint index) {
    struct object *object = object_find(kernel, OBJECT_KERNEL);
    return object && index < object->kernel->argument_count ? &object->kernel->arguments[index] : NULL;
}

cl_int record_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    const cl_int status = recorder.next.clSetKernelArg(kernel, index, size, value);
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    pthread_mutex_lock(&recorder.lock);
    struct argument *argument = find_argument(kernel, index);
    if (argument) {
        struct object *target = target_of(argument, size, value);
        const bool same = argument->is_set && !argument->shared && argument->target == target &&
                          argument->size == size && !argument->value == !value &&
                          (!value || memcmp(argument->value, value, size) == 0);
        set_target(argument, target);
        argument->shared = false;
        argument->is_set = true;
        argument->changed |= !same;
        if (!same && !copy_value(argument, size, value))
            atomic_store(&recorder.on, false);
    }
    pthread_mutex_unlock(&recorder.lock);
    return status;
}

cl_int record_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value) {
    const cl_int status = recorder.next.clSetKernelArgSVMPointer(kernel, index, value);
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    pthread_mutex_lock(&recorder.lock);
    struct argument *argument = find_argument(kernel, index);
    if (argument) {
        set_target(argument, object_find_shared(value));
        argument->shared = argument->is_set = argument->changed = true;
        if (!copy_value(argument, sizeof value, &value))
            atomic_store(&recorder.on, false);
    }
    pthread_mutex_unlock(&recorder.lock);
    return status;
}

static void drop_uses(struct kernel *kernel) {
    for (size_t i = 0; i < kernel->use_count; i++)
        object_drop(kernel->uses[i]);
    free(kernel->uses);
}

cl_int record_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info what, size_t size,
                                  const void *value) {
    const cl_int status = recorder.next.clSetKernelExecInfo(kernel, what, size, value);
    cl_bool fine = CL_FALSE;
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    if (what == CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM && value && size == sizeof fine) {
        memcpy(&fine, value, sizeof fine);
        if (fine)
            refuse("clSetKernelExecInfo", "the kernel may use any memory of the host", NULL, 0, NULL);
    }
    if (what != CL_KERNEL_EXEC_INFO_SVM_PTRS)
        return status;
    const size_t count = size / sizeof(void *);
    struct object **uses = calloc(count ? count : 1, sizeof(struct object *));
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(kernel, OBJECT_KERNEL);
    if (object && uses) {
        drop_uses(object->kernel);
        object->kernel->uses = uses;
        object->kernel->use_count = 0;
        object->kernel->uses_changed = true;
        for (size_t i = 0; i < count; i++) {
            struct object *block = object_find_shared(((void *const *)value)[i]);
            if (block)
                uses[object->kernel->use_count++] = object_name(block);
        }
        uses = NULL;
    }
    pthread_mutex_unlock(&recorder.lock);
    free(uses);
    return status;
}

void kernel_copy_arguments(struct kernel *to, const struct kernel *from) {
    if (to->argument_count != from->argument_count)
        return;
    for (cl_uint i = 0; i < from->argument_count; i++) {
        struct argument *argument = &to->arguments[i];
        const struct argument *source = &from->arguments[i];
        *argument = *source;
        object_name(argument->target);
        argument->value = NULL;
        argument->capacity = 0;
        argument->changed = source->is_set;
        if (source->value && !copy_value(argument, source->size, source->value))
            atomic_store(&recorder.on, false);
    }
}

void kernel_settle(struct kernel *kernel) {
    size_t kept = 0;
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct argument *argument = &kernel->arguments[i];
        const void *value = NULL;
        if (!argument->target || !argument->target->ended)
            continue;
        if (argument->value && argument->size == sizeof value)
            memcpy(&value, argument->value, sizeof value);
        set_target(argument, argument->shared ? object_find_shared(value) : object_find_memory(value));
        argument->changed = true;
    }
    for (size_t i = 0; i < kernel->use_count; i++)
        if (kernel->uses[i]->ended)
            object_drop(kernel->uses[i]);
        else
            kernel->uses[kept++] = kernel->uses[i];
    kernel->uses_changed |= kept != kernel->use_count;
    kernel->use_count = kept;
}

// ---- writing down

static void put_shared(struct recording_writer *writer, const struct argument *argument) {
    const void *at = NULL;
    if (argument->value)
        memcpy(&at, argument->value, sizeof at);
    if (argument->target) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_SHARED);
        recording_put(writer, RECORDING_KEY_TARGET, argument->target->id);
        recording_put(writer, RECORDING_KEY_OFFSET,
                      (uint64_t)((uintptr_t)at - (uintptr_t)argument->target->handle));
        recording_put(writer, RECORDING_KEY_FLAGS, argument->constant ? RECORDING_ARGUMENT_CONSTANT : 0);
    } else if (at) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_REFUSED);
        recording_put_text(writer, RECORDING_KEY_TEXT, "an address in no memory that was seen being created");
    } else {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_NULL);
    }
    if (argument->type[0])
        recording_put_text(writer, RECORDING_KEY_NAME, argument->type);
}

static void put_argument(struct recording_writer *writer, const struct argument *argument) {
    const void *handle = NULL;
    if (argument->value && argument->size == sizeof handle)
        memcpy(&handle, argument->value, sizeof handle);
    const uint64_t sampler = handle && !is_global(argument) ? object_id(handle, OBJECT_SAMPLER) : 0;
    if (argument->shared) {
        put_shared(writer, argument);
    } else if (argument->target && argument->target->kind == OBJECT_OPAQUE) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_REFUSED);
        recording_put_text(writer, RECORDING_KEY_TEXT,
                           "an argument of the kernel is a pipe, or belongs to another API");
    } else if (argument->target || sampler) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_OBJECT);
        recording_put(writer, RECORDING_KEY_TARGET, sampler ? sampler : argument->target->id);
        recording_put(writer, RECORDING_KEY_FLAGS, argument->constant ? RECORDING_ARGUMENT_CONSTANT : 0);
        if (argument->type[0])
            recording_put_text(writer, RECORDING_KEY_NAME, argument->type);
    } else if (is_global(argument) && handle) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_REFUSED);
        recording_put_text(writer, RECORDING_KEY_TEXT, "memory that was not seen being created");
    } else if (is_global(argument)) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_NULL);
    } else if (!argument->value) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_LOCAL);
        recording_put(writer, RECORDING_KEY_SIZE, argument->size);
    } else {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_VALUE);
        recording_put_bytes(writer, RECORDING_KEY_DATA, argument->value, argument->size);
    }
}

void kernel_changes(struct object *object) {
    struct kernel *kernel = object->kernel;
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct argument *argument = &kernel->arguments[i];
        if (!argument->changed)
            continue;
        argument->changed = false;
        struct recording_writer *writer = record_open_inner(RECORDING_ARGUMENT);
        recording_put(writer, RECORDING_KEY_KERNEL, object->id);
        recording_put(writer, RECORDING_KEY_INDEX, i);
        put_argument(writer, argument);
        record_close_inner();
    }
    if (!kernel->uses_changed)
        return;
    uint64_t *ids = calloc(kernel->use_count + 1, sizeof *ids);
    struct recording_writer *writer = record_open_inner(RECORDING_USES);
    writer->failed |= !ids;
    for (size_t i = 0; ids && i < kernel->use_count; i++)
        ids[i] = kernel->uses[i]->id;
    recording_put(writer, RECORDING_KEY_KERNEL, object->id);
    if (ids)
        recording_put_list(writer, RECORDING_KEY_LIST, ids, kernel->use_count);
    record_close_inner();
    free(ids);
    kernel->uses_changed = false;
}
