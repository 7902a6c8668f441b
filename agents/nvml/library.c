// SPDX-License-Identifier: Apache-2.0
// Opens libnvidia-ml and libcuda with dlopen and looks up their functions. devices.c and sample.c call it.
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

// Libraries stay loaded: drivers do not survive being unloaded.
static void *open_library(const char *name) {
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

bool nvml_open(struct nvml_library *nvml, char *why, size_t size) {
    void *library = open_library("libnvidia-ml.so.1");
    why[0] = '\0';
    if (!library)
        return false;
#define FIND(name, arguments) *(void **)&nvml->name = dlsym(library, #name);
    NVML_FUNCTIONS(FIND)
#undef FIND
    *(void **)&nvml->nvmlErrorString = dlsym(library, "nvmlErrorString");
    if (!nvml->nvmlInit_v2 || !nvml->nvmlDeviceGetCount_v2 || !nvml->nvmlDeviceGetHandleByIndex_v2) {
        snprintf(why, size, "libnvidia-ml.so.1 is too old");
        return false;
    }
    const int result = nvml->nvmlInit_v2();
    if (result == NVML_SUCCESS)
        return true;
    snprintf(why, size, "NVML cannot be used: %s (%d)",
             nvml->nvmlErrorString ? nvml->nvmlErrorString(result) : "no reason given", result);
    return false;
}

static const char *cuda_text(int result) {
    switch (result) {
    case 100:
        return "no device that CUDA can use";
    case 34:
        return "libcuda is the stub library of the toolkit: put the driver's library before it in the search "
               "path";
    case 3:
    case 999:
        return "the driver could not be started";
    case 802:
        return "the system is not ready: the fabric manager may not run";
    case 803:
        return "library and kernel driver are of different versions";
    case 804:
        return "the driver does not support this GPU as it is set up";
    default:
        return "see CUresult in cuda.h";
    }
}

bool cuda_open(struct cuda_library *cuda, char *why, size_t size) {
    void *library = open_library("libcuda.so.1");
    why[0] = '\0';
    if (!library)
        return false;
#define FIND(name, arguments) *(void **)&cuda->name = dlsym(library, #name);
    CUDA_FUNCTIONS(FIND)
#undef FIND
    if (!cuda->cuInit || !cuda->cuDeviceGetCount || !cuda->cuDeviceGet) {
        snprintf(why, size, "libcuda.so.1 is not a CUDA driver");
        return false;
    }
    const int result = cuda->cuInit(0);
    if (result == CUDA_SUCCESS)
        return true;
    snprintf(why, size, "cuInit gave %d: %s", result, cuda_text(result));
    return false;
}
