// SPDX-License-Identifier: Apache-2.0
// Ranges around launches: what of the program's own names comes to lie over which kernels.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "program.h"

enum { STEPS = 20, LAUNCHES = 25 };

extern "C" __global__ void in_range(int *values) {
    values[threadIdx.x] += 1;
}

int main(void) {
    int *values, host[32];
    need_devices(1);
    MUST(cudaMalloc((void **)&values, sizeof host));
    MUST(cudaMemset(values, 0, sizeof host));
    for (int step = 0; step < STEPS; step++) {
        nvtxRangePushA("step");
        for (int i = 0; i < LAUNCHES; i++)
            in_range<<<1, 32>>>(values);
        nvtxRangePop();
        nvtxMarkA("between");
    }
    MUST(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host[3] == STEPS * LAUNCHES);
    printf("kernel in_range %d\nrange step %d\nmarker between %d\nprojected step %d\n", STEPS * LAUNCHES,
           STEPS, STEPS, STEPS * LAUNCHES);
    return 0;
}
