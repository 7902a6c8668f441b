// SPDX-License-Identifier: Apache-2.0
// launches.cu, killed.cu and gpu_info.cu by the functions of the driver alone. Programs with NVIDIA's runtime do not run on a
// driver that is older than the runtime; this one runs on every driver for CUDA 11 or newer. run.sh takes it then.
//
//     driver_launches info                      which GPU and driver these are
//     driver_launches COUNT [kill|exit|abort]   launches, and then the end
//
// As a library (libdriver_launches.so) it has launch_many, in the context that is current.
#define _GNU_SOURCE
#include "driver.h"

#include <signal.h>
#include <unistd.h>

enum { AT_ONCE = 500, AT_ONCE_KILLED = 100 };

static CUfunction load(void) {
    CUmodule module;
    CUfunction kernel;
    driver_need(DRIVER(cuModuleLoadData)(&module, driver_ptx), "cuModuleLoadData");
    driver_need(DRIVER(cuModuleGetFunction)(&kernel, module, "nothing"), "cuModuleGetFunction");
    return kernel;
}

// The ns that a launch took; `wall`: of all, with the waiting. The functions are looked up once: that is no cost of a launch.
static double launch(CUfunction kernel, long count, int at_once, double *wall) {
    __typeof__(&cuLaunchKernel) launch_kernel = DRIVER(cuLaunchKernel);
    __typeof__(&cuCtxSynchronize) synchronize = DRIVER(cuCtxSynchronize);
    long long in_launches = 0;
    const long long begin = clock_ns(CLOCK_MONOTONIC);
    for (long done = 0; done < count;) {
        const long long from = clock_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < at_once && done < count; i++, done++)
            driver_need(launch_kernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
        in_launches += clock_ns(CLOCK_MONOTONIC) - from;
        driver_need(synchronize(), "cuCtxSynchronize");
    }
    *wall = (double)(clock_ns(CLOCK_MONOTONIC) - begin);
    return count > 0 ? (double)in_launches / (double)count : 0;
}

double launch_many(long count, double *wall);
__attribute__((visibility("default"))) double launch_many(long count, double *wall) {
    static CUfunction kernel;
    if (!libcuda)
        driver_open();
    if (!kernel)
        kernel = load();
    launch(kernel, 1, 1, wall);
    return launch(kernel, count, AT_ONCE, wall);
}

static int info(void) {
    int count = 0, version = 0;
    driver_need(DRIVER(cuDriverGetVersion)(&version), "cuDriverGetVersion");
    printf("driver for CUDA %d.%d\n", version / 1000, version % 1000 / 10);
    fflush(stdout);
    driver_need(DRIVER(cuInit)(0), "cuInit");
    driver_need(DRIVER(cuDeviceGetCount)(&count), "cuDeviceGetCount");
    for (int i = 0; i < count; i++) {
        CUdevice device = 0;
        char name[96] = "unknown";
        driver_need(DRIVER(cuDeviceGet)(&device, i), "cuDeviceGet");
        if (DRIVER_HAS(cuDeviceGetName))
            DRIVER(cuDeviceGetName)(name, sizeof name - 1, device);
        printf("GPU %d: %s\n", i, name);
    }
    if (count == 0)
        printf("skipped: the driver has no GPU\n");
    return count == 0 ? 77 : 0;
}

static int killed(long count, const char *how) {
    double wall = 0;
    driver_context();
    launch(load(), count, AT_ONCE_KILLED, &wall);
    printf("kernel nothing %ld\n", count);
    fflush(stdout);
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(how, "abort") == 0)
        abort();
    _exit(0);
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;
    double wall = 0;
    driver_open();
    if (argc > 1 && strcmp(argv[1], "info") == 0)
        return info();
    if (argc > 2)
        return killed(count, argv[2]);
    driver_context();
    const double each = launch_many(count, &wall);
    printf("kernel nothing %ld\n", count + 1);
    printf("figure launch_ns %.1f\nfigure kernels_per_second %.0f\n", each, (double)count * 1e9 / wall);
    return 0;
}
