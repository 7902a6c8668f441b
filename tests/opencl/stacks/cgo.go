// SPDX-License-Identifier: Apache-2.0
// Launches a kernel from Go: main.work calls launch(), which is C.
package main

/*
#cgo CFLAGS: -DCL_TARGET_OPENCL_VERSION=120 -DCL_USE_DEPRECATED_OPENCL_1_2_APIS
#cgo LDFLAGS: -lOpenCL
#include <CL/cl.h>
#include <stdlib.h>

static cl_command_queue queue;
static cl_kernel kernel;

static void prepare(void) {
    static const char *source = "kernel void work(global int *a) { a[get_global_id(0)] += 1; }";
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        exit(1);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
    if (clBuildProgram(program, 1, &device, NULL, NULL, NULL))
        exit(1);
    kernel = clCreateKernel(program, "work", NULL);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 1024, NULL, NULL);
    if (clSetKernelArg(kernel, 0, sizeof buffer, &buffer))
        exit(1);
}

static __attribute__((noinline)) int launch(void) {
    const size_t size = 64;
    return clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL) || clFinish(queue);
}
*/
import "C"
import "os"

//go:noinline
func work(n int) {
	if C.launch() != 0 {
		os.Exit(1)
	}
}

func main() {
	C.prepare()
	for i := 0; i < 5; i++ {
		work(i)
	}
}
