// SPDX-License-Identifier: Apache-2.0
// Parquet's encodings of values and levels (https://github.com/apache/parquet-format/blob/master/Encodings.md), for whole
// columns of a page. All append to a buffer.
#ifndef EXPORT_PARQUET_ENCODE_H
#define EXPORT_PARQUET_ENCODE_H

#include "export/parquet/thrift.h"

// The bits that a value up to `most` needs.
static inline unsigned encode_width(uint64_t most) {
    return most ? 64 - (unsigned)__builtin_clzll(most) : 0;
}

// Levels of `width` bits as runs, with the length before them as pages of version 1 have it: all the same; a bitmap (width 1, bit i
// is the level of row i); one byte each.
void encode_same_levels(struct thrift *out, uint8_t level, uint32_t count, unsigned width);
void encode_bitmap_levels(struct thrift *out, const uint64_t *bits, uint32_t count);
void encode_levels(struct thrift *out, const uint8_t *levels, uint32_t count, unsigned width);

// RLE_DICTIONARY: numbers of at most `most`.
void encode_indices(struct thrift *out, const uint32_t *indices, uint32_t count, uint32_t most);
// DELTA_BINARY_PACKED. `narrow`: 32-bit integers, whose upper bits are not used. `count` is above 0.
void encode_deltas(struct thrift *out, const uint64_t *values, uint32_t count, bool narrow);
// PLAIN for booleans: a bit each. `values` are bytes, true where not 0.
void encode_booleans(struct thrift *out, const uint8_t *values, uint32_t count);

#endif
