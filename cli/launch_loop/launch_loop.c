// SPDX-License-Identifier: Apache-2.0
// The program `tracesmith benchmark` runs, bare and recorded: N launches of a kernel that does next to nothing, and a
// clFinish at intervals, each from another call path. It knows nothing of tracing. The kernel counts its own runs on
// the device, and every launch is checked against that; where it was called from is in the report.
//
//   tracesmith-launch-loop LAUNCHES [REPORT-FD]
//
// Writes one JSON object with what it counted and the times of the loop to the descriptor, or standard output; to a
// descriptor also the call paths (report.h). Exit codes: 0 done, 1 a call failed or a launch did not run, 2 usage, 4 no device.
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "opencl.h"
#include "report.h"

enum { PATH_FUNCTIONS = 8, PATH_STEPS = 16, PATH_DIGIT = 3, PATH_DIGITS = 7 };
enum { EXIT_WRONG = 1, EXIT_BAD_USAGE = 2, EXIT_NO_DEVICE = 4, FINISH_EVERY = 64, NAME_SIZE = 256 };

static const char *const source = "__kernel void tick(__global uint *count) { count[0] += 1; }";

static void exit_unless_success(cl_int status, const char *what) {
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "tracesmith-launch-loop: %s gave %d\n", what, (int)status);
    exit(EXIT_WRONG);
}

static long long clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

static cl_device_id first_device(void) {
    cl_platform_id platforms[16];
    cl_device_id device;
    cl_uint count = 0;
    if (opencl_load() && clGetPlatformIDs(16, platforms, &count) == CL_SUCCESS)
        for (cl_uint i = 0; i < count && i < 16; i++)
            if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
                return device;
    fprintf(stderr, "tracesmith-launch-loop: no OpenCL device was found\n");
    exit(EXIT_NO_DEVICE);
}

// ---- call paths

// One launch on its way. Every function on it records its call site.
struct path {
    cl_command_queue queue;
    cl_kernel kernel;
    uint64_t digits; // which functions to go through
    unsigned step, depth;
    const char *returns[PATH_STEPS + 2];
    uint64_t result;
};

#define ON_PATH __attribute__((noinline)) static void
#define CALLED(path) ((path)->returns[(path)->depth++] = __builtin_return_address(0))

static uint64_t load_bias;

static int find_load_bias(struct dl_phdr_info *program, size_t size, void *unused) {
    (void)size, (void)unused;
    load_bias = program->dlpi_addr;
    return 1; // the program itself is reported first
}

ON_PATH launch(struct path *path) {
    const size_t one = 1;
    CALLED(path);
    exit_unless_success(clEnqueueNDRangeKernel(path->queue, path->kernel, 1, NULL, &one, &one, 0, NULL, NULL),
                        "clEnqueueNDRangeKernel");
    path->result = LOOP_PATH_START;
    for (unsigned i = path->depth; i-- > 0;)
        path->result = loop_path_add(path->result, (uint64_t)(uintptr_t)path->returns[i] - 1 - load_bias);
    path->depth--;
}

typedef void path_function(struct path *path);
static path_function *const path_functions[PATH_FUNCTIONS];

__attribute__((always_inline)) static inline void take_step(struct path *path) {
    if (path->step == PATH_STEPS) {
        launch(path);
    } else {
        unsigned digit = PATH_DIGIT * (path->step++ % PATH_DIGITS);
        path_functions[path->digits >> digit & (PATH_FUNCTIONS - 1)](path);
    }
}

// Each with a frame of another size.
#define PATH_FUNCTION(n)                                                                                     \
    ON_PATH path_##n(struct path *path) {                                                                    \
        volatile char room[16 * (n) + 8];                                                                    \
        room[0] = 0;                                                                                         \
        CALLED(path);                                                                                        \
        take_step(path);                                                                                     \
        path->depth -= 1u + (unsigned)room[0];                                                               \
    }
PATH_FUNCTION(0)
PATH_FUNCTION(1)
PATH_FUNCTION(2)
PATH_FUNCTION(3)
PATH_FUNCTION(4)
PATH_FUNCTION(5)
PATH_FUNCTION(6)
PATH_FUNCTION(7)
static path_function *const path_functions[PATH_FUNCTIONS] = {path_0, path_1, path_2, path_3,
                                                              path_4, path_5, path_6, path_7};

// ---- the loop

struct report {
    uint64_t *paths; // room for LOOP_REPORT_PATHS, or NULL
    unsigned long launches;
};

// How long the loop took, in ns: by the clock, and of a processor's time its thread had.
struct times {
    long long wall, processor;
};

__attribute__((noinline)) static struct times loop(cl_command_queue queue, cl_kernel kernel,
                                                   const struct report *report) {
    const unsigned long launches = report->launches;
    struct path path = {.queue = queue, .kernel = kernel};
    CALLED(&path);
    const struct times start = {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    for (unsigned long i = 1; i <= launches; i++) {
        path.digits = i * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PATH_DIGIT * PATH_DIGITS);
        path.step = 0;
        take_step(&path);
        if (report->paths && i <= LOOP_REPORT_PATHS)
            report->paths[i - 1] = path.result;
        if (i % FINISH_EVERY == 0 || i == launches)
            exit_unless_success(clFinish(queue), "clFinish");
    }
    return (struct times){clock_ns(CLOCK_MONOTONIC) - start.wall,
                          clock_ns(CLOCK_THREAD_CPUTIME_ID) - start.processor};
}

static struct report make_report(unsigned long launches, bool wanted) {
    struct report report = {.launches = launches};
    dl_iterate_phdr(find_load_bias, NULL);
    if (wanted)
        report.paths =
            calloc(launches < LOOP_REPORT_PATHS ? launches : LOOP_REPORT_PATHS, sizeof *report.paths);
    return report;
}

static bool write_paths(const struct report *report, int fd) {
    unsigned long count = report->launches < LOOP_REPORT_PATHS ? report->launches : LOOP_REPORT_PATHS;
    const size_t wanted = count * sizeof *report->paths;
    for (size_t done = 0; report->paths && done < wanted;) {
        ssize_t got =
            pwrite(fd, (const char *)report->paths + done, wanted - done, (off_t)(LOOP_REPORT_BYTES + done));
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

// Device names are printable in practice; other bytes must not break the JSON.
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
    exit_unless_success(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    exit_unless_success(status, "clCreateCommandQueueWithProperties");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    exit_unless_success(status, "clCreateProgramWithSource");
    exit_unless_success(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "tick", &status);
    exit_unless_success(status, "clCreateKernel");
    cl_uint count = 0;
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof count, &count, &status);
    exit_unless_success(status, "clCreateBuffer");
    exit_unless_success(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "clSetKernelArg");
    launch(&(struct path){.queue = queue, .kernel = kernel}); // compiles: kept out of the figures
    exit_unless_success(clFinish(queue), "clFinish");
    // Behind the JSON, where there is such a place.
    struct report paths = make_report(launches, argc > 2 && lseek((int)report_fd, 0, SEEK_CUR) == 0);
    const struct times times = loop(queue, kernel, &paths);
    exit_unless_success(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof count, &count, 0, NULL, NULL),
                        "clEnqueueReadBuffer");
    char name[NAME_SIZE] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    fprintf(report, "{\"launches\":%lu,\"ran\":%lu,\"wall_ns\":%lld,\"cpu_ns\":%lld,\"device\":\"",
            launches + 1, (unsigned long)count, times.wall, times.processor);
    print_safe(report, name);
    fprintf(report, "\"}\n");
    if (fflush(report) != 0 || !write_paths(&paths, (int)report_fd))
        return EXIT_WRONG;
    free(paths.paths);
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return count == (cl_uint)(launches + 1) ? 0 : EXIT_WRONG;
}
