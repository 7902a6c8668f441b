// SPDX-License-Identifier: Apache-2.0
// Launches a kernel from main > caller > leaf, and from main > caller > deeper > leaf, where `caller` has alloca and so a frame
// pointer. test_stacks_guessed.sh compiles parts.c, where all but main are, in other ways.
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include "guessed.h"

cl_command_queue queue;
cl_kernel kernel;

void check(cl_int status) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "OpenCL says %d\n", status);
        exit(1);
    }
}

int main(void) {
    static const char *source = "kernel void work(global int *a) { a[get_global_id(0)] += 1; }";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL));
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status);
    check(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
    kernel = clCreateKernel(program, "work", &status);
    check(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, &status);
    check(status);
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    volatile int sum = 0;
    for (int i = 0; i < 3; i++)
        sum += caller(64 + i, 0);
    sum += caller(64, 1);
    return sum == 0;
}
