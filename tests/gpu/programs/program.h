// SPDX-License-Identifier: Apache-2.0
// What the CUDA test programs share. Each runs a known series of commands, checks its results, and prints its own
// count of them on stdout, one fact a line, for run.sh to compare with the trace:
//
//     kernel NAME COUNT              launches of a kernel, graph nodes included
//     memcpy DIRECTION COUNT BYTES   h2d, d2h, d2d, p2p; memcpy-least: there may be more
//     memset COUNT BYTES
//     figure NAME VALUE              a measurement, for the table
//
// Nothing here knows about tracing. Exit codes: 0 all results right, 1 a wrong result or a failed call, 77 the
// machine lacks something that the program needs (with the reason).
#ifndef GPU_PROGRAM_H
#define GPU_PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        const cudaError_t must_result = (call);                                                              \
        if (must_result != cudaSuccess) {                                                                    \
            fprintf(stderr, "%s:%d: %s gave %d (%s)\n", __FILE__, __LINE__, #call, (int)must_result,         \
                    cudaGetErrorString(must_result));                                                        \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#ifndef EXPECT // a simulated GPU computes nothing
#define EXPECT(right)                                                                                        \
    do {                                                                                                     \
        if (!(right)) {                                                                                      \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #right);                            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#endif

static inline void lacks(const char *what) {
    printf("skipped: %s\n", what);
    exit(77);
}

static inline int need_devices(int wanted) {
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess) {
        printf("skipped: no GPU: %s\n", cudaGetErrorString(result));
        exit(77);
    }
    if (count < wanted)
        lacks("not enough GPUs");
    return count;
}

static inline double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#endif
