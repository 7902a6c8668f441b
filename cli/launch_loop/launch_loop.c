// SPDX-License-Identifier: Apache-2.0
// The program `tracesmith benchmark` runs, bare and recorded: N launches of a kernel that does next to
// nothing, and a clFinish every so many. It knows nothing of tracing. The kernel counts its own runs on the
// device, and every launch is checked against that.
//
//   tracesmith-launch-loop LAUNCHES [REPORT-FD]
//
// Writes one JSON object with what it counted and the wall time of the loop to the descriptor, or standard
// output. Exit codes: 0 done, 1 a call failed or a launch did not run, 2 usage, 4 no device.
#include <CL/cl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_WRONG = 1, EXIT_BAD_USAGE = 2, EXIT_NO_DEVICE = 4, FINISH_EVERY = 64, NAME_SIZE = 256 };

static const char *const source = "__kernel void tick(__global uint *count) { count[0] += 1; }";

static void must(cl_int status, const char *what) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "tracesmith-launch-loop: %s gave %d\n", what, (int)status);
    exit(EXIT_WRONG);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static cl_device_id first_device(void) {
    cl_platform_id platforms[16];
    cl_device_id device;
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count) == CL_SUCCESS)
        for (cl_uint i = 0; i < count && i < 16; i++)
            if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
                return device;
    fprintf(stderr, "tracesmith-launch-loop: there is no OpenCL device\n");
    exit(EXIT_NO_DEVICE);
}

static void launch(cl_command_queue queue, cl_kernel kernel) {
    const size_t one = 1;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

// The wall time of the loop, in ns.
static long long loop(cl_command_queue queue, cl_kernel kernel, unsigned long launches) {
    long long start = now();
    for (unsigned long i = 1; i <= launches; i++) {
        launch(queue, kernel);
        if (i % FINISH_EVERY == 0 || i == launches)
            must(clFinish(queue), "clFinish");
    }
    return now() - start;
}

// Device names are printable in practice; whatever is not must not break the JSON.
static void print_safe(FILE *out, const char *name) {
    for (; *name; name++)
        fputc(*name >= ' ' && *name <= '~' && *name != '"' && *name != '\\' ? *name : '?', out);
}

int main(int argc, char **argv) {
    char *end = NULL;
    unsigned long launches = argc > 1 ? strtoul(argv[1], &end, 10) : 0;
    bool usage_wrong = argc < 2 || argc > 3 || end == argv[1] || *end;
    long report_fd = !usage_wrong && argc > 2 ? strtol(argv[2], &end, 10) : STDOUT_FILENO;
    if (usage_wrong || *end) {
        fprintf(stderr, "usage: %s LAUNCHES [REPORT-FD]\n", argv[0]);
        return EXIT_BAD_USAGE;
    }
    FILE *report = fdopen((int)report_fd, "w");
    if (!report) {
        perror("tracesmith-launch-loop");
        return EXIT_BAD_USAGE;
    }
    cl_int status;
    cl_device_id device = first_device();
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    must(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    must(status, "clCreateCommandQueueWithProperties");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    must(status, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "tick", &status);
    must(status, "clCreateKernel");
    cl_uint count = 0;
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof count, &count, &status);
    must(status, "clCreateBuffer");
    must(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    launch(queue, kernel); // compiles: kept out of the figures
    must(clFinish(queue), "clFinish");
    long long wall = loop(queue, kernel, launches);
    must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    char name[NAME_SIZE] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    fprintf(report, "{\"launches\":%lu,\"ran\":%lu,\"wall_ns\":%lld,\"device\":\"", launches + 1,
            (unsigned long)count, wall);
    print_safe(report, name);
    fprintf(report, "\"}\n");
    if (fflush(report) != 0)
        return EXIT_WRONG;
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return count == (cl_uint)(launches + 1) ? 0 : EXIT_WRONG;
}
