// SPDX-License-Identifier: Apache-2.0
// The CUDA driver's functions, looked up by name: a program that uses them starts on every machine, and what a driver does
// not have is NULL. NVIDIA's header gives the types, and the versions that names stand for (cuMemAlloc is cuMemAlloc_v2).
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DRIVER_NAME(name) DRIVER_TEXT(name)
#define DRIVER_TEXT(name) #name

// Old and simple enough for every driver; the newer version of cuCtxCreate in the header is not.
typedef CUresult (*context_maker)(CUcontext *, unsigned, CUdevice);

static void *libcuda;

static void *driver_find(const char *name) {
    return libcuda ? dlsym(libcuda, name) : NULL;
}
// DRIVER(cuMemAlloc)(&address, size), after DRIVER_HAS(cuMemAlloc).
#define DRIVER(name) ((__typeof__(&name))driver_find(DRIVER_NAME(name)))
#define DRIVER_HAS(name) (driver_find(DRIVER_NAME(name)) != NULL)

static inline long long clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// CUDA_DRIVER_LIBRARY names another library than libcuda.so.1. Prints what is lacking and exits with 77.
static inline void driver_open(void) {
    const char *path = getenv("CUDA_DRIVER_LIBRARY");
    libcuda = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!libcuda) {
        printf("skipped: no driver: %s\n", dlerror());
        exit(77);
    }
    if (driver_find("tracesmith_simulated"))
        printf("simulated libcuda.so.1\n");
}

static inline void driver_need(int result, const char *what) {
    int (*find_name)(int, const char **) = NULL;
    const char *name = NULL;
    if (result == 0)
        return;
    *(void **)&find_name = driver_find("cuGetErrorName");
    if (!find_name || find_name(result, &name) != 0 || !name)
        name = "";
    printf("failed %s %d %s\n", what, result, name);
    exit(result == 100 ? 77 : 1);
}

static inline CUcontext driver_context(void) {
    CUdevice device = 0;
    CUcontext context = NULL;
    context_maker make = (context_maker)driver_find("cuCtxCreate_v2");
    driver_need(DRIVER(cuInit)(0), "cuInit");
    driver_need(DRIVER(cuDeviceGet)(&device, 0), "cuDeviceGet");
    driver_need(make ? (int)make(&context, 0, device) : -1, "cuCtxCreate");
    return context;
}

// Five parameters whose sizes and places every compiler agrees on, and a kernel without any.
static const char driver_ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .entry probe(.param .u64 a, .param .u64 b, .param .u32 c,\n"
                                 "    .param .align 8 .b8 d[24], .param .u8 e) { ret; }\n"
                                 ".visible .entry nothing() { ret; }\n";

#endif
