// SPDX-License-Identifier: Apache-2.0
//
// Launches, finishes some of it, and ends without releasing anything.
//
//   cl_crash [-n LAUNCHES] [-u UNFINISHED] HOW
//
// HOW is exit, _exit, return, abort, fault (a write through a null pointer), hang, or signal NUMBER
// (raised with its default action, whatever handler the OpenCL runtime has put there). First LAUNCHES
// launches followed by a clFinish; then UNFINISHED more without a wait (default 0). The truth is
// printed and flushed right before the end, so `finished` launches must be in any trace. hang prints it and
// then waits to be killed from outside.

#include "program.h"

#include <signal.h>

static const char source[] = "__kernel void last_words(__global uint *c) { c[get_global_id(0)] += 1; }\n";

static int *volatile nowhere; // null, but the compiler does not know

static void usage(const char *name) {
    fprintf(stderr,
            "usage: %s [-n LAUNCHES] [-u UNFINISHED] exit|_exit|return|abort|fault|hang|signal NUMBER\n",
            name);
    exit(EXIT_USAGE);
}

static void launch(cl_command_queue queue, cl_kernel kernel, unsigned long times) {
    const size_t global = 64;
    for (unsigned long i = 0; i < times; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
}

// Returns only for `return`.
static void end(const char *how, int signal_number) {
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "fault") == 0)
        *nowhere = 1;
    if (strcmp(how, "signal") == 0) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    while (strcmp(how, "hang") == 0)
        pause();
}

int main(int argc, char **argv) {
    static const char *const known[] = {"exit", "_exit", "return", "abort", "fault", "hang", "signal"};
    unsigned long launches = 1000;
    unsigned long unfinished = 0;
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "-n") == 0)
            launches = program_number("-n", argv[i + 1]);
        else if (strcmp(argv[i], "-u") == 0)
            unfinished = program_number("-u", argv[i + 1]);
        else
            usage(argv[0]);
    }
    const char *how = i < argc ? argv[i] : "";
    const int signal_number = strcmp(how, "signal") == 0 ? (int)program_number("signal", argv[i + 1]) : 0;
    bool valid = false;
    for (size_t k = 0; k < COUNT_OF(known); k++)
        valid = valid || strcmp(how, known[k]) == 0;
    if (!valid)
        usage(argv[0]);

    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "last_words");
    cl_mem buffer = program_buffer(setup.context, 64 * sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    launch(queue, kernel, launches);
    MUST(clFinish(queue));
    launch(queue, kernel, unfinished);
    MUST(clFlush(queue));
    printf("{\"program\":\"cl_crash\",\"pid\":%ld,\"how\":\"%s\",\"signal\":%d,\"finished\":%lu,"
           "\"unfinished\":%lu,"
           "\"kernels\":{\"last_words\":%lu}}\n",
           (long)getpid(), how, signal_number, launches, unfinished, launches + unfinished);
    fflush(stdout);
    end(how, signal_number);
    return 0;
}
