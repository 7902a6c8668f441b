// SPDX-License-Identifier: Apache-2.0
// A hash of bytes and CRC32C, with the processor's instruction where it has one. The file format, the dictionary and
// the agents call it.
#include "base/hash.h"

#include "base/bytes.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

static uint64_t mix_bits(uint64_t value) {
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
    value *= 0xd6e8feb86659fd93u;
    return value ^ value >> 32;
}

uint64_t hash_bytes(const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    uint64_t hash = mix_bits(length + 0x2545f4914f6cdd1du);
    for (; length >= 8; at += 8, length -= 8)
        hash = mix_bits(hash ^ bytes_get_u64(at)) + 0x9e3779b97f4a7c15u;
    unsigned char tail[8] = {0};
    if (length)
        memcpy(tail, at, length);
    return mix_bits(hash ^ bytes_get_u64(tail));
}

// Table-driven CRC32C, eight bytes a step: what runs where the processor has no instruction for it.
struct crc_tables {
    uint32_t row[8][256];
};

static struct crc_tables tables;

__attribute__((constructor)) static void make_tables(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        tables.row[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int row = 1; row < 8; row++)
            tables.row[row][byte] =
                tables.row[row - 1][byte] >> 8 ^ tables.row[0][tables.row[row - 1][byte] & 0xff];
}

static uint32_t crc_plain(uint32_t crc, const unsigned char *at, size_t length) {
    for (; length >= 8; at += 8, length -= 8) {
        uint64_t word = bytes_get_u64(at) ^ crc;
        crc = 0;
        for (int byte = 0; byte < 8; byte++)
            crc ^= tables.row[7 - byte][word >> (8 * byte) & 0xff];
    }
    for (; length; at++, length--)
        crc = crc >> 8 ^ tables.row[0][(crc ^ *at) & 0xff];
    return crc;
}

#if defined(__x86_64__)
// clang counts the instruction to sse4.2 only if no option has taken it away, as a build for the oldest processors does.
#if defined(__clang__) && __clang_major__ >= 14
#define CRC_TARGET "sse4.2,crc32"
#else
#define CRC_TARGET "sse4.2"
#endif
__attribute__((target(CRC_TARGET))) static uint32_t crc_instruction(uint32_t crc, const unsigned char *at,
                                                                    size_t length) {
    uint64_t wide = crc;
    for (; length >= 8; at += 8, length -= 8)
        wide = _mm_crc32_u64(wide, bytes_get_u64(at));
    crc = (uint32_t)wide;
    for (; length; at++, length--)
        crc = _mm_crc32_u8(crc, *at);
    return crc;
}

static int has_instruction(void) {
    return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) static uint32_t crc_instruction(uint32_t crc, const unsigned char *at,
                                                                size_t length) {
    for (; length >= 8; at += 8, length -= 8)
        crc = __crc32cd(crc, bytes_get_u64(at));
    for (; length; at++, length--)
        crc = __crc32cb(crc, *at);
    return crc;
}

static int has_instruction(void) {
    return (getauxval(AT_HWCAP) & (1 << 7)) != 0; // HWCAP_CRC32
}
#else
static uint32_t crc_instruction(uint32_t crc, const unsigned char *at, size_t length) {
    return crc_plain(crc, at, length);
}

static int has_instruction(void) {
    return 0;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t length) {
    return ~(has_instruction() ? crc_instruction(~crc, bytes, length) : crc_plain(~crc, bytes, length));
}

uint32_t crc32c_portable(uint32_t crc, const void *bytes, size_t length) {
    return ~crc_plain(~crc, bytes, length);
}
