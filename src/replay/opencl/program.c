// SPDX-License-Identifier: Apache-2.0
// The programs of a recording, built, compiled and linked anew for the device of the replay.
#if __has_include(<CL/cl.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/opencl/execute.h"

// For all devices of the context that take it: only the first one's binary was recorded.
static cl_program make_from_binary(const struct run *run, const struct live *context, const uint8_t *bytes,
                                   size_t size, cl_int *status) {
    cl_device_id devices[EXECUTE_DEVICES_MOST];
    const unsigned char *binaries[EXECUTE_DEVICES_MOST];
    size_t sizes[EXECUTE_DEVICES_MOST], count = 0;
    const size_t all = context_devices(run, context, devices, EXECUTE_DEVICES_MOST);
    for (size_t i = 0; i < all; i++) {
        cl_program alone = run->cl->clCreateProgramWithBinary(context->handle.context, 1, &devices[i], &size,
                                                              &bytes, NULL, status);
        if (*status != CL_SUCCESS)
            continue;
        if (all == 1)
            return alone;
        run->cl->clReleaseProgram(alone);
        devices[count] = devices[i];
        sizes[count] = size;
        binaries[count++] = bytes;
    }
    return count ? run->cl->clCreateProgramWithBinary(context->handle.context, (cl_uint)count, devices, sizes,
                                                      binaries, NULL, status)
                 : NULL;
}

void execute_program(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
    const tsmith_replay_options *options = run->options;
    cl_int status = CL_INVALID_CONTEXT;
    live->parent = live_index(run, context);
    size_t size = 0;
    uint8_t *bytes = recording_payload(run->recording, record, &size);
    const char *text = (const char *)bytes;
    if (!bytes || !context) {
        live->why = bytes ? "its context could not be made" : "its program is missing from the recording";
    } else if (options->source_kernel &&
               recording_makes_kernel(run->process, run->at, live->id, options->source_kernel)) {
        text = options->source_text;
        live->handle.program =
            run->cl->clCreateProgramWithSource(context->handle.context, 1, &text, NULL, &status);
        run_note(run, "the program with the kernel %s was replaced", options->source_kernel);
    } else if (form == RECORDING_PROGRAM_SOURCE) {
        // A length of 0 would mean a string that ends with NUL.
        live->handle.program = run->cl->clCreateProgramWithSource(
            context->handle.context, 1, size ? &text : &(const char *){""}, &size, &status);
    } else if (form == RECORDING_PROGRAM_BINARY) {
        live->handle.program = make_from_binary(run, context, bytes, size, &status);
    } else if (run->cl->clCreateProgramWithIL) {
        live->handle.program = run->cl->clCreateProgramWithIL(context->handle.context, bytes, size, &status);
        if (status != CL_SUCCESS)
            live->why = "this device takes no program in an intermediate language, or not this one";
    } else {
        live->why = "this OpenCL loader takes no programs in an intermediate language";
    }
    if (!live->why && status != CL_SUCCESS)
        live->why = form == RECORDING_PROGRAM_BINARY ? "its binary is not for this device"
                                                     : "its program could not be made";
    free(bytes);
}

static void note_log(struct run *run, const struct live *live, const char *what) {
    char log[400] = "";
    // From the first device that has one; devices that the program was not built for report that.
    for (size_t i = 0; i < run->execution->device_count && !log[0]; i++) {
        const cl_device_id device = run->execution->devices[i].id;
        size_t bytes = 0;
        char *whole = NULL;
        if (run->execution->devices[i].used &&
            run->cl->clGetProgramBuildInfo(live->handle.program, device, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                           &bytes) == CL_SUCCESS &&
            (whole = calloc(1, bytes + 1)) != NULL &&
            run->cl->clGetProgramBuildInfo(live->handle.program, device, CL_PROGRAM_BUILD_LOG, bytes, whole,
                                           NULL) == CL_SUCCESS)
            snprintf(log, sizeof log, "%s", whole);
        free(whole);
    }
    run_note(run, "a program does not %s on this device: %s", what, log);
}

// The programs of a LIST; NULL when one is missing, or memory.
static cl_program *get_programs(struct run *run, const struct recording_record *record, size_t *count) {
    const uint8_t *ids;
    *count = recording_list(record, RECORDING_KEY_LIST, &ids);
    cl_program *programs = calloc(*count + 1, sizeof(cl_program));
    for (size_t i = 0; programs && i < *count; i++) {
        uint64_t id;
        memcpy(&id, ids + 8 * i, sizeof id);
        const struct live *live = live_find_type(run, id, RECORDING_PROGRAM);
        if (!live || !live->handle.program) {
            free(programs);
            return NULL;
        }
        programs[i] = live->handle.program;
    }
    return programs;
}

static cl_int compile(struct run *run, const struct live *live, const struct recording_record *record,
                      const char *options) {
    size_t count, length = 0;
    const uint8_t *names = NULL;
    cl_program *headers = get_programs(run, record, &count);
    const char **name = calloc(count + 1, sizeof *name);
    cl_int status = CL_INVALID_PROGRAM;
    bool good = headers && name;
    if (count)
        good = good && recording_get_bytes(record, RECORDING_KEY_DATA, &names, &length);
    for (size_t i = 0, at = 0; good && i < count; i++) {
        const void *end = at < length ? memchr(names + at, 0, length - at) : NULL;
        good = end != NULL;
        name[i] = (const char *)names + at;
        at = good ? (size_t)((const uint8_t *)end - names) + 1 : at;
    }
    if (good)
        status = run->cl->clCompileProgram(live->handle.program, 0, NULL, options, (cl_uint)count,
                                           count ? headers : NULL, count ? name : NULL, NULL, NULL);
    free(headers);
    free(name);
    return status;
}

// The caller frees them; NULL: there is no memory.
static char *options_of(struct run *run, const struct recording_record *record) {
    // The types of arguments: drivers forget them unless they are asked not to.
    static const char more[] = " -cl-kernel-arg-info";
    const char *recorded = recording_text(run->recording, record, RECORDING_KEY_TEXT);
    char *options = included_options(run, record, recorded ? recorded : "");
    const size_t length = options ? strlen(options) : 0;
    char *text = options ? realloc(options, length + sizeof more) : NULL;
    if (!text)
        free(options);
    else
        memcpy(text + length, more, sizeof more);
    return text;
}

// A program may have been built for some devices of its context only, which is not recorded: then for those that take it.
static cl_int build(const struct run *run, const struct live *program, const char *options) {
    cl_device_id devices[EXECUTE_DEVICES_MOST];
    cl_int status = run->cl->clBuildProgram(program->handle.program, 0, NULL, options, NULL, NULL);
    const size_t count =
        program->parent ? context_devices(run, &run->lives[program->parent], devices, EXECUTE_DEVICES_MOST)
                        : 0;
    for (size_t i = 0, built = 0; status != CL_SUCCESS && count > 1 && i < count; i++) {
        built += run->cl->clBuildProgram(program->handle.program, 1, &devices[i], options, NULL, NULL) ==
                 CL_SUCCESS;
        if (i + 1 == count && built)
            status = CL_SUCCESS;
    }
    return status;
}

void execute_build(struct run *run, const struct recording_record *record) {
    struct live *live =
        live_find_type(run, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
    if (!live || !live->handle.program)
        return;
    char *text = options_of(run, record);
    const cl_int status = !text                             ? CL_OUT_OF_HOST_MEMORY
                          : record->type == RECORDING_BUILD ? build(run, live, text)
                                                            : compile(run, live, record, text);
    free(text);
    if (status != CL_SUCCESS) {
        live->why = "its program does not compile on this device";
        note_log(run, live, "compile");
    }
}

void execute_link(struct run *run, struct live *live, const struct recording_record *record) {
    const struct live *context = object_context(run, record);
    const char *options = recording_text(run->recording, record, RECORDING_KEY_TEXT);
    size_t count;
    cl_program *programs = get_programs(run, record, &count);
    cl_int status = CL_INVALID_PROGRAM;
    live->parent = live_index(run, context);
    if (context && programs && count)
        live->handle.program = run->cl->clLinkProgram(context->handle.context, 0, NULL, options,
                                                      (cl_uint)count, programs, NULL, NULL, &status);
    free(programs);
    if (status == CL_SUCCESS)
        return;
    live->why = "its program could not be linked on this device";
    if (live->handle.program)
        note_log(run, live, "link");
}

#else
typedef int execute_without_opencl; // a translation unit has something in it
#endif
