// SPDX-License-Identifier: Apache-2.0
// An OpenMP program that knows nothing of a profiler and prints how often it did what: test_target.sh compares it with the trace.
//     offload ROUNDS [fork | forever]
// Each round on each of two devices: a target construct with two maps, a target data region with an update in it, and a
// deferred (nowait) construct.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1000, DEVICES = 2 };

static double first[SIZE], second[SIZE];

static void scale(int device) {
#pragma omp target teams distribute parallel for map(to : first) map(from : second) device(device)
    for (int i = 0; i < SIZE; i++)
        second[i] = 2 * first[i];
}

static void update(int device) {
#pragma omp target data map(tofrom : second) device(device)
    {
#pragma omp target device(device)
        second[3] += 1;
#pragma omp target update from(second) device(device)
    }
}

static void deferred(int device) {
#pragma omp target map(tofrom : first) device(device) nowait depend(inout : first)
    for (int i = 0; i < SIZE; i++)
        first[i] += 1;
#pragma omp taskwait
}

static void run(int rounds) {
    for (int round = 0; round < rounds; round++)
        for (int device = 0; device < DEVICES; device++) {
            scale(device);
            update(device);
            deferred(device);
        }
}

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? atoi(argv[1]) : 1;
    const char *how = argc > 2 ? argv[2] : "";
    if (omp_get_num_devices() < DEVICES)
        return 77;
    run(rounds);
    printf("rounds %d devices %d sum %g %g\n", rounds, DEVICES, first[5], second[3]);
    fflush(stdout);
    if (strcmp(how, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status;
        return waitpid(child, &status, 0) != child || status != 0;
    }
    while (strcmp(how, "forever") == 0)
        pause();
    return 0;
}
