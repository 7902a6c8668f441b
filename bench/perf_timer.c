// SPDX-License-Identifier: Apache-2.0
// perf_timer HZ PROGRAM [ARGUMENT...]: runs the program with the timer of the kernel's event cpu-clock, as profile --sample has it, but
// without registers, stack and buffer: a sample is an interrupt and nothing else. bench_sample.sh builds and runs it.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const long rate = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
    if (rate <= 0) {
        fprintf(stderr, "usage: perf_timer HZ PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = 1000000000u / (unsigned long)rate,
                                   .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                                   .disabled = 1,
                                   .inherit = 1,
                                   .enable_on_exec = 1,
                                   .exclude_hv = 1};
    // It stays open in the program, and with it the timer. Where users may not sample the kernel, its part is left out.
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    attr.exclude_kernel = 1;
    if (fd < 0)
        fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd < 0) {
        perror("perf_event_open");
        return 77;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
