// SPDX-License-Identifier: Apache-2.0
// Formats numbers and strings as JSON. The Chrome and CSV exporters call it.
#include "export/json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/json.h"

enum { DOUBLES = 4096 };

enum { UNKNOWN, CLEAN, TO_ESCAPE, VALID = 4, INVALID = 8 };

struct json_double {
    uint64_t bits;
    uint8_t length; // 0: empty
    char text[31];
};

void json_out_finish(struct json_out *json) {
    free(json->known);
    free(json->doubles);
    *json = (struct json_out){0};
}

// ---- numbers

// The digits of `value`, ending before `end`; where they begin.
static char *digits_before(char *end, uint64_t value) {
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

void json_out_u64(struct output *output, uint64_t value) {
    char text[24], *from = digits_before(text + sizeof text, value);
    output_bytes(output, from, (size_t)(text + sizeof text - from));
}

void json_out_i64(struct output *output, int64_t value) {
    if (value < 0)
        output_char(output, '-');
    json_out_u64(output, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_out_us(struct output *output, int64_t ns, int64_t rest) {
    uint64_t whole = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    uint64_t fraction = whole % 1000 * 1000000 + (rest < 0 ? 0 - (uint64_t)rest : (uint64_t)rest) % 1000000;
    char text[16], *at = output_room(output);
    if (ns < 0 || rest < 0)
        *at++ = '-';
    char number[24], *from = digits_before(number + sizeof number, whole / 1000);
    size_t length = (size_t)(number + sizeof number - from);
    memcpy(at, from, length);
    at += length;
    if (fraction) {
        *at++ = '.';
        size_t decimals = 9;
        for (size_t i = decimals; i-- > 0; fraction /= 10)
            text[i] = (char)('0' + fraction % 10);
        while (text[decimals - 1] == '0')
            decimals--;
        memcpy(at, text, decimals);
        at += decimals;
    }
    output_advance(output, at);
}

static unsigned shortest(double value, char *text, size_t size) {
    int length = 0;
    for (int precision = 15; precision <= 17; precision++) {
        length = snprintf(text, size, "%.*g", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    bool point = false;
    for (int i = 0; i < length; i++) {
        if (!strchr("0123456789+-e", text[i]))
            text[i] = '.'; // the decimal point of the program's locale
        point |= text[i] == '.' || text[i] == 'e';
    }
    if (!point) {
        text[length++] = '.';
        text[length++] = '0';
    }
    return (unsigned)length;
}

void json_out_double(struct json_out *json, uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) {
        output_text(json->output, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    if (!json->doubles)
        json->doubles = calloc(DOUBLES, sizeof *json->doubles);
    if (!json->doubles) {
        json->failed = true;
        return;
    }
    struct json_double *known = &json->doubles[(bits * 0x9e3779b97f4a7c15u >> 40) % DOUBLES];
    if (!known->length || known->bits != bits) {
        known->bits = bits;
        known->length = (uint8_t)shortest(value, known->text, sizeof known->text);
    }
    output_bytes(json->output, known->text, known->length);
}

// ---- strings

static bool is_clean(const char *bytes, size_t length) {
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)bytes[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            return false;
        unsigned taken = json_utf8_length(bytes + i, length - i);
        if (!taken)
            return false;
        i += taken;
    }
    return true;
}

static void escape(struct output *output, unsigned code) {
    char text[8];
    (void)snprintf(text, sizeof text, "\\u%04x", code);
    output_bytes(output, text, 6);
}

// A surrogate in three bytes, as the importer keeps a lone one; 0 when it is none.
static unsigned lone_surrogate(const unsigned char *at, size_t left) {
    if (left < 3 || at[0] != 0xed || at[1] < 0xa0 || at[1] > 0xbf || (at[2] & 0xc0) != 0x80)
        return 0;
    return 0xd000u | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
}

static void put_escaped(struct output *output, const char *bytes, size_t length) {
    static const char special[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)bytes[i];
        const char *found = c ? strchr(special, c) : NULL;
        unsigned taken = json_utf8_length(bytes + i, length - i);
        unsigned surrogate = lone_surrogate((const unsigned char *)bytes + i, length - i);
        if (found) {
            output_char(output, '\\');
            output_char(output, names[found - special]);
        } else if (c < 0x20 || c == 0x7f) {
            escape(output, c);
        } else if (taken) {
            output_bytes(output, bytes + i, taken);
        } else if (surrogate) {
            escape(output, surrogate);
            taken = 3;
        } else {
            escape(output, 0xdc00u + c);
        }
        i += taken ? taken : 1;
    }
}

void json_out_string(struct output *output, const char *bytes, size_t length) {
    output_char(output, '"');
    if (is_clean(bytes, length))
        output_bytes(output, bytes, length);
    else
        put_escaped(output, bytes, length);
    output_char(output, '"');
}

// The place to note what is known of a string; NULL when memory is exhausted. One that the dictionary does not have is
// empty, like 0: a hostile trace may name any.
static uint8_t *known_of(struct json_out *json, const tsmith_dictionary *dictionary, uint32_t id) {
    id = id <= tsmith_dictionary_string_count(dictionary) ? id : 0;
    if (id >= json->known_capacity) {
        size_t had = json->known_capacity;
        void *known = json->known;
        if (!array_reserve(&known, &json->known_capacity, (size_t)id + 1, 1)) {
            json->failed = true;
            return NULL;
        }
        json->known = known;
        memset(json->known + had, 0, json->known_capacity - had);
    }
    return &json->known[id];
}

void json_out_string_id(struct json_out *json, const tsmith_dictionary *dictionary, uint32_t id) {
    tsmith_string string = tsmith_dictionary_string(dictionary, id);
    uint8_t *known = known_of(json, dictionary, id);
    if (!known)
        return;
    if (!(*known & (CLEAN | TO_ESCAPE)))
        *known = (uint8_t)(*known | (is_clean(string.bytes, string.length) ? CLEAN : TO_ESCAPE));
    output_char(json->output, '"');
    if (*known & CLEAN)
        output_bytes(json->output, string.bytes, string.length);
    else
        put_escaped(json->output, string.bytes, string.length);
    output_char(json->output, '"');
}

void json_out_raw_id(struct json_out *json, const tsmith_dictionary *dictionary, uint32_t id) {
    tsmith_string string = tsmith_dictionary_string(dictionary, id);
    uint8_t *known = known_of(json, dictionary, id);
    if (!known)
        return;
    if (!(*known & (VALID | INVALID)))
        *known = (uint8_t)(*known | (json_is_valid(string.bytes, string.length) ? VALID : INVALID));
    if (*known & VALID)
        output_bytes(json->output, string.bytes, string.length);
    else
        json_out_string_id(json, dictionary, id);
}
