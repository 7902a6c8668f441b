// SPDX-License-Identifier: Apache-2.0
// OpenCL's loader by name, so that the program has no need of it before it runs: a wheel contains it for machines of any kind.
#ifndef LAUNCH_LOOP_OPENCL_H
#define LAUNCH_LOOP_OPENCL_H

#include <CL/cl.h>

#include <dlfcn.h>
#include <stdbool.h>

#define OPENCL_FUNCTIONS(X)                                                                                  \
    X(clBuildProgram)                                                                                        \
    X(clCreateBuffer)                                                                                        \
    X(clCreateCommandQueueWithProperties)                                                                    \
    X(clCreateContext)                                                                                       \
    X(clCreateKernel)                                                                                        \
    X(clCreateProgramWithSource)                                                                             \
    X(clEnqueueNDRangeKernel)                                                                                \
    X(clEnqueueReadBuffer)                                                                                   \
    X(clFinish)                                                                                              \
    X(clGetDeviceIDs)                                                                                        \
    X(clGetDeviceInfo)                                                                                       \
    X(clGetPlatformIDs)                                                                                      \
    X(clReleaseCommandQueue)                                                                                 \
    X(clReleaseContext)                                                                                      \
    X(clReleaseKernel)                                                                                       \
    X(clReleaseMemObject)                                                                                    \
    X(clReleaseProgram)                                                                                      \
    X(clSetKernelArg)

static struct {
#define POINTER(name) __typeof__(&(name)) p_##name;
    OPENCL_FUNCTIONS(POINTER)
#undef POINTER
} opencl;

// False where there is no loader. A function that another library defines, one of LD_PRELOAD, comes before the loader's, as in a
// program that is linked with the loader.
static bool opencl_load(void) {
    bool found = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL;
#define FIND(name)                                                                                           \
    *(void **)&opencl.p_##name = dlsym(RTLD_DEFAULT, #name);                                                 \
    found = found && opencl.p_##name;
    OPENCL_FUNCTIONS(FIND)
#undef FIND
    return found;
}

#define clBuildProgram opencl.p_clBuildProgram
#define clCreateBuffer opencl.p_clCreateBuffer
#define clCreateCommandQueueWithProperties opencl.p_clCreateCommandQueueWithProperties
#define clCreateContext opencl.p_clCreateContext
#define clCreateKernel opencl.p_clCreateKernel
#define clCreateProgramWithSource opencl.p_clCreateProgramWithSource
#define clEnqueueNDRangeKernel opencl.p_clEnqueueNDRangeKernel
#define clEnqueueReadBuffer opencl.p_clEnqueueReadBuffer
#define clFinish opencl.p_clFinish
#define clGetDeviceIDs opencl.p_clGetDeviceIDs
#define clGetDeviceInfo opencl.p_clGetDeviceInfo
#define clGetPlatformIDs opencl.p_clGetPlatformIDs
#define clReleaseCommandQueue opencl.p_clReleaseCommandQueue
#define clReleaseContext opencl.p_clReleaseContext
#define clReleaseKernel opencl.p_clReleaseKernel
#define clReleaseMemObject opencl.p_clReleaseMemObject
#define clReleaseProgram opencl.p_clReleaseProgram
#define clSetKernelArg opencl.p_clSetKernelArg

#endif
