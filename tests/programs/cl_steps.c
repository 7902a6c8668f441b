// SPDX-License-Identifier: Apache-2.0
//
// Steps in ranges "step", of which some are slow: each launches 5 kernels of a global size that is the number of the step, from 1,
// and waits. Prints of each whether it was made slow, how long it took within the range and around it, and when it ended, in ns
// of CLOCK_MONOTONIC_RAW. What is compiled at the first launch is compiled before.
//
//   cl_steps STEPS EVERY MS [crash | first | ask]
//
// Every EVERYth step sleeps MS milliseconds. With "crash" it kills itself at the end. With "first" it waits for a byte on stdin
// before the last step, after it has written its session directory; with "ask" before each step.

#include "nvtx_mini.h"
#include "program.h"

#include <signal.h>

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    if (get_global_id(0) == 0)\n"
                             "        count[0] += 1;\n"
                             "}\n";

static int64_t now(void) {
    return (int64_t)program_clock_ns(CLOCK_MONOTONIC_RAW);
}

// In call stacks: a frame of its own.
__attribute__((noinline)) static void step(cl_command_queue queue, cl_kernel kernel, long number, long ms) {
    const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    const size_t size = (size_t)number, one = 1;
    const int64_t before = now();
    nvtxRangePushA("step");
    const int64_t begun = now();
    for (int i = 0; i < 5; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &one, 0, NULL, NULL));
    MUST(clFinish(queue));
    if (ms)
        nanosleep(&nap, NULL);
    const int64_t ended = now();
    nvtxRangePop();
    const int64_t after = now();
    printf("%ld %d %lld %lld %lld\n", number, ms != 0, (long long)(ended - begun),
           (long long)(after - before), (long long)ended);
}

static void wait_for_byte(void) {
    char byte;
    printf("%s\n", getenv("TRACESMITH_SESSION") ? getenv("TRACESMITH_SESSION") : "");
    fflush(stdout);
    EXPECT(read(0, &byte, 1) == 1);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: cl_steps STEPS EVERY MS [crash | first | ask]\n");
        return 2;
    }
    const long steps = atol(argv[1]), every = atol(argv[2]), ms = atol(argv[3]);
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    const size_t one = 1;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    MUST(clFinish(queue));
    for (long i = 1; i <= steps; i++) {
        if (argc > 4 && strcmp(argv[4], "ask") == 0)
            wait_for_byte();
        if (i == steps && argc > 4 && strcmp(argv[4], "first") == 0)
            wait_for_byte();
        step(queue, kernel, i, i % every == 0 ? ms : 0);
    }
    fflush(stdout);
    if (argc > 4 && strcmp(argv[4], "crash") == 0)
        raise(SIGKILL);
    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
