// SPDX-License-Identifier: Apache-2.0
// Little-endian values at any address, for reading and writing on-disk structures.
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "TraceSmith runs on little-endian machines only"
#endif

#define BYTES_DEFINE(bits)                                                                                   \
    static inline uint##bits##_t bytes_get_u##bits(const void *at) {                                         \
        uint##bits##_t value;                                                                                \
        memcpy(&value, at, sizeof value);                                                                    \
        return value;                                                                                        \
    }                                                                                                        \
    static inline void bytes_put_u##bits(void *at, uint##bits##_t value) {                                   \
        memcpy(at, &value, sizeof value);                                                                    \
    }
BYTES_DEFINE(16)
BYTES_DEFINE(32)
BYTES_DEFINE(64)
#undef BYTES_DEFINE

#endif
