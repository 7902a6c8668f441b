// SPDX-License-Identifier: Apache-2.0
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

// 64-bit hash of bytes for tables in memory: fast, well mixed, not for files and not against an adversary.
uint64_t hash_bytes(const void *bytes, size_t length);

// The same of a few words.
static inline uint64_t hash_words(const int64_t *words, size_t count) {
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ (uint64_t)words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

// CRC32C (Castagnoli), as in iSCSI: start with 0, continue with the last result. Uses the processor's
// instruction where there is one.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t length);
// The same without the instruction; a test compares the two.
uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t length);

#endif
