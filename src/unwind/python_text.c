// SPDX-License-Identifier: Apache-2.0
// Reads CPython's strings and line tables. python.c calls it.
#include "unwind/python_text.h"

#include <stdbool.h>

enum { NO_LINE = -128, LOCATION_SHORT_MAX = 9, LOCATION_ONE_LINE_MAX = 12, LOCATION_NONE = 15 };

// --- strings -------------------------------------------------------------------------------------

static size_t put_utf8(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00 >> length) | code);
    return length;
}

size_t python_text(const struct python_layout *layout, uint64_t object, char *text, size_t capacity) {
    uint64_t length = python_word(object + PYTHON_SIZE);
    uint32_t state = (uint32_t)python_int(object + PYTHON_TEXT_STATE);
    uint32_t kind = state >> 2 & 7;
    bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    uint64_t characters = object + (is_ascii ? layout->ascii_text : layout->text);
    size_t used = 0;
    for (uint64_t i = 0; i < length && used + 4 <= capacity; i++) {
        uint32_t code = 0;
        memcpy(&code, (const void *)(uintptr_t)(characters + i * kind), kind);
        used += put_utf8(code, text + used);
    }
    return used;
}

// --- lines ---------------------------------------------------------------------------------------

struct table {
    const uint8_t *at, *end;
};

static int64_t line_of_lnotab(struct table table, int64_t line, uint64_t instruction) {
    for (uint64_t offset = 0; table.end - table.at >= 2; table.at += 2) {
        offset += table.at[0];
        if (offset > instruction)
            break;
        line += (int8_t)table.at[1];
    }
    return line;
}

static int64_t line_of_ranges(struct table table, int64_t line, uint64_t instruction) {
    for (uint64_t end = 0; table.end - table.at >= 2; table.at += 2) {
        int8_t step = (int8_t)table.at[1];
        end += table.at[0];
        if (step != NO_LINE)
            line += step;
        if (instruction < end)
            return step == NO_LINE ? 0 : line;
    }
    return 0;
}

// Six bits a byte, the lowest first, bit 6 when more follow; signed ones have their sign in bit 0.
static int64_t signed_varint(const struct table *table, const uint8_t *at) {
    uint64_t value = 0;
    for (unsigned shift = 0; at < table->end && shift < 60; at++, shift += 6) {
        value |= (uint64_t)(*at & 0x3f) << shift;
        if (!(*at & 0x40))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_of_locations(struct table table, int64_t line, uint64_t instruction) {
    for (uint64_t end = 0; table.at < table.end;) {
        uint32_t form = *table.at >> 3 & 15;
        end += ((uint64_t)(*table.at & 7) + 1) * 2;
        table.at++;
        if (form == LOCATION_NONE - 1 || form == LOCATION_NONE - 2)
            line += signed_varint(&table, table.at);
        else if (form > LOCATION_SHORT_MAX && form <= LOCATION_ONE_LINE_MAX)
            line += form - LOCATION_SHORT_MAX - 1;
        if (instruction < end)
            return form == LOCATION_NONE ? 0 : line;
        while (table.at < table.end && !(*table.at & 0x80))
            table.at++;
    }
    return 0;
}

uint32_t python_line(const struct python_layout *layout, uint64_t code, uint64_t instruction) {
    uint64_t lines = python_word(code + layout->code_lines), size = python_word(lines + PYTHON_SIZE);
    int64_t first = python_int(code + layout->code_first_line);
    const uint8_t *begin = (const uint8_t *)(uintptr_t)(lines + PYTHON_BYTES);
    struct table table = {begin, begin + size};
    int64_t line = layout->lines_kind == PYTHON_LNOTAB   ? line_of_lnotab(table, first, instruction)
                   : layout->lines_kind == PYTHON_RANGES ? line_of_ranges(table, first, instruction)
                                                         : line_of_locations(table, first, instruction);
    return line > 0 && line < 1 << 24 ? (uint32_t)line : 0;
}
