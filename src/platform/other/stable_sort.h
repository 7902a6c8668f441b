// SPDX-License-Identifier: Apache-2.0
// qsort and qsort_r as glibc has them: equal elements keep their order, so that what is written is the same everywhere. Part of
// windows/missing.h and macos/missing.h.
#ifndef PLATFORM_OTHER_STABLE_SORT_H
#define PLATFORM_OTHER_STABLE_SORT_H

#include <stddef.h>
#include <stdlib.h>

void stable_sort(void *items, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right, void *context), void *context);
void stable_qsort(void *items, size_t count, size_t size,
                  int (*compare)(const void *left, const void *right));
#define qsort(items, count, size, compare) stable_qsort(items, count, size, compare)
#define qsort_r(items, count, size, compare, context) stable_sort(items, count, size, compare, context)

#endif
