// SPDX-License-Identifier: Apache-2.0
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

// 64-bit hash of bytes for tables in memory: fast, well mixed, not for files and not against an adversary.
uint64_t hash_bytes(const void *bytes, size_t length);

// CRC32C (Castagnoli), as in iSCSI: start with 0, continue with the last result. Uses the processor's
// instruction where there is one.
uint32_t crc32c(uint32_t crc, const void *bytes, size_t length);
// The same without the instruction; a test compares the two.
uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t length);

#endif
