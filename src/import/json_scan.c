// SPDX-License-Identifier: Apache-2.0
// Finding the end of a nested value looks at 64 bytes at a time: one bit per byte for quotes, backslashes and
// brackets; a carry-less running xor of the quotes marks the bytes inside strings; while a block has fewer
// closing brackets than are open, they are only counted.
#include "import/json_scan.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/input.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

struct block {
    uint64_t quotes, backslashes, opening, closing;
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

struct nested {
    uint64_t depth;
    uint64_t in_string; // all ones while inside
    uint64_t escaped;   // 1: the first byte of the next block is escaped
};

// Bits of bytes that follow an odd run of backslashes.
ALWAYS_INLINE uint64_t find_escaped(struct nested *state, uint64_t backslashes) {
    if (!backslashes) {
        uint64_t escaped = state->escaped;
        state->escaped = 0;
        return escaped;
    }
    uint64_t escaped = 0, carry = state->escaped;
    backslashes &= ~carry;
    escaped |= carry;
    carry = 0;
    while (backslashes) {
        int bit = __builtin_ctzll(backslashes);
        if (bit == 63) {
            carry = 1;
            break;
        }
        escaped |= (uint64_t)2 << bit;
        backslashes &= ~((uint64_t)3 << bit);
    }
    state->escaped = carry;
    return escaped;
}

ALWAYS_INLINE uint64_t running_xor(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

// The bytes of the block that are inside of strings; brackets among them are none.
ALWAYS_INLINE uint64_t find_strings(struct nested *state, struct block *block) {
    const uint64_t quotes = block->quotes & ~find_escaped(state, block->backslashes);
    if (!(quotes | state->in_string))
        return 0;
    const uint64_t inside = running_xor(quotes) ^ state->in_string;
    state->in_string = (uint64_t)((int64_t)inside >> 63);
    block->opening &= ~inside;
    block->closing &= ~inside;
    return inside;
}

// How many bytes of the block belong to the value when it ends here, else 0.
ALWAYS_INLINE unsigned count_brackets(struct nested *state, const struct block *block) {
    unsigned closing = (unsigned)__builtin_popcountll(block->closing);
    if (closing < state->depth) {
        state->depth += (unsigned)__builtin_popcountll(block->opening) - (uint64_t)closing;
        return 0;
    }
    for (uint64_t brackets = block->opening | block->closing; brackets; brackets &= brackets - 1) {
        int bit = __builtin_ctzll(brackets);
        state->depth += block->opening >> bit & 1 ? 1 : UINT64_MAX;
        if (state->depth == 0)
            return (unsigned)bit + 1;
    }
    return 0;
}

ALWAYS_INLINE unsigned step(struct nested *state, struct block block) {
    (void)find_strings(state, &block);
    return count_brackets(state, &block);
}

// The loop around step, for one way of looking at 64 bytes. Bytes past `end` are padding: at most one block.
#define NESTED_END(name, attributes, classify)                                                               \
    attributes static const char *name(const char *at, const char *end) {                                    \
        struct nested state = {0};                                                                           \
        for (; at < end; at += 64) {                                                                         \
            unsigned used = step(&state, classify(at));                                                      \
            if (used)                                                                                        \
                return at + used <= end ? at + used : NULL;                                                  \
        }                                                                                                    \
        return NULL;                                                                                         \
    }

ALWAYS_INLINE struct block classify_plain(const char *at) {
    struct block block = {0};
    for (int i = 0; i < 64; i++) {
        uint64_t bit = (uint64_t)1 << i;
        switch (at[i]) {
        case '"':
            block.quotes |= bit;
            break;
        case '\\':
            block.backslashes |= bit;
            break;
        case '[':
        case '{':
            block.opening |= bit;
            break;
        case ']':
        case '}':
            block.closing |= bit;
            break;
        default:
            break;
        }
    }
    return block;
}
NESTED_END(nested_end_plain, , classify_plain)

#if defined(__x86_64__)
// '[' and '{' differ in bit 5 only, and so do ']' and '}'.
ALWAYS_INLINE struct block classify_sse2(const char *at) {
    struct block block = {0};
    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i folded = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
#define MASK16(value, byte)                                                                                  \
    ((uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(value, _mm_set1_epi8(byte))) << (16 * i))
        block.quotes |= MASK16(bytes, '"');
        block.backslashes |= MASK16(bytes, '\\');
        block.opening |= MASK16(folded, '{');
        block.closing |= MASK16(folded, '}');
    }
    return block;
}
NESTED_END(nested_end_sse2, , classify_sse2)

__attribute__((target("avx2,popcnt,bmi"))) ALWAYS_INLINE struct block classify_avx2(const char *at) {
    struct block block = {0};
    for (int i = 0; i < 2; i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * i));
        __m256i folded = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
#define MASK32(value, byte)                                                                                  \
    ((uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(value, _mm256_set1_epi8(byte))) << (32 * i))
        block.quotes |= MASK32(bytes, '"');
        block.backslashes |= MASK32(bytes, '\\');
        block.opening |= MASK32(folded, '{');
        block.closing |= MASK32(folded, '}');
    }
    return block;
}
NESTED_END(nested_end_avx2, __attribute__((target("avx2,popcnt,bmi"))), classify_avx2)
#endif

// ---- the rest of an object

// The end of the object that is entered already. A line that ends within a string is none of JSON: then, and when the end is not before
// `end`, NULL.
#define REST_END(name, attributes, classify, find_newlines)                                                  \
    attributes static const char *name(const char *at, const char *end) {                                    \
        struct nested state = {.depth = 1};                                                                  \
        for (; at < end; at += 64) {                                                                         \
            struct block block = classify(at);                                                               \
            const uint64_t inside = find_strings(&state, &block);                                            \
            const unsigned used = count_brackets(&state, &block);                                            \
            const uint64_t before_end = used && used < 64 ? ((uint64_t)1 << used) - 1 : UINT64_MAX;          \
            if (inside && (inside & find_newlines(at) & before_end))                                         \
                return NULL;                                                                                 \
            if (used)                                                                                        \
                return at + used <= end ? at + used : NULL;                                                  \
        }                                                                                                    \
        return NULL;                                                                                         \
    }

ALWAYS_INLINE uint64_t newlines_plain(const char *at) {
    uint64_t found = 0;
    for (int i = 0; i < 64; i++)
        found |= (uint64_t)(at[i] == '\n') << i;
    return found;
}
REST_END(rest_end_plain, , classify_plain, newlines_plain)

#if defined(__x86_64__)
ALWAYS_INLINE uint64_t newlines_sse2(const char *at) {
    uint64_t found = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        found |= MASK16(bytes, '\n');
    }
    return found;
}
REST_END(rest_end_sse2, , classify_sse2, newlines_sse2)

__attribute__((target("avx2,popcnt,bmi"))) ALWAYS_INLINE uint64_t newlines_avx2(const char *at) {
    uint64_t found = 0;
    for (int i = 0; i < 2; i++) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32 * i));
        found |= MASK32(bytes, '\n');
    }
    return found;
}
REST_END(rest_end_avx2, __attribute__((target("avx2,popcnt,bmi"))), classify_avx2, newlines_avx2)
#endif

json_nested_scanner *json_rest_scanner_get(int which) {
    switch (which) {
    case 0:
        return rest_end_plain;
#if defined(__x86_64__)
    case 1:
        return rest_end_sse2;
    case 2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") ? rest_end_avx2 : NULL;
#endif
    default:
        return NULL;
    }
}

const char *json_object_rest(const char *at, const char *end) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        return rest_end_avx2(at, end);
    return rest_end_sse2(at, end);
#else
    return rest_end_plain(at, end);
#endif
}

json_nested_scanner *json_nested_scanner_get(int which) {
    switch (which) {
    case 0:
        return nested_end_plain;
#if defined(__x86_64__)
    case 1:
        return nested_end_sse2;
    case 2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") ? nested_end_avx2 : NULL;
#endif
    default:
        return NULL;
    }
}

const char *json_nested_end(const char *at, const char *end) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi"))
        return nested_end_avx2(at, end);
    return nested_end_sse2(at, end);
#else
    return nested_end_plain(at, end);
#endif
}

// ---- numbers

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Any number with this many digits fits in 64 bits.
enum { DIGITS_FIT = 19 };

// Takes digits into the mantissa while it has room for them. `before` counts those that are in it already.
static const char *read_digits(const char *at, const char *end, struct json_number *number, int32_t before,
                               int32_t *taken) {
    const char *from = at;
    const ptrdiff_t room = before < DIGITS_FIT ? DIGITS_FIT - before : 0;
    const char *fits = end - from > room ? from + room : end;
    for (; at < fits && is_digit(*at); at++)
        number->mantissa = number->mantissa * 10 + (uint64_t)(*at - '0');
    for (; at < end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0'), grown = number->mantissa * 10 + digit;
        if (number->mantissa > UINT64_MAX / 10 || grown < digit)
            number->exact = false;
        else
            number->mantissa = grown;
    }
    *taken = at - from < INT32_MAX / 4 ? (int32_t)(at - from) : INT32_MAX / 4;
    return at;
}

static const char *read_exponent(const char *at, const char *end, struct json_number *number) {
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at >= end || !is_digit(*at))
        return NULL;
    int32_t exponent = 0;
    for (; at < end && is_digit(*at); at++)
        exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
    number->exponent += negative ? -exponent : exponent;
    return at;
}

// A number of at most DIGITS_FIT digits, at most 7 of them behind a point, without an exponent; NULL if it is another, or none.
// Reads at most 33 bytes.
ALWAYS_INLINE const char *read_short(const char *at, struct json_number *out) {
    static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const bool negative = *at == '-';
    unsigned count, whole;
    at += negative;
    uint64_t mantissa = json_digits(at, &count);
    at += count;
    whole = count;
    for (unsigned more = count; more == 8;) {
        if (whole > DIGITS_FIT - 3) // what comes may not fit
            return NULL;
        const uint64_t digits = json_digits(at, &more);
        at += more;
        whole += more;
        mantissa = mantissa * powers[more] + digits;
    }
    bool integral = *at != '.';
    int32_t exponent = 0;
    if (!integral) {
        const uint64_t digits = json_digits(at + 1, &count);
        if (!count || count == 8)
            return NULL;
        mantissa = mantissa * powers[count] + digits;
        at += 1 + count;
        exponent = -(int32_t)count;
    }
    if (!whole || whole - (unsigned)exponent > DIGITS_FIT || (*at | 0x20) == 'e')
        return NULL;
    *out = (struct json_number){mantissa, exponent, negative, integral, true};
    return at;
}

const char *json_number_read(const char *at, const char *end, struct json_number *out) {
    enum { SHORT_MOST = 33 };
    const char *after = end - at >= SHORT_MOST ? read_short(at, out) : NULL;
    if (after)
        return after;
    struct json_number number = {.integral = true, .exact = true};
    int32_t whole, fraction = 0;
    if (at < end && *at == '-') {
        number.negative = true;
        at++;
    }
    at = read_digits(at, end, &number, 0, &whole);
    if (whole == 0)
        return NULL;
    if (at < end && *at == '.') {
        number.integral = false;
        at = read_digits(at + 1, end, &number, whole, &fraction);
        number.exponent = -fraction;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        number.integral = false;
        at = read_exponent(at + 1, end, &number);
    }
    *out = number;
    return at;
}

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// strtod in the C locale, independent of the program's locale.
static double slow_double(const char *text, size_t length) {
    static locale_t c_locale;
    locale_t locale = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);
    if (!locale) {
        locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        if (!made)
            return NAN;
        if (__atomic_compare_exchange_n(&c_locale, &locale, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            locale = made;
        else
            freelocale(made);
    }
    char copy[512];
    char *large = length < sizeof copy ? copy : malloc(length + 1);
    if (!large)
        return NAN;
    memcpy(large, text, length);
    large[length] = '\0';
    double value = strtod_l(large, NULL, locale);
    if (large != copy)
        free(large);
    return value;
}

double json_number_double(const struct json_number *number, const char *text, size_t length) {
    if (number->exact && number->mantissa <= (uint64_t)1 << 53 && number->exponent >= -22 &&
        number->exponent <= 22) {
        // Both are exact doubles, so the one operation rounds correctly.
        double value = (double)number->mantissa;
        value = number->exponent < 0 ? value / powers_of_ten[-number->exponent]
                                     : value * powers_of_ten[number->exponent];
        return number->negative ? -value : value;
    }
    return slow_double(text, length);
}

bool json_number_ns(const struct json_number *number, int64_t *ns, int64_t *rest) {
    static const uint64_t powers[] = {1,       10,       100,       1000,       10000,       100000,
                                      1000000, 10000000, 100000000, 1000000000, 10000000000u};
    *ns = *rest = 0;
    if (!number->exact)
        return false;
    if (number->mantissa == 0)
        return !number->negative;
    int32_t exponent = number->exponent + 3;
    uint64_t value = number->mantissa, left = 0;
    bool fits = exponent >= -6 && exponent <= 10;
    if (exponent >= 0) {
        if (exponent > 10 || __builtin_mul_overflow(value, powers[exponent], &value))
            return false;
    } else if (exponent >= -6) {
        left = value % powers[-exponent] * powers[6 + exponent];
        value /= powers[-exponent];
    } else {
        for (; exponent < -6 && value % 10 == 0; exponent++)
            value /= 10;
        if (exponent < -6)
            return false;
        left = value % 1000000;
        value /= 1000000;
        fits = true;
    }
    if (!fits || value > (uint64_t)INT64_MAX)
        return false;
    *ns = number->negative ? -(int64_t)value : (int64_t)value;
    *rest = number->negative ? -(int64_t)left : (int64_t)left;
    return true;
}
