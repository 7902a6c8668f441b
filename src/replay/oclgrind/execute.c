// SPDX-License-Identifier: Apache-2.0
// Oclgrind's own OpenCL library, which it puts before the system's: with it alone in the process, no driver with another
// LLVM meets Oclgrind's.
#include "replay/execute.h"

#include <dlfcn.h>

void *execute_oclgrind_library(void) {
    static const char *const places[] = {
        "liboclgrind-rt.so",
        "/usr/lib/oclgrind/liboclgrind-rt.so",
        "/usr/local/lib/oclgrind/liboclgrind-rt.so",
        "/usr/lib64/oclgrind/liboclgrind-rt.so",
    };
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof places / sizeof places[0]; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}
