// SPDX-License-Identifier: Apache-2.0
// Builds text: numbers, quantities, escaped names, JSON and CSV values. Every command that writes an answer calls it.
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void text_finish(struct text *text) {
    free(text->bytes);
    *text = (struct text){0};
}

static bool grow(struct text *text, size_t more) {
    size_t wanted = text->capacity ? text->capacity : 256;
    while (wanted - text->length < more) {
        if (wanted > SIZE_MAX / 2) {
            text->failed = true;
            return false;
        }
        wanted *= 2;
    }
    char *bytes = realloc(text->bytes, wanted);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = wanted;
    return true;
}

static inline bool reserve(struct text *text, size_t more) {
    return !text->failed && (more <= text->capacity - text->length || grow(text, more));
}

const char *text_cstr(struct text *text) {
    if (!reserve(text, 1))
        return "";
    text->bytes[text->length] = '\0';
    return text->bytes;
}

void text_add(struct text *text, const char *bytes, size_t length) {
    if (!length || !reserve(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void text_add_cstr(struct text *text, const char *cstr) {
    text_add(text, cstr, strlen(cstr));
}

void text_add_char(struct text *text, char c) {
    if (reserve(text, 1))
        text->bytes[text->length++] = c;
}

void text_add_repeat(struct text *text, char c, size_t count) {
    if (!count || !reserve(text, count))
        return;
    memset(text->bytes + text->length, c, count);
    text->length += count;
}

void text_add_format(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int needed = vsnprintf(NULL, 0, format, arguments);
    if (needed > 0 && reserve(text, (size_t)needed + 1)) {
        vsnprintf(text->bytes + text->length, (size_t)needed + 1, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
    va_end(arguments);
}

// ---- numbers

void text_add_u64(struct text *text, uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    text_add(text, digits + at, sizeof digits - at);
}

void text_add_i64(struct text *text, int64_t value) {
    if (value < 0)
        text_add_char(text, '-');
    text_add_u64(text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void text_add_f64(struct text *text, double value) {
    if (!isfinite(value)) {
        text_add_cstr(text, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        char number[40];
        int length = snprintf(number, sizeof number, "%.*g", digits, value);
        if (digits == 17 || strtod(number, NULL) == value) {
            text_add(text, number, (size_t)length);
            return;
        }
    }
}

void text_add_count(struct text *text, uint64_t value) {
    char digits[27];
    size_t at = sizeof digits;
    int written = 0;
    do {
        if (written && written % 3 == 0)
            digits[--at] = ',';
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
        written++;
    } while (value);
    text_add(text, digits + at, sizeof digits - at);
}

void text_add_counted(struct text *text, uint64_t count, const char *one, const char *many) {
    text_add_count(text, count);
    text_add_char(text, ' ');
    text_add_cstr(text, plural(count, one, many));
}

void text_add_times(struct text *text, uint64_t count) {
    if (count == 1)
        text_add_cstr(text, "once");
    else
        text_add_counted(text, count, "time", "times");
}

void text_add_milliseconds(struct text *text, int64_t ns) {
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        text_add_char(text, '-');
    text_add_u64(text, magnitude / 1000000);
    char fraction[7] = {'.'};
    uint64_t rest = magnitude % 1000000;
    for (int i = 6; i >= 1; i--, rest /= 10)
        fraction[i] = (char)('0' + rest % 10);
    text_add(text, fraction, sizeof fraction);
}

// ns in units of `unit` ns with `decimals` decimals, rounded.
static void add_fixed(struct text *text, uint64_t ns, uint64_t unit, int decimals) {
    static const uint64_t powers[] = {1, 10, 100, 1000};
    uint64_t step = unit / powers[decimals];
    uint64_t steps = ns / step + (ns % step >= step - step / 2);
    char fraction[4] = {'.'};
    text_add_u64(text, steps / powers[decimals]);
    uint64_t rest = steps % powers[decimals];
    for (int i = decimals; i >= 1; i--, rest /= 10)
        fraction[i] = (char)('0' + rest % 10);
    if (decimals)
        text_add(text, fraction, (size_t)decimals + 1);
}

void text_add_duration(struct text *text, int64_t ns) {
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " us"}};
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        text_add_char(text, '-');
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        uint64_t unit = units[i].ns;
        // What would be rounded up to 1000 of the smaller unit is shown in this one.
        if (size < unit - unit / 20000)
            continue;
        // Four digits: 1.234, 12.34, 123.4; the borders are where rounding reaches the next one.
        int decimals = size < 10 * unit - unit / 2000    ? 3
                       : size < 100 * unit - unit / 200  ? 2
                       : size < 10000 * unit - unit / 20 ? 1
                                                         : 0;
        add_fixed(text, size, unit, decimals);
        text_add_cstr(text, units[i].name);
        return;
    }
    text_add_u64(text, size);
    text_add_cstr(text, " ns");
}

void text_add_bytes(struct text *text, double bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (fabs(bytes) >= 1023.95 && unit + 1 < sizeof units / sizeof units[0]) {
        bytes /= 1024;
        unit++;
    }
    text_add_format(text, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void text_add_share(struct text *text, double share) {
    text_add_format(text, "%5.1f%%", share * 100);
}

// ---- names

enum { INVALID = UINT32_MAX };

// Decodes one code point; *size is how many bytes it takes (1 for a byte that is not UTF-8).
static uint32_t decode(const unsigned char *at, size_t left, size_t *size) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    *size = 1;
    if (at[0] < 0x80)
        return at[0];
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > left)
        return INVALID;
    uint32_t code = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return INVALID;
        code = code << 6 | (at[i] & 0x3fu);
    }
    if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return INVALID;
    *size = length;
    return code;
}

// How many bytes from `at` on are printable ASCII other than what JSON and CSV quote: nearly all of nearly every name.
static size_t plain_length(const char *at, size_t left) {
    size_t length = 0;
    while (length < left && at[length] >= ' ' && at[length] <= '~' && at[length] != '"' && at[length] != '\\')
        length++;
    return length;
}

// Characters that move or hide other text: bidirectional controls, separators, the byte order mark.
static bool is_tricky(uint32_t code) {
    return (code >= 0x7f && code <= 0x9f) || code == 0xad || code == 0x61c || code == 0x180e ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

static size_t width_of(uint32_t code) {
    if (code < 0x300)
        return 1;
    int width = wcwidth((wchar_t)code);
    return width < 0 ? 1 : (size_t)width;
}

// The escape of a character, into `out` of 16 bytes; 0 when it needs none.
static size_t escape(uint32_t code, unsigned char byte, char *out) {
    int length = 0;
    if (code == INVALID || (code < 0x20 && code != '\n' && code != '\t' && code != '\r') || code == 0x7f)
        length = snprintf(out, 16, "\\x%02x", byte);
    else if (code < 0x20)
        length = snprintf(out, 16, "\\%c", code == '\n' ? 'n' : code == '\t' ? 't' : 'r');
    else if (is_tricky(code))
        length = snprintf(out, 16, "\\u{%" PRIx32 "}", code);
    return (size_t)length;
}

size_t text_add_safe(struct text *text, tsmith_string name, size_t columns) {
    const unsigned char *bytes = (const unsigned char *)name.bytes;
    size_t plain = plain_length(name.bytes, name.length);
    if (plain == name.length && (!columns || plain <= columns)) {
        text_add(text, name.bytes, plain);
        return plain;
    }
    size_t used = 0;
    size_t cut = text->length; // where to cut so that the ellipsis fits
    size_t cut_used = 0;
    for (size_t i = 0, size; i < name.length; i += size) {
        uint32_t code = decode(bytes + i, name.length - i, &size);
        char escaped[16];
        size_t escape_length = escape(code, bytes[i], escaped);
        size_t width = escape_length ? escape_length : width_of(code);
        if (columns && used + width > columns) {
            if (!text->failed)
                text->length = cut;
            text_add_cstr(text, "~");
            return cut_used + 1;
        }
        text_add(text, escape_length ? escaped : name.bytes + i, escape_length ? escape_length : size);
        used += width;
        if (used + 1 <= columns) {
            cut = text->length;
            cut_used = used;
        }
    }
    return used;
}

static bool is_plain_word(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-=";
    return *word && word[strspn(word, plain)] == '\0';
}

void text_add_shell(struct text *text, const char *word) {
    struct text safe = {0};
    text_add_safe(&safe, text_string(word), 0);
    bool is_safe = strcmp(text_cstr(&safe), word) == 0;
    text_finish(&safe);
    const char *before = *word == '-' ? "./" : "";
    if (is_plain_word(word)) {
        text_add_cstr(text, before);
        text_add_cstr(text, word);
        return;
    }
    text_add_cstr(text, is_safe ? "'" : "$'");
    text_add_cstr(text, before);
    for (; *word; word++) {
        unsigned char byte = (unsigned char)*word;
        if (is_safe && byte == '\'')
            text_add_cstr(text, "'\\''");
        else if (is_safe || (byte >= 0x20 && byte < 0x7f && byte != '\'' && byte != '\\'))
            text_add_char(text, *word);
        else
            text_add_format(text, "\\%03o", byte);
    }
    text_add_char(text, '\'');
}

static const char *json_escape(uint32_t code) {
    switch (code) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case INVALID:
        return "\xef\xbf\xbd";
    default:
        return NULL;
    }
}

static void add_json_special(struct text *text, uint32_t code) {
    const char *known = json_escape(code);
    if (known)
        text_add_cstr(text, known);
    else if (code >= 0x10000)
        text_add_format(text, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                        0xdc00 + (code & 0x3ff));
    else
        text_add_format(text, "\\u%04" PRIx32, code);
}

void text_add_json(struct text *text, tsmith_string name) {
    const unsigned char *bytes = (const unsigned char *)name.bytes;
    text_add_char(text, '"');
    size_t plain = 0; // start of a stretch that needs no escape
    size_t i = plain_length(name.bytes, name.length);
    while (i < name.length) {
        size_t size;
        uint32_t code = decode(bytes + i, name.length - i, &size);
        if (code < 0x20 || code == '"' || code == '\\' || code == INVALID || is_tricky(code)) {
            text_add(text, name.bytes + plain, i - plain);
            add_json_special(text, code);
            plain = i + size;
        }
        i += size;
    }
    text_add(text, name.bytes + plain, i - plain);
    text_add_char(text, '"');
}

void text_add_json_cstr(struct text *text, const char *cstr) {
    text_add_json(text, text_string(cstr));
}

void text_add_xml_cstr(struct text *text, const char *cstr) {
    struct text safe = {0};
    text_add_safe(&safe, text_string(cstr), 0);
    text_add_char(text, '"');
    for (size_t i = 0; i < safe.length; i++) {
        const char c = safe.bytes[i];
        if (c == '"' || c == '&' || c == '<' || c == '>')
            text_add_format(text, "&#%d;", c);
        else
            text_add_char(text, c);
    }
    text_add_char(text, '"');
    text_finish(&safe);
}

static bool csv_exact;

void text_csv_exact(bool exact) {
    csv_exact = exact;
}

// Whether a spreadsheet would take the text for a formula. A number is none.
static bool is_formula(const char *bytes, size_t length) {
    char number[32], *end;
    if (csv_exact || !length || !memchr("=+-@'\t\r", bytes[0], 7))
        return false;
    if (length >= sizeof number || (bytes[0] != '-' && bytes[0] != '+'))
        return true;
    memcpy(number, bytes, length);
    number[length] = '\0';
    (void)strtod(number, &end);
    return end == number || *end != '\0';
}

void text_add_guarded_csv(struct text *text, const char *bytes, size_t length) {
    bool quoted = false, begins = true;
    for (size_t i = 0; i < length; i++) {
        if (begins) {
            begins = false;
            quoted = bytes[i] == '"';
            const size_t at = i + quoted;
            size_t end = at;
            while (end < length && (quoted ? bytes[end] != '"' : !memchr(",\r\n", bytes[end], 3)))
                end++;
            if (quoted)
                text_add_char(text, '"');
            if (is_formula(bytes + at, end - at))
                text_add_char(text, '\'');
            if (quoted)
                continue;
        } else if (quoted && bytes[i] == '"') {
            quoted = i + 1 < length && bytes[i + 1] == '"'; // two of them are one in the text
            i += quoted;
            if (quoted)
                text_add_char(text, '"');
        }
        begins = !quoted && (bytes[i] == ',' || bytes[i] == '\n');
        text_add_char(text, bytes[i]);
    }
}

void text_add_lines(struct text *text, const char *bytes, size_t length, bool json) {
    for (size_t i = 0, size; i < length; i += size) {
        uint32_t code = decode((const unsigned char *)bytes + i, length - i, &size);
        char escaped[16];
        size_t escape_length =
            code == '\n' || code == '\r' || code == '\t' ? 0 : escape(code, (unsigned char)bytes[i], escaped);
        if (!escape_length)
            text_add(text, bytes + i, size);
        else if (!json || code == INVALID)
            text_add(text, escaped, escape_length);
        else if (code < 0x10000)
            text_add_format(text, "\\u%04" PRIx32, code);
        else
            text_add_format(text, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                            0xdc00 + (code & 0x3ff));
    }
}

void text_add_csv(struct text *text, tsmith_string name) {
    const unsigned char *bytes = (const unsigned char *)name.bytes;
    bool quote = false;
    if (!name.length)
        return;
    const bool formula = is_formula(name.bytes, name.length);
    if (!formula && plain_length(name.bytes, name.length) == name.length &&
        !memchr(name.bytes, ',', name.length)) {
        text_add(text, name.bytes, name.length);
        return;
    }
    for (size_t i = 0; i < name.length && !quote; i++)
        quote = bytes[i] == '"' || bytes[i] == ',' || bytes[i] == '\n' || bytes[i] == '\r';
    if (quote)
        text_add_char(text, '"');
    if (formula)
        text_add_char(text, '\'');
    for (size_t i = 0, size; i < name.length; i += size) {
        uint32_t code = decode(bytes + i, name.length - i, &size);
        if (code == INVALID || code == 0)
            text_add_cstr(text, "\xef\xbf\xbd");
        else
            text_add(text, name.bytes + i, size);
        if (code == '"')
            text_add_char(text, '"');
    }
    if (quote)
        text_add_char(text, '"');
}

// ---- padding

void text_add_wrapped(struct text *text, tsmith_string words, size_t indent, size_t column, size_t width) {
    size_t start = column;
    for (size_t i = 0; i < words.length;) {
        size_t word = 0;
        while (i + word < words.length && words.bytes[i + word] != ' ')
            word++;
        size_t columns = text_columns(words.bytes + i, word);
        if (column > start && column + 1 + columns > width) {
            text_add_char(text, '\n');
            text_add_repeat(text, ' ', indent);
            column = start = indent;
        } else if (column > start) {
            text_add_char(text, ' ');
            column++;
        }
        text_add(text, words.bytes + i, word);
        column += columns;
        i += word + (i + word < words.length);
    }
    text_add_char(text, '\n');
}

void text_wrap(struct text *text, size_t from, size_t indent, size_t width) {
    struct text lines = {0};
    text_add(&lines, text->bytes + from, text->length - from);
    text->length = from;
    for (size_t at = 0; at < lines.length;) {
        const char *end = memchr(lines.bytes + at, '\n', lines.length - at);
        const size_t length = end ? (size_t)(end - lines.bytes) - at : lines.length - at;
        text_add_wrapped(text, (tsmith_string){lines.bytes + at, length}, indent, 0, width);
        at += length + 1;
    }
    text_finish(&lines);
}

void text_pad_left(struct text *text, size_t from, size_t width) {
    size_t length = text->length - from;
    if (length >= width || !reserve(text, width - length))
        return;
    memmove(text->bytes + from + (width - length), text->bytes + from, length);
    memset(text->bytes + from, ' ', width - length);
    text->length += width - length;
}

void text_pad_right(struct text *text, size_t columns, size_t width) {
    if (columns < width)
        text_add_repeat(text, ' ', width - columns);
}

// The length of a color at `at`, 0 when there is none.
static size_t color_length(const char *at, size_t left) {
    if (left < 2 || at[0] != '\x1b' || at[1] != '[')
        return 0;
    for (size_t i = 2; i < left; i++)
        if (at[i] == 'm')
            return i + 1;
    return 0;
}

void text_cut(struct text *text, size_t from, size_t width) {
    size_t columns = 0;
    size_t kept = from;
    size_t size;
    for (size_t i = from; i < text->length; i += size) {
        size = color_length(text->bytes + i, text->length - i);
        bool is_color = size > 0;
        if (!is_color)
            columns += width_of(decode((const unsigned char *)text->bytes + i, text->length - i, &size));
        if (!is_color && columns > width)
            continue;
        memmove(text->bytes + kept, text->bytes + i, size);
        kept += size;
    }
    text->length = text->failed ? text->length : kept;
}

size_t text_columns(const char *bytes, size_t length) {
    size_t columns = 0;
    for (size_t i = 0, size; i < length; i += size) {
        uint32_t code = decode((const unsigned char *)bytes + i, length - i, &size);
        columns += code == INVALID ? 1 : width_of(code);
    }
    return columns;
}
