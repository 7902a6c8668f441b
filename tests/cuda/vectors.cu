// SPDX-License-Identifier: Apache-2.0
// A CUDA program as people write them, for nvcc. It says what it launched.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <typename T> __global__ void add(const T *a, const T *b, T *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

__global__ void scale(float *a, float by) {
    a[threadIdx.x] *= by;
}

int main(int count, char **words) {
    const int launches = count > 1 ? atoi(words[1]) : 10;
    float *a, *b, *c, host[256] = {1};
    cudaStream_t stream;
    if (cudaMalloc(&a, sizeof host) || cudaMalloc(&b, sizeof host) || cudaMalloc(&c, sizeof host) ||
        cudaStreamCreate(&stream))
        return 4;
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++) {
        add<float><<<4, 64>>>(a, b, c, 256);
        scale<<<dim3(1, 2), 128, 16, stream>>>(a, 2);
    }
    if (cudaDeviceSynchronize() != cudaSuccess)
        return 5;
    cudaMemcpy(host, c, sizeof host, cudaMemcpyDeviceToHost);
    cudaStreamDestroy(stream);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    printf("add %d scale %d copies 2 allocs 3\n", launches, launches);
    return 0;
}
