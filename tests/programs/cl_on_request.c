// SPDX-License-Identifier: Apache-2.0
//
// Works on request: each line of standard input is a number of launches. It prints the session's path (or an empty line) at its
// start, and after each line how many launches it has made in all. It ends with its input.

#include "program.h"

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    count[0] += 1;\n"
                             "}\n";

static void say(const char *what) {
    printf("%s\n", what);
    fflush(stdout);
}

int main(void) {
    const char *session = getenv("TRACESMITH_SESSION");
    const size_t one = 1;
    const cl_uint zero = 0;
    char line[64];
    long made = 0;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    say(session ? session : "");
    while (fgets(line, sizeof line, stdin)) {
        const long more = strtol(line, NULL, 10);
        MUST(clEnqueueWriteBuffer(queue, count, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL));
        for (long i = 0; i < more; i++)
            MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
        MUST(clFinish(queue));
        made += more;
        snprintf(line, sizeof line, "%ld", made);
        say(line);
    }
    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
