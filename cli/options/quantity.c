// SPDX-License-Identifier: Apache-2.0
// Parses counts, sizes and times on the command line. The commands and cli/window.c call it for the values of their
// options.
#include "quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Digits at *at, at least one; moves *at past them.
static bool parse_digits(const char **at, uint64_t *out) {
    uint64_t value = 0;
    if (!is_digit(**at))
        return false;
    for (; is_digit(**at); (*at)++) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

bool quantity_count(const char *word, uint64_t *out) {
    return parse_digits(&word, out) && !*word;
}

bool quantity_size(const char *word, uint64_t *out) {
    static const char letters[] = "KMGT";
    uint64_t value;
    if (!parse_digits(&word, &value))
        return false;
    if (*word && strcasecmp(word, "b") != 0) {
        char upper = (char)(*word >= 'a' && *word <= 'z' ? *word - 'a' + 'A' : *word);
        const char *letter = strchr(letters, upper);
        if (!letter || (word[1] && strcasecmp(word + 1, "b") != 0 && strcasecmp(word + 1, "ib") != 0))
            return false;
        unsigned shift = 10 * (unsigned)(letter - letters + 1);
        if (value > UINT64_MAX >> shift)
            return false;
        value <<= shift;
    }
    *out = value;
    return true;
}

static bool unit_of(const char *unit, uint64_t *ns) {
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"", 1000000000},    {"s", 1000000000}, {"ms", 1000000},     {"us", 1000},
                 {"\xc2\xb5s", 1000}, {"ns", 1},         {"m", 60000000000u}, {"h", 3600000000000u}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, unit) == 0) {
            *ns = units[i].ns;
            return true;
        }
    }
    return false;
}

bool quantity_time(const char *word, int64_t *out) {
    enum { FRACTION_DIGITS = 12 }; // the hour is 3.6e12 ns: further digits cannot matter
    uint64_t integer;
    uint64_t fraction = 0;
    uint64_t scale = 1;
    uint64_t unit;
    if (!parse_digits(&word, &integer))
        return false;
    if (*word == '.') {
        word++;
        if (!is_digit(*word))
            return false;
        for (int digits = 0; is_digit(*word); word++, digits++) {
            if (digits < FRACTION_DIGITS) {
                fraction = fraction * 10 + (uint64_t)(*word - '0');
                scale *= 10;
            }
        }
    }
    if (!unit_of(word, &unit))
        return false;
    unsigned __int128 ns = (unsigned __int128)integer * unit + (unsigned __int128)fraction * unit / scale;
    if (ns > INT64_MAX)
        return false;
    *out = (int64_t)ns;
    return true;
}

bool quantity_rate(const char *word, const char **end, double *out) {
    static const char letters[] = "kMGTP";
    char *behind;
    if (!is_digit(*word) || word[1] == 'x' ||
        word[1] == 'X') // strtod also reads hexadecimal numbers, inf and nan
        return false;
    double value = strtod(word, &behind);
    const char *letter = *behind ? strchr(letters, *behind) : NULL;
    if (letter) {
        for (long power = letter - letters; power >= 0; power--)
            value *= 1000;
        behind++;
    }
    *end = behind;
    *out = value;
    return isfinite(value) && value > 0;
}
