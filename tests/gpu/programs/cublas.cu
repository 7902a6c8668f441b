// SPDX-License-Identifier: Apache-2.0
// Products by cuBLAS, whose kernels and launches are its own affair: at least one kernel for each product.
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "program.h"

enum { SIDE = 512, TIMES = 40 };

int main(void) {
    const size_t bytes = SIDE * SIDE * sizeof(float);
    float *host = (float *)malloc(bytes), *a, *b, *c;
    const float one = 1, zero = 0;
    cublasHandle_t handle;
    need_devices(1);
    EXPECT(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    MUST(cudaMalloc((void **)&a, bytes));
    MUST(cudaMalloc((void **)&b, bytes));
    MUST(cudaMalloc((void **)&c, bytes));
    for (int i = 0; i < SIDE * SIDE; i++)
        host[i] = 1;
    MUST(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
    MUST(cudaMemcpy(b, host, bytes, cudaMemcpyHostToDevice));
    for (int i = 0; i < TIMES; i++)
        EXPECT(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, a, SIDE, b, SIDE, &zero,
                           c, SIDE) == CUBLAS_STATUS_SUCCESS);
    MUST(cudaMemcpy(host, c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < SIDE * SIDE; i++)
        EXPECT(host[i] == SIDE);
    printf("kernels-least %d\nmemcpy-least h2d 2 %zu\nmemcpy-least d2h 1 %zu\n", TIMES, 2 * bytes, bytes);
    cublasDestroy(handle);
    free(host);
    return 0;
}
