// SPDX-License-Identifier: Apache-2.0
// Programs and kernels. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static uint64_t note_program(cl_program program, cl_context context, enum recording_program_form form,
                             const void *bytes, size_t size) {
    struct payload payload;
    payload_keep(&payload, bytes, size);
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
        refuse("clCreateProgramWithSource", "out of memory while recording the source", NULL, 0, NULL);
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

static void put_build(struct recording_writer *writer, cl_program program, const char *options,
                      const char *folder) {
    recording_put(writer, RECORDING_KEY_PROGRAM, object_id(program, OBJECT_PROGRAM));
    recording_put_text(writer, RECORDING_KEY_TEXT, options);
    if (folder)
        recording_put_text(writer, RECORDING_KEY_NAME, folder);
}

static void note_build(cl_program program, const char *options) {
    char *folder = headers_keep(program, options);
    put_build(record_open(RECORDING_BUILD), program, options, folder);
    record_close();
    free(folder);
}

cl_int record_clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                             const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *user) {
    if (recorder_on())
        note_build(program, options);
    return recorder.next.clBuildProgram(program, count, devices, options, notify, user);
}

// Recorded before the call, like a build: with a callback it continues after the call has returned.
cl_int record_clCompileProgram(cl_program program, cl_uint count, const cl_device_id *devices,
                               const char *options, cl_uint headers, const cl_program *header_programs,
                               const char **names, void(CL_CALLBACK *notify)(cl_program, void *),
                               void *user) {
    size_t length = 0;
    char *joined = NULL;
    for (cl_uint i = 0; names && i < headers; i++)
        length += names[i] ? strlen(names[i]) + 1 : 1;
    if (recorder_on() && (joined = malloc(length + 1)) != NULL) {
        size_t at = 0;
        for (cl_uint i = 0; names && i < headers; i++) {
            const char *name = names[i] ? names[i] : "";
            memcpy(joined + at, name, strlen(name) + 1);
            at += strlen(name) + 1;
        }
        char *folder = headers_keep(program, options);
        struct recording_writer *writer = record_open(RECORDING_COMPILE);
        put_build(writer, program, options, folder);
        free(folder);
        put_objects(writer, RECORDING_KEY_LIST, OBJECT_PROGRAM, header_programs ? headers : 0,
                    header_programs);
        recording_put_bytes(writer, RECORDING_KEY_DATA, joined, length);
        record_close();
    }
    free(joined);
    return recorder.next.clCompileProgram(program, count, devices, options, headers, header_programs, names,
                                          notify, user);
}

cl_program record_clLinkProgram(cl_context context, cl_uint count, const cl_device_id *devices,
                                const char *options, cl_uint inputs, const cl_program *programs,
                                void(CL_CALLBACK *notify)(cl_program, void *), void *user, cl_int *status) {
    cl_program program =
        recorder.next.clLinkProgram(context, count, devices, options, inputs, programs, notify, user, status);
    if (recorder_on() && program) {
        struct recording_writer *writer = record_open(RECORDING_LINK);
        recording_put(writer, RECORDING_KEY_OBJECT, object_add(program, OBJECT_PROGRAM)->id);
        recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
        recording_put_text(writer, RECORDING_KEY_TEXT, options);
        put_objects(writer, RECORDING_KEY_LIST, OBJECT_PROGRAM, inputs, programs);
        record_close();
    }
    return program;
}

cl_int record_clSetProgramSpecializationConstant(cl_program program, cl_uint id, size_t size,
                                                 const void *value) {
    const cl_int status = recorder.next.clSetProgramSpecializationConstant(program, id, size, value);
    if (recorder_on() && status == CL_SUCCESS)
        refuse("clSetProgramSpecializationConstant",
               "constants of a program in an intermediate language are "
               "not recorded",
               NULL, 0, NULL);
    return status;
}

// ---- kernels

// The type of each argument, as far as the driver reports it. Without the lock.
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
        cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
        if (recorder.next.clGetKernelArgInfo(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof access,
                                             &access, NULL) == CL_SUCCESS)
            arguments[i].constant |= access == CL_KERNEL_ARG_ACCESS_READ_ONLY; // an image
        arguments[i].constant |= space == CL_KERNEL_ARG_ADDRESS_CONSTANT;
    }
    if (!arguments)
        *count = 0;
    return arguments;
}

static void note_kernel(cl_kernel kernel, cl_program program, const char *name, cl_kernel cloned) {
    cl_uint count;
    struct kernel *known = calloc(1, sizeof *known);
    if (!known) {
        atomic_store(&recorder.on, false);
        return;
    }
    known->arguments = ask_arguments(kernel, &count);
    known->argument_count = count;
    known->name = strdup(name);
    struct recording_writer *writer = record_open(RECORDING_KERNEL);
    struct object *source = object_find(cloned, OBJECT_KERNEL);
    struct object *object = object_add(kernel, OBJECT_KERNEL);
    object->kernel = known;
    range_kernel_made();
    if (source)
        kernel_copy_arguments(known, source->kernel);
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_PROGRAM, object_id(program, OBJECT_PROGRAM));
    recording_put_text(writer, RECORDING_KEY_NAME, name);
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
