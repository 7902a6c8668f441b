// SPDX-License-Identifier: Apache-2.0
// Texts and the dictionaries of arrays. Used by everything of this room.
#include "arrow/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "event/batch.h"

static const char REPLACEMENT[] = "\xef\xbf\xbd"; // U+FFFD

bool arrow_bytes_begin(struct arrow_bytes *bytes) {
    if (bytes->offsets)
        return true;
    if (!ARRAY_RESERVE(bytes->offsets, bytes->offset_capacity, 1) ||
        !ARRAY_RESERVE(bytes->bytes, bytes->capacity, 1))
        return false;
    bytes->offsets[0] = 0;
    return true;
}

static bool append_bytes(struct arrow_bytes *bytes, const char *text, size_t length) {
    if (!ARRAY_RESERVE(bytes->bytes, bytes->capacity, bytes->length + length))
        return false;
    if (length)
        memcpy(bytes->bytes + bytes->length, text, length);
    bytes->length += length;
    return true;
}

bool arrow_bytes_add(struct arrow_bytes *bytes, const char *text, size_t length, bool utf8) {
    if (!arrow_bytes_begin(bytes) || !ARRAY_RESERVE(bytes->offsets, bytes->offset_capacity, bytes->count + 2))
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

void arrow_bytes_finish(struct arrow_bytes *bytes) {
    free(bytes->bytes);
    free(bytes->offsets);
    *bytes = (struct arrow_bytes){.bytes = NULL};
}

static struct arrow_text *begin(void) {
    struct arrow_text *text = calloc(1, sizeof *text);
    if (!text)
        return NULL;
    atomic_init(&text->holders, 1);
    if (!arrow_bytes_begin(&text->strings)) {
        arrow_text_release(text);
        return NULL;
    }
    return text;
}

struct arrow_text *arrow_text_of_strings(const tsmith_dictionary *dictionary, uint32_t count) {
    struct arrow_text *text = begin();
    for (uint32_t id = 0; text && id < count; id++) {
        const tsmith_string string = tsmith_dictionary_string(dictionary, id);
        if (!arrow_bytes_add(&text->strings, string.bytes, string.length, true)) {
            arrow_text_release(text);
            return NULL;
        }
    }
    return text;
}

struct arrow_text *arrow_text_of_words(tsmith_type type) {
    struct arrow_text *text = begin();
    for (unsigned value = 0; text && value <= UINT8_MAX; value++) {
        char number[8];
        const char *word = tsmith_value_name(type, value);
        if (!word)
            (void)snprintf(number, sizeof number, "%u", value);
        word = word ? word : number;
        if (!arrow_bytes_add(&text->strings, word, strlen(word), true)) {
            arrow_text_release(text);
            return NULL;
        }
    }
    return text;
}

struct arrow_text *arrow_text_hold(struct arrow_text *text) {
    (void)atomic_fetch_add_explicit(&text->holders, 1, memory_order_relaxed);
    return text;
}

void arrow_text_release(struct arrow_text *text) {
    if (!text || atomic_fetch_sub_explicit(&text->holders, 1, memory_order_acq_rel) != 1)
        return;
    arrow_bytes_finish(&text->strings);
    free(text);
}
