// SPDX-License-Identifier: Apache-2.0
//
// Between one launch and the next, the host sleeps, waits for a byte of another thread, or computes, in turns, a known number
// of times; prints how long each took in all, on CLOCK_MONOTONIC_RAW.
//
//   cl_sleepy [-n ROUNDS]

#include "program.h"

#include <pthread.h>

enum { WAYS = 3 };
static const int64_t PAUSE = 4000000; // ns

static int ask[2], answer[2];

static int64_t now(void) {
    return (int64_t)program_clock_ns(CLOCK_MONOTONIC_RAW);
}

// Answers each byte after a while, in which it does not wait for anything.
static void *answer_all(void *context) {
    char byte;
    (void)context;
    while (read(ask[0], &byte, 1) == 1 && byte) {
        const int64_t until = now() + PAUSE;
        while (now() < until)
            ;
        EXPECT(write(answer[1], "x", 1) == 1);
    }
    return NULL;
}

static void pause_in(int way) {
    const struct timespec nap = {.tv_nsec = PAUSE};
    const int64_t until = now() + PAUSE;
    char byte = 'x';
    if (way == 0) {
        nanosleep(&nap, NULL);
    } else if (way == 1) {
        EXPECT(write(ask[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1);
    } else {
        while (now() < until)
            ;
    }
}

int main(int argc, char **argv) {
    static const char *const names[WAYS] = {"sleeping", "waiting", "computing"};
    int64_t times[WAYS] = {0};
    const int rounds = argc == 3 ? (int)program_number("-n", argv[2]) : 10;
    struct program_setup setup =
        program_start("__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }\n");
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "add");
    cl_mem buffer = program_buffer(setup.context, 64 * sizeof(cl_int));
    const size_t items = 64;
    pthread_t thread;
    EXPECT(pipe(ask) == 0 && pipe(answer) == 0 && pthread_create(&thread, NULL, answer_all, NULL) == 0);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i <= WAYS * rounds; i++) {
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        MUST(clFinish(queue));
        if (i == WAYS * rounds)
            break; // after the last nothing is launched
        const int64_t before = now();
        pause_in(i % WAYS);
        times[i % WAYS] += now() - before;
    }
    EXPECT(write(ask[1], "", 1) == 1);
    pthread_join(thread, NULL);
    printf("{\"rounds\":%d,\"pause\":%lld,\"times\":{", rounds, (long long)PAUSE);
    for (int i = 0; i < WAYS; i++)
        printf("%s\"%s\":%lld", i ? "," : "", names[i], (long long)times[i]);
    printf("}}\n");
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
