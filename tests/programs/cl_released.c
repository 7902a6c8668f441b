// SPDX-License-Identifier: Apache-2.0
//
// Passes memory objects to OpenCL after their release, once each way; or the same calls in the right order.
//
//   cl_released argument | copy | twice | svm-twice | right | again
//
// "argument": a buffer is an argument of a kernel, is released, and the kernel is launched. "copy": it is read. "twice": it is released
// again. "again": it is released, and another object with its address, if the driver gives it out, is used. A driver may do anything on all
// but "right" and "again", so they need a layer below the agent that releases nothing (tests/opencl/keeping_layer.c). Prints the process id.

#include "program.h"

static const char source[] = "__kernel void fill(__global uint *out) { out[get_global_id(0)] = 7; }\n";

static __attribute__((noinline)) void give_back(cl_mem buffer) {
    MUST(clReleaseMemObject(buffer));
}

static __attribute__((noinline)) void launch(cl_command_queue queue, cl_kernel kernel) {
    const size_t size = 64;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
    MUST(clFinish(queue));
}

static void use(const char *how, const struct program_setup *setup, cl_command_queue queue,
                cl_kernel kernel) {
    cl_uint result[64] = {0};
    cl_mem buffer = program_buffer(setup->context, sizeof result);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch(queue, kernel);
    if (strcmp(how, "right") != 0)
        give_back(buffer);
    if (strcmp(how, "again") == 0) {
        buffer = program_buffer(setup->context, sizeof result);
        MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    }
    if (strcmp(how, "argument") == 0 || strcmp(how, "again") == 0)
        launch(queue, kernel);
    if (strcmp(how, "copy") == 0 || strcmp(how, "right") == 0 || strcmp(how, "again") == 0)
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 0, NULL, NULL));
    if (strcmp(how, "twice") == 0 || strcmp(how, "right") == 0 || strcmp(how, "again") == 0)
        give_back(buffer);
}

static void free_twice(const struct program_setup *setup) {
    void *memory = clSVMAlloc(setup->context, CL_MEM_READ_WRITE, 256, 0);
    EXPECT(memory);
    clSVMFree(setup->context, memory);
    clSVMFree(setup->context, memory);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: cl_released argument | copy | twice | svm-twice | right | again\n");
        return EXIT_USAGE;
    }
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "fill");
    if (strcmp(argv[1], "svm-twice") == 0)
        free_twice(&setup);
    else
        use(argv[1], &setup, queue, kernel);
    printf("%d\n", (int)getpid());
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
