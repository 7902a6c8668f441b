// SPDX-License-Identifier: Apache-2.0
// Has calls of the program's libraries to libcupti come to us first: their entries in the global offset table are replaced.
// Rules: agent.h.
#ifndef CUDA_INTERPOSE_H
#define CUDA_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

struct interpose_function {
    const char *name; // of libcupti
    void *ours;       // NULL: entries are only counted
    void *real;       // in the libcupti that is used; NULL: that has none, and nothing is replaced
};

// Looks at every library that was not looked at before and that names libcupti as one it needs. The table stays. One thread
// at a time. How many entries were replaced.
size_t interpose(const struct interpose_function *functions, size_t count);
// How many entries of any library lead to these functions.
size_t interpose_count(const struct interpose_function *functions, size_t count);

// Whether a library, or the program, names libcupti as one it needs.
struct dl_phdr_info;
bool interpose_needs_cupti(const struct dl_phdr_info *info);

#endif
