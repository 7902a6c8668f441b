// SPDX-License-Identifier: Apache-2.0
// Compares result buffers element by element, with tolerances. The verdict of a replay calls it.
#include "replay/compare.h"

#include <math.h>
#include <string.h>

#include "base/names.h"

size_t element_bytes(tsmith_element element) {
    switch (element) {
#define BYTES_CASE(NAME, number, name, bytes)                                                                \
    case TSMITH_ELEMENT_##NAME:                                                                              \
        return bytes;
        TSMITH_ELEMENT_TABLE(BYTES_CASE)
#undef BYTES_CASE
    default:
        return 1;
    }
}

NAMES_DEFINE(tsmith_element_name, tsmith_element, TSMITH_ELEMENT_TABLE, NAMES_NAME, NULL)

static bool is_float(tsmith_element element) {
    return element == TSMITH_ELEMENT_F16 || element == TSMITH_ELEMENT_F32 || element == TSMITH_ELEMENT_F64;
}

static bool is_signed(tsmith_element element) {
    return element == TSMITH_ELEMENT_I8 || element == TSMITH_ELEMENT_I16 || element == TSMITH_ELEMENT_I32 ||
           element == TSMITH_ELEMENT_I64;
}

// Bits of the exponent and of the fraction.
static unsigned fraction_bits(tsmith_element element) {
    return element == TSMITH_ELEMENT_F16 ? 10 : element == TSMITH_ELEMENT_F32 ? 23 : 52;
}

static uint64_t sign_bit(tsmith_element element) {
    return (uint64_t)1 << (8 * element_bytes(element) - 1);
}

static bool is_nan(tsmith_element element, uint64_t bits) {
    const uint64_t magnitude = bits & (sign_bit(element) - 1);
    const uint64_t infinity = sign_bit(element) - ((uint64_t)1 << fraction_bits(element));
    return magnitude > infinity;
}

// Floats in the order of their values as integers: both zeros are the same one.
static int64_t ordered(tsmith_element element, uint64_t bits) {
    const int64_t magnitude = (int64_t)(bits & (sign_bit(element) - 1));
    return bits & sign_bit(element) ? -magnitude : magnitude;
}

uint64_t element_ulps(tsmith_element element, uint64_t a, uint64_t b) {
    if (is_nan(element, a) || is_nan(element, b))
        return is_nan(element, a) && is_nan(element, b) ? 0 : UINT64_MAX;
    const int64_t from = ordered(element, a), to = ordered(element, b);
    return from > to ? (uint64_t)from - (uint64_t)to : (uint64_t)to - (uint64_t)from;
}

static double half_value(uint64_t bits) {
    const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    const double magnitude = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                             : exponent == 0 ? ldexp(fraction, -24)
                                             : ldexp(fraction + 1024, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static double value_of(tsmith_element element, uint64_t bits) {
    float single;
    double number;
    const uint32_t low = (uint32_t)bits;
    switch (element) {
    case TSMITH_ELEMENT_F16:
        return half_value(bits);
    case TSMITH_ELEMENT_F32:
        memcpy(&single, &low, sizeof single);
        return (double)single;
    case TSMITH_ELEMENT_F64:
        memcpy(&number, &bits, sizeof number);
        return number;
    default:
        if (is_signed(element) && bits & sign_bit(element))
            return (double)(int64_t)(bits | ~(sign_bit(element) - 1));
        return (double)bits;
    }
}

static uint64_t load(const uint8_t *at, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    return bits;
}

static bool is_tolerated(tsmith_element element, uint64_t recorded, uint64_t replayed,
                         const struct compare_tolerance *tolerance, uint64_t *ulps) {
    *ulps = is_float(element) ? element_ulps(element, recorded, replayed) : UINT64_MAX;
    if (is_float(element) && tolerance->ulps && *ulps <= tolerance->ulps)
        return true;
    return tolerance->absolute > 0 &&
           fabs(value_of(element, recorded) - value_of(element, replayed)) <= tolerance->absolute;
}

static void note_difference(struct comparison *out, tsmith_element element, uint64_t offset,
                            uint64_t recorded, uint64_t replayed, const struct compare_tolerance *tolerance) {
    uint64_t ulps;
    const bool fine = is_tolerated(element, recorded, replayed, tolerance, &ulps);
    if (is_float(element) && ulps > out->most_ulps)
        out->most_ulps = ulps;
    const double apart = ulps ? fabs(value_of(element, recorded) - value_of(element, replayed)) : 0;
    if (!(apart <= out->most_absolute))
        out->most_absolute = isnan(apart) ? (double)INFINITY : apart;
    if (!out->different || (out->within && !fine)) {
        out->offset = offset;
        out->recorded = recorded;
        out->replayed = replayed;
    }
    out->different++;
    out->within &= fine;
}

struct comparison compare_buffers(tsmith_element element, const uint8_t *recorded, const uint8_t *replayed,
                                  size_t size, const struct compare_tolerance *tolerance) {
    struct comparison out = {.within = true};
    const size_t step = element_bytes(element);
    size_t at = 0;
    for (; size - at >= step; at += step)
        if (memcmp(recorded + at, replayed + at, step) != 0)
            note_difference(&out, element, at, load(recorded + at, step), load(replayed + at, step),
                            tolerance);
    static const struct compare_tolerance none = {0, 0};
    for (; at < size; at++)
        if (recorded[at] != replayed[at])
            note_difference(&out, TSMITH_ELEMENT_U8, at, recorded[at], replayed[at], &none);
    return out;
}

void envelope_extend(tsmith_element element, uint8_t *least, uint8_t *most, const uint8_t *replayed,
                     size_t size) {
    size_t step = element_bytes(element);
    for (size_t at = 0; at < size; at += step) {
        if (size - at < step) {
            step = 1;
            element = TSMITH_ELEMENT_U8;
        }
        const double value = value_of(element, load(replayed + at, step));
        if (!(value >= value_of(element, load(least + at, step))))
            memcpy(least + at, replayed + at, step);
        if (!(value <= value_of(element, load(most + at, step))))
            memcpy(most + at, replayed + at, step);
    }
}

bool envelope_holds(tsmith_element element, const uint8_t *least, const uint8_t *most,
                    const uint8_t *recorded, size_t size) {
    size_t step = element_bytes(element);
    for (size_t at = 0; at < size; at += step) {
        if (size - at < step) {
            step = 1;
            element = TSMITH_ELEMENT_U8;
        }
        if (memcmp(recorded + at, least + at, step) == 0 || memcmp(recorded + at, most + at, step) == 0)
            continue;
        const double low = value_of(element, load(least + at, step)),
                     high = value_of(element, load(most + at, step)),
                     value = value_of(element, load(recorded + at, step)),
                     margin = ENVELOPE_MARGIN * (high - low);
        // An element that never varied has no envelope to be in.
        if (!(high > low) || !(value >= low - margin && value <= high + margin))
            return false;
    }
    return true;
}

tsmith_element element_of_type(const char *type) {
    static const struct {
        const char *word;
        tsmith_element element;
    } types[] = {
        {"uchar", TSMITH_ELEMENT_U8},  {"char", TSMITH_ELEMENT_I8},    {"ushort", TSMITH_ELEMENT_U16},
        {"short", TSMITH_ELEMENT_I16}, {"uint", TSMITH_ELEMENT_U32},   {"int", TSMITH_ELEMENT_I32},
        {"ulong", TSMITH_ELEMENT_U64}, {"long", TSMITH_ELEMENT_I64},   {"half", TSMITH_ELEMENT_F16},
        {"float", TSMITH_ELEMENT_F32}, {"double", TSMITH_ELEMENT_F64}, {"size_t", TSMITH_ELEMENT_U64},
    };
    if (!type)
        return TSMITH_ELEMENT_U8;
    if (strncmp(type, "const ", 6) == 0)
        type += 6;
    const bool is_unsigned = strncmp(type, "unsigned ", 9) == 0;
    type += is_unsigned ? 9 : 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const size_t length = strlen(types[i].word);
        // A vector's number, a star, a space: any character after the word except the continuation of a word.
        if (strncmp(type, types[i].word, length) == 0 && strchr("0123456789* ", type[length]))
            return is_unsigned && is_signed(types[i].element) ? (tsmith_element)(types[i].element - 1)
                                                              : types[i].element;
    }
    return TSMITH_ELEMENT_U8;
}
