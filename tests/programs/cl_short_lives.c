// SPDX-License-Identifier: Apache-2.0
//
// Makes and releases a buffer, a part of it and now and then a kernel, again and again: the part goes after its buffer in
// every second round, and a kernel's argument names what is gone until the next round. Every thousandth part is computed in.
//
//   cl_short_lives [-n ROUNDS] [-p]
//
// Prints by how many bytes the process's heap grew from the first tenth of the rounds to the last (with -p only buffers, and
// the nanoseconds of a round in each tenth).

#include <malloc.h>

#include "program.h"

enum { BYTES = 1024, PART = 512, EVERY = 1000, TENTHS = 10 };

static struct program_setup setup;
static cl_command_queue queue;
static cl_kernel kernel;

static void compute(cl_mem part, cl_int round) {
    static const size_t size = PART / sizeof(cl_int);
    cl_int values[PART / sizeof(cl_int)];
    MUST(clEnqueueFillBuffer(queue, part, &round, sizeof round, 0, PART, 0, NULL, NULL));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, part, CL_TRUE, 0, PART, values, 0, NULL, NULL));
    EXPECT(values[0] == round + 1 && values[size - 1] == round + 1);
}

static void live(long round) {
    const cl_buffer_region region = {0, PART};
    cl_int status;
    cl_mem buffer = program_buffer(setup.context, BYTES);
    cl_mem part =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
    MUST(status);
    if (round % 10 == 0) {
        MUST(clReleaseKernel(kernel));
        kernel = program_kernel(setup.program, "advance");
    }
    MUST(clSetKernelArg(kernel, 0, sizeof part, &part));
    if (round % EVERY == 0)
        compute(part, (cl_int)round);
    MUST(clReleaseMemObject(round & 1 ? buffer : part));
    MUST(clReleaseMemObject(round & 1 ? part : buffer));
}

static void live_plainly(long round) {
    (void)round;
    MUST(clReleaseMemObject(program_buffer(setup.context, BYTES)));
}

static size_t heap_bytes(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(int argc, char **argv) {
    unsigned long rounds = 100000;
    bool plain = false;
    for (int option; (option = getopt(argc, argv, "n:p")) != -1;)
        if (option == 'n')
            rounds = program_number("-n", optarg);
        else if (option == 'p')
            plain = true;
        else
            return EXIT_USAGE;
    setup = program_start("__kernel void advance(__global int *a) { a[get_global_id(0)] += 1; }");
    queue = program_queue(setup.context, setup.device, 0);
    kernel = program_kernel(setup.program, "advance");
    size_t first = 0;
    for (unsigned long tenth = 0; tenth < TENTHS; tenth++) {
        const uint64_t begin = program_clock_ns(CLOCK_MONOTONIC);
        for (unsigned long round = 0; round < rounds / TENTHS; round++)
            (plain ? live_plainly : live)((long)(tenth * (rounds / TENTHS) + round));
        if (plain)
            printf("%.0f ", (double)(program_clock_ns(CLOCK_MONOTONIC) - begin) / (double)(rounds / TENTHS));
        if (!tenth)
            first = heap_bytes();
    }
    MUST(clFinish(queue));
    const size_t last = heap_bytes();
    printf("grown %zu\n", last > first ? last - first : 0);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
