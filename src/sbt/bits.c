// SPDX-License-Identifier: Apache-2.0
// Packs and unpacks integers of a given number of bits. pack.c and unpack.c call it.
#include "sbt/loops.h"
#include "sbt/packing.h"

static uint64_t low_bits(unsigned width) {
    return width >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
}

void bits_pack(uint8_t *out, const uint64_t *values, uint32_t count, uint64_t base, unsigned width) {
    uint64_t mask = low_bits(width), word = 0;
    unsigned used = 0;
    if (width == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value = (values[i] - base) & mask;
        word |= value << used;
        used += width;
        if (used >= 64) {
            bytes_put_u64(out, word);
            out += 8;
            used -= 64;
            word = used ? value >> (width - used) : 0;
        }
    }
    for (; used; used = used > 8 ? used - 8 : 0, word >>= 8)
        *out++ = (uint8_t)word;
}

// A value of more than 57 bits may touch nine bytes.
static void unpack_wide(uint64_t *out, const uint8_t *in, uint32_t count, uint64_t base, unsigned width) {
    uint64_t mask = low_bits(width);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bit = (uint64_t)i * width;
        const uint8_t *at = in + (bit >> 3);
        unsigned shift = bit & 7;
        uint64_t value = bytes_get_u64(at) >> shift;
        if (shift)
            value |= (uint64_t)at[8] << (64 - shift);
        out[i] = base + (value & mask);
    }
}

void bits_unpack(uint64_t *out, const uint8_t *in, uint32_t count, uint64_t base, unsigned width) {
    if (width > 57) {
        unpack_wide(out, in, count, base, width);
        return;
    }
    uint32_t groups = count / 8;
    loops()->unpack(out, in, groups, base, width);
    uint64_t mask = low_bits(width);
    for (uint32_t i = groups * 8; i < count; i++) {
        uint64_t bit = (uint64_t)i * width;
        out[i] = base + (bytes_get_u64(in + (bit >> 3)) >> (bit & 7) & mask);
    }
}
