// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
#include <string.h>

#include "guessed.h"

__attribute__((noinline)) static int leaf(volatile int *at) {
    const size_t size = 64;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    check(clFinish(queue));
    return *at + 1;
}

__attribute__((noinline)) static int deeper(volatile int *at) {
    return leaf(at) + *at;
}

__attribute__((noinline)) int caller(int size, int is_deeper) {
    volatile int *at = alloca((size_t)size * sizeof *at);
    memset((void *)at, 1, (size_t)size * sizeof *at);
    return (is_deeper ? deeper(at) : leaf(at)) + at[size - 1];
}
