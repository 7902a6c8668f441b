// SPDX-License-Identifier: Apache-2.0
// Which GPU, driver and runtime these are, for the head of the results.
#include <cuda_runtime.h>

#include "program.h"

int main(void) {
    const int count = need_devices(1);
    int driver = 0, runtime = 0;
    MUST(cudaDriverGetVersion(&driver));
    MUST(cudaRuntimeGetVersion(&runtime));
    for (int i = 0; i < count; i++) {
        cudaDeviceProp device;
        MUST(cudaGetDeviceProperties(&device, i));
        printf("GPU %d: %s, compute capability %d.%d, %d multiprocessors, %.0f GiB\n", i, device.name,
               device.major, device.minor, device.multiProcessorCount,
               (double)device.totalGlobalMem / (1 << 30));
    }
    printf("driver for CUDA %d.%d, runtime %d.%d\n", driver / 1000, driver % 1000 / 10, runtime / 1000,
           runtime % 1000 / 10);
    return 0;
}
