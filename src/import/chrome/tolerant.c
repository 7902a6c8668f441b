// SPDX-License-Identifier: Apache-2.0
// Guesses where a string, a nested value or an event ends, or the next one begins, in text with quotes that were not escaped.
// reader.c calls it.
#include <string.h>

#include "import/chrome/reader.h"
#include "import/json_scan.h"

bool reader_ends_string(const char *at, const char *end, bool key) {
    const char *next = json_skip_space(at + 1, end);
    if (next >= end)
        return true;
    if (key)
        return *next == ':';
    if (*next == ',') {
        next = json_skip_space(next + 1, end);
        return next >= end || strchr("\"[{-0123456789tfnNI}]", *next);
    }
    return *next == '}' || *next == ']';
}

const char *reader_find_event(const char *at, const char *end) {
    for (; (at = memchr(at, '}', (size_t)(end - at))) != NULL; at++) {
        const char *comma = json_skip_space(at + 1, end);
        if (comma >= end || *comma != ',')
            continue;
        const char *brace = json_skip_space(comma + 1, end);
        if (brace >= end || *brace != '{')
            continue;
        const char *quote = json_skip_space(brace + 1, end);
        if (quote < end && *quote == '"')
            return brace;
    }
    return NULL;
}

const char *reader_tolerant_nested_end(const char *at, const char *end) {
    size_t depth = 0;
    bool plain;
    for (; at < end; at++) {
        if (*at == '"') {
            const char *quote = json_string_end(at + 1, end, &plain);
            while (quote && !reader_ends_string(quote, end, false) && !reader_ends_string(quote, end, true))
                quote = json_string_end(quote + 1, end, &plain);
            if (!quote)
                return NULL;
            at = quote;
        } else if (*at == '[' || *at == '{') {
            depth++;
        } else if ((*at == ']' || *at == '}') && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}
