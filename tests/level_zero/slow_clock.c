// SPDX-License-Identifier: Apache-2.0
// A clock that the agent's thread is interrupted before it can read: every fourth reading of CLOCK_MONOTONIC_RAW by the agent takes 3 ms
// more, as on a machine that is loaded. test_lists.sh preloads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *out) {
    static atomic_uint readings;
    const struct timespec pause = {.tv_nsec = 3000000};
    Dl_info caller;
    if (clock == CLOCK_MONOTONIC_RAW && dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
        strstr(caller.dli_fname, "tracesmith-level-zero") && readings++ % 4 == 0)
        syscall(SYS_nanosleep, &pause, NULL);
    return (int)syscall(SYS_clock_gettime, clock, out);
}
