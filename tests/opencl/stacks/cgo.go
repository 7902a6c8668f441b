// SPDX-License-Identifier: Apache-2.0
// Launches kernels from Go: main.work calls launch(), which is C. Before each launch it prints what Go's runtime says of who
// called it, as PC NAME pairs, innermost first, in the order of the launches: at several depths, from goroutines that run on
// threads of their own, and from a function that C has called back.
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
extern void goBack(int depth);
static void call_back(int depth) { goBack(depth); }
*/
import "C"
import (
	"fmt"
	"os"
	"runtime"
)

//go:noinline
func work() {
	pcs := make([]uintptr, 256)
	pcs = pcs[:runtime.Callers(1, pcs)]
	for _, pc := range pcs {
		fmt.Printf("%d %s ", pc, runtime.FuncForPC(pc-1).Name())
	}
	fmt.Println()
	if C.launch() != 0 {
		os.Exit(1)
	}
}

//go:noinline
func deeper(depth int) int {
	if depth == 0 {
		work()
		return 0
	}
	return deeper(depth-1) + 1
}

//go:noinline
//export goBack
func goBack(depth C.int) {
	deeper(int(depth))
}

func main() {
	C.prepare()
	for depth := 0; depth < 100; depth += 33 {
		deeper(depth)
	}
	done := make(chan bool)
	for i := 0; i < 4; i++ {
		go func() {
			runtime.LockOSThread()
			deeper(5)
			done <- true
		}()
		<-done
	}
	C.call_back(2)
}
