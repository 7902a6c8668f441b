// SPDX-License-Identifier: Apache-2.0
//
// Adds up many floats in the order in which the work-items come: the last bits of the sum differ from run to run.
// Also a sum of whole numbers, which does not differ.
//
//   cl_float_sum [-n COUNT]

#include "program.h"

static const char source[] =
    "__kernel void sums(__global float *sum, __global uint *whole, __global float *wide)\n"
    "{\n"
    "    const uint i = get_global_id(0);\n"
    "    const float value = 0.1f + 0.8f * (float)(i * 2654435761u % 1000u) / 1000.0f;\n"
    "    union { uint bits; float value; } before, after;\n"
    "    __global volatile uint *at = (__global volatile uint *)sum;\n"
    "    do {\n"
    "        before.bits = *at;\n"
    "        after.value = before.value + value;\n"
    "    } while (atomic_cmpxchg(at, before.bits, after.bits) != before.bits);\n"
    "    atomic_add(whole, i % 7);\n"
    "    if (i < 64) wide[i] = value;\n"
    "}\n";

int main(int argc, char **argv) {
    size_t count = 1 << 18;
    if (argc == 3 && strcmp(argv[1], "-n") == 0)
        count = strtoul(argv[2], NULL, 10);
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "sums");
    cl_mem buffers[] = {program_buffer(setup.context, sizeof(cl_float)),
                        program_buffer(setup.context, sizeof(cl_uint)),
                        program_buffer(setup.context, 64 * sizeof(cl_float))};
    const cl_uint zero = 0;
    cl_float sum = 0;
    cl_uint whole = 0;
    for (cl_uint i = 0; i < COUNT_OF(buffers); i++) {
        MUST(clSetKernelArg(kernel, i, sizeof *buffers, &buffers[i]));
        MUST(clEnqueueFillBuffer(queue, buffers[i], &zero, sizeof zero, 0,
                                 i < 2 ? sizeof zero : 64 * sizeof(cl_float), 0, NULL, NULL));
    }
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffers[0], CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffers[1], CL_TRUE, 0, sizeof whole, &whole, 0, NULL, NULL));
    cl_uint expected = 0;
    for (size_t i = 0; i < count; i++)
        expected += (cl_uint)(i % 7);
    EXPECT(whole == expected);
    EXPECT(sum > 0.45f * (float)count && sum < 0.55f * (float)count);
    printf("{\"sum\":%.9g,\"whole\":%u}\n", (double)sum, whole);
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        MUST(clReleaseMemObject(buffers[i]));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
