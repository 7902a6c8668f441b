// SPDX-License-Identifier: Apache-2.0
// Four streams with asynchronous copies and events between them, from four host threads.
#include <cuda_runtime.h>
#include <pthread.h>

#include "program.h"

enum { STREAMS = 4, TIMES = 200, COUNT = 1 << 16 };

extern "C" __global__ void scale(float *values, float by) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < COUNT)
        values[i] *= by;
}

static cudaEvent_t ready; // recorded once, waited for by all

static void *worker(void *unused) {
    const size_t bytes = COUNT * sizeof(float);
    cudaStream_t stream;
    float *host, *device;
    (void)unused;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST(cudaMallocHost((void **)&host, bytes));
    MUST(cudaMalloc((void **)&device, bytes));
    for (int i = 0; i < COUNT; i++)
        host[i] = 1;
    MUST(cudaStreamWaitEvent(stream, ready, 0));
    MUST(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream));
    for (int i = 0; i < TIMES; i++)
        scale<<<COUNT / 256, 256, 0, stream>>>(device, i % 2 ? 0.5f : 2.0f);
    MUST(cudaGetLastError());
    MUST(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == 1);
    MUST(cudaFree(device));
    MUST(cudaFreeHost(host));
    MUST(cudaStreamDestroy(stream));
    return NULL;
}

int main(void) {
    pthread_t threads[STREAMS];
    const size_t bytes = COUNT * sizeof(float);
    need_devices(1);
    MUST(cudaEventCreate(&ready));
    MUST(cudaEventRecord(ready, 0));
    for (int i = 0; i < STREAMS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < STREAMS; i++)
        pthread_join(threads[i], NULL);
    printf("kernel scale %d\n", STREAMS * TIMES);
    printf("memcpy h2d %d %zu\nmemcpy d2h %d %zu\n", STREAMS, STREAMS * bytes, STREAMS, STREAMS * bytes);
    return 0;
}
