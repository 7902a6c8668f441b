// SPDX-License-Identifier: Apache-2.0
// clock [early]: what clock cuptiGetTimestamp is at five moments of a program: before cuInit (only with `early`, since the
// question itself may start CUPTI), in the injected library (libcupti_only.so with CUPTI_CLOCK=1), after the first
// context, after the first kernel, and at exit. One line each:
//
//     clock MOMENT NS-FROM-REALTIME NS-FROM-MONOTONIC NS-THE-QUESTION-TOOK RESULT
//
// CUPTI_LIBRARY names the libcupti to take, if none is loaded.
#include "driver.h"

#include <stdint.h>

static int (*get_timestamp)(uint64_t *);

static void find_cupti(void) {
    const char *path = getenv("CUPTI_LIBRARY");
    void *library = path && *path ? dlopen(path, RTLD_NOW) : dlopen("libcupti.so.13", RTLD_NOW);
    if (!library) {
        printf("skipped: no libcupti: %s\n", dlerror());
        exit(77);
    }
    *(void **)&get_timestamp = dlsym(library, "cuptiGetTimestamp");
    if (dlsym(library, "tracesmith_simulated"))
        printf("simulated libcupti\n");
}

static void say(const char *moment) {
    uint64_t at = 0;
    const long long before = clock_ns(CLOCK_REALTIME);
    const int result = get_timestamp ? get_timestamp(&at) : -1;
    const long long after = clock_ns(CLOCK_REALTIME), monotonic = clock_ns(CLOCK_MONOTONIC);
    printf("clock %s %lld %lld %lld %d\n", moment, (long long)at - (before + (after - before) / 2),
           (long long)at - monotonic, after - before, result);
    fflush(stdout);
}

static void at_exit(void) {
    say("exit");
}

int main(int argc, char **argv) {
    CUmodule module;
    CUfunction kernel;
    driver_open();
    find_cupti();
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        say("before-cuInit");
    driver_context();
    atexit(at_exit);
    say("context");
    driver_need(DRIVER(cuModuleLoadData)(&module, driver_ptx), "cuModuleLoadData");
    driver_need(DRIVER(cuModuleGetFunction)(&kernel, module, "nothing"), "cuModuleGetFunction");
    driver_need(DRIVER(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    driver_need(DRIVER(cuCtxSynchronize)(), "cuCtxSynchronize");
    say("kernel");
    printf("kernel nothing 1\n");
    return 0;
}
