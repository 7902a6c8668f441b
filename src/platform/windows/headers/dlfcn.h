// SPDX-License-Identifier: Apache-2.0
// dlopen, by which import/isal.c looks for ISA-L. It is not there on Windows: zlib decompresses.
#ifndef PLATFORM_WINDOWS_DLFCN_H
#define PLATFORM_WINDOWS_DLFCN_H

#include <stddef.h>

enum { RTLD_NOW = 2, RTLD_LOCAL = 0 };

static inline void *dlopen(const char *name, int flags) {
    (void)name;
    (void)flags;
    return NULL;
}

static inline void *dlsym(void *library, const char *name) {
    (void)library;
    (void)name;
    return NULL;
}

static inline int dlclose(void *library) {
    (void)library;
    return 0;
}

#endif
