// SPDX-License-Identifier: Apache-2.0
// A program that passes tracepoints as the tracers of THAPI do, in two threads, for test_ctf_lttng.sh: prints how many. LTTng's own
// providers that begin with lttng_ust_ are not there.  usage: thapi_program COUNT
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "thapi/cuda.h"
#include "thapi/opencl.h"
#include "thapi/ze.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int count;

static void allocate(int step, int depth) {
    lttng_ust_tracepoint(lttng_ust_cuda, cuMemAlloc_v2_entry, 0x7000u + (unsigned)depth, 64u << depth);
    if (depth < 2)
        allocate(step, depth + 1);
    lttng_ust_tracepoint(lttng_ust_cuda, cuMemAlloc_v2_exit, depth ? 2 : 0, 0xa000u + (unsigned)step);
}

static void *pass(void *argument) {
    static const size_t sizes[3] = {1024, 8, 2};
    static const uintptr_t events[2] = {0xe1, 0xe2};
    uint8_t description[24] = {1, 2, 3};
    (void)argument;
    for (int i = 0; i < count; i++) {
        description[8] = (uint8_t)i;
        lttng_ust_tracepoint(lttng_ust_ze, zeMemAllocDevice_entry, 0xc0, description, (size_t)i * 4096, 64,
                             0xd0);
        lttng_ust_tracepoint(lttng_ust_ze, zeMemAllocDevice_exit, i % 3 ? 0 : 0x70000003u,
                             0xf000u + (unsigned)i);
        lttng_ust_tracepoint(lttng_ust_ze, zeEventHostReset_entry, 0xe0);
        lttng_ust_tracepoint(lttng_ust_ze, zeEventHostReset_exit, 0);
        lttng_ust_tracepoint(lttng_ust_opencl, clEnqueueNDRangeKernel_entry, 0x91, 0x92,
                             (unsigned)(1 + i % 3), sizes, (unsigned)(i % 3), events);
        lttng_ust_tracepoint(lttng_ust_opencl, clEnqueueNDRangeKernel_exit, i % 2 ? -5 : 0, 0xe3);
        lttng_ust_tracepoint(lttng_ust_opencl, clFinish_start, 0x91);
        lttng_ust_tracepoint(lttng_ust_opencl, clFinish_stop, 0);
        allocate(i, 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    count = argc > 1 ? atoi(argv[1]) : 10;
    if (pthread_create(&thread, NULL, pass, NULL) != 0)
        return 1;
    (void)pass(NULL);
    (void)pthread_join(thread, NULL);
    printf("%d\n", 2 * count * (8 + 6));
    return 0;
}
