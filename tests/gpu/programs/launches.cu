// SPDX-License-Identifier: Apache-2.0
// launches COUNT: as many launches of a kernel that does nothing, as fast as the host can; what one costs the host. As a
// library (liblaunches.so) the same loop inside another program: launch_many, of which launches.py is one.
#include <cuda_runtime.h>

#include "program.h"

enum { AT_ONCE = 500 }; // then the host waits: the driver's own queue never fills

extern "C" __global__ void nothing(void) {}

// The ns that a launch took; `wall`: of all, with the waiting.
extern "C" double launch_many(long count, double *wall) {
    double in_launches = 0;
    nothing<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    const double begin = now_ns();
    for (long done = 0; done < count;) {
        const double from = now_ns();
        for (int i = 0; i < AT_ONCE && done < count; i++, done++)
            nothing<<<1, 1>>>();
        in_launches += now_ns() - from;
        MUST(cudaDeviceSynchronize());
    }
    *wall = now_ns() - begin;
    return in_launches / (double)count;
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    double wall = 0;
    need_devices(1);
    const double each = launch_many(count, &wall);
    printf("kernel nothing %ld\n", count + 1);
    printf("figure launch_ns %.1f\nfigure kernels_per_second %.0f\n", each, (double)count * 1e9 / wall);
    return 0;
}
