// SPDX-License-Identifier: Apache-2.0
// The smallest steps through JSON text. All of them may look INPUT_PADDING bytes past `end` and none believes
// what it finds there.
#ifndef IMPORT_JSON_SCAN_H
#define IMPORT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/bytes.h"

static inline const char *json_skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

// Just past the bracket that closes the one at `at`, NULL when it is not there before `end`.
const char *json_nested_end(const char *at, const char *end);
// The same by other means; a test compares them. `which`: 0 plain C, 1 SSE2, 2 AVX2 (NULL where there is none).
typedef const char *json_nested_scanner(const char *at, const char *end);
json_nested_scanner *json_nested_scanner_get(int which);

// Just past the bracket that closes the object in which `at` is, between two of its members; NULL when it is not there before `end`, or a
// string seems to go on in another line.
const char *json_object_rest(const char *at, const char *end);
json_nested_scanner *json_rest_scanner_get(int which);

// The quote that ends the string whose content begins at `at`, NULL when there is none before `end`. *plain:
// the content has no backslash and no control character.
static inline const char *json_string_end(const char *at, const char *end, bool *plain) {
    *plain = true;
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), last = _mm_set1_epi8(0x1f);
    while (at < end) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes);
        __m128i hit = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)), control);
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (!mask) {
            at += 16;
            continue;
        }
        at += __builtin_ctz(mask);
        if (at >= end)
            return NULL;
        if (*at == '"')
            return at;
        *plain = false;
        at += *at == '\\' ? 2 : 1;
    }
#else
    for (; at < end; at++) {
        if (*at == '"')
            return at;
        if (*at == '\\')
            at++, *plain = false;
        else if ((unsigned char)*at < 0x20)
            *plain = false;
    }
#endif
    return NULL;
}

// The value of up to 8 digits at `at`, and how many they are. Without a branch for each digit, because the length of a number is
// hard to predict.
static inline uint64_t json_digits(const char *at, unsigned *count) {
    const uint64_t zeros = 0x3030303030303030, reach = 0x7676767676767676, tops = 0x8080808080808080;
    const uint64_t bytes = bytes_get_u64(at) ^ zeros;
    // The top bit of a byte that is no digit. A carry spoils only bytes behind the first of them.
    const uint64_t others = (bytes | (bytes + reach)) & tops;
    *count = others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
    uint64_t digits = *count ? bytes << (64 - 8 * *count) : 0; // leading zeros
    digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
    digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
    return (digits * 10000 + (digits >> 32)) & 0xffffffff;
}

// A number as it is written: mantissa * 10^exponent.
struct json_number {
    uint64_t mantissa;
    int32_t exponent;
    bool negative;
    bool integral; // no point and no exponent in the text
    bool exact;    // the mantissa is all there is; else only the text is
};

// Reads the number at `at`; just past it, or NULL when there is none. A number that touches `end` may go on.
const char *json_number_read(const char *at, const char *end, struct json_number *out);

// The double nearest to the number at text[0 .. length).
double json_number_double(const struct json_number *number, const char *text, size_t length);

// number * 1000 rounded toward zero into *ns: microseconds into nanoseconds. *rest is what is left over, in
// 10^-6 ns. False when it is not exactly that (more digits, or no int64).
bool json_number_ns(const struct json_number *number, int64_t *ns, int64_t *rest);

#endif
