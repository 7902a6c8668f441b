// SPDX-License-Identifier: Apache-2.0
//
// Calls that must fail: programs that do not compile, launches and transfers with bad sizes, kernels
// without arguments. Prints every call with the error it gave, one line each, without addresses or
// times: the same text bare and under a tracer. At the end two good launches, which must still work.
// Left out because PoCL 3.1 dies in them: a null kernel, a local size of 0, and a launch whose wait
// list is null but not empty.
//
//   cl_errors [--json]
//
// With --json it prints the counts only: how many enqueue calls failed and how many worked.

#include "program.h"

static const char good[] = "__kernel void good(__global uint *c) { c[get_global_id(0)] += 1; }\n";
static const char syntax_error[] = "__kernel void broken(__global uint *c) { c[get_global_id(0)] = ; }\n";
static const char unknown_function[] = "uint nowhere(uint x);\n"
                                       "__kernel void lost(__global uint *c) { undeclared_thing(c); }\n";

struct outcome {
    unsigned failed, worked;
    unsigned builds, failed_builds;
    bool quiet;
};

// One line of the text: a call and what it gave.
static void add_status(struct outcome *outcome, const char *what, cl_int status) {
    if (status == CL_SUCCESS)
        outcome->worked++;
    else
        outcome->failed++;
    if (!outcome->quiet)
        printf("%-58s %d\n", what, status);
}

static void failing_builds(struct outcome *outcome, const struct program_setup *setup) {
    static const struct {
        const char *what;
        const char *source;
        const char *options;
    } builds[] = {
        {"build: syntax error", syntax_error, ""},
        {"build: unknown function", unknown_function, ""},
        {"build: unknown option", good, "-no-such-option"},
        {"build: empty source", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(builds); i++) {
        cl_int status = CL_SUCCESS;
        const char *source = builds[i].source;
        cl_program program = clCreateProgramWithSource(setup->context, 1, &source, NULL, &status);
        add_status(outcome, "clCreateProgramWithSource", status);
        if (!program)
            continue;
        status = clBuildProgram(program, 0, NULL, builds[i].options, NULL, NULL);
        add_status(outcome, builds[i].what, status);
        outcome->builds++;
        outcome->failed_builds += status != CL_SUCCESS;
        cl_build_status built = CL_BUILD_NONE;
        size_t log_size = 0;
        add_status(outcome, "  CL_PROGRAM_BUILD_STATUS",
                   clGetProgramBuildInfo(program, setup->device, CL_PROGRAM_BUILD_STATUS, sizeof built,
                                         &built, NULL));
        add_status(outcome, "  CL_PROGRAM_BUILD_LOG size",
                   clGetProgramBuildInfo(program, setup->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &log_size));
        if (!outcome->quiet)
            printf("  built %d, log %s\n", built, log_size > 1 ? "present" : "empty");
        cl_kernel kernel = clCreateKernel(program, "broken", &status);
        add_status(outcome, "  clCreateKernel of it", status);
        if (kernel)
            MUST(clReleaseKernel(kernel));
        MUST(clReleaseProgram(program));
    }
}

static void failing_launches(struct outcome *outcome, cl_command_queue queue, cl_kernel kernel,
                             cl_mem buffer) {
    const size_t some[3] = {16, 1, 1};
    const size_t huge[3] = {(size_t)1 << 40, 1, 1};
    const size_t odd[3] = {3, 1, 1};
    cl_event event = NULL;
    cl_event no_event = NULL;
    add_status(outcome, "NDRange: argument not set",
               clEnqueueNDRangeKernel(queue, kernel, 1, NULL, some, NULL, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    add_status(outcome, "NDRange: no dimensions",
               clEnqueueNDRangeKernel(queue, kernel, 0, NULL, some, NULL, 0, NULL, NULL));
    add_status(outcome, "NDRange: 4 dimensions",
               clEnqueueNDRangeKernel(queue, kernel, 4, NULL, some, NULL, 0, NULL, NULL));
    add_status(outcome, "NDRange: local size does not divide",
               clEnqueueNDRangeKernel(queue, kernel, 1, NULL, some, odd, 0, NULL, &event));
    add_status(outcome, "NDRange: local size too large",
               clEnqueueNDRangeKernel(queue, kernel, 1, NULL, huge, huge, 0, NULL, NULL));
    add_status(outcome, "marker: wait count without list", clEnqueueMarkerWithWaitList(queue, 1, NULL, NULL));
    add_status(outcome, "marker: wait list without count",
               clEnqueueMarkerWithWaitList(queue, 0, &no_event, NULL));
    add_status(outcome, "marker: a null event in the wait list",
               clEnqueueMarkerWithWaitList(queue, 1, &no_event, NULL));
    EXPECT(event == NULL || clReleaseEvent(event) == CL_SUCCESS);
}

static void failing_transfers(struct outcome *outcome, cl_command_queue queue, cl_mem buffer) {
    unsigned char host[256] = {0};
    const size_t origin[3] = {0, 0, 0};
    const size_t region[3] = {64, 64, 64};
    cl_int status = CL_SUCCESS;
    add_status(outcome, "read: past the end",
               clEnqueueReadBuffer(queue, buffer, CL_TRUE, 32, 64, host, 0, NULL, NULL));
    add_status(outcome, "read: to nowhere",
               clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 64, NULL, 0, NULL, NULL));
    add_status(outcome, "write: past the end",
               clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 65, host, 0, NULL, NULL));
    add_status(outcome, "write: no buffer",
               clEnqueueWriteBuffer(queue, NULL, CL_FALSE, 0, 64, host, 0, NULL, NULL));
    add_status(outcome, "copy: onto itself",
               clEnqueueCopyBuffer(queue, buffer, buffer, 0, 16, 32, 0, NULL, NULL));
    add_status(outcome, "fill: pattern of 3 bytes",
               clEnqueueFillBuffer(queue, buffer, host, 3, 0, 48, 0, NULL, NULL));
    add_status(outcome, "rect: past the end",
               clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, origin, region, 0, 0, 0, 0, host, 0,
                                       NULL, NULL));
    void *mapped = clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 60, 8, 0, NULL, NULL, &status);
    EXPECT(mapped == NULL);
    add_status(outcome, "map: past the end", status);
    add_status(outcome, "unmap: what was not mapped",
               clEnqueueUnmapMemObject(queue, buffer, host, 0, NULL, NULL));
}

static void failing_objects(struct outcome *outcome, const struct program_setup *setup) {
    cl_int status = CL_SUCCESS;
    (void)clCreateBuffer(setup->context, CL_MEM_READ_WRITE, 0, NULL, &status);
    add_status(outcome, "buffer: 0 bytes", status);
    (void)clCreateBuffer(setup->context, CL_MEM_USE_HOST_PTR, 16, NULL, &status);
    add_status(outcome, "buffer: host memory without a pointer", status);
    (void)clCreateBuffer(NULL, CL_MEM_READ_WRITE, 16, NULL, &status);
    add_status(outcome, "buffer: no context", status);
    (void)clCreateKernel(setup->program, "no_such_kernel", &status);
    add_status(outcome, "kernel: no such name", status);
    add_status(outcome, "finish: no queue", clFinish(NULL));
    add_status(outcome, "wait: no events", clWaitForEvents(0, NULL));
    add_status(outcome, "release: no event", clReleaseEvent(NULL));
    add_status(outcome, "release: no memory object", clReleaseMemObject(NULL));
}

int main(int argc, char **argv) {
    struct outcome outcome = {.quiet = argc == 2 && strcmp(argv[1], "--json") == 0};
    if (argc > 1 && !outcome.quiet) {
        fprintf(stderr, "usage: %s [--json]\n", argv[0]);
        return EXIT_USAGE;
    }
    struct program_setup setup = program_start(good);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "good");
    cl_mem buffer = program_buffer(setup.context, 64);
    cl_uint counts[16] = {0};
    const size_t global = COUNT_OF(counts);
    failing_builds(&outcome, &setup);
    failing_objects(&outcome, &setup);

    struct outcome enqueued = {.quiet = outcome.quiet};
    failing_launches(&enqueued, queue, kernel, buffer);
    failing_transfers(&enqueued, queue, buffer);
    MUST(clFinish(queue));

    MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == 2);
    if (outcome.quiet)
        printf("{\"program\":\"cl_errors\",\"builds\":%u,\"failed_builds\":%u,\"failed_enqueues\":%u,"
               "\"worked_enqueues\":%u,"
               "\"launches\":2,\"kernels\":{\"good\":2}}\n",
               outcome.builds + 1, outcome.failed_builds, enqueued.failed, enqueued.worked + 4);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
