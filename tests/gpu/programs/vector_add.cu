// SPDX-License-Identifier: Apache-2.0
// The first CUDA program of everybody: two vectors in, their sum out, a few times.
#include <cuda_runtime.h>

#include "program.h"

enum { COUNT = 1 << 20, TIMES = 100 };

extern "C" __global__ void vector_add(const float *a, const float *b, float *sum, int count) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        sum[i] = a[i] + b[i];
}

int main(void) {
    const size_t bytes = COUNT * sizeof(float);
    float *host = (float *)malloc(bytes), *a, *b, *sum;
    need_devices(1);
    MUST(cudaMalloc((void **)&a, bytes));
    MUST(cudaMalloc((void **)&b, bytes));
    MUST(cudaMalloc((void **)&sum, bytes));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    MUST(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemset(sum, 0xff, bytes));
    for (int i = 0; i < TIMES; i++)
        vector_add<<<COUNT / 256, 256>>>(a, b, sum, COUNT);
    MUST(cudaGetLastError());
    MUST(cudaMemcpy(b, sum, bytes, cudaMemcpyDeviceToDevice));
    MUST(cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == 2.0f * (float)i);
    printf("kernel vector_add %d\n", TIMES);
    printf("memcpy h2d 2 %zu\nmemcpy d2d 1 %zu\nmemcpy d2h 1 %zu\nmemset 1 %zu\n", 2 * bytes, bytes, bytes,
           bytes);
    MUST(cudaFree(a));
    MUST(cudaFree(b));
    MUST(cudaFree(sum));
    free(host);
    return 0;
}
