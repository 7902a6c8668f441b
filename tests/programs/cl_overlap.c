// SPDX-License-Identifier: Apache-2.0
//
// Launches on an out-of-order queue that nothing orders, each of one work-group: a device with several compute units runs
// some at once, one within the time of another or across its end.
//
//   cl_overlap [-n LAUNCHES]

#include "program.h"

static const char source[] = "__kernel void count(__global uint *c, uint i, uint rounds) {\n"
                             "    uint sum = 0;\n"
                             "    for (uint k = 0; k < rounds; k++) { sum += (sum >> 3) ^ k; c[i] = sum; }\n"
                             "    c[i] = i;\n"
                             "}\n";

enum { LAUNCHES_MAX = 1024 };

int main(int argc, char **argv) {
    cl_uint launches = 64;
    if (argc == 3 && strcmp(argv[1], "-n") == 0)
        launches = (cl_uint)strtoul(argv[2], NULL, 10);
    if (launches > LAUNCHES_MAX)
        return EXIT_USAGE;
    struct program_setup setup = program_start(source);
    cl_command_queue queue =
        program_queue(setup.context, setup.device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_kernel kernel = program_kernel(setup.program, "count");
    cl_mem buffer = program_buffer(setup.context, LAUNCHES_MAX * sizeof(cl_uint));
    static cl_uint results[LAUNCHES_MAX];
    const size_t one = 1;
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (cl_uint i = 0; i < launches; i++) {
        const cl_uint rounds = i % 3 ? 30000 : 200000;
        MUST(clSetKernelArg(kernel, 1, sizeof i, &i));
        MUST(clSetKernelArg(kernel, 2, sizeof rounds, &rounds));
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    }
    MUST(clFinish(queue));
    if (launches)
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, launches * sizeof *results, results, 0, NULL,
                                 NULL));
    for (cl_uint i = 0; i < launches; i++)
        EXPECT(results[i] == i);
    printf("{\"launches\":%u}\n", launches);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
