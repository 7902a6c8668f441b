// SPDX-License-Identifier: Apache-2.0
//
// The launch loop: N launches of a kernel that does next to nothing, with clFinish at intervals. The
// rest is the cost of launching, so the same loop bare and under a tracer gives the tracer's cost.
//
//   cl_launch_loop [-n LAUNCHES] [--finish-every K] [--events] [--profiling] [--times]
//
// Prints one JSON object: the counts, and nanoseconds per launch of wall time and of CPU time (user
// and system, all threads of the process). The kernel counts its own runs; a lost one is an error.

#include "program.h"

#include <sys/resource.h>

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    if (get_global_id(0) == 0)\n"
                             "        count[0] += 1;\n"
                             "}\n";

struct options {
    unsigned long launches;
    unsigned long finish_every;
    bool events;
    bool profiling; // a queue with CL_QUEUE_PROFILING_ENABLE
    bool times;     // and asks for the four times of each launch itself, after the clFinish
};

static struct options parse(int argc, char **argv) {
    struct options options = {.launches = 100000, .finish_every = 64};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0) {
            options.launches = program_number(argv[i], argv[i + 1]);
            i++;
        } else if (strcmp(argv[i], "--finish-every") == 0) {
            options.finish_every = program_number(argv[i], argv[i + 1]);
            i++;
        } else if (strcmp(argv[i], "--events") == 0) {
            options.events = true;
        } else if (strcmp(argv[i], "--profiling") == 0) {
            options.profiling = true;
        } else if (strcmp(argv[i], "--times") == 0) {
            options.profiling = options.times = true;
        } else {
            fprintf(stderr, "usage: %s [-n LAUNCHES] [--finish-every K] [--events] [--profiling] [--times]\n",
                    argv[0]);
            exit(EXIT_USAGE);
        }
    }
    if (options.finish_every == 0)
        options.finish_every = 1;
    return options;
}

static uint64_t cpu_ns(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    uint64_t seconds = (uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec;
    uint64_t micros = (uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec;
    return seconds * 1000000000u + micros * 1000u;
}

static void launch(cl_command_queue queue, cl_kernel kernel, bool with_event) {
    const size_t global = 8;
    const size_t local = 8;
    cl_event event = NULL;
    MUST(
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, with_event ? &event : NULL));
    if (with_event)
        MUST(clReleaseEvent(event));
}

// What a program does that wants to know how long its launches took, and the least of it: the times go into one sum.
static void ask_for_times(cl_event event) {
    static const cl_profiling_info which[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    static volatile cl_ulong sum;
    for (size_t i = 0; i < COUNT_OF(which); i++) {
        cl_ulong time = 0;
        MUST(clGetEventProfilingInfo(event, which[i], sizeof time, &time, NULL));
        sum += time;
    }
    (void)sum;
    MUST(clReleaseEvent(event));
}

static unsigned long loop_with_times(cl_command_queue queue, cl_kernel kernel,
                                     const struct options *options) {
    const size_t size = 8;
    unsigned long finishes = 0, held = 0;
    cl_event *events = calloc(options->finish_every, sizeof(cl_event));
    EXPECT(events);
    for (unsigned long i = 1; i <= options->launches; i++) {
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, &events[held++]));
        if (held < options->finish_every && i < options->launches)
            continue;
        MUST(clFinish(queue));
        finishes++;
        while (held)
            ask_for_times(events[--held]);
    }
    free(events);
    return finishes;
}

// Returns how many times it called clFinish.
static unsigned long loop(cl_command_queue queue, cl_kernel kernel, const struct options *options) {
    unsigned long finishes = 0;
    for (unsigned long i = 1; i <= options->launches; i++) {
        launch(queue, kernel, options->events);
        if (i % options->finish_every == 0 || i == options->launches) {
            MUST(clFinish(queue));
            finishes++;
        }
    }
    return finishes;
}

int main(int argc, char **argv) {
    const struct options options = parse(argc, argv);
    struct program_setup setup = program_start(source);
    cl_command_queue queue =
        program_queue(setup.context, setup.device, options.profiling ? CL_QUEUE_PROFILING_ENABLE : 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    const cl_uint zero = 0;
    cl_uint ticks = 0;

    MUST(clEnqueueWriteBuffer(queue, count, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    launch(queue, kernel, false); // the first launch compiles: keep that out of the figures
    MUST(clFinish(queue));

    const uint64_t wall = program_clock_ns(CLOCK_MONOTONIC);
    const uint64_t cpu = cpu_ns();
    const unsigned long finishes =
        options.times ? loop_with_times(queue, kernel, &options) : loop(queue, kernel, &options);
    const uint64_t wall_spent = program_clock_ns(CLOCK_MONOTONIC) - wall;
    const uint64_t cpu_spent = cpu_ns() - cpu;

    MUST(clEnqueueReadBuffer(queue, count, CL_TRUE, 0, sizeof ticks, &ticks, 0, NULL, NULL));
    EXPECT(ticks == options.launches + 1);
    const double per = options.launches ? (double)options.launches : 1.0;
    printf("{\"program\":\"cl_launch_loop\",\"launches\":%lu,\"kernels\":{\"tick\":%lu},"
           "\"write_buffer\":1,\"read_buffer\":1,\"finishes\":%lu,"
           "\"wall_ns_per_launch\":%.1f,\"cpu_ns_per_launch\":%.1f}\n",
           options.launches + 1, options.launches + 1, finishes + 1, (double)wall_spent / per,
           (double)cpu_spent / per);

    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
