// SPDX-License-Identifier: Apache-2.0
// Strings as Arrow has them: one after the other, with 64-bit offsets.
#ifndef ARROW_TEXT_H
#define ARROW_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

// Zero-initialized, it is empty.
struct arrow_bytes {
    char *bytes;
    size_t length, capacity;
    int64_t *offsets; // count + 1 once there is a string
    size_t count, offset_capacity;
};

// Adds a string; with `utf8` bytes that are no UTF-8 become U+FFFD. False when memory is exhausted.
bool arrow_bytes_add(struct arrow_bytes *bytes, const char *text, size_t length, bool utf8);
// Makes the offsets of an array that has no string yet. False when memory is exhausted.
bool arrow_bytes_begin(struct arrow_bytes *bytes);
void arrow_bytes_finish(struct arrow_bytes *bytes);

// Strings that several arrays share. They never change.
struct arrow_text {
    atomic_uint holders;
    struct arrow_bytes strings;
};

// Strings 0 .. count-1 of a dictionary, or the words of one of the vocabulary's own types (kind, operation...), by number
// 0 .. 255. One holder; NULL when memory is exhausted.
struct arrow_text *arrow_text_of_strings(const tsmith_dictionary *dictionary, uint32_t count);
struct arrow_text *arrow_text_of_words(tsmith_type type);
struct arrow_text *arrow_text_hold(struct arrow_text *text);
void arrow_text_release(struct arrow_text *text); // NULL is allowed

#endif
