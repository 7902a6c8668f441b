// SPDX-License-Identifier: Apache-2.0
// A captured graph of ten kernels and a fill, launched many times: every node counts.
#include <cuda_runtime.h>

#include "program.h"

enum { NODES = 10, LAUNCHES = 300, COUNT = 1024 };

extern "C" __global__ void graph_node(int *values) {
    values[threadIdx.x] += 1;
}

int main(void) {
    int *values, host[COUNT];
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    need_devices(1);
    MUST(cudaStreamCreate(&stream));
    MUST(cudaMalloc((void **)&values, sizeof host));
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    MUST(cudaMemsetAsync(values, 0, sizeof host, stream));
    for (int i = 0; i < NODES; i++)
        graph_node<<<1, COUNT, 0, stream>>>(values);
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiateWithFlags(&instance, graph, 0));
    for (int i = 0; i < LAUNCHES; i++)
        MUST(cudaGraphLaunch(instance, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == NODES);
    printf("kernel graph_node %d\nmemset %d %zu\nmemcpy d2h 1 %zu\n", NODES * LAUNCHES, LAUNCHES,
           LAUNCHES * sizeof host, sizeof host);
    return 0;
}
