// SPDX-License-Identifier: Apache-2.0
// Checks JSON and measures UTF-8. The importers, the exporters and the writers of reports call it.
#include "base/json.h"

#include <stdint.h>
#include <string.h>

enum { MAX_DEPTH = 1000 };

unsigned json_utf8_length(const char *text, size_t left) {
    const unsigned char *at = (const unsigned char *)text;
    if (left && at[0] < 0x80)
        return 1;
    if (left < 2 || at[0] < 0xc2 || at[0] > 0xf4 || (at[1] & 0xc0) != 0x80)
        return 0;
    if (at[0] < 0xe0)
        return 2;
    if (left < 3 || (at[2] & 0xc0) != 0x80)
        return 0;
    if (at[0] < 0xf0) {
        bool overlong = at[0] == 0xe0 && at[1] < 0xa0, surrogate = at[0] == 0xed && at[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    bool overlong = at[0] == 0xf0 && at[1] < 0x90, too_high = at[0] == 0xf4 && at[1] > 0x8f;
    return left < 4 || (at[3] & 0xc0) != 0x80 || overlong || too_high ? 0 : 4;
}

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *cursor) {
    while (cursor->at < cursor->end && memchr(" \t\r\n", *cursor->at, 4))
        cursor->at++;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool take_escape(struct cursor *cursor) {
    if (cursor->end - cursor->at < 2)
        return false;
    char kind = cursor->at[1];
    if (kind != 'u') {
        cursor->at += 2;
        return kind && strchr("\"\\/bfnrt", kind);
    }
    if (cursor->end - cursor->at < 6)
        return false;
    for (int i = 2; i < 6; i++)
        if (!is_hex(cursor->at[i]))
            return false;
    cursor->at += 6;
    return true;
}

static bool take_string(struct cursor *cursor) {
    cursor->at++;
    while (cursor->at < cursor->end) {
        unsigned char c = (unsigned char)*cursor->at;
        if (c == '"') {
            cursor->at++;
            return true;
        }
        if (c < 0x20)
            return false;
        if (c == '\\') {
            if (!take_escape(cursor))
                return false;
            continue;
        }
        unsigned length = json_utf8_length(cursor->at, (size_t)(cursor->end - cursor->at));
        if (!length)
            return false;
        cursor->at += length;
    }
    return false;
}

static bool take_digits(struct cursor *cursor) {
    const char *from = cursor->at;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9')
        cursor->at++;
    return cursor->at > from;
}

static bool take_number(struct cursor *cursor) {
    if (*cursor->at == '-')
        cursor->at++;
    const char *first = cursor->at;
    if (!take_digits(cursor) || (*first == '0' && cursor->at > first + 1))
        return false;
    if (cursor->at < cursor->end && *cursor->at == '.') {
        cursor->at++;
        if (!take_digits(cursor))
            return false;
    }
    if (cursor->at < cursor->end && (*cursor->at == 'e' || *cursor->at == 'E')) {
        cursor->at++;
        if (cursor->at < cursor->end && (*cursor->at == '-' || *cursor->at == '+'))
            cursor->at++;
        return take_digits(cursor);
    }
    return true;
}

static bool take_word(struct cursor *cursor, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
        return false;
    cursor->at += length;
    return true;
}

static bool take_scalar(struct cursor *cursor) {
    switch (*cursor->at) {
    case '"':
        return take_string(cursor);
    case 't':
        return take_word(cursor, "true");
    case 'f':
        return take_word(cursor, "false");
    case 'n':
        return take_word(cursor, "null");
    default:
        return take_number(cursor);
    }
}

// `"key":` in front of a value of an object.
static bool take_key(struct cursor *cursor) {
    skip_space(cursor);
    if (cursor->at >= cursor->end || *cursor->at != '"' || !take_string(cursor))
        return false;
    skip_space(cursor);
    if (cursor->at >= cursor->end || *cursor->at != ':')
        return false;
    cursor->at++;
    return true;
}

// Open brackets, one bit each: 1 for an object.
struct open {
    uint64_t objects[MAX_DEPTH / 64 + 1];
    unsigned depth;
};

static bool in_object(const struct open *open) {
    unsigned top = open->depth - 1;
    return open->objects[top / 64] >> (top % 64) & 1;
}

// At `[` or `{`: one level down, and past the bracket that closes it when it is empty.
static bool enter(struct cursor *cursor, struct open *open, bool *value_comes) {
    if (open->depth >= MAX_DEPTH)
        return false;
    bool object = *cursor->at == '{';
    uint64_t bit = (uint64_t)1 << (open->depth % 64);
    uint64_t *word = &open->objects[open->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    open->depth++;
    cursor->at++;
    skip_space(cursor);
    *value_comes = !(cursor->at < cursor->end && *cursor->at == (object ? '}' : ']'));
    return !*value_comes || !object || take_key(cursor);
}

// After a value: closes what is closed, and gets to the next value if there is one.
static bool leave(struct cursor *cursor, struct open *open, bool *value_comes) {
    while (open->depth) {
        skip_space(cursor);
        if (cursor->at >= cursor->end)
            return false;
        bool object = in_object(open);
        char c = *cursor->at++;
        if (c == ',') {
            *value_comes = true;
            return !object || take_key(cursor);
        }
        if (c != (object ? '}' : ']'))
            return false;
        open->depth--;
    }
    *value_comes = false;
    return true;
}

bool json_is_valid(const char *text, size_t length) {
    struct cursor cursor = {text, text + length};
    struct open open = {.depth = 0};
    bool value_comes = true;
    while (value_comes) {
        skip_space(&cursor);
        if (cursor.at >= cursor.end)
            return false;
        bool nested = *cursor.at == '[' || *cursor.at == '{';
        if (!(nested ? enter(&cursor, &open, &value_comes) : take_scalar(&cursor)))
            return false;
        if ((!nested || !value_comes) && !leave(&cursor, &open, &value_comes))
            return false;
    }
    skip_space(&cursor);
    return cursor.at == cursor.end;
}
