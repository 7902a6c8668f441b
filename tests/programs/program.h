// SPDX-License-Identifier: Apache-2.0
//
// What the OpenCL test programs share. Each of them runs a known series of commands, checks every
// result, and prints its own count of them (its "truth") on stdout, so that a test can compare a
// trace with it. Nothing here knows about tracing: the programs are ordinary OpenCL programs.
//
// Exit codes: 0 all results right, 1 a wrong result or a failed call, 2 usage, 4 no OpenCL device.
//
// Everything is `static inline` because every program is one file.

#ifndef TRACESMITH_TESTS_PROGRAMS_PROGRAM_H
#define TRACESMITH_TESTS_PROGRAMS_PROGRAM_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 4 };

enum { DEVICES_MAX = 8 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Ends the program unless `status` is CL_SUCCESS.
#define MUST(status) must((status), #status, __FILE__, __LINE__)

static inline void must(cl_int status, const char *what, const char *file, int line) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s:%d: %s gave %d\n", file, line, what, status);
    exit(EXIT_WRONG);
}

// Ends the program unless `right`.
#define EXPECT(right) expect((right), #right, __FILE__, __LINE__)

static inline void expect(bool right, const char *what, const char *file, int line) {
    if (right)
        return;
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    exit(EXIT_WRONG);
}

// All devices of the first platform, at most `max`. Ends the program where there is none.
static inline cl_uint program_devices(cl_platform_id *platform, cl_device_id *devices, cl_uint max) {
    cl_uint count = 0;
    if (clGetPlatformIDs(1, platform, &count) != CL_SUCCESS || count == 0 ||
        clGetDeviceIDs(*platform, CL_DEVICE_TYPE_ALL, max, devices, &count) != CL_SUCCESS || count == 0) {
        fprintf(stderr, "no OpenCL device (on Debian: apt install pocl-opencl-icd)\n");
        exit(EXIT_NO_DEVICE);
    }
    return count < max ? count : max;
}

// Builds `source` for every device of `context`, or ends the program with the build log.
static inline cl_program program_build(cl_context context, cl_device_id device, const char *source) {
    cl_int status = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    MUST(status);
    status = clBuildProgram(program, 0, NULL, "", NULL, NULL);
    if (status != CL_SUCCESS) {
        static char log[16384];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
        must(status, "clBuildProgram", __FILE__, __LINE__);
    }
    return program;
}

// The first device with a context and a program: all that the small programs need.
struct program_setup {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
};

static inline struct program_setup program_start(const char *source) {
    struct program_setup setup = {0};
    cl_int status = CL_SUCCESS;
    program_devices(&setup.platform, &setup.device, 1);
    setup.context = clCreateContext(NULL, 1, &setup.device, NULL, NULL, &status);
    MUST(status);
    setup.program = program_build(setup.context, setup.device, source);
    return setup;
}

static inline void program_finish(struct program_setup *setup) {
    MUST(clReleaseProgram(setup->program));
    MUST(clReleaseContext(setup->context));
}

static inline cl_kernel program_kernel(cl_program program, const char *name) {
    cl_int status = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    MUST(status);
    return kernel;
}

static inline cl_mem program_buffer(cl_context context, size_t bytes) {
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    MUST(status);
    return buffer;
}

// An OpenCL 1 runtime has no clCreateCommandQueueWithProperties: calling it ends the program.
static inline cl_command_queue program_queue(cl_context context, cl_device_id device,
                                             cl_command_queue_properties properties) {
    static const char old[] = "OpenCL 1.";
    char version[256] = "";
    cl_int status = CL_SUCCESS;
    cl_command_queue queue = NULL;
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    MUST(clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version - 1, version, NULL));
    if (strncmp(version, old, sizeof old - 1) == 0)
        queue = clCreateCommandQueue(context, device, properties, &status);
    else
        queue = clCreateCommandQueueWithProperties(context, device, list, &status);
    MUST(status);
    return queue;
}

static inline uint64_t program_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Reads a number from a command-line word, or ends the program.
static inline unsigned long program_number(const char *option, const char *word) {
    char *end = NULL;
    unsigned long number = word ? strtoul(word, &end, 10) : 0;
    if (!word || end == word || *end != '\0') {
        fprintf(stderr, "%s needs a number\n", option);
        exit(EXIT_USAGE);
    }
    return number;
}

#endif
