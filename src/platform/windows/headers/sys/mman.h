// SPDX-License-Identifier: Apache-2.0
// madvise, by which query/store.c asks for huge pages. Windows gives them to no program that does not have a privilege for it.
#ifndef PLATFORM_WINDOWS_MMAN_H
#define PLATFORM_WINDOWS_MMAN_H

#include <stddef.h>

enum { MADV_HUGEPAGE = 14 };

static inline int madvise(void *memory, size_t size, int advice) {
    (void)memory;
    (void)size;
    (void)advice;
    return 0;
}

#endif
