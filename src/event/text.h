// SPDX-License-Identifier: Apache-2.0
#ifndef EVENT_TEXT_H
#define EVENT_TEXT_H

#include <string.h>

#include "tracesmith/dictionary.h"

// By their bytes, as memcmp; a text that is a prefix of the other comes first.
static inline int text_compare(tsmith_string a, tsmith_string b) {
    const size_t common = a.length < b.length ? a.length : b.length;
    const int order = common ? memcmp(a.bytes, b.bytes, common) : 0;
    return order ? order : (a.length > b.length) - (a.length < b.length);
}

// The same of two of a dictionary.
static inline int text_compare_ids(const tsmith_dictionary *dictionary, uint32_t a, uint32_t b) {
    return text_compare(tsmith_dictionary_string(dictionary, a), tsmith_dictionary_string(dictionary, b));
}

#endif
