// SPDX-License-Identifier: Apache-2.0
// Strings and nested values of JSON, from their bytes in the file to string ids. The same bytes come again and
// again: they are decoded, checked and interned once, and found by their raw bytes after that.
#ifndef IMPORT_TEXTS_H
#define IMPORT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "import/problems.h"
#include "tracesmith/dictionary.h"

struct text_entry;

struct texts {
    tsmith_dictionary *dictionary;
    struct problems *problems;
    struct text_entry *entries;
    size_t slots, used;
    struct arena arena; // raw bytes of the entries
    size_t arena_bytes;
    char *scratch;
    size_t scratch_capacity;
    bool failed; // out of memory
};

enum text_form { TEXT_STRING, TEXT_JSON };

void texts_finish(struct texts *texts);

// The id of the string whose content in the file is raw[0 .. length): without quotes, with its escapes. `plain`
// as in json_string_end.
uint32_t texts_string(struct texts *texts, const char *raw, size_t length, bool plain);
// The id of a nested value as JSON without needless spaces. What is no JSON is interned as it is and *form is
// then TEXT_STRING.
uint32_t texts_json(struct texts *texts, const char *raw, size_t length, enum text_form *form);
// The same without keeping the raw bytes, for what will hardly come again.
uint32_t texts_json_once(struct texts *texts, const char *raw, size_t length, enum text_form *form);

#endif
