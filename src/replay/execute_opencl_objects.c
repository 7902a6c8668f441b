// SPDX-License-Identifier: Apache-2.0
// The objects of a recording, made anew on the device of the replay.
#if __has_include(<CL/cl.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/compare.h"
#include "replay/execute_opencl.h"

enum { ARGUMENTS_MOST = 4096 };

// An object whose number is taken twice, or 0: the recording contradicts itself.
static tsmith_status contradiction(struct run *run, const struct recording_record *record, const char *what) {
    return status_set_at(run->error, TSMITH_ERROR_CORRUPT, record->offset, run->at,
                         "the recording is damaged at record %zu: %s", run->at, what);
}

static struct live *add(struct run *run, const struct recording_record *record) {
    return live_add(run, recording_value(record, RECORDING_KEY_OBJECT), record->type);
}

static size_t index_of(const struct run *run, const struct live *live) {
    return live ? (size_t)(live - run->lives) : 0;
}

// The context an object was made in; NULL: none that could be made.
static struct live *context_of(struct run *run, const struct recording_record *record) {
    struct live *live =
        live_find_type(run, recording_value(record, RECORDING_KEY_CONTEXT), RECORDING_CONTEXT);
    return live && live->handle.context ? live : NULL;
}

static tsmith_status make_context(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)run->execution->platform, 0};
    const uint8_t *devices;
    cl_int status;
    if (recording_list(record, RECORDING_KEY_DEVICES, &devices) > 1)
        run_note(run, "a context with several devices is replayed on one");
    live->handle.context =
        run->cl->clCreateContext(properties, 1, &run->execution->device, NULL, NULL, &status);
    if (status != CL_SUCCESS)
        return status_set(run->error, TSMITH_ERROR_MISSING, "%s gives no context (OpenCL error %d)",
                          run->execution->name, status);
    return TSMITH_OK;
}

static void make_queue(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_command_queue_properties flags = recording_value(record, RECORDING_KEY_FLAGS);
    const struct live *context = context_of(run, record);
    cl_int status = CL_INVALID_CONTEXT;
    if (flags & CL_QUEUE_ON_DEVICE) {
        live->why = "queues on the device are not replayed";
        return;
    }
    live->parent = index_of(run, context);
    if (context)
        live->handle.queue = run->cl->clCreateCommandQueue(
            context->handle.context, run->execution->device,
            flags & (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE), &status);
    // An order that was not asked for does no harm.
    if (context && status != CL_SUCCESS && (flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        live->handle.queue =
            run->cl->clCreateCommandQueue(context->handle.context, run->execution->device, 0, &status);
    if (status != CL_SUCCESS)
        live->why = "its queue could not be made on this device";
}

static void make_buffer(struct run *run, struct live *live, const struct recording_record *record) {
    const cl_mem_flags flags = recording_value(record, RECORDING_KEY_FLAGS) &
                               (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY);
    const struct live *context = context_of(run, record);
    cl_ulong most = 0;
    cl_int status = CL_INVALID_CONTEXT;
    size_t size = 0;
    live->size = recording_value(record, RECORDING_KEY_SIZE);
    live->parent = index_of(run, context);
    run->cl->clGetDeviceInfo(run->execution->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    if (!context || !live->size || live->size > most) {
        live->why = context ? "it is too large for this device" : "its context could not be made";
        return;
    }
    // What is not known (the host may not read it) is zero in every replay.
    const bool filled = recording_has_payload(record);
    uint8_t *bytes = filled ? recording_payload(run->recording, record, &size) : calloc(1, live->size);
    if (!bytes || (filled && size != live->size)) {
        live->why = "what the host filled it with is missing from the recording";
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
    live->parent = index_of(run, parent);
    live->size = region.size;
    if (parent && parent->handle.buffer && region.origin <= parent->size &&
        region.size <= parent->size - region.origin)
        live->handle.buffer = run->cl->clCreateSubBuffer(parent->handle.buffer, flags,
                                                         CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    if (status != CL_SUCCESS)
        live->why = "this part of a buffer cannot be had on this device";
}

static void make_sampler(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = context_of(run, record);
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

// ---- programs

static bool makes_kernel(const struct run *run, uint64_t program, const char *name) {
    for (size_t i = run->at; i < run->process->count; i++) {
        const struct recording_record *record = &run->process->records[i];
        const uint8_t *bytes;
        size_t length;
        if (record->type == RECORDING_KERNEL && recording_value(record, RECORDING_KEY_PROGRAM) == program &&
            recording_get_bytes(record, RECORDING_KEY_NAME, &bytes, &length) && length == strlen(name) &&
            memcmp(bytes, name, length) == 0)
            return true;
    }
    return false;
}

static void make_program(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = context_of(run, record);
    const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
    const tsmith_replay_options *options = run->options;
    cl_int status = CL_INVALID_CONTEXT;
    size_t size = 0;
    uint8_t *bytes = recording_payload(run->recording, record, &size);
    const unsigned char *binary = bytes;
    const char *text = (const char *)bytes;
    if (!bytes || !context) {
        live->why = bytes ? "its context could not be made" : "its program is missing from the recording";
    } else if (options->source_kernel && makes_kernel(run, live->id, options->source_kernel)) {
        text = options->source_text;
        live->handle.program =
            run->cl->clCreateProgramWithSource(context->handle.context, 1, &text, NULL, &status);
        run_note(run, "the program with the kernel %s was replaced", options->source_kernel);
    } else if (form == RECORDING_PROGRAM_SOURCE) {
        // A length of 0 would mean a string that ends with NUL.
        live->handle.program = run->cl->clCreateProgramWithSource(
            context->handle.context, 1, size ? &text : &(const char *){""}, &size, &status);
    } else if (form == RECORDING_PROGRAM_BINARY) {
        live->handle.program = run->cl->clCreateProgramWithBinary(
            context->handle.context, 1, &run->execution->device, &size, &binary, NULL, &status);
    } else {
        live->why = "programs in an intermediate language are not replayed yet";
    }
    if (!live->why && status != CL_SUCCESS)
        live->why = form == RECORDING_PROGRAM_BINARY ? "its binary is not for this device"
                                                     : "its program could not be made";
    free(bytes);
}

static void build(struct run *run, const struct recording_record *record) {
    struct live *live =
        live_find_type(run, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    char log[400] = "";
    if (!live || !live->handle.program)
        return;
    const char *options = recording_text(run->recording, record, RECORDING_KEY_TEXT);
    // The types of arguments: drivers forget them unless they are asked not to.
    static const char more[] = " -cl-kernel-arg-info";
    const size_t length = options ? strlen(options) : 0;
    char *text = malloc(length + sizeof more);
    if (text) {
        memcpy(text, options ? options : "", length);
        memcpy(text + length, more, sizeof more);
    }
    const cl_int status = run->cl->clBuildProgram(live->handle.program, 1, &run->execution->device,
                                                  text ? text : options, NULL, NULL);
    free(text);
    if (status == CL_SUCCESS)
        return;
    live->why = "its program does not compile on this device";
    size_t bytes = 0;
    char *whole = NULL;
    if (run->cl->clGetProgramBuildInfo(live->handle.program, run->execution->device, CL_PROGRAM_BUILD_LOG, 0,
                                       NULL, &bytes) == CL_SUCCESS &&
        (whole = calloc(1, bytes + 1)) != NULL &&
        run->cl->clGetProgramBuildInfo(live->handle.program, run->execution->device, CL_PROGRAM_BUILD_LOG,
                                       bytes, whole, NULL) == CL_SUCCESS)
        snprintf(log, sizeof log, "%s", whole);
    free(whole);
    run_note(run, "a program does not compile on this device: %s", log);
}

// ---- kernels

static bool copy_arguments(struct live *to, const struct live *from) {
    void *arguments = NULL;
    if (!from->argument_count)
        return true;
    if (!array_reserve(&arguments, &to->argument_capacity, from->argument_count, sizeof *to->arguments))
        return false;
    to->arguments = arguments;
    to->argument_count = from->argument_count;
    memcpy(to->arguments, from->arguments, from->argument_count * sizeof *to->arguments);
    for (size_t i = 0; i < to->argument_count; i++)
        to->arguments[i].changed = to->arguments[i].form != 0;
    return true;
}

static bool reserve_arguments(struct live *kernel, size_t count) {
    void *arguments = kernel->arguments;
    if (count <= kernel->argument_count)
        return true;
    if (!array_reserve(&arguments, &kernel->argument_capacity, count, sizeof *kernel->arguments))
        return false;
    kernel->arguments = arguments;
    memset(&kernel->arguments[kernel->argument_count], 0,
           (count - kernel->argument_count) * sizeof *kernel->arguments);
    kernel->argument_count = count;
    return true;
}

// What the kernel's declaration says of its arguments.
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
    live->parent = index_of(run, program);
    if (!program || program->why)
        live->why = program ? program->why : "its program is not in the recording";
    else if (name)
        live->handle.kernel = run->cl->clCreateKernel(program->handle.program, name, &status);
    if (!live->why && status != CL_SUCCESS) {
        live->why = "its program has no such kernel";
        run_note(run, "there is no kernel %s in its program", name ? name : "");
    }
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
    const char *type = recording_text(run->recording, record, RECORDING_KEY_NAME);
    *argument = (struct live_argument){
        .form = (enum recording_argument_form)recording_value(record, RECORDING_KEY_FORM),
        .size = recording_value(record, RECORDING_KEY_SIZE),
        .record = run->at,
        .changed = true};
    argument->declared_constant = declared_constant;
    argument->element = type ? element_of_type(type) : element;
    argument->constant = declared_constant ||
                         (recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_ARGUMENT_CONSTANT) != 0;
    argument->target = index_of(run, live_find(run, recording_value(record, RECORDING_KEY_TARGET)));
    if (argument->form == RECORDING_ARGUMENT_VALUE)
        recording_get_bytes(record, RECORDING_KEY_DATA, &argument->data, &argument->size);
    return TSMITH_OK;
}

// ---- the rest

static void make_user_event(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = context_of(run, record);
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

// The numbers of buffers go on to be used by kernels they are arguments of: only the memory goes.
static void release(struct run *run, const struct recording_record *record) {
    struct live *live = live_buffer(run, recording_value(record, RECORDING_KEY_OBJECT));
    if (!live || live->released || !live->handle.buffer)
        return;
    live->released = true;
    run->cl->clReleaseMemObject(live->handle.buffer);
}

tsmith_status execute_object(struct run *run, const struct recording_record *record) {
    struct live *live = NULL;
    switch (record->type) {
    case RECORDING_BUILD:
        build(run, record);
        return TSMITH_OK;
    case RECORDING_ARGUMENT:
        return execute_argument(run, recording_value(record, RECORDING_KEY_KERNEL), record);
    case RECORDING_USER_STATUS:
        set_user_event(run, record);
        return TSMITH_OK;
    case RECORDING_RELEASE:
        release(run, record);
        return TSMITH_OK;
    case RECORDING_CONTEXT:
    case RECORDING_QUEUE:
    case RECORDING_BUFFER:
    case RECORDING_SUB_BUFFER:
    case RECORDING_PROGRAM:
    case RECORDING_KERNEL:
    case RECORDING_SAMPLER:
    case RECORDING_USER_EVENT:
        live = add(run, record);
        break;
    default:
        run_note(run, "a record of a newer version (%u) was left out", record->type);
        return TSMITH_OK;
    }
    if (!live)
        return contradiction(run, record, "an object has no number, or one that is taken");
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
    case RECORDING_PROGRAM:
        make_program(run, live, record);
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
