// SPDX-License-Identifier: Apache-2.0
// A program on CLBlast: a matrix product, a dot product and a scaled vector, checked against plain loops.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <clblast_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 96 };

static cl_mem upload(cl_context context, cl_command_queue queue, const float *from, size_t count) {
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, count * sizeof *from, NULL, NULL);
    clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, count * sizeof *from, from, 0, NULL, NULL);
    return buffer;
}

static double worst_of_product(const float *a, const float *b, const float *c) {
    double worst = 0;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            double sum = 0;
            for (size_t k = 0; k < N; k++)
                sum += (double)a[i * N + k] * b[k * N + j];
            worst = fmax(worst, fabs(sum - c[i * N + j]));
        }
    return worst;
}

int main(void) {
    static float a[N * N], b[N * N], c[N * N];
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 4;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    for (size_t i = 0; i < N * N; i++) {
        a[i] = (float)(i % 7);
        b[i] = (float)(i % 5);
    }
    cl_mem da = upload(context, queue, a, N * N);
    cl_mem db = upload(context, queue, b, N * N);
    cl_mem dc = upload(context, queue, c, N * N);
    cl_event event = NULL;
    int status = CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, N, N, N, 1, da,
                              0, N, db, 0, N, 0, dc, 0, N, &queue, &event);
    printf("gemm %d\n", status);
    if (status == 0) {
        clWaitForEvents(1, &event);
        clReleaseEvent(event);
    }
    clEnqueueReadBuffer(queue, dc, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL);
    printf("product right: %d\n", worst_of_product(a, b, c) < 1e-2);
    printf("dot %d\n", CLBlastSdot(N, dc, 0, da, 0, 1, db, 0, 1, &queue, NULL));
    printf("scal %d\n", CLBlastSscal(N, 2, da, 0, 1, &queue, NULL));
    clFinish(queue);
    clEnqueueReadBuffer(queue, dc, CL_TRUE, 0, sizeof(float), c, 0, NULL, NULL);
    double dot = 0;
    for (size_t i = 0; i < N; i++)
        dot += (double)a[i] * b[i];
    printf("dot right: %d\n", fabs(dot - c[0]) < 1e-2);
    clReleaseMemObject(da);
    clReleaseMemObject(db);
    clReleaseMemObject(dc);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    CLBlastClearCache();
    return 0;
}
