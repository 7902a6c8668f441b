// SPDX-License-Identifier: Apache-2.0
// A matrix product and a sum of vectors by CLBlast, checked against plain loops. Built by test_programs.sh where CLBlast is.
#include <clblast_c.h>
#include <math.h>
#include <stdio.h>

enum { N = 64 };

static float at(int i, int modulus) {
    return (float)(i % modulus);
}

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    static float a[N * N], b[N * N], c[N * N];
    const size_t bytes = sizeof a;
    cl_event done = NULL;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 2;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    for (int i = 0; i < N * N; i++) {
        a[i] = at(i, 7);
        b[i] = at(i, 5);
    }
    cl_mem left = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL),
           right = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL),
           product = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
    clEnqueueWriteBuffer(queue, left, CL_TRUE, 0, bytes, a, 0, NULL, NULL);
    clEnqueueWriteBuffer(queue, right, CL_TRUE, 0, bytes, b, 0, NULL, NULL);
    if (CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, N, N, N, 1, left, 0, N,
                     right, 0, N, 0, product, 0, N, &queue, NULL) ||
        CLBlastSaxpy(N * N, 2, left, 0, 1, product, 0, 1, &queue, &done))
        return 2;
    clWaitForEvents(1, &done);
    clReleaseEvent(done);
    clEnqueueReadBuffer(queue, product, CL_TRUE, 0, bytes, c, 0, NULL, NULL);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float want = 2 * a[i * N + j];
            for (int k = 0; k < N; k++)
                want += a[i * N + k] * b[k * N + j];
            if (fabsf(want - c[i * N + j]) > 1e-3f)
                return 1;
        }
    clReleaseMemObject(left);
    clReleaseMemObject(right);
    clReleaseMemObject(product);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    printf("the product is right\n");
    return 0;
}
