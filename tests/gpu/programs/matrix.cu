// SPDX-License-Identifier: Apache-2.0
// A tiled matrix product with shared memory, compared with the host's.
#include <cuda_runtime.h>

#include "program.h"

enum { SIDE = 256, TILE = 16, TIMES = 20 };

extern "C" __global__ void matrix_product(const float *a, const float *b, float *c) {
    __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
    const int row = (int)(blockIdx.y * TILE + threadIdx.y), column = (int)(blockIdx.x * TILE + threadIdx.x);
    float sum = 0;
    for (int tile = 0; tile < SIDE / TILE; tile++) {
        of_a[threadIdx.y][threadIdx.x] = a[row * SIDE + tile * TILE + (int)threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(tile * TILE + (int)threadIdx.y) * SIDE + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        __syncthreads();
    }
    c[row * SIDE + column] = sum;
}

int main(void) {
    const size_t bytes = SIDE * SIDE * sizeof(float);
    float *a, *b, *c;
    need_devices(1);
    MUST(cudaMallocManaged((void **)&a, bytes));
    MUST(cudaMallocManaged((void **)&b, bytes));
    MUST(cudaMallocManaged((void **)&c, bytes));
    for (int i = 0; i < SIDE * SIDE; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    for (int i = 0; i < TIMES; i++)
        matrix_product<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(a, b, c);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    for (int row = 0; row < SIDE; row += 17)
        for (int column = 0; column < SIDE; column++) {
            float sum = 0; // of small integers: exact
            for (int i = 0; i < SIDE; i++)
                sum += a[row * SIDE + i] * b[i * SIDE + column];
            EXPECT(c[row * SIDE + column] == sum);
        }
    printf("kernel matrix_product %d\n", TIMES);
    return 0;
}
