// SPDX-License-Identifier: Apache-2.0
// Reads the trace clock and the TSC and compares them. The collector calls it to convert host times.
#include "base/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { SAMPLE_ATTEMPTS = 16 };

#if defined(__x86_64__)
static bool tsc_is_invariant(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & 1u << 8) != 0;
}

// The kernel has checked the TSC of all processors against each other before it uses it as its clock source.
// Under KVM it reads kvm-clock, which is the TSC scaled, and keeps it only as stable.
static bool kernel_trusts_tsc(void) {
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char name[32];
    ssize_t length = read(fd, name, sizeof name - 1);
    close(fd);
    if (length < 0)
        return false;
    name[length] = '\0';
    return strncmp(name, "tsc", 3) == 0 || strncmp(name, "kvm-clock", 9) == 0;
}

bool clock_tick_is_tsc(void) {
    return tsc_is_invariant() && kernel_trusts_tsc();
}
#else
bool clock_tick_is_tsc(void) {
    return false;
}
#endif

// A reading between two others is at most half their distance away from their middle; the tightest attempt
// wins.
struct clock_sample clock_sample_take(bool tsc) {
    struct clock_sample best = {.error = INT64_MAX};
    for (int attempt = 0; attempt < SAMPLE_ATTEMPTS; attempt++) {
        int64_t before = clock_trace_now();
        uint64_t tick = clock_tick(tsc);
        int64_t after = clock_trace_now();
        int64_t error = (after - before + 1) / 2;
        if (error < best.error)
            best = (struct clock_sample){tick, before + (after - before) / 2, error};
    }
    return best;
}
