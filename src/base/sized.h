// SPDX-License-Identifier: Apache-2.0
// The rule for public structs that begin with their size (include/tracesmith/tracesmith.h states it for callers). Every
// function that takes options or fills a result calls these, so that a field can be added at the end of any of them
// without breaking a program that was built before.
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>

#include "tracesmith/status.h"

// Copies a caller's struct (NULL: none) into the library's, of `size` bytes: what the caller's lacks is 0, and the size is
// the library's. INVALID_ARGUMENT, naming the struct and the byte, when the caller's has bytes beyond the library's that
// are not 0, or a size that does not even hold itself.
tsmith_status sized_take_bytes(const char *type, const void *given, void *out, size_t size,
                               tsmith_error *error);
#define sized_take(type, given, out, error)                                                                  \
    sized_take_bytes(#type, (const type *){given}, (type *){out}, sizeof(type), error)

// Fills a caller's struct from the library's: no more than the caller's size, zeros beyond the library's. Its size becomes
// the number of bytes that were filled. Nothing when `out` is NULL or its size does not hold itself.
void sized_give_bytes(const void *from, void *out, size_t size);
#define sized_give(type, from, out) sized_give_bytes((const type *){from}, (type *){out}, sizeof(type))

#endif
