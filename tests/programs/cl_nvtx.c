// SPDX-License-Identifier: Apache-2.0
//
// Ranges around launches: 50 in the range "launches", a range "idles" around none, 7 after it.

#include "nvtx_mini.h"
#include "program.h"

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    count[0] += 1;\n"
                             "}\n";

static void launch(cl_command_queue queue, cl_kernel kernel, int times) {
    const size_t one = 1;
    for (int i = 0; i < times; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
}

int main(void) {
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));

    nvtxRangePushA("launches");
    launch(queue, kernel, 50);
    nvtxRangePop();
    nvtxRangePushA("idles");
    nvtxRangePop();
    launch(queue, kernel, 7);
    MUST(clFinish(queue));

    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
