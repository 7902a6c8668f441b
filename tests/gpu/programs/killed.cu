// SPDX-License-Identifier: Apache-2.0
// killed COUNT HOW: as many launches, each done before the next hundred, and then an end without any warning: HOW is
// kill (SIGKILL), exit (_exit) or abort. What it says comes before that.
#include <cuda_runtime.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { AT_ONCE = 100 };

extern "C" __global__ void nothing(void) {}

int main(int argc, char **argv) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    const char *how = argc > 2 ? argv[2] : "exit";
    need_devices(1);
    for (long i = 0; i < count; i++) {
        nothing<<<1, 1>>>();
        if (i % AT_ONCE == AT_ONCE - 1 || i == count - 1)
            MUST(cudaDeviceSynchronize());
    }
    printf("kernel nothing %ld\n", count);
    fflush(stdout);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "abort") == 0)
        abort();
    _exit(0);
}
