// SPDX-License-Identifier: Apache-2.0
// The rule for public structs that begin with their size (include/tracesmith/tracesmith.h states it for callers). Every
// function that takes options or fills a result calls these, so that a field can be added at the end of any of them
// without breaking a program that was built before.
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>

#include "tracesmith/status.h"

// Copies a caller's struct (NULL: none) to the library's, of `size` bytes. Missing bytes are 0, and the size is that of the
// library. INVALID_ARGUMENT, with the struct and the byte, if the caller's struct has bytes beyond the library's that are not 0,
// or a size that is smaller than the member itself.
tsmith_status sized_take_bytes(const char *type, const void *given, void *out, size_t size,
                               tsmith_error *error);
#define sized_take(type, given, out, error)                                                                  \
    sized_take_bytes(#type, (const type *){given}, (type *){out}, sizeof(type), error)

// Fills a caller's struct from the library's: at most the caller's size, with zeros beyond the library's. Its size becomes the
// number of bytes that were filled. Does nothing if `out` is NULL or its size is smaller than the member itself.
void sized_give_bytes(const void *from, void *out, size_t size);
#define sized_give(type, from, out) sized_give_bytes((const type *){from}, (type *){out}, sizeof(type))

#endif
