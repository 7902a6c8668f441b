// SPDX-License-Identifier: Apache-2.0
// A library that brings a loader of its own, as packages of Python do (LightGBM): it exports OpenCL's functions, calls them, and is
// opened without being made global. Its loader knows no layers, and passes calls to the system's. test_own_loader.sh opens it.
#include "opencl_calls/calls.h"

#include <dlfcn.h>
#include <stdlib.h>

static void *of_loader(const char *name) {
    static void *library;
    if (!library) {
        unsetenv("OPENCL_LAYERS");
        library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    }
    return dlsym(library, name);
}

#define LOADER(name, result, parameters, arguments, ...)                                                     \
    __attribute__((visibility("default"))) result CL_API_CALL name parameters {                              \
        const OPENCL_POINTER(name) call = (OPENCL_POINTER(name))of_loader(#name);                            \
        return call arguments;                                                                               \
    }
#define LOADER_CALL(name) OPENCL_DEFINE(LOADER, name, )
OPENCL_EXPORTED_CALLS(LOADER_CALL)

#define ASKED(name, parameters, arguments)                                                                   \
    __attribute__((visibility("default"))) cl_int CL_API_CALL name parameters {                              \
        return ((OPENCL_POINTER(name))of_loader(#name))arguments;                                            \
    }
#define INFORMATION(name, type)                                                                              \
    ASKED(name, (type object, cl_uint what, size_t size, void *value, size_t *size_ret),                     \
          (object, what, size, value, size_ret))
ASKED(clGetPlatformIDs, (cl_uint entries, cl_platform_id *platforms, cl_uint *count),
      (entries, platforms, count))
ASKED(clGetDeviceIDs,
      (cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id *devices, cl_uint *count),
      (platform, type, entries, devices, count))
ASKED(clSetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
      (kernel, index, size, value))
#ifndef INCOMPLETE // a linker left out what is not called
INFORMATION(clGetPlatformInfo, cl_platform_id)
INFORMATION(clGetDeviceInfo, cl_device_id)
INFORMATION(clGetMemObjectInfo, cl_mem)
INFORMATION(clGetImageInfo, cl_mem)
INFORMATION(clGetKernelInfo, cl_kernel)
#endif

// Adds 1 to a number so many times on the device, and returns it.
int count_to(int launches) {
    static const char *source = "kernel void count_up(global int *number) { *number += 1; }";
    int number = 0;
    const size_t one = 1;
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return -1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof number, &number, NULL);
    if (clBuildProgram(program, 1, &device, "", NULL, NULL))
        return -2;
    cl_kernel kernel = clCreateKernel(program, "count_up", NULL);
    clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
    for (int i = 0; i < launches; i++)
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof number, &number, 0, NULL, NULL);
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return number;
}
