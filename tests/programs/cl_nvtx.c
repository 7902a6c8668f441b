// SPDX-License-Identifier: Apache-2.0
//
// Ranges around launches: 50 in the range "launches", a range "idles" around none, 7 after it.
//
//   cl_nvtx [ROUNDS [pause]]
//
// With "pause" it says in the middle where the session is (or an empty line), and goes on when it is told to.

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

static void round_of_launches(cl_command_queue queue, cl_kernel kernel) {
    nvtxRangePushA("launches");
    launch(queue, kernel, 50);
    nvtxRangePop();
    nvtxRangePushA("idles");
    nvtxRangePop();
    launch(queue, kernel, 7);
    MUST(clFinish(queue));
}

static void pause_here(void) {
    const char *session = getenv("TRACESMITH_SESSION");
    char line[64];
    printf("%s\n", session ? session : "");
    fflush(stdout);
    EXPECT(fgets(line, sizeof line, stdin) != NULL);
}

int main(int argc, char **argv) {
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    for (long i = 0; i < rounds; i++) {
        if (argc > 2 && i == rounds / 2)
            pause_here();
        round_of_launches(queue, kernel);
    }

    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
