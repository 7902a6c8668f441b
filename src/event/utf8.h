// SPDX-License-Identifier: Apache-2.0
// Strings as UTF-8, one after the other with 64-bit offsets, as Arrow has them. Bytes of a trace that are not UTF-8 become U+FFFD.
#ifndef EVENT_UTF8_H
#define EVENT_UTF8_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

// Zero-initialized, it is empty.
struct utf8_bytes {
    char *bytes;
    size_t length, capacity;
    int64_t *offsets; // count + 1 once there is a string
    size_t count, offset_capacity;
};

// Adds a string; with `utf8` bytes that are no UTF-8 become U+FFFD. False when memory is exhausted.
bool utf8_bytes_add(struct utf8_bytes *bytes, const char *text, size_t length, bool utf8);
// Makes the offsets of an array that has no string yet. False when memory is exhausted.
bool utf8_bytes_begin(struct utf8_bytes *bytes);
void utf8_bytes_finish(struct utf8_bytes *bytes);

// A copy of a text, as UTF-8; NULL when memory is exhausted. The caller frees it.
char *utf8_copy(const char *text);

// Strings that several arrays share. They never change.
struct utf8_text {
    atomic_uint holders;
    struct utf8_bytes strings;
};

// Words of a type of the vocabulary: a reader with 8-bit indices (pyarrow) combines dictionaries of up to 255 words. No number is 255,
// except in a damaged trace, where it is unknown.
enum { UTF8_WORDS = 255 };

// Strings 0 .. count-1 of a dictionary, or the words of one of the vocabulary's own types (kind, operation...), by number
// below UTF8_WORDS. One holder; NULL when memory is exhausted.
struct utf8_text *utf8_text_of_strings(const tsmith_dictionary *dictionary, uint32_t count);
struct utf8_text *utf8_text_of_words(tsmith_type type);
struct utf8_text *utf8_text_hold(struct utf8_text *text);
void utf8_text_release(struct utf8_text *text); // NULL is allowed

#endif
