// SPDX-License-Identifier: Apache-2.0
// Encodings of Parquet. Used by column.c.
#include "export/parquet/encode.h"

#include <string.h>

#include "base/bytes.h"

enum { BLOCK = 128, MINIS = 4, MINI = BLOCK / MINIS };

// ---- packed bits, the lowest first

// Packs values of `width` bits, at most 32 at once; returns the place after them. `to` has 8 bytes more than needed.
static uint8_t *pack_bits(uint8_t *to, const uint32_t *values, uint32_t count, unsigned width) {
    uint64_t held = 0;
    unsigned bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        held |= (uint64_t)values[i] << bits;
        bits += width;
        if (bits >= 32) {
            bytes_put_u32(to, (uint32_t)held);
            to += 4;
            held >>= 32;
            bits -= 32;
        }
    }
    bytes_put_u64(to, held);
    return to + (bits + 7) / 8;
}

// The same for up to 64 bits.
static uint8_t *pack_wide(uint8_t *to, const uint64_t *values, uint32_t count, unsigned width) {
    unsigned __int128 held = 0;
    unsigned bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        held |= (unsigned __int128)values[i] << bits;
        bits += width;
        if (bits >= 64) {
            bytes_put_u64(to, (uint64_t)held);
            to += 8;
            held >>= 64;
            bits -= 64;
        }
    }
    bytes_put_u64(to, (uint64_t)held);
    return to + (bits + 7) / 8;
}

// ---- runs

static void put_length(struct thrift *out, size_t at) {
    if (!out->failed)
        bytes_put_u32(out->bytes + at, (uint32_t)(out->used - at - 4));
}

static size_t begin_levels(struct thrift *out) {
    const size_t at = out->used;
    (void)thrift_room(out, 4);
    return at;
}

void encode_same_levels(struct thrift *out, uint8_t level, uint32_t count, unsigned width) {
    const size_t at = begin_levels(out);
    thrift_varint(out, (uint64_t)count << 1);
    thrift_bytes(out, &level, (width + 7) / 8);
    put_length(out, at);
}

void encode_bitmap_levels(struct thrift *out, const uint64_t *bits, uint32_t count) {
    const size_t at = begin_levels(out);
    thrift_varint(out, (uint64_t)(count + 7) / 8 << 1 | 1);
    const uint32_t whole = BYTES_BIG_ENDIAN ? 0 : count / 64;
    thrift_bytes(out, bits, whole * sizeof *bits);
    for (uint32_t row = 64 * whole; row < count; row += 64) {
        uint8_t word[8];
        bytes_put_u64(word, bits[row / 64]);
        thrift_bytes(out, word, count - row < 64 ? (count - row + 7) / 8 : sizeof word);
    }
    put_length(out, at);
}

void encode_levels(struct thrift *out, const uint8_t *levels, uint32_t count, unsigned width) {
    const size_t at = begin_levels(out);
    const uint32_t groups = (count + 7) / 8;
    thrift_varint(out, (uint64_t)groups << 1 | 1);
    uint8_t *to = thrift_room(out, (size_t)groups * width);
    for (uint32_t group = 0; to && group < groups; group++) {
        uint64_t held = 0;
        for (uint32_t i = 0; i < 8 && 8 * group + i < count; i++)
            held |= (uint64_t)levels[8 * group + i] << (i * width);
        bytes_to_little(&held, 1, sizeof held);
        memcpy(to, &held, width);
        to += width;
    }
    put_length(out, at);
}

void encode_indices(struct thrift *out, const uint32_t *indices, uint32_t count, uint32_t most) {
    const uint8_t width = (uint8_t)encode_width(most);
    const uint32_t groups = (count + 7) / 8;
    thrift_bytes(out, &width, 1);
    if (!width) {
        thrift_varint(out, (uint64_t)count << 1);
        return;
    }
    thrift_varint(out, (uint64_t)groups << 1 | 1);
    const size_t size = (size_t)groups * width, at = out->used;
    uint8_t *to = thrift_room(out, size + 8);
    if (!to)
        return;
    memset(to + size - width, 0, width);
    (void)pack_bits(to, indices, count, width);
    out->used = at + size;
}

void encode_booleans(struct thrift *out, const uint8_t *values, uint32_t count) {
    uint8_t *to = thrift_room(out, (count + 7) / 8);
    if (!to)
        return;
    memset(to, 0, (count + 7) / 8);
    for (uint32_t i = 0; i < count; i++)
        to[i / 8] |= (uint8_t)((values[i] != 0) << (i % 8));
}

// ---- deltas

static uint8_t *pack_mini(uint8_t *to, const uint64_t deltas[MINI], unsigned width) {
    uint32_t narrow[MINI];
    if (width > 32)
        return pack_wide(to, deltas, MINI, width);
    for (uint32_t i = 0; i < MINI; i++)
        narrow[i] = (uint32_t)deltas[i];
    return width ? pack_bits(to, narrow, MINI, width) : to;
}

// Up to BLOCK differences, `values[0]` is the value before them. Missing ones at the end have the value of the least.
static void put_block(struct thrift *out, const uint64_t *values, uint32_t count, bool narrow) {
    uint64_t deltas[BLOCK], all;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t delta = values[i + 1] - values[i];
        deltas[i] = narrow ? (uint64_t)(int64_t)(int32_t)(uint32_t)delta : delta;
    }
    for (uint32_t i = 0; i < count; i++)
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    for (uint32_t i = 0; i < count; i++)
        deltas[i] -= (uint64_t)least;
    for (uint32_t i = count; i < BLOCK; i++)
        deltas[i] = 0;
    thrift_varint(out, thrift_zigzag(least));
    uint8_t *begin = thrift_room(out, MINIS + BLOCK * sizeof(uint64_t) + 8);
    if (!begin)
        return;
    uint8_t *to = begin + MINIS;
    for (uint32_t mini = 0; mini < MINIS; mini++) {
        all = 0;
        for (uint32_t i = 0; i < MINI; i++)
            all |= deltas[mini * MINI + i];
        begin[mini] = (uint8_t)encode_width(all);
        if (mini * MINI < count)
            to = pack_mini(to, deltas + mini * MINI, begin[mini]);
    }
    out->used = (size_t)(to - out->bytes);
}

void encode_deltas(struct thrift *out, const uint64_t *values, uint32_t count, bool narrow) {
    const int64_t first = narrow ? (int32_t)(uint32_t)values[0] : (int64_t)values[0];
    thrift_varint(out, BLOCK);
    thrift_varint(out, MINIS);
    thrift_varint(out, count);
    thrift_varint(out, thrift_zigzag(first));
    for (uint32_t at = 0; at + 1 < count; at += BLOCK) {
        const uint32_t left = count - 1 - at;
        put_block(out, values + at, left < BLOCK ? left : BLOCK, narrow);
    }
}
