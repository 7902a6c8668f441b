// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel of a program that was made from its binary, as programs do that keep binaries in a cache (hashcat),
// with an argument that is not a buffer: OpenCL does not report the argument types of such a program.
//
//   cl_binary

#include "program.h"

static const char source[] =
    "__kernel void add(__global const uint *more, __global const uint *in, __global uint *out, uint by)\n"
    "{\n"
    "    const uint i = get_global_id(0);\n"
    "    out[i] = in[i] + by + (more ? more[i] : 0);\n"
    "}\n";

enum { COUNT = 256 };

static cl_program from_binary(const struct program_setup *setup) {
    size_t size = 0;
    cl_int status, loaded = CL_SUCCESS;
    MUST(clGetProgramInfo(setup->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL));
    unsigned char *binary = malloc(size);
    EXPECT(binary && size);
    MUST(clGetProgramInfo(setup->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL));
    const unsigned char *binaries = binary;
    cl_program program =
        clCreateProgramWithBinary(setup->context, 1, &setup->device, &size, &binaries, &loaded, &status);
    MUST(status);
    MUST(loaded);
    MUST(clBuildProgram(program, 1, &setup->device, "", NULL, NULL));
    free(binary);
    return program;
}

int main(void) {
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_program program = from_binary(&setup);
    cl_kernel kernel = program_kernel(program, "add");
    cl_mem none = NULL, in = program_buffer(setup.context, COUNT * sizeof(cl_uint)),
           out = program_buffer(setup.context, COUNT * sizeof(cl_uint));
    cl_uint values[COUNT], by = 5;
    const size_t global = COUNT;
    for (cl_uint i = 0; i < COUNT; i++)
        values[i] = i * i;
    MUST(clEnqueueWriteBuffer(queue, in, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof none, &none));
    MUST(clSetKernelArg(kernel, 1, sizeof in, &in));
    MUST(clSetKernelArg(kernel, 2, sizeof out, &out));
    MUST(clSetKernelArg(kernel, 3, sizeof by, &by));
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
    cl_uint sum = 0;
    for (cl_uint i = 0; i < COUNT; i++) {
        EXPECT(values[i] == i * i + by);
        sum += values[i];
    }
    printf("%u\n", sum);
    MUST(clReleaseMemObject(in));
    MUST(clReleaseMemObject(out));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
