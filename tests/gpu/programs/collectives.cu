// SPDX-License-Identifier: Apache-2.0
// All-reduces of NCCL between all GPUs of the machine, one process for all. Needs two: of one, NCCL only copies.
#include <cuda_runtime.h>
#include <nccl.h>

#include "program.h"

enum { MOST = 16, TIMES = 30, COUNT = 1 << 20 };

int main(void) {
    const int devices = need_devices(2) < MOST ? need_devices(2) : MOST;
    ncclComm_t comms[MOST];
    cudaStream_t streams[MOST];
    float *values[MOST], first;
    int numbers[MOST];
    for (int i = 0; i < devices; i++) {
        numbers[i] = i;
        MUST(cudaSetDevice(i));
        MUST(cudaStreamCreate(&streams[i]));
        MUST(cudaMalloc((void **)&values[i], COUNT * sizeof(float)));
        MUST(cudaMemset(values[i], 0, COUNT * sizeof(float)));
    }
    EXPECT(ncclCommInitAll(comms, devices, numbers) == ncclSuccess);
    for (int time = 0; time < TIMES; time++) {
        EXPECT(ncclGroupStart() == ncclSuccess);
        for (int i = 0; i < devices; i++)
            EXPECT(ncclAllReduce(values[i], values[i], COUNT, ncclFloat32, ncclSum, comms[i], streams[i]) ==
                   ncclSuccess);
        EXPECT(ncclGroupEnd() == ncclSuccess);
    }
    for (int i = 0; i < devices; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaStreamSynchronize(streams[i]));
        ncclCommDestroy(comms[i]);
    }
    MUST(cudaMemcpy(&first, values[0], sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first == 0);
    printf("collective AllReduce %d %zu\n", TIMES * devices, TIMES * devices * COUNT * sizeof(float));
    return 0;
}
