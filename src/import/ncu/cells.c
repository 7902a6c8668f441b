// SPDX-License-Identifier: Apache-2.0
// Lines of the table, and numbers as the locale of the user writes them.
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "import/json_scan.h"
#include "import/ncu/ncu.h"

// ---- lines

bool ncu_is_record(const char *at, const char *end) {
    static const char HEAD[] = "\"ID\",";
    if (end - at >= (ptrdiff_t)sizeof HEAD - 1 && memcmp(at, HEAD, sizeof HEAD - 1) == 0)
        return true;
    if (at >= end || *at++ != '"')
        return false;
    while (at < end && ((*at >= '0' && *at <= '9') || *at == ',' || *at == '.'))
        at++;
    return end - at >= 2 && at[0] == '"' && at[1] == ',';
}

const char *ncu_record_end(const char *at, const char *end, bool last) {
    const bool of_table = ncu_is_record(at, end); // any other line ends where it ends
    bool quoted = false;
    for (size_t i = 0; at < end && i < NCU_RECORD_MAX; at++, i++) {
        if (*at == '"' && of_table)
            quoted = !quoted;
        else if (*at == '\n' && !quoted)
            return at + 1;
    }
    return last && at >= end ? end : NULL;
}

// The end of a quoted cell's content, which is moved together where a quote is doubled; NULL if it does not end.
static char *unquote(char *at, const char *end, char **past) {
    char *to = at;
    while (at < end) {
        if (*at == '"' && at + 1 < end && at[1] == '"') {
            at++;
        } else if (*at == '"') {
            *past = at + 1;
            return to;
        }
        *to++ = *at++;
    }
    return NULL;
}

size_t ncu_cells(char *at, const char *end, struct ncu_cell *cells) {
    size_t count = 0;
    while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    for (;;) {
        char *from = at, *to;
        if (count == NCU_COLUMNS_MAX)
            return 0;
        if (at < end && *at == '"') {
            from = at + 1;
            to = unquote(from, end, &at);
            if (!to)
                return 0;
        } else {
            while (at < end && *at != ',')
                at++;
            to = at;
        }
        cells[count++] = (struct ncu_cell){from, (size_t)(to - from)};
        if (at >= end)
            return count;
        if (*at++ != ',')
            return 0;
    }
}

// ---- numbers

// Spaces that group thousands: a blank, a no-break space (C2 A0), a narrow one (E2 80 AF); and apostrophes (also E2 80 99).
static size_t group_length(const char *at, size_t left) {
    if (*at == ' ' || *at == '\'')
        return 1;
    if (left > 1 && memcmp(at, "\xc2\xa0", 2) == 0)
        return 2;
    return left > 2 && (memcmp(at, "\xe2\x80\xaf", 3) == 0 || memcmp(at, "\xe2\x80\x99", 3) == 0) ? 3 : 0;
}

struct shape {
    unsigned points, commas;
    size_t last;   // digits behind the last separator
    char last_one; // that separator
    bool first_zero;
    bool digits_only; // nothing but digits and these
};

static struct shape shape_of(struct ncu_cell cell) {
    struct shape shape = {.digits_only = true};
    size_t digits = 0;
    for (size_t i = 0; i < cell.length; i++) {
        const char c = cell.at[i];
        if (c >= '0' && c <= '9') {
            shape.first_zero |= digits++ == 0 && c == '0';
            shape.last++;
        } else if (c == '.' || c == ',') {
            shape.points += c == '.';
            shape.commas += c == ',';
            shape.last = 0;
            shape.last_one = c;
        } else if (c != '-' || i) {
            shape.digits_only = false;
        }
    }
    shape.digits_only &= digits > 0;
    return shape;
}

void ncu_numbers_look(struct ncu_numbers *numbers, struct ncu_cell cell) {
    const struct shape shape = shape_of(cell);
    char decimal = 0;
    if (!shape.digits_only || !shape.last_one)
        return;
    if (shape.points && shape.commas)
        decimal = shape.last_one;
    else if (shape.points + shape.commas > 1)
        decimal = shape.last_one == '.' ? ',' : '.'; // only groups are repeated
    else if (shape.last != 3 || shape.first_zero)
        decimal = shape.last_one;
    numbers->points += decimal == '.';
    numbers->commas += decimal == ',';
}

bool ncu_numbers_read(const struct ncu_numbers *numbers, struct ncu_cell cell, double *out) {
    char text[64];
    size_t length = 0, since = 0;
    bool grouped = false, digit = false, decimal = false;
    for (size_t i = 0; i < cell.length; i++) {
        const char c = cell.at[i];
        const size_t group = group_length(cell.at + i, cell.length - i);
        if (length + 2 > sizeof text)
            return false;
        if ((c == '.' || c == ',') && c == numbers->decimal) {
            if (decimal || !digit || (grouped && since != 3))
                return false;
            decimal = true;
            text[length++] = '.';
        } else if (c == '.' || c == ',' || group) {
            if (decimal || !digit || (grouped ? since != 3 : since > 3))
                return false;
            grouped = true;
            since = 0;
            i += group ? group - 1 : 0;
        } else if ((c >= '0' && c <= '9') || (c == '-' && i == 0) ||
                   (digit &&
                    (c == 'e' || c == 'E' || ((c == '+' || c == '-') && (text[length - 1] | 32) == 'e')))) {
            digit |= c >= '0' && c <= '9';
            since += c >= '0' && c <= '9';
            text[length++] = c;
        } else {
            return false;
        }
    }
    text[length] = '\0';
    if (!digit || (grouped && !decimal && since != 3))
        return false;
    struct json_number number;
    const char *end = json_number_read(text, text + length + 1, &number);
    if (end != text + length || (number.integral && (!number.exact || number.mantissa > (uint64_t)1 << 53)))
        return false;
    *out = json_number_double(&number, text, length);
    return isfinite(*out);
}
