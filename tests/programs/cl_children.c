// SPDX-License-Identifier: Apache-2.0
//
// A family of processes: each launches its own count, so that a trace can be checked process by process.
//
//   cl_children [-n LAUNCHES]
//
// In this order (names are the "role" in the truth):
//   fork_before   plain fork before any OpenCL call; the child uses OpenCL     LAUNCHES + 1
//   parent        this process                                                 LAUNCHES
//   fork_idle     plain fork after the parent used OpenCL; the child does
//                 arithmetic and never calls OpenCL (that would be undefined)  0
//   fork_exec     fork, then exec of this program                              LAUNCHES + 2
//   exec_in_place exec without fork at the end: the same pid runs the
//                 program a second time                                        LAUNCHES + 3
// Every process prints one line of JSON; children are waited for before the parent continues.

#include "program.h"

#include <sys/wait.h>

static const char source[] = "__kernel void add_one(__global uint *c) { c[get_global_id(0)] += 1; }\n";

static void print_truth(const char *role, unsigned long launches) {
    printf("{\"program\":\"cl_children\",\"role\":\"%s\",\"pid\":%ld,\"ppid\":%ld,\"launches\":%lu,"
           "\"kernels\":{\"add_one\":%lu}}\n",
           role, (long)getpid(), (long)getppid(), launches, launches);
    fflush(stdout);
}

static void use_opencl(const char *role, unsigned long launches) {
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "add_one");
    cl_uint counts[8] = {0};
    const size_t global = COUNT_OF(counts);
    cl_mem buffer = program_buffer(setup.context, sizeof counts);
    MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (unsigned long i = 0; i < launches; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof counts, counts, 0, NULL, NULL));
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        EXPECT(counts[i] == launches);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    print_truth(role, launches);
}

// Waits for a child and ends the program unless it ended well.
static void await(pid_t child) {
    int status = 0;
    EXPECT(child > 0);
    EXPECT(waitpid(child, &status, 0) == child);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void become(const char *role, unsigned long launches) {
    char number[32];
    snprintf(number, sizeof number, "%lu", launches);
    execl("/proc/self/exe", "cl_children", "--role", role, number, (char *)NULL);
    perror("exec");
    _exit(EXIT_WRONG);
}

int main(int argc, char **argv) {
    unsigned long launches = 20;
    if (argc == 4 && strcmp(argv[1], "--role") == 0) {
        use_opencl(argv[2], program_number(argv[2], argv[3]));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "-n") == 0) {
        launches = program_number("-n", argv[2]);
    } else if (argc != 1) {
        fprintf(stderr, "usage: %s [-n LAUNCHES]\n", argv[0]);
        return EXIT_USAGE;
    }

    pid_t child = fork();
    if (child == 0) {
        use_opencl("fork_before", launches + 1);
        exit(0);
    }
    await(child);

    use_opencl("parent", launches);

    child = fork();
    if (child == 0) {
        print_truth("fork_idle", 0);
        _exit(0); // not exit(): the OpenCL runtime's destructors belong to the parent's threads
    }
    await(child);

    child = fork();
    if (child == 0)
        become("fork_exec", launches + 2);
    await(child);

    become("exec_in_place", launches + 3);
}
