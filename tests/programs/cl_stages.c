// SPDX-License-Identifier: Apache-2.0
//
// A chain of kernels, each with a name of its own, for tests that search for the one that goes wrong.
//
//   cl_stages [--reuse]
//
// Eight launches, stage_0 to stage_7: each reads what the one before wrote (stage_0 what the host wrote), and writes all of another
// buffer. The host reads the last one. Without an option every stage has a buffer of its own, so all of them are there at the end;
// --reuse: they take turns on two.
#include "program.h"

enum { STAGES = 8, CELLS = 256 };

#define STAGE(n)                                                                                             \
    "__kernel void stage_" #n "(__global const uint *in, __global uint *out)\n"                              \
    "{ out[get_global_id(0)] = in[get_global_id(0)] * 3 + " #n "; }\n"
static const char source[] = STAGE(0) STAGE(1) STAGE(2) STAGE(3) STAGE(4) STAGE(5) STAGE(6) STAGE(7);

int main(int argc, char **argv) {
    const bool reuse = argc == 2 && strcmp(argv[1], "--reuse") == 0;
    if (argc > 1 && !reuse)
        return EXIT_USAGE;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_mem buffers[STAGES + 1];
    cl_kernel kernels[STAGES];
    cl_uint cells[CELLS], wanted[CELLS];
    const size_t size = CELLS;
    for (cl_uint i = 0; i < CELLS; i++)
        wanted[i] = cells[i] = i * 2654435761u;
    for (int i = 0; i <= STAGES; i++)
        buffers[i] = reuse && i > 2 ? buffers[i - 2] : program_buffer(setup.context, sizeof cells);
    MUST(clEnqueueWriteBuffer(queue, buffers[0], CL_TRUE, 0, sizeof cells, cells, 0, NULL, NULL));
    for (int i = 0; i < STAGES; i++) {
        char name[] = "stage_0";
        name[sizeof name - 2] = (char)('0' + i);
        kernels[i] = program_kernel(setup.program, name);
        MUST(clSetKernelArg(kernels[i], 0, sizeof(cl_mem), &buffers[i]));
        MUST(clSetKernelArg(kernels[i], 1, sizeof(cl_mem), &buffers[i + 1]));
        MUST(clEnqueueNDRangeKernel(queue, kernels[i], 1, NULL, &size, NULL, 0, NULL, NULL));
        for (cl_uint j = 0; j < CELLS; j++)
            wanted[j] = wanted[j] * 3 + (cl_uint)i;
    }
    MUST(clEnqueueReadBuffer(queue, buffers[STAGES], CL_TRUE, 0, sizeof cells, cells, 0, NULL, NULL));
    EXPECT(memcmp(cells, wanted, sizeof cells) == 0);
    printf("{\"launches\":%d}\n", STAGES);
    for (int i = 0; i < STAGES; i++)
        MUST(clReleaseKernel(kernels[i]));
    for (int i = 0; i <= (reuse ? 2 : STAGES); i++)
        MUST(clReleaseMemObject(buffers[i]));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
