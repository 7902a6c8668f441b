// SPDX-License-Identifier: Apache-2.0
// Bitmaps of 64 consecutive rows: a bit for each row with a property; bit 0 is the first row. SSE2, which every x86-64 has,
// examines sixteen bytes at once.
#ifndef COLLECT_ROW_BITS_H
#define COLLECT_ROW_BITS_H

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>

static inline __m128i row_bits_load(const void *at) {
    return _mm_loadu_si128((const __m128i *)at);
}

// Rows whose byte is `value`.
static inline uint64_t row_bits_of_byte(const uint8_t *bytes, uint8_t value) {
    const __m128i all = _mm_set1_epi8((char)value);
    uint64_t rows = 0;
    for (unsigned i = 0; i < 64; i += 16)
        rows |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(row_bits_load(bytes + i), all)) << i;
    return rows;
}

// -1 for each of eight values of 32 bits that is 0, as 16 bits.
static inline __m128i row_bits_zeros(__m128i first, __m128i second) {
    const __m128i none = _mm_setzero_si128();
    return _mm_packs_epi32(_mm_cmpeq_epi32(first, none), _mm_cmpeq_epi32(second, none));
}

// Four values of 64 bits as four of 32, each 0 where it was.
static inline __m128i row_bits_fold(const uint64_t *values) {
    const __m128 first = _mm_castsi128_ps(row_bits_load(values)),
                 second = _mm_castsi128_ps(row_bits_load(values + 2));
    return _mm_castps_si128(_mm_or_ps(_mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0)),
                                      _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1))));
}

// Rows whose value of 32 bits is not 0.
static inline uint64_t row_bits_of_32(const uint32_t *values) {
    uint64_t zero = 0;
    for (unsigned i = 0; i < 64; i += 16, values += 16) {
        const __m128i low = row_bits_zeros(row_bits_load(values), row_bits_load(values + 4)),
                      high = row_bits_zeros(row_bits_load(values + 8), row_bits_load(values + 12));
        zero |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << i;
    }
    return ~zero;
}

// The same of 64 bits.
static inline uint64_t row_bits_of_64(const uint64_t *values) {
    uint64_t zero = 0;
    for (unsigned i = 0; i < 64; i += 16, values += 16) {
        const __m128i low = row_bits_zeros(row_bits_fold(values), row_bits_fold(values + 4)),
                      high = row_bits_zeros(row_bits_fold(values + 8), row_bits_fold(values + 12));
        zero |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << i;
    }
    return ~zero;
}
#else
static inline uint64_t row_bits_of_byte(const uint8_t *bytes, uint8_t value) {
    uint64_t rows = 0;
    for (unsigned i = 0; i < 64; i++)
        rows |= (uint64_t)(bytes[i] == value) << i;
    return rows;
}

static inline uint64_t row_bits_of_32(const uint32_t *values) {
    uint64_t rows = 0;
    for (unsigned i = 0; i < 64; i++)
        rows |= (uint64_t)(values[i] != 0) << i;
    return rows;
}

static inline uint64_t row_bits_of_64(const uint64_t *values) {
    uint64_t rows = 0;
    for (unsigned i = 0; i < 64; i++)
        rows |= (uint64_t)(values[i] != 0) << i;
    return rows;
}
#endif

// Rows whose value of `size` bytes is not 0.
static inline uint64_t row_bits_of(const void *values, uint32_t size) {
    return size == 8   ? row_bits_of_64(values)
           : size == 4 ? row_bits_of_32(values)
                       : ~row_bits_of_byte(values, 0);
}

#endif
