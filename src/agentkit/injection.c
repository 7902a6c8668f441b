// SPDX-License-Identifier: Apache-2.0
// Opens the library that another tool had put into an injection variable. The CUDA, NVTX and NCCL agents call it when
// they start.
#include "agentkit/injection.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void *open_other(const char *path, const void *own) {
    Dl_info info;
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    void *ourselves =
        dladdr(own, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (ourselves)
        dlclose(ourselves);
    return library == ourselves ? NULL : library;
}

void *injection_open_next(const char *next, const void *own) {
    const char *path = secure_getenv(next);
    return path && *path ? open_other(path, own) : NULL;
}

void *injection_open_plugin(const char *next, const char *prefix, const void *own) {
    const char *name = secure_getenv(next);
    char path[4096];
    void *library = injection_open_next(next, own);
    if (library || !name || !*name || strchr(name, '/'))
        return library;
    const int length = snprintf(path, sizeof path, "%s%s.so", prefix, name);
    return length > 0 && (size_t)length < sizeof path ? open_other(path, own) : NULL;
}

const char *injection_mps(void) {
    const char *directory = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
    char control[4096];
    struct stat status;
    if (!directory || !*directory)
        directory = "/tmp/nvidia-mps";
    snprintf(control, sizeof control, "%s/control", directory);
    return stat(control, &status) == 0 && S_ISFIFO(status.st_mode) ? directory : NULL;
}
