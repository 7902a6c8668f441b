// SPDX-License-Identifier: Apache-2.0
// A Fourier transform and back by clFFT. Built by test_programs.sh where clFFT is.
#include <clFFT.h>
#include <math.h>
#include <stdio.h>

enum { N = 256 };

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    static float x[2 * N], y[2 * N];
    const clfftSetupData data = {.major = clfftVersionMajor};
    const size_t lengths[] = {N};
    clfftPlanHandle plan;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    for (int i = 0; i < N; i++)
        x[2 * i] = (float)(i % 9);
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof x, NULL, NULL);
    clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL);
    if (clfftSetup(&data) || clfftCreateDefaultPlan(&plan, context, CLFFT_1D, lengths))
        return 2;
    clfftSetPlanPrecision(plan, CLFFT_SINGLE);
    clfftSetLayout(plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED);
    clfftSetResultLocation(plan, CLFFT_INPLACE);
    if (clfftBakePlan(plan, 1, &queue, NULL, NULL))
        return 2;
    clfftEnqueueTransform(plan, CLFFT_FORWARD, 1, &queue, 0, NULL, NULL, &memory, NULL, NULL);
    clfftEnqueueTransform(plan, CLFFT_BACKWARD, 1, &queue, 0, NULL, NULL, &memory, NULL, NULL);
    clFinish(queue);
    clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, sizeof y, y, 0, NULL, NULL);
    for (int i = 0; i < 2 * N; i++)
        if (fabsf(x[i] - y[i]) > 1e-3f)
            return 1;
    clfftDestroyPlan(&plan);
    clfftTeardown();
    clReleaseMemObject(memory);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("there and back is the same\n");
    return 0;
}
