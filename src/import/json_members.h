// SPDX-License-Identifier: Apache-2.0
// The members of a JSON object, and the items of an array, one after the other.
#ifndef IMPORT_JSON_MEMBERS_H
#define IMPORT_JSON_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "import/json_scan.h"

// A value as it stands in the text: strings without their quotes, with their escapes.
struct json_value {
    const char *at;
    size_t length;
    char type;  // '"', '{', '[', or 'n': anything else (a number, true, false, null)
    bool plain; // of a string: as json_string_end
};

// Reads the value at `at`, which may follow white space; just past it, or NULL if it does not end before `end`.
const char *json_value_read(const char *at, const char *end, struct json_value *out);

struct json_members {
    const char *at, *end; // what is left: `at` behind the opening bracket, or behind a value
    bool bad;             // stopped at something that is no member
};

// The members of the object, or the items of the array, in `value`.
struct json_members json_members(const struct json_value *value);
// False at the end. `key` is NULL for items of an array.
bool json_next(struct json_members *members, struct json_value *key, struct json_value *value);
// The member of an object; false if there is none.
bool json_member(const struct json_value *object, const char *key, struct json_value *out);
bool json_value_is(const struct json_value *value, const char *text);

#endif
