// SPDX-License-Identifier: Apache-2.0
// The objects of a recording, made anew on the device of the replay.
#if __has_include(<CL/cl.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/opencl/execute.h"

enum { ARGUMENTS_MOST = 4096 };

// An object whose number is taken twice, or 0: the recording contradicts itself.
static tsmith_status contradiction(struct run *run, const struct recording_record *record, const char *what) {
    return status_set_at(run->error, TSMITH_ERROR_CORRUPT, record->offset, run->at,
                         "the recording is damaged at record %zu: %s", run->at, what);
}

static struct live *add(struct run *run, const struct recording_record *record) {
    return live_add(run, recording_value(record, RECORDING_KEY_OBJECT), record->type);
}

size_t live_index(const struct run *run, const struct live *live) {
    return live ? (size_t)(live - run->lives) : 0;
}

// The context an object was made in; NULL: none that could be made.
struct live *object_context(struct run *run, const struct recording_record *record) {
    struct live *live =
        live_find_type(run, recording_value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT);
    return live && live->handle.context ? live : NULL;
}

static bool take_device(struct live *context, size_t device) {
    for (size_t i = 0; i < context->use_count; i++)
        if (context->uses[i] == device)
            return true;
    size_t *uses = realloc(context->uses, (context->use_count + 1) * sizeof *uses);
    if (!uses)
        return false;
    uses[context->use_count++] = device;
    context->uses = uses;
    return true;
}

static tsmith_status make_context(struct run *run, struct live *live, const struct recording_record *record) {
    cl_device_id devices[EXECUTE_DEVICES_MOST];
    const uint8_t *ids;
    cl_int status;
    size_t count = recording_list(record, RECORDING_KEY_DEVICES, &ids);
    for (size_t i = 0; i < count && i < EXECUTE_DEVICES_MOST; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        if (!take_device(live, devices_find(run, id)))
            return run_no_memory(run);
    }
    if (!live->use_count && !take_device(live, devices_find(run, 0)))
        return run_no_memory(run);
    const struct execute_device *all = run->execution->devices, *first = &all[live->uses[0]];
    for (size_t i = 1; i < live->use_count; i++)
        if (all[live->uses[i]].platform != first->platform)
            return status_set(run->error, TSMITH_ERROR_INVALID_ARGUMENT,
                              "a recorded context has several devices, and %s and %s are of different "
                              "platforms: choose others (--device)",
                              first->name, all[live->uses[i]].name);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)first->platform,
                                                0};
    count = context_devices(run, live, devices, EXECUTE_DEVICES_MOST);
    live->handle.context = run->cl->clCreateContext(properties, (cl_uint)count, devices, NULL, NULL, &status);
    if (status != CL_SUCCESS)
        return status_set(run->error, TSMITH_ERROR_MISSING, "cannot create a context on %s (OpenCL error %d)",
                          first->name, status);
    return TSMITH_OK;
}

// The recorded one's, if the context has it.
static cl_device_id device_of_queue(struct run *run, const struct live *context,
                                    const struct recording_record *record) {
    const size_t device = devices_find(run, recording_value(record, RECORDING_KEY_DEVICE));
    for (size_t i = 0; i < context->use_count; i++)
        if (context->uses[i] == device)
            return run->execution->devices[device].id;
    return context_device(run, context);
}

static void make_queue(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_command_queue_properties timed = execute_option_time_all(run) ? CL_QUEUE_PROFILING_ENABLE : 0;
    const cl_command_queue_properties flags = recording_value(record, RECORDING_KEY_FLAGS) | timed;
    const struct live *context = object_context(run, record);
    const cl_device_id device = context ? device_of_queue(run, context, record) : NULL;
    cl_int status = CL_INVALID_CONTEXT;
    if (flags & CL_QUEUE_ON_DEVICE) {
        live->why = "queues on the device are not replayed";
        return;
    }
    live->parent = live_index(run, context);
    if (context)
        live->handle.queue = run->cl->clCreateCommandQueue(
            context->handle.context, device,
            flags & (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE), &status);
    // An order that was not asked for does no harm.
    if (context && status != CL_SUCCESS && (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        live->handle.queue = run->cl->clCreateCommandQueue(context->handle.context, device, timed, &status);
    if (status != CL_SUCCESS)
        live->why = "its queue could not be made on this device";
}

static void make_buffer(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_mem_flags flags = recording_value(record, RECORDING_KEY_FLAGS) &
                               (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    const struct live *context = object_context(run, record);
    cl_int status = CL_INVALID_CONTEXT;
    size_t size = 0;
    live->size = recording_value(record, RECORDING_KEY_SIZE);
    live->parent = live_index(run, context);
    if (recording_value(record, RECORDING_KEY_FLAGS) & CL_MEM_USE_HOST_PTR)
        live->held =
            "it is in host memory of the program (CL_MEM_USE_HOST_PTR), which may have written it without "
            "mapping it";
    if (!context || !live->size || live->size > context_memory_most(run, context)) {
        live->why = context ? "it is too large for this device" : "its context could not be made";
        return;
    }
    // What is not known (the host may not read it) is zero in every replay.
    const bool filled = recording_has_payload(record);
    uint8_t *bytes = filled ? recording_payload(run->recording, record, &size) : calloc(1, live->size);
    if (!bytes || (filled && size != live->size)) {
        live->why = recording_missing(run->recording);
        free(bytes);
        bytes = calloc(1, live->size);
    }
    if (bytes)
        live->handle.buffer = run->cl->clCreateBuffer(context->handle.context, flags | CL_MEM_COPY_HOST_PTR,
                                                      live->size, bytes, &status);
    free(bytes);
    if (status != CL_SUCCESS)
        live->why = "there was no room for it on this device";
}

static void make_sub_buffer(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_mem_flags flags = recording_value(record, RECORDING_KEY_FLAGS) &
                               (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    const cl_buffer_region region = {recording_value(record, RECORDING_KEY_OFFSET),
                                     recording_value(record, RECORDING_KEY_SIZE)};
    const struct live *parent =
        live_find_type(run, recording_value(record, RECORDING_KEY_PARENT), RECORDING_BUFFER);
    cl_int status = CL_INVALID_MEM_OBJECT;
    live->within = live_index(run, parent);
    live->parent = parent ? parent->parent : 0;
    live->size = region.size;
    if (parent && parent->handle.buffer && !parent->released && region.origin <= parent->size &&
        region.size <= parent->size - region.origin)
        live->handle.buffer = run->cl->clCreateSubBuffer(parent->handle.buffer, flags,
                                                         CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (status != CL_SUCCESS)
        live->why = "this device cannot create this sub-buffer";
}

static void make_sampler(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    uint64_t values[3];
    size_t count;
    cl_int status = CL_INVALID_CONTEXT;
    if (context && recording_get_list(record, RECORDING_KEY_LIST, values, 3, &count) && count == 3)
        live->handle.sampler =
            run->cl->clCreateSampler(context->handle.context, (cl_bool)values[0],
                                     (cl_addressing_mode)values[1], (cl_filter_mode)values[2], &status);
    if (status != CL_SUCCESS)
        live->why = "its sampler could not be made on this device";
}

// ---- kernels

static bool copy_arguments(struct live *to, const struct live *from) {
    if (!from->argument_count)
        return true;
    if (!ARRAY_RESERVE(to->arguments, to->argument_capacity, from->argument_count))
        return false;
    to->argument_count = from->argument_count;
    memcpy(to->arguments, from->arguments, from->argument_count * sizeof *to->arguments);
    for (size_t i = 0; i < to->argument_count; i++)
        to->arguments[i].changed = to->arguments[i].form != 0;
    return true;
}

static bool reserve_arguments(struct live *kernel, size_t count) {
    if (count <= kernel->argument_count)
        return true;
    if (!ARRAY_RESERVE(kernel->arguments, kernel->argument_capacity, count))
        return false;
    memset(&kernel->arguments[kernel->argument_count], 0,
           (count - kernel->argument_count) * sizeof *kernel->arguments);
    kernel->argument_count = count;
    return true;
}

// Whether a driver takes what it is given for this argument for a handle.
static enum live_declared declared_as(struct run *run, const struct live *kernel, cl_uint index,
                                      const char *type) {
    cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
    if (strcmp(type, "sampler_t") == 0)
        return DECLARED_SAMPLER;
    if (run->cl->clGetKernelArgInfo(kernel->handle.kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER,
                                    sizeof address, &address, NULL) != CL_SUCCESS)
        return DECLARED_UNKNOWN;
    return address == CL_KERNEL_ARG_ADDRESS_GLOBAL || address == CL_KERNEL_ARG_ADDRESS_CONSTANT
               ? DECLARED_MEMORY
               : DECLARED_UNKNOWN;
}

// The kernel's declaration of its arguments.
static bool ask_arguments(struct run *run, struct live *kernel) {
    cl_uint count = 0;
    run->cl->clGetKernelInfo(kernel->handle.kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    if (count > ARGUMENTS_MOST || !reserve_arguments(kernel, count))
        return count > ARGUMENTS_MOST;
    for (cl_uint i = 0; i < count; i++) {
        char type[256] = "";
        cl_kernel_arg_type_qualifier qualifier = 0;
        run->cl->clGetKernelArgInfo(kernel->handle.kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type,
                                    NULL);
        run->cl->clGetKernelArgInfo(kernel->handle.kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifier,
                                    &qualifier, NULL);
        kernel->arguments[i].element = element_of_type(type);
        kernel->arguments[i].declared_constant = (qualifier & CL_KERNEL_ARG_TYPE_CONST) != 0;
        kernel->arguments[i].declared = declared_as(run, kernel, i, type);
    }
    return true;
}

static tsmith_status make_kernel(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *cloned =
        live_find_type(run, recording_value(record, RECORDING_KEY_CLONED), RECORDING_KERNEL);
    const struct live *program =
        live_find_type(run, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    const char *name = recording_text(run->recording, record, RECORDING_KEY_NAME);
    cl_int status = CL_INVALID_PROGRAM;
    live->parent = live_index(run, program);
    if (!program || program->why)
        live->why = program ? program->why : "its program is not in the recording";
    else if (name)
        live->handle.kernel = run->cl->clCreateKernel(program->handle.program, name, &status);
    if (!live->why && status != CL_SUCCESS) {
        live->why = "its program has no such kernel";
        run_note(run, "there is no kernel %s in its program", name ? name : "");
    }
    if (live->why && name && run->options->source_kernel && strcmp(name, run->options->source_kernel) == 0)
        run->execution->source_failed = true;
    if (cloned && !copy_arguments(live, cloned))
        return run_no_memory(run);
    return !live->handle.kernel || ask_arguments(run, live) ? TSMITH_OK : run_no_memory(run);
}

tsmith_status execute_argument(struct run *run, uint64_t id, const struct recording_record *record) {
    struct live *kernel = live_find_type(run, id, RECORDING_KERNEL);
    const uint64_t index = recording_value(record, RECORDING_KEY_INDEX);
    if (!kernel || index >= ARGUMENTS_MOST)
        return kernel ? contradiction(run, record, "an argument beyond all others") : TSMITH_OK;
    if (!reserve_arguments(kernel, (size_t)index + 1))
        return run_no_memory(run);
    struct live_argument *argument = &kernel->arguments[index];
    const tsmith_element element = argument->element;
    const bool declared_constant = argument->declared_constant;
    const enum live_declared declared = argument->declared;
    const char *type = recording_text(run->recording, record, RECORDING_KEY_NAME);
    *argument = (struct live_argument){
        .form = (enum recording_argument_form)recording_value(record, RECORDING_KEY_FORM),
        .size = recording_value(record, RECORDING_KEY_SIZE),
        .record = run->at,
        .changed = true};
    argument->declared_constant = declared_constant;
    argument->declared = declared;
    argument->element = type ? element_of_type(type) : element;
    argument->constant = declared_constant ||
                         (recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_ARGUMENT_CONSTANT) != 0;
    argument->target = live_index(run, live_find(run, recording_value(record, RECORDING_KEY_TARGET)));
    argument->offset = recording_value(record, RECORDING_KEY_OFFSET);
    if (argument->form == RECORDING_ARGUMENT_VALUE)
        recording_get_bytes(record, RECORDING_KEY_DATA, &argument->data, &argument->size);
    return TSMITH_OK;
}

static tsmith_status set_uses(struct run *run, const struct recording_record *record) {
    struct live *kernel =
        live_find_type(run, recording_value(record, RECORDING_KEY_KERNEL), RECORDING_KERNEL);
    const uint8_t *ids;
    const size_t count = recording_list(record, RECORDING_KEY_LIST, &ids);
    size_t *uses = calloc(count ? count : 1, sizeof *uses);
    if (!kernel || !uses) {
        free(uses);
        return kernel ? run_no_memory(run) : TSMITH_OK;
    }
    free(kernel->uses);
    kernel->uses = uses;
    kernel->use_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const struct live *shared = live_find_type(run, id, RECORDING_SHARED);
        if (shared)
            uses[kernel->use_count++] = live_index(run, shared);
    }
    return TSMITH_OK;
}

// ---- the rest

static void make_user_event(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    cl_int status = CL_SUCCESS;
    if (context)
        live->handle.event = run->cl->clCreateUserEvent(context->handle.context, &status);
}

static void set_user_event(struct run *run, const struct recording_record *record) {
    const struct live *live =
        live_find_type(run, recording_value(record, RECORDING_KEY_OBJECT), RECORDING_USER_EVENT);
    const int64_t status = (int64_t)recording_value(record, RECORDING_KEY_STATUS);
    if (live && live->handle.event)
        run->cl->clSetUserEventStatus(live->handle.event, (cl_int)status);
}

// Records that change an object.
static bool change_object(struct run *run, const struct recording_record *record, tsmith_status *status) {
    switch (record->type) {
    case RECORDING_DEVICE: // devices_map
        return true;
    case RECORDING_BUILD:
    case RECORDING_COMPILE:
        execute_build(run, record);
        return true;
    case RECORDING_INCLUDED:
        included_execute(run, record);
        return true;
    case RECORDING_USES:
        *status = set_uses(run, record);
        return true;
    case RECORDING_ARGUMENT:
        *status = execute_argument(run, recording_value(record, RECORDING_KEY_KERNEL), record);
        return true;
    case RECORDING_USER_STATUS:
        set_user_event(run, record);
        return true;
    case RECORDING_RELEASE:
        memory_release(run, live_memory(run, recording_value(record, RECORDING_KEY_OBJECT)));
        return true;
    default:
        return false;
    }
}

// Records that make one.
static struct live *add_object(struct run *run, const struct recording_record *record, bool *known) {
    switch (record->type) {
    case RECORDING_CONTEXT:
    case RECORDING_QUEUE:
    case RECORDING_BUFFER:
    case RECORDING_SUB_BUFFER:
    case RECORDING_PROGRAM:
    case RECORDING_KERNEL:
    case RECORDING_SAMPLER:
    case RECORDING_USER_EVENT:
    case RECORDING_IMAGE:
    case RECORDING_SHARED:
        return add(run, record);
    case RECORDING_LINK:
        return live_add(run, recording_value(record, RECORDING_KEY_OBJECT), RECORDING_PROGRAM);
    default:
        *known = false;
        return NULL;
    }
}

tsmith_status execute_object(struct run *run, const struct recording_record *record) {
    tsmith_status status = TSMITH_OK;
    bool known = true;
    if (change_object(run, record, &status))
        return status;
    struct live *live = add_object(run, record, &known);
    if (!known) {
        run_note(run, "a record of a newer version (%u) was left out", record->type);
        return TSMITH_OK;
    }
    if (!live)
        return contradiction(run, record, "an object has no number, or the number of another object");
    switch (record->type) {
    case RECORDING_CONTEXT:
        return make_context(run, live, record);
    case RECORDING_KERNEL:
        return make_kernel(run, live, record);
    case RECORDING_QUEUE:
        make_queue(run, live, record);
        break;
    case RECORDING_BUFFER:
        make_buffer(run, live, record);
        break;
    case RECORDING_SUB_BUFFER:
        make_sub_buffer(run, live, record);
        break;
    case RECORDING_IMAGE:
        execute_image(run, live, record);
        break;
    case RECORDING_SHARED:
        execute_shared(run, live, record);
        break;
    case RECORDING_PROGRAM:
        execute_program(run, live, record);
        break;
    case RECORDING_LINK:
        execute_link(run, live, record);
        break;
    case RECORDING_SAMPLER:
        make_sampler(run, live, record);
        break;
    default:
        make_user_event(run, live, record);
    }
    return TSMITH_OK;
}

#else
typedef int execute_without_opencl; // a translation unit has something in it
#endif
