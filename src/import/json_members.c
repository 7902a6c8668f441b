// SPDX-License-Identifier: Apache-2.0
// Members of JSON objects and items of arrays, for importers that hold a whole value in memory (torch_et).
#include "import/json_members.h"

#include <string.h>

const char *json_value_read(const char *at, const char *end, struct json_value *out) {
    at = json_skip_space(at, end);
    if (at >= end)
        return NULL;
    *out = (struct json_value){.at = at, .type = 'n', .plain = true};
    if (*at == '"') {
        out->type = '"';
        out->at = at + 1;
        const char *quote = json_string_end(at + 1, end, &out->plain);
        out->length = quote ? (size_t)(quote - out->at) : 0;
        return quote ? quote + 1 : NULL;
    }
    if (*at == '{' || *at == '[') {
        out->type = *at;
        const char *past = json_nested_end(at, end);
        out->length = past ? (size_t)(past - at) : 0;
        return past;
    }
    while (at < end && !memchr(",]}: \t\r\n\"", *at, 10))
        at++;
    out->length = (size_t)(at - out->at);
    return out->length && at < end ? at : NULL;
}

struct json_members json_members(const struct json_value *value) {
    if (value->type != '{' && value->type != '[')
        return (struct json_members){NULL, NULL, false};
    return (struct json_members){value->at + 1, value->at + value->length, false};
}

bool json_next(struct json_members *members, struct json_value *key, struct json_value *value) {
    const char *at = json_skip_space(members->at, members->end);
    if (at < members->end && *at == ',')
        at = json_skip_space(at + 1, members->end);
    if (at >= members->end || *at == '}' || *at == ']')
        return false;
    members->bad = true;
    if (key) {
        at = json_value_read(at, members->end, key);
        at = at ? json_skip_space(at, members->end) : NULL;
        if (!at || at >= members->end || *at != ':' || key->type != '"')
            return false;
        at++;
    }
    at = json_value_read(at, members->end, value);
    if (!at)
        return false;
    members->at = at;
    members->bad = false;
    return true;
}

bool json_value_is(const struct json_value *value, const char *text) {
    return value->length == strlen(text) && memcmp(value->at, text, value->length) == 0;
}

bool json_member(const struct json_value *object, const char *key, struct json_value *out) {
    struct json_members members = json_members(object);
    struct json_value name;
    if (object->type != '{')
        return false;
    while (json_next(&members, &name, out))
        if (json_value_is(&name, key))
            return true;
    return false;
}
