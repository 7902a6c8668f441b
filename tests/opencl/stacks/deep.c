// SPDX-License-Identifier: Apache-2.0
// deep DEPTH OTHER: launches a kernel from DEPTH calls of one function within itself, and from OTHER turns of three functions
// that call one another.
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static cl_command_queue queue;
static cl_kernel kernel;
static volatile int sink;

static void check(cl_int status) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "OpenCL says %d\n", status);
        exit(1);
    }
}

__attribute__((noinline)) static void launch(void) {
    const size_t size = 64;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    check(clFinish(queue));
    sink++;
}

__attribute__((noinline)) static void recurse(int depth) {
    if (depth > 1)
        recurse(depth - 1);
    else
        launch();
    sink++;
}

static void third(int turns);

__attribute__((noinline)) static void first(int turns) {
    if (turns > 0)
        third(turns);
    else
        launch();
    sink++;
}

__attribute__((noinline)) static void second(int turns) {
    first(turns - 1);
    sink++;
}

__attribute__((noinline)) static void third(int turns) {
    second(turns);
    sink++;
}

int main(int count, char **arguments) {
    static const char *source = "kernel void work(global int *a) { a[get_global_id(0)] += 1; }";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (count != 3)
        return 2;
    check(clGetPlatformIDs(1, &platform, NULL));
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status);
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL));
    kernel = clCreateKernel(program, "work", &status);
    check(status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 256, NULL, &status);
    check(status);
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    recurse(atoi(arguments[1]));
    first(atoi(arguments[2]));
    return 0;
}
