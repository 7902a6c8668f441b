// SPDX-License-Identifier: Apache-2.0
// The loops over values that have an AVX2 version, and their choice at run time. Packing, unpacking and the column
// codecs call them.
#include "sbt/loops.h"

#include "base/bytes.h"

// -O2 of gcc vectorises next to nothing; these loops are what vectorising is for.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define LOOP(name) name##_plain
#include "sbt/loops_body.h"
#undef LOOP

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2")
#endif

// Four values of up to 30 bits fit in 16 bytes: each is moved to a lane of its own, then shifted down.
static inline __m256i unpack_quad(const uint8_t *in, __m256i places, __m256i shifts, __m256i mask,
                                  __m256i base) {
    __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)in));
    __m256i lanes = _mm256_shuffle_epi8(bytes, places);
    return _mm256_add_epi64(base, _mm256_and_si256(_mm256_srlv_epi64(lanes, shifts), mask));
}

// The position of four values that begin `first` bits (below 8) into the bytes; a lane takes five bytes.
static void place_quad(unsigned first, unsigned width, __m256i *places, __m256i *shifts) {
    uint8_t place[32];
    uint64_t shift[4];
    for (unsigned lane = 0; lane < 4; lane++) {
        unsigned bit = first + lane * width;
        shift[lane] = bit % 8;
        for (unsigned byte = 0; byte < 8; byte++)
            place[lane * 8 + byte] = (uint8_t)(byte < 5 && bit / 8 + byte < 16 ? bit / 8 + byte : 0x80);
    }
    *places = _mm256_loadu_si256((const __m256i *)(const void *)place);
    *shifts = _mm256_loadu_si256((const __m256i *)(const void *)shift);
}

static void unpack_narrow(uint64_t *out, const uint8_t *in, uint32_t groups, uint64_t base, unsigned width) {
    __m256i low_places, low_shifts, high_places, high_shifts;
    __m256i mask = _mm256_set1_epi64x((long long)(((uint64_t)1 << width) - 1));
    __m256i bases = _mm256_set1_epi64x((long long)base);
    place_quad(0, width, &low_places, &low_shifts);
    place_quad(4 * width % 8, width, &high_places, &high_shifts);
    for (uint32_t group = 0; group < groups; group++, in += width, out += 8) {
        _mm256_storeu_si256((__m256i *)(void *)out, unpack_quad(in, low_places, low_shifts, mask, bases));
        _mm256_storeu_si256((__m256i *)(void *)(out + 4),
                            unpack_quad(in + 4 * width / 8, high_places, high_shifts, mask, bases));
    }
}

static void unpack_avx2(uint64_t *out, const uint8_t *in, uint32_t groups, uint64_t base, unsigned width) {
    if (width <= 30)
        unpack_narrow(out, in, groups, base, width);
    else
        loops_plain.unpack(out, in, groups, base, width);
}

#define LOOP_UNPACK
#define LOOP(name) name##_avx2
#include "sbt/loops_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
