// SPDX-License-Identifier: Apache-2.0
// An OpenCL program for clang -fxray-instrument: every launch is made inside a function of its own, on two threads, and every
// such function encloses exactly one launch. Prints how many.
#include "../programs/program.h"

#include <pthread.h>

#define INSTRUMENTED __attribute__((noinline, xray_always_instrument))

enum { THREADS = 2, LAUNCHES = 200 };

struct worker {
    pthread_t thread;
    struct program_setup *setup;
};

// The launch is not the last thing in it, so that the call is no jump.
INSTRUMENTED int launch_once(cl_command_queue queue, cl_kernel kernel) {
    const size_t items = 16;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    return (int)items;
}

INSTRUMENTED int launch_all(struct worker *worker) {
    int items = 0;
    cl_kernel kernel = program_kernel(worker->setup->program, "add");
    cl_mem buffer = program_buffer(worker->setup->context, 16 * sizeof(cl_int));
    cl_command_queue queue = program_queue(worker->setup->context, worker->setup->device, 0);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < LAUNCHES; i++)
        items += launch_once(queue, kernel);
    MUST(clFinish(queue));
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    return items;
}

static void *run(void *context) {
    EXPECT(launch_all(context) == 16 * LAUNCHES);
    return NULL;
}

int main(void) {
    struct worker workers[THREADS];
    struct program_setup setup =
        program_start("__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }\n");
    for (int i = 0; i < THREADS; i++) {
        workers[i].setup = &setup;
        EXPECT(pthread_create(&workers[i].thread, NULL, run, &workers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    printf("{\"launches\":%d,\"threads\":%d}\n", THREADS * LAUNCHES, THREADS);
    program_finish(&setup);
    return 0;
}
