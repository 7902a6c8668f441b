// SPDX-License-Identifier: Apache-2.0
// Invariant: an entry's raw bytes are in the arena and never move; when there are too many bytes or entries the
// whole table is thrown away and filled anew (the dictionary still knows every string).
#include "import/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/table.h"
#include "import/json_scan.h"

enum { FIRST_SLOTS = 1 << 12, MAX_SLOTS = 1 << 20, MAX_ARENA_BYTES = 24 << 20 };

struct text_entry {
    uint64_t hash; // 0: empty
    const char *raw;
    uint32_t length;
    uint32_t id;
    uint8_t nested, form;
};

// 16 bytes per multiplication; never 0.
static uint64_t hash_raw(const char *at, size_t length, uint64_t seed) {
    const uint64_t first = 0x9e3779b97f4a7c15u, second = 0xd6e8feb86659fd93u;
    uint64_t hash = seed ^ (length * first);
    uint64_t a = 0, b = 0;
    for (; length > 16; at += 16, length -= 16) {
        unsigned __int128 product =
            (unsigned __int128)(bytes_get_u64(at) ^ first ^ hash) * (bytes_get_u64(at + 8) ^ second);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    if (length >= 8) {
        a = bytes_get_u64(at);
        b = bytes_get_u64(at + length - 8);
    } else if (length >= 4) {
        a = bytes_get_u32(at);
        b = bytes_get_u32(at + length - 4);
    } else if (length) {
        a = (uint64_t)(unsigned char)at[0] << 16 | (uint64_t)(unsigned char)at[length / 2] << 8 |
            (unsigned char)at[length - 1];
    }
    unsigned __int128 product = (unsigned __int128)(a ^ first ^ hash) * (b ^ second);
    hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    return hash ? hash : 1;
}

void texts_finish(struct texts *texts) {
    arena_finish(&texts->arena);
    free(texts->entries);
    free(texts->scratch);
    *texts = (struct texts){0};
}

static char *scratch(struct texts *texts, size_t size) {
    if (!ARRAY_RESERVE(texts->scratch, texts->scratch_capacity, size)) {
        texts->failed = true;
        return NULL;
    }
    return texts->scratch;
}

// ---- decoding

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The code unit of \uXXXX at `at`, -1 when it is none.
static int32_t code_unit(const char *at, const char *end) {
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    int32_t value = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

// \udc80 .. \udcff alone is a byte that was no UTF-8; another lone surrogate is kept in three bytes.
static const char *decode_unicode(const char *at, const char *end, char **out) {
    int32_t unit = code_unit(at, end);
    if (unit < 0)
        return NULL;
    at += 6;
    int32_t next = unit >= 0xd800 && unit < 0xdc00 ? code_unit(at, end) : -1;
    if (next >= 0xdc00 && next < 0xe000) {
        *out = put_utf8(*out, (uint32_t)(0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00)));
        return at + 6;
    }
    if (unit >= 0xdc80 && unit <= 0xdcff)
        *(*out)++ = (char)(unit - 0xdc00);
    else
        *out = put_utf8(*out, (uint32_t)unit);
    return at;
}

static size_t decode(struct texts *texts, const char *raw, size_t length, char *into) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *at = raw, *end = raw + length;
    char *out = into;
    bool bad = false, control = false;
    while (at < end) {
        control |= (unsigned char)*at < 0x20;
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
        const char *after = name ? at + 2 : decode_unicode(at, end, &out);
        if (name)
            *out++ = meanings[name - names];
        bad |= after == NULL;
        if (!after)
            *out++ = *at++;
        else
            at = after;
    }
    texts->problems->counts[PROBLEM_BAD_ESCAPE] += bad;
    texts->problems->counts[PROBLEM_CONTROL_CHARACTER] += control;
    return (size_t)(out - into);
}

static bool is_utf8(const char *at, size_t length) {
    while (length) {
        if (length >= 8 && !(bytes_get_u64(at) & 0x8080808080808080u)) {
            at += 8;
            length -= 8;
            continue;
        }
        unsigned taken = json_utf8_length(at, length);
        if (!taken)
            return false;
        at += taken;
        length -= taken;
    }
    return true;
}

static uint32_t make_string(struct texts *texts, const char *raw, size_t length, bool plain) {
    if (!plain) {
        char *decoded = scratch(texts, length + 1);
        if (!decoded)
            return 0;
        length = decode(texts, raw, length, decoded);
        raw = decoded;
    }
    texts->problems->counts[PROBLEM_INVALID_UTF8] += !is_utf8(raw, length);
    return tsmith_dictionary_intern(texts->dictionary, raw, length);
}

// ---- nested values

static char *put_byte_escape(char *out, unsigned char byte) {
    static const char digits[] = "0123456789abcdef";
    memcpy(out, byte < 0x20 ? "\\u00" : "\\udc", 4);
    out[4] = digits[byte >> 4];
    out[5] = digits[byte & 15];
    return out + 6;
}

// The string at `at` (a quote) with nothing in it that JSON does not allow; just past it.
static const char *clean_string(const char *at, const char *end, char **out, bool *control, bool *bytes) {
    char *to = *out;
    *to++ = *at++;
    while (at < end && *at != '"') {
        unsigned length = json_utf8_length(at, (size_t)(end - at));
        if (*at == '\\' && at + 1 < end) {
            length = 2;
        } else if (length == 0 || (unsigned char)*at < 0x20) {
            *(length ? control : bytes) = true;
            to = put_byte_escape(to, (unsigned char)*at++);
            continue;
        }
        memcpy(to, at, length);
        to += length;
        at += length;
    }
    if (at < end)
        *to++ = *at++;
    *out = to;
    return at;
}

// NaN, Infinity and -Infinity become strings. Just past the word, or NULL when there is none.
static const char *clean_word(const char *at, const char *end, char **out) {
    static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
    for (int i = 0; i < 3; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(end - at) >= length && memcmp(at, words[i], length) == 0) {
            char *to = *out;
            *to++ = '"';
            memcpy(to, at, length);
            to[length] = '"';
            *out = to + length + 1;
            return at + length;
        }
    }
    return NULL;
}

static uint32_t make_json(struct texts *texts, const char *raw, size_t length, enum text_form *form) {
    char *into = scratch(texts, length * 6 + 16);
    if (!into)
        return 0;
    const char *at = raw, *end = raw + length;
    char *out = into;
    bool control = false, bytes = false;
    while (at < end) {
        const char *word;
        if (*at == '"') {
            at = clean_string(at, end, &out, &control, &bytes);
        } else if ((*at == 'N' || *at == 'I' || *at == '-') && (word = clean_word(at, end, &out))) {
            at = word;
            texts->problems->counts[PROBLEM_NOT_A_NUMBER]++;
        } else {
            const bool space = *at == ' ' || *at == '\t' || *at == '\r' || *at == '\n';
            *out = *at++; // a space is overwritten by what comes next
            out += !space;
        }
    }
    bool valid = json_is_valid(into, (size_t)(out - into));
    *form = valid ? TEXT_JSON : TEXT_STRING;
    texts->problems->counts[PROBLEM_MALFORMED_VALUE] += !valid;
    texts->problems->counts[PROBLEM_CONTROL_CHARACTER] += valid && control;
    texts->problems->counts[PROBLEM_INVALID_UTF8] += valid && bytes;
    return valid ? tsmith_dictionary_intern(texts->dictionary, into, (size_t)(out - into))
                 : tsmith_dictionary_intern(texts->dictionary, raw, length);
}

uint32_t texts_json_once(struct texts *texts, const char *raw, size_t length, enum text_form *form) {
    return make_json(texts, raw, length, form);
}

// ---- the table

// Room for one more entry.
static bool make_room(struct texts *texts) {
    bool full = texts->used >= texts->slots / 2;
    if (texts->arena_bytes > MAX_ARENA_BYTES || (full && texts->slots >= MAX_SLOTS)) {
        arena_finish(&texts->arena);
        texts->arena_bytes = 0;
        texts->used = 0;
        memset(texts->entries, 0, texts->slots * sizeof *texts->entries);
        return true;
    }
    return TABLE_ROOM(texts->entries, texts->slots, texts->used, FIRST_SLOTS, slot, slot->hash, slot->hash);
}

static struct text_entry *find(const struct texts *texts, uint64_t hash, const char *raw, size_t length,
                               bool nested) {
    return TABLE_SLOT(texts->entries, texts->slots, hash, entry,
                      !entry->hash || (entry->hash == hash && entry->length == length &&
                                       entry->nested == nested && memcmp(entry->raw, raw, length) == 0));
}

static uint32_t look_up(struct texts *texts, const char *raw, size_t length, bool nested, bool plain,
                        enum text_form *form) {
    if (!make_room(texts)) {
        texts->failed = true;
        return 0;
    }
    uint64_t hash = hash_raw(raw, length, nested);
    struct text_entry *entry = find(texts, hash, raw, length, nested);
    if (entry->hash) {
        *form = (enum text_form)entry->form;
        return entry->id;
    }
    uint32_t id = nested ? make_json(texts, raw, length, form) : make_string(texts, raw, length, plain);
    char *copy = arena_copy(&texts->arena, raw, length);
    if (!copy) {
        texts->failed = true;
        return id;
    }
    texts->arena_bytes += length + 1;
    texts->used++;
    *entry = (struct text_entry){hash, copy, (uint32_t)length, id, nested, (uint8_t)*form};
    return id;
}

uint32_t texts_string(struct texts *texts, const char *raw, size_t length, bool plain) {
    enum text_form form = TEXT_STRING;
    return length ? look_up(texts, raw, length, false, plain, &form) : 0;
}

uint32_t texts_json(struct texts *texts, const char *raw, size_t length, enum text_form *form) {
    return look_up(texts, raw, length, true, true, form);
}
