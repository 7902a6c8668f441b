// SPDX-License-Identifier: Apache-2.0
// What reading code takes from glibc and macOS' C library has not, or has in another form; given to every file that is built for macOS, by
// -include. Headers that macOS has not are in headers/.
#ifndef PLATFORM_MACOS_MISSING_H
#define PLATFORM_MACOS_MISSING_H

#define exception math_exception // the tag of a struct of math.h, and of one of ours
#include <math.h>
#undef exception
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <xlocale.h>
#undef DOMAIN // a word of math.h, and of ours
#include "platform/other/stable_sort.h"

void *memrchr(const void *bytes, int byte, size_t size);
// It is there, but declared for few programs.
double lgamma_r(double x, int *sign);

// zig links no table of the processor's features, so the code for every processor runs.
#define __builtin_cpu_supports(feature) 0

// The form of POSIX returns a number.
#define strerror_r(code, room, size) (strerror_r(code, room, size) == 0 ? (room) : "unknown error")

// Written to only.
typedef struct {
    ssize_t (*write)(void *context, const char *bytes, size_t size);
} cookie_io_functions_t;
FILE *fopencookie(void *context, const char *mode, cookie_io_functions_t functions);

// macOS has no advice about huge pages: the call fails, and nothing depends on it.
#define MADV_HUGEPAGE (-1)

#endif
