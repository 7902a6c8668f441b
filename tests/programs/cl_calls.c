// SPDX-License-Identifier: Apache-2.0
//
// What each call costs the thread that makes it: nanoseconds, the least of many short batches, so that a batch that was
// disturbed does not count. The same program bare and under a tracer gives the tracer's cost per call.
//
//   cl_calls [-n BATCHES]
//
// Prints one JSON object: a number for every entry point.

#include "program.h"

enum { CALLS = 100, BYTES = 64 };

static struct program_setup setup;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_mem buffers[2], made[CALLS];
static cl_event events[CALLS];
static char host[BYTES];

static void set_number(int i) {
    const cl_uint value = (cl_uint)i;
    MUST(clSetKernelArg(kernel, 1, sizeof value, &value));
}
static void set_buffer(int i) {
    MUST(clSetKernelArg(kernel, 0, sizeof(cl_mem), &buffers[i & 1]));
}
static void launch(int i) {
    static const size_t size = 1;
    (void)i;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, NULL));
}
static void launch_with_event(int i) {
    static const size_t size = 1;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, &events[i]));
}
static void write_buffer(int i) {
    MUST(clEnqueueWriteBuffer(queue, buffers[i & 1], CL_FALSE, 0, BYTES, host, 0, NULL, NULL));
}
static void write_and_wait(int i) {
    MUST(clEnqueueWriteBuffer(queue, buffers[i & 1], CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
}
static void read_buffer(int i) {
    MUST(clEnqueueReadBuffer(queue, buffers[i & 1], CL_FALSE, 0, BYTES, host, 0, NULL, NULL));
}
static void read_and_wait(int i) {
    MUST(clEnqueueReadBuffer(queue, buffers[i & 1], CL_TRUE, 0, BYTES, host, 0, NULL, NULL));
}
static void copy_buffer(int i) {
    MUST(clEnqueueCopyBuffer(queue, buffers[i & 1], buffers[!(i & 1)], 0, 0, BYTES, 0, NULL, NULL));
}
static void create_buffer(int i) {
    cl_int status;
    made[i] = clCreateBuffer(setup.context, CL_MEM_READ_WRITE, BYTES, NULL, &status);
    MUST(status);
}
static void release_buffer(int i) {
    MUST(clReleaseMemObject(made[i]));
}
static void ask_event(int i) {
    cl_int state;
    MUST(clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
}
static void wait_event(int i) {
    MUST(clWaitForEvents(1, &events[i]));
}
static void finish_empty(int i) {
    (void)i;
    MUST(clFinish(queue));
}

// In this order: a later one uses what an earlier one made.
static const struct {
    const char *name;
    void (*call)(int i);
    bool drain; // what was enqueued is executed before the next
} calls[] = {
    {"clSetKernelArg, a number", set_number, false},
    {"clSetKernelArg, a buffer", set_buffer, false},
    {"clEnqueueNDRangeKernel", launch, true},
    {"clEnqueueNDRangeKernel, with an event", launch_with_event, true},
    {"clGetEventInfo", ask_event, false},
    {"clWaitForEvents", wait_event, false},
    {"clEnqueueWriteBuffer", write_buffer, true},
    {"clEnqueueWriteBuffer, blocking", write_and_wait, false},
    {"clEnqueueReadBuffer", read_buffer, true},
    {"clEnqueueReadBuffer, blocking", read_and_wait, false},
    {"clEnqueueCopyBuffer", copy_buffer, true},
    {"clFinish", finish_empty, false},
    {"clCreateBuffer", create_buffer, false},
    {"clReleaseMemObject", release_buffer, false},
};

int main(int argc, char **argv) {
    static const char source[] = "__kernel void nothing(__global uint *to, uint value) { to[0] = value; }";
    const unsigned long batches =
        argc == 3 && strcmp(argv[1], "-n") == 0 ? program_number(argv[1], argv[2]) : 300;
    double least[COUNT_OF(calls)];
    setup = program_start(source);
    queue = program_queue(setup.context, setup.device, 0);
    kernel = program_kernel(setup.program, "nothing");
    for (int i = 0; i < 2; i++)
        buffers[i] = program_buffer(setup.context, BYTES);
    set_number(0);
    set_buffer(0);
    for (unsigned long batch = 0; batch < batches; batch++) {
        for (size_t entry = 0; entry < COUNT_OF(calls); entry++) {
            const uint64_t start = program_clock_ns(CLOCK_MONOTONIC);
            for (int i = 0; i < CALLS; i++)
                calls[entry].call(i);
            const double each = (double)(program_clock_ns(CLOCK_MONOTONIC) - start) / CALLS;
            least[entry] = batch && least[entry] < each ? least[entry] : each;
            if (calls[entry].drain)
                MUST(clFinish(queue));
        }
        for (int i = 0; i < CALLS; i++)
            MUST(clReleaseEvent(events[i]));
    }
    for (size_t entry = 0; entry < COUNT_OF(calls); entry++)
        printf("%s\"%s\": %.1f", entry ? ", " : "{", calls[entry].name, least[entry]);
    printf("}\n");
    for (int i = 0; i < 2; i++)
        MUST(clReleaseMemObject(buffers[i]));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
