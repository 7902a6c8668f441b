// SPDX-License-Identifier: Apache-2.0
//
// Launches whose number and order are known, for tests that record a part of them.
//
//   cl_ranges [--hold]
//
// Two threads with a queue each. The first doubles a buffer of a megabyte that nothing but the host wrote, and adds
// to it, ten times: double_it, add_it, double_it, ... The second counts in a buffer of its own, four times. Then the
// first thread reads both. --hold: prints "holding", and continues with each line it gets on standard input: after
// the fourth double_it, and after the seventh.
#include "program.h"

#include <pthread.h>
#include <string.h>

enum { CELLS = 1 << 18, ROUNDS = 10, COUNTS = 4 };

static const char source[] = "__kernel void double_it(__global uint *x) { x[get_global_id(0)] *= 2; }\n"
                             "__kernel void add_it(__global uint *x, uint v) { x[get_global_id(0)] += v; }\n"
                             "__kernel void count_it(__global uint *x) { x[get_global_id(0)]++; }\n";

struct counter {
    struct program_setup *setup;
    cl_command_queue queue;
    cl_mem cells;
};

static void launch(cl_command_queue queue, cl_kernel kernel, size_t cells) {
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &cells, NULL, 0, NULL, NULL));
}

static void *count(void *context) {
    const struct counter *counter = context;
    cl_kernel kernel = program_kernel(counter->setup->program, "count_it");
    MUST(clSetKernelArg(kernel, 0, sizeof counter->cells, &counter->cells));
    for (int i = 0; i < COUNTS; i++)
        launch(counter->queue, kernel, 64);
    MUST(clFinish(counter->queue));
    MUST(clReleaseKernel(kernel));
    return NULL;
}

static void hold(bool wanted, cl_command_queue queue) {
    char line[16];
    if (!wanted)
        return;
    MUST(clFinish(queue));
    printf("holding\n");
    fflush(stdout);
    EXPECT(fgets(line, sizeof line, stdin) != NULL);
}

static cl_uint *fill(void) {
    cl_uint *cells = malloc(CELLS * sizeof *cells);
    EXPECT(cells != NULL);
    for (cl_uint i = 0; i < CELLS; i++)
        cells[i] = i * 2654435761u;
    return cells;
}

int main(int argc, char **argv) {
    const bool holds = argc == 2 && strcmp(argv[1], "--hold") == 0;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    struct counter counter = {&setup, program_queue(setup.context, setup.device, 0),
                              program_buffer(setup.context, 64 * sizeof(cl_uint))};
    cl_mem memory = program_buffer(setup.context, CELLS * sizeof(cl_uint));
    cl_kernel twice = program_kernel(setup.program, "double_it"),
              add = program_kernel(setup.program, "add_it");
    cl_uint *cells = fill(), counts[64] = {0}, sum = 0;
    pthread_t thread;
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, CELLS * sizeof *cells, cells, 0, NULL, NULL));
    MUST(clEnqueueWriteBuffer(queue, counter.cells, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    EXPECT(pthread_create(&thread, NULL, count, &counter) == 0);
    pthread_join(thread, NULL);
    MUST(clSetKernelArg(twice, 0, sizeof memory, &memory));
    MUST(clSetKernelArg(add, 0, sizeof memory, &memory));
    for (cl_uint i = 0; i < ROUNDS; i++) {
        MUST(clSetKernelArg(add, 1, sizeof i, &i));
        launch(queue, twice, CELLS);
        hold(holds && (i == 3 || i == 6), queue);
        launch(queue, add, CELLS);
    }
    MUST(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, CELLS * sizeof *cells, cells, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, counter.cells, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < CELLS; i++)
        sum += cells[i];
    EXPECT(counts[5] == COUNTS);
    printf("{\"program\":\"cl_ranges\",\"launches\":%d,\"sum\":%u}\n", 2 * ROUNDS + COUNTS, sum);
    MUST(clReleaseMemObject(memory));
    MUST(clReleaseMemObject(counter.cells));
    MUST(clReleaseKernel(twice));
    MUST(clReleaseKernel(add));
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseCommandQueue(counter.queue));
    free(cells);
    program_finish(&setup);
    return 0;
}
