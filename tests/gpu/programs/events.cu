// SPDX-License-Identifier: Apache-2.0
// Kernels that take about 1 and 2 ms, each between two CUDA events: what the events say each took. Between event and
// kernel lies the GPU's own moment, the same for all, so it is the difference of a long and a short one that is compared.
#include <cuda_runtime.h>

#include "program.h"

enum { TIMES = 100 };

extern "C" __global__ void spin(long long ticks) {
    const long long begin = clock64();
    while (clock64() - begin < ticks)
        ;
}

int main(void) {
    cudaEvent_t before, after;
    int khz = 0;
    need_devices(1);
    if (cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0) != cudaSuccess || khz <= 0)
        khz = 1500000;
    MUST(cudaEventCreate(&before));
    MUST(cudaEventCreate(&after));
    spin<<<1, 1>>>(1000);
    MUST(cudaDeviceSynchronize());
    for (int i = 0; i < TIMES; i++) {
        float milliseconds = 0;
        MUST(cudaEventRecord(before, 0));
        spin<<<1, 1>>>((long long)khz * (1 + i % 2));
        MUST(cudaEventRecord(after, 0));
        MUST(cudaEventSynchronize(after));
        MUST(cudaEventElapsedTime(&milliseconds, before, after));
        printf("event %d %.0f\n", i, (double)milliseconds * 1e6);
    }
    printf("kernel spin %d\n", TIMES + 1);
    return 0;
}
