// SPDX-License-Identifier: Apache-2.0
// Little-endian values at any address, for reading and writing on-disk structures.
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>
#include <string.h>

// A value of this machine as the bytes of a file have it, and back.
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_LITTLE(bits, value) (value)
#else
#define BYTES_LITTLE(bits, value) __builtin_bswap##bits(value)
#endif

#define BYTES_DEFINE(bits)                                                                                   \
    static inline uint##bits##_t bytes_get_u##bits(const void *at) {                                         \
        uint##bits##_t value;                                                                                \
        memcpy(&value, at, sizeof value);                                                                    \
        return BYTES_LITTLE(bits, value);                                                                    \
    }                                                                                                        \
    static inline void bytes_put_u##bits(void *at, uint##bits##_t value) {                                   \
        const uint##bits##_t little = BYTES_LITTLE(bits, value);                                             \
        memcpy(at, &little, sizeof little);                                                                  \
    }
BYTES_DEFINE(16)
BYTES_DEFINE(32)
BYTES_DEFINE(64)
#undef BYTES_DEFINE

enum { BYTES_BIG_ENDIAN = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ };

// An unsigned number of up to 8 bytes in memory, in the byte order of this machine.
static inline uint64_t bytes_get_number(const void *at, size_t size) {
    uint64_t value = 0;
    memcpy((char *)&value + (BYTES_BIG_ENDIAN ? sizeof value - size : 0), at, size);
    return value;
}

static inline void bytes_put_number(void *at, uint64_t value, size_t size) {
    memcpy(at, (const char *)&value + (BYTES_BIG_ENDIAN ? sizeof value - size : 0), size);
}

// Turns `count` numbers of `size` bytes into little-endian ones, or back, in place.
static inline void bytes_to_little(void *numbers, size_t count, size_t size) {
    char *at = numbers;
    for (size_t i = 0; BYTES_BIG_ENDIAN && i < count; i++, at += size)
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            const char kept = at[low];
            at[low] = at[high];
            at[high] = kept;
        }
}

#endif
