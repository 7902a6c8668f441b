// SPDX-License-Identifier: Apache-2.0
// Texts of traces as UTF-8. Used by src/arrow, the list of columns, and the exports to Arrow IPC and Parquet.
#include "event/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "event/batch.h"

static const char REPLACEMENT[] = "\xef\xbf\xbd"; // U+FFFD

bool utf8_bytes_begin(struct utf8_bytes *bytes) {
    if (bytes->offsets)
        return true;
    if (!ARRAY_RESERVE(bytes->offsets, bytes->offset_capacity, 1) ||
        !ARRAY_RESERVE(bytes->bytes, bytes->capacity, 1))
        return false;
    bytes->offsets[0] = 0;
    return true;
}

static bool append_bytes(struct utf8_bytes *bytes, const char *text, size_t length) {
    if (!ARRAY_RESERVE(bytes->bytes, bytes->capacity, bytes->length + length))
        return false;
    if (length)
        memcpy(bytes->bytes + bytes->length, text, length);
    bytes->length += length;
    return true;
}

bool utf8_bytes_add(struct utf8_bytes *bytes, const char *text, size_t length, bool utf8) {
    if (!utf8_bytes_begin(bytes) || !ARRAY_RESERVE(bytes->offsets, bytes->offset_capacity, bytes->count + 2))
        return false;
    size_t at = 0, good = 0; // text[good .. at) is UTF-8 and not put yet
    while (utf8 && at < length) {
        const unsigned char c = (unsigned char)text[at];
        const unsigned character = c < 0x80 ? 1 : json_utf8_length(text + at, length - at);
        if (!character) {
            if (!append_bytes(bytes, text + good, at - good) ||
                !append_bytes(bytes, REPLACEMENT, sizeof REPLACEMENT - 1))
                return false;
            good = at + 1;
        }
        at += character ? character : 1;
    }
    if (!append_bytes(bytes, text + good, length - good))
        return false;
    bytes->offsets[++bytes->count] = (int64_t)bytes->length;
    return true;
}

void utf8_bytes_finish(struct utf8_bytes *bytes) {
    free(bytes->bytes);
    free(bytes->offsets);
    *bytes = (struct utf8_bytes){.bytes = NULL};
}

char *utf8_copy(const char *text) {
    struct utf8_bytes bytes = {.bytes = NULL};
    char *out = NULL;
    if (utf8_bytes_add(&bytes, text, strlen(text), true) && (out = malloc(bytes.length + 1))) {
        memcpy(out, bytes.bytes, bytes.length);
        out[bytes.length] = '\0';
    }
    utf8_bytes_finish(&bytes);
    return out;
}

static struct utf8_text *begin(void) {
    struct utf8_text *text = calloc(1, sizeof *text);
    if (!text)
        return NULL;
    atomic_init(&text->holders, 1);
    if (!utf8_bytes_begin(&text->strings)) {
        utf8_text_release(text);
        return NULL;
    }
    return text;
}

struct utf8_text *utf8_text_of_strings(const tsmith_dictionary *dictionary, uint32_t count) {
    struct utf8_text *text = begin();
    for (uint32_t id = 0; text && id < count; id++) {
        const tsmith_string string = tsmith_dictionary_string(dictionary, id);
        if (!utf8_bytes_add(&text->strings, string.bytes, string.length, true)) {
            utf8_text_release(text);
            return NULL;
        }
    }
    return text;
}

struct utf8_text *utf8_text_of_words(tsmith_type type) {
    struct utf8_text *text = begin();
    for (unsigned value = 0; text && value < UTF8_WORDS; value++) {
        char number[8];
        const char *word = tsmith_value_name(type, value);
        if (!word)
            (void)snprintf(number, sizeof number, "%u", value);
        word = word ? word : number;
        if (!utf8_bytes_add(&text->strings, word, strlen(word), true)) {
            utf8_text_release(text);
            return NULL;
        }
    }
    return text;
}

struct utf8_text *utf8_text_hold(struct utf8_text *text) {
    (void)atomic_fetch_add_explicit(&text->holders, 1, memory_order_relaxed);
    return text;
}

void utf8_text_release(struct utf8_text *text) {
    if (!text || atomic_fetch_sub_explicit(&text->holders, 1, memory_order_acq_rel) != 1)
        return;
    utf8_bytes_finish(&text->strings);
    free(text);
}
