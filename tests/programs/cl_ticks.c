// SPDX-License-Identifier: Apache-2.0
//
// Imitates XRay's runtime on a machine whose processor reports the frequency of its TSC: logs ticks of it. Every
// launch is put between an entry and an exit of function 1, in a log of basic mode at the path in XRAY_OPTIONS.
// Prints how many. Ends with 77 where there is no TSC.

#include "program.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { LAUNCHES = 200, RECORD = 32 };

#if defined(__x86_64__)
#include <x86intrin.h>

static void add_record(FILE *log, uint8_t type, uint64_t tick) {
    uint8_t bytes[RECORD] = {0};
    const uint32_t function = 1, tid = (uint32_t)syscall(SYS_gettid), pid = (uint32_t)getpid();
    bytes[3] = type; // 0: entry, 1: exit
    memcpy(bytes + 4, &function, 4);
    memcpy(bytes + 8, &tick, 8);
    memcpy(bytes + 16, &tid, 4);
    memcpy(bytes + 20, &pid, 4);
    EXPECT(fwrite(bytes, 1, RECORD, log) == RECORD);
}

static FILE *open_log(void) {
    static const char option[] = "xray_logfile_base=";
    const char *options = getenv("XRAY_OPTIONS"), *base = options ? strstr(options, option) : NULL;
    const uint16_t version = 3;
    const uint64_t frequency = 2000000000; // not the processor's: tests must not rely on it
    uint8_t header[RECORD] = {0};
    char path[4096];
    EXPECT(base != NULL);
    base += sizeof option - 1;
    snprintf(path, sizeof path, "%.*s/cl_ticks.AAAAAA", (int)strcspn(base, " :,"), base);
    FILE *log = fopen(path, "wx");
    EXPECT(log != NULL);
    memcpy(header, &version, 2);
    header[4] = 3; // constant, and not stopped
    memcpy(header + 8, &frequency, 8);
    EXPECT(fwrite(header, 1, RECORD, log) == RECORD);
    return log;
}

int main(void) {
    struct program_setup setup =
        program_start("__kernel void add(__global int *a) { a[get_global_id(0)] += 1; }\n");
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "add");
    cl_mem buffer = program_buffer(setup.context, 16 * sizeof(cl_int));
    const size_t items = 16;
    FILE *log = open_log();
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
    for (int i = 0; i < LAUNCHES; i++) {
        add_record(log, 0, __rdtsc());
        MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
        add_record(log, 1, __rdtsc());
    }
    MUST(clFinish(queue));
    EXPECT(fclose(log) == 0);
    printf("{\"launches\":%d,\"threads\":1}\n", LAUNCHES);
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
#else
int main(void) {
    return 77;
}
#endif
