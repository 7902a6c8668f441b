// SPDX-License-Identifier: Apache-2.0
// Unpacking what zlib packed, whole: by libdeflate where it is installed (two and a half times as fast), else by zlib.
#ifndef SYMBOLS_INFLATE_H
#define SYMBOLS_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

// False unless exactly `size` bytes come out. Any thread.
bool symbols_inflate(const void *packed, size_t packed_size, void *to, size_t size);

#endif
