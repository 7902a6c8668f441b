// SPDX-License-Identifier: Apache-2.0
// A kernel that NVRTC compiles when the program runs, launched through the driver API.
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvrtc.h>
#include <string.h>

#include "program.h"

enum { TIMES = 50, COUNT = 256 };

static const char source[] = "extern \"C\" __global__ void compiled_late(int *values) {\n"
                             "    values[threadIdx.x] += 3;\n"
                             "}\n";

#define MUST_BE_0(call) EXPECT((call) == 0)

int main(void) {
    nvrtcProgram program;
    cudaDeviceProp device;
    CUmodule module;
    CUfunction kernel;
    int *values, host[COUNT];
    char option[64];
    size_t size;
    need_devices(1);
    MUST(cudaSetDevice(0));
    MUST(cudaGetDeviceProperties(&device, 0));
    MUST(cudaMalloc((void **)&values, sizeof host));
    MUST(cudaMemset(values, 0, sizeof host));
    snprintf(option, sizeof option, "--gpu-architecture=compute_%d%d", device.major, device.minor);
    const char *const options[] = {option};
    MUST_BE_0(nvrtcCreateProgram(&program, source, "late.cu", 0, NULL, NULL));
    MUST_BE_0(nvrtcCompileProgram(program, 1, options));
    MUST_BE_0(nvrtcGetPTXSize(program, &size));
    char *ptx = (char *)malloc(size);
    MUST_BE_0(nvrtcGetPTX(program, ptx));
    MUST_BE_0(cuModuleLoadData(&module, ptx));
    MUST_BE_0(cuModuleGetFunction(&kernel, module, "compiled_late"));
    void *arguments[] = {&values};
    for (int i = 0; i < TIMES; i++)
        MUST_BE_0(cuLaunchKernel(kernel, 1, 1, 1, COUNT, 1, 1, 0, NULL, arguments, NULL));
    MUST(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == 3 * TIMES);
    printf("kernel compiled_late %d\nmemset 1 %zu\nmemcpy d2h 1 %zu\n", TIMES, sizeof host, sizeof host);
    nvrtcDestroyProgram(&program);
    free(ptx);
    return 0;
}
