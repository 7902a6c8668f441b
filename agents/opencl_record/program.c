// SPDX-License-Identifier: Apache-2.0
// Programs, kernels and their arguments. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static uint64_t note_program(cl_program program, cl_context context, enum recording_program_form form,
                             const void *bytes, size_t size) {
    struct payload payload;
    payload_take(&payload, bytes, size);
    struct recording_writer *writer = record_open(RECORDING_PROGRAM);
    const uint64_t id = object_add(program, OBJECT_PROGRAM)->id;
    recording_put(writer, RECORDING_KEY_OBJECT, id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_FORM, form);
    payload_put(writer, &payload);
    record_close();
    return id;
}

cl_program record_clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
                                            const size_t *lengths, cl_int *status) {
    cl_program program = recorder.next.clCreateProgramWithSource(context, count, strings, lengths, status);
    size_t total = 0;
    if (!recorder_on() || !program)
        return program;
    for (cl_uint i = 0; i < count; i++)
        total += lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
    char *text = malloc(total + 1), *at = text;
    for (cl_uint i = 0; text && i < count; i++) {
        const size_t length = lengths && lengths[i] ? lengths[i] : strlen(strings[i]);
        memcpy(at, strings[i], length);
        at += length;
    }
    if (text)
        note_program(program, context, RECORDING_PROGRAM_SOURCE, text, total);
    else
        refuse("clCreateProgramWithSource", "there was no memory to keep the source", NULL, 0, NULL);
    free(text);
    return program;
}

cl_program record_clCreateProgramWithIL(cl_context context, const void *il, size_t length, cl_int *status) {
    cl_program program = recorder.next.clCreateProgramWithIL(context, il, length, status);
    if (recorder_on() && program)
        note_program(program, context, RECORDING_PROGRAM_IL, il, length);
    return program;
}

// The binary for the first device: replay runs on one.
cl_program record_clCreateProgramWithBinary(cl_context context, cl_uint count, const cl_device_id *devices,
                                            const size_t *lengths, const unsigned char **binaries,
                                            cl_int *each, cl_int *status) {
    cl_program program =
        recorder.next.clCreateProgramWithBinary(context, count, devices, lengths, binaries, each, status);
    if (recorder_on() && program)
        note_program(program, context, RECORDING_PROGRAM_BINARY, binaries[0], lengths[0]);
    return program;
}

cl_program record_clCreateProgramWithBuiltInKernels(cl_context context, cl_uint count,
                                                    const cl_device_id *devices, const char *names,
                                                    cl_int *status) {
    cl_program program =
        recorder.next.clCreateProgramWithBuiltInKernels(context, count, devices, names, status);
    if (recorder_on() && program)
        refuse("clCreateProgramWithBuiltInKernels", "kernels that are built into a device are not recorded",
               NULL, 0, NULL);
    return program;
}

static void note_build(cl_program program, const char *options) {
    struct recording_writer *writer = record_open(RECORDING_BUILD);
    recording_put(writer, RECORDING_KEY_PROGRAM, object_id(program, OBJECT_PROGRAM));
    recording_put_text(writer, RECORDING_KEY_TEXT, options);
    record_close();
}

cl_int record_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                             const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    if (recorder_on())
        note_build(program, options);
    return recorder.next.clBuildProgram(program, count, devices, options, notify, user);
}

// What was linked is kept as its binary: of the sources it was made of, with their headers, nothing else is needed.
cl_program record_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                const char *options, cl_uint inputs, const cl_program *programs,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *status) {
    cl_program program =
        recorder.next.clLinkProgram(context, count, devices, options, inputs, programs, notify, user, status);
    size_t sizes[64] = {0}, bytes = 0;
    unsigned char *binaries[64] = {0};
    if (!recorder_on() || !program)
        return program;
    if (!notify &&
        recorder.next.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &bytes) ==
            CL_SUCCESS &&
        sizes[0])
        for (size_t i = 0; i < bytes / sizeof *sizes; i++)
            binaries[i] = malloc(sizes[i] ? sizes[i] : 1);
    if (binaries[0] && recorder.next.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries,
                                                      NULL) == CL_SUCCESS) {
        note_program(program, context, RECORDING_PROGRAM_BINARY, binaries[0], sizes[0]);
        note_build(program, "");
    } else {
        refuse("clLinkProgram", "the binary of the linked program could not be had", NULL, 0, NULL);
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        free(binaries[i]);
    return program;
}

// ---- kernels

// What each argument is, as far as the driver says. Without the lock.
static struct argument *ask_arguments(cl_kernel kernel, cl_uint *count) {
    *count = 0;
    recorder.next.clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof *count, count, NULL);
    struct argument *arguments = calloc(*count ? *count : 1, sizeof *arguments);
    for (cl_uint i = 0; arguments && recorder.next.clGetKernelArgInfo && i < *count; i++) {
        cl_kernel_arg_address_qualifier space = 0;
        cl_kernel_arg_type_qualifier type = 0;
        if (recorder.next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space, &space,
                                             NULL) == CL_SUCCESS)
            arguments[i].space = space;
        if (recorder.next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof type, &type,
                                             NULL) == CL_SUCCESS)
            arguments[i].constant = (type & CL_KERNEL_ARG_TYPE_CONST) != 0;
        if (recorder.next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_TYPE_NAME, sizeof arguments[i].type,
                                             arguments[i].type, NULL) != CL_SUCCESS)
            arguments[i].type[0] = '\0';
        arguments[i].constant |= space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    }
    if (!arguments)
        *count = 0;
    return arguments;
}

static void note_kernel(cl_kernel kernel, cl_program program, const char *name, cl_kernel cloned) {
    cl_uint count;
    struct argument *arguments = ask_arguments(kernel, &count);
    struct recording_writer *writer = record_open(RECORDING_KERNEL);
    const struct object *source = object_find(cloned, OBJECT_KERNEL);
    struct object *object = object_add(kernel, OBJECT_KERNEL);
    object->arguments = arguments;
    object->argument_count = count;
    if (source && source->argument_count == count && count)
        memcpy(arguments, source->arguments, count * sizeof *arguments);
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_PROGRAM, object_id(program, OBJECT_PROGRAM));
    recording_put_text(writer, RECORDING_KEY_NAME, name);
    if (source)
        recording_put(writer, RECORDING_KEY_CLONED, source->id);
    record_close();
}

// Of kernels whose names the driver knows.
static void note_named(cl_kernel kernel, cl_kernel cloned) {
    char name[4096] = "";
    cl_program program = NULL;
    recorder.next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name - 1, name, NULL);
    recorder.next.clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    note_kernel(kernel, program, name, cloned);
}

cl_kernel record_clCreateKernel(cl_program program, const char *name, cl_int *status) {
    cl_kernel kernel = recorder.next.clCreateKernel(program, name, status);
    if (recorder_on() && kernel)
        note_kernel(kernel, program, name, NULL);
    return kernel;
}

cl_int record_clCreateKernelsInProgram(cl_program program, cl_uint count, cl_kernel *kernels,
                                       cl_uint *count_out) {
    cl_uint made = 0;
    const cl_int status = recorder.next.clCreateKernelsInProgram(program, count, kernels, &made);
    if (count_out)
        *count_out = made;
    for (cl_uint i = 0; recorder_on() && status == CL_SUCCESS && kernels && i < made; i++)
        note_named(kernels[i], NULL);
    return status;
}

cl_kernel record_clCloneKernel(cl_kernel source, cl_int *status) {
    cl_kernel kernel = recorder.next.clCloneKernel(source, status);
    if (recorder_on() && kernel)
        note_named(kernel, source);
    return kernel;
}

// ---- arguments

static bool is_memory(const struct argument *argument) {
    return argument->space == CL_KERNEL_ARG_ADDRESS_GLOBAL ||
           argument->space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
}

// With the lock held. A value of the size of a handle may be one: the driver says so, or it is one that is known.
static void put_argument(struct recording_writer *writer, struct argument *argument, size_t size,
                         const void *value) {
    const void *handle = NULL;
    if (value && size == sizeof handle)
        memcpy(&handle, value, sizeof handle);
    struct object *target =
        handle && (!argument->space || is_memory(argument)) ? object_find_memory(handle) : NULL;
    if (!target && handle && !is_memory(argument))
        target = object_find(handle, OBJECT_SAMPLER);
    argument->target = target;
    if (target) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_OBJECT);
        recording_put(writer, RECORDING_KEY_TARGET, target->id);
        recording_put(writer, RECORDING_KEY_FLAGS, argument->constant ? RECORDING_ARGUMENT_CONSTANT : 0);
        if (argument->type[0])
            recording_put_text(writer, RECORDING_KEY_NAME, argument->type);
    } else if (is_memory(argument) && handle) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_REFUSED);
        recording_put_text(writer, RECORDING_KEY_TEXT, "memory that was not seen being created");
    } else if (is_memory(argument)) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_NULL);
    } else if (!value) {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_LOCAL);
        recording_put(writer, RECORDING_KEY_SIZE, size);
    } else {
        recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_VALUE);
        recording_put_bytes(writer, RECORDING_KEY_DATA, value, size);
    }
}

static struct recording_writer *argument_open(cl_kernel kernel, cl_uint index, struct argument **argument) {
    static struct argument unknown;
    struct recording_writer *writer = record_open(RECORDING_ARGUMENT);
    struct object *object = object_find(kernel, OBJECT_KERNEL);
    unknown = (struct argument){0};
    *argument = object && index < object->argument_count ? &object->arguments[index] : &unknown;
    recording_put(writer, RECORDING_KEY_KERNEL, object ? object->id : 0);
    recording_put(writer, RECORDING_KEY_INDEX, index);
    return writer;
}

cl_int record_clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    const cl_int status = recorder.next.clSetKernelArg(kernel, index, size, value);
    struct argument *argument;
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    struct recording_writer *writer = argument_open(kernel, index, &argument);
    put_argument(writer, argument, size, value);
    record_close();
    return status;
}

cl_int record_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint index, const void *value) {
    const cl_int status = recorder.next.clSetKernelArgSVMPointer(kernel, index, value);
    struct argument *argument;
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    struct recording_writer *writer = argument_open(kernel, index, &argument);
    argument->target = NULL;
    recording_put(writer, RECORDING_KEY_FORM, RECORDING_ARGUMENT_REFUSED);
    recording_put_text(writer, RECORDING_KEY_TEXT, "shared virtual memory is not recorded yet");
    record_close();
    return status;
}

cl_int record_clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info what, size_t size,
                                  const void *value) {
    const cl_int status = recorder.next.clSetKernelExecInfo(kernel, what, size, value);
    if (recorder_on() && status == CL_SUCCESS && what == CL_KERNEL_EXEC_INFO_SVM_PTRS)
        refuse("clSetKernelExecInfo", "shared virtual memory is not recorded yet", NULL, 0, NULL);
    return status;
}
