// SPDX-License-Identifier: Apache-2.0
//
// Closes every file that it did not open, as daemons do, then opens some of its own, while it launches kernels: nothing but its own
// words may be in them. Prints the number that the system gives it for a file, before and after.
//
//   cl_closes DIRECTORY

#include <fcntl.h>

#include "program.h"

enum { FILES = 8, LAUNCHES = 20 };

static const char source[] = "__kernel void tick(__global uint *x) { x[get_global_id(0)]++; }\n";
static const char words[] = "mine\n";

static void launch(cl_command_queue queue, cl_kernel kernel) {
    const size_t count = 64;
    for (int i = 0; i < LAUNCHES; i++)
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    MUST(clFinish(queue));
}

static int open_in(const char *directory, int number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%d", directory, number);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    EXPECT(fd >= 0);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return EXIT_USAGE;
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem buffer = program_buffer(setup.context, 64 * sizeof(cl_uint));
    const cl_uint zero = 0;
    cl_uint ticks = 0;
    int files[FILES];
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    MUST(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, 64 * sizeof zero, 0, NULL, NULL));
    launch(queue, kernel);
    printf("%d", open_in(argv[1], FILES));
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (int i = 0; i < FILES; i++) {
        files[i] = open_in(argv[1], i);
        EXPECT(write(files[i], words, sizeof words) == sizeof words);
    }
    printf(" %d\n", files[0]);
    launch(queue, kernel);
    MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof ticks, &ticks, 0, NULL, NULL));
    EXPECT(ticks == 2 * LAUNCHES);
    for (int i = 0; i < FILES; i++) {
        char there[4096];
        EXPECT(pread(files[i], there, sizeof there, 0) == sizeof words);
        EXPECT(memcmp(there, words, sizeof words) == 0);
    }
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
