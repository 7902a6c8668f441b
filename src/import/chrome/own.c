// SPDX-License-Identifier: Apache-2.0
// Chrome JSON that TraceSmith wrote itself, which the file states before its events: the kind is in the category or
// in "kind", the device and queue in "device" and "stream", and arguments with the name of a field of the schema are
// that field. Values that do not fit stay arguments.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/category.h"
#include "import/chrome/rows.h"

enum { LIST_MAX = 1 << 16 };

// A double of microseconds expresses every time below it to the nanosecond.
#define MOST_US 9.0e12

void own_recognize(struct chrome *chrome, const char *key, size_t key_length, const char *text,
                   size_t length) {
    static const char wanted[] = "\"" CATEGORY_PRODUCER "\"";
    if (key_length == sizeof "producer" - 1 && memcmp(key, "producer", key_length) == 0 &&
        length == sizeof wanted - 1 && memcmp(text, wanted, length) == 0)
        chrome->by_us = true;
}

tsmith_kind own_kind(const struct chrome *chrome, const struct event *event, tsmith_kind otherwise) {
    const struct value *said = event_value(event, ROLE_KIND);
    tsmith_kind kind =
        said && said->form == FORM_STRING
            ? tsmith_kind_find(tsmith_dictionary_string(chrome->dictionary, (uint32_t)said->bits).bytes)
            : TSMITH_KIND_NONE;
    if (kind || !event->has_category)
        return kind ? kind : otherwise;
    return category_own_kind(tsmith_dictionary_string(chrome->dictionary, event->category), otherwise);
}

void own_learn(struct chrome *chrome, struct row_track *track, const struct event *event) {
    const struct value *device = event_value(event, ROLE_DEVICE);
    const struct value *stream = event_value(event, ROLE_STREAM);
    if (track->device_id || !device || !stream || device->form != FORM_I64 || stream->form != FORM_I64)
        return;
    uint32_t *slot = tracks_device(chrome->rows, device->bits);
    if (slot && !*slot) {
        char name[32];
        (void)snprintf(name, sizeof name, "device %u", (unsigned)device->bits);
        tsmith_device entry = {.name = tsmith_dictionary_intern_cstr(chrome->dictionary, name),
                               .number = (uint32_t)device->bits + 1};
        *slot = tsmith_dictionary_add_device(chrome->dictionary, &entry);
    }
    track->device_id = slot ? *slot : 0;
    track->device = track->device_id != 0;
    track->queue = stream->bits;
}

// ---- arguments

uint32_t own_field(tsmith_string name) {
    uint32_t field = tsmith_field_find(name.bytes);
    const tsmith_field_info *info = tsmith_field_describe(field);
    bool apart = field <= TSMITH_FIELD_NAME || field == TSMITH_FIELD_CATEGORY ||
                 field == TSMITH_FIELD_STACK || field == TSMITH_FIELD_WAKER_STACK;
    // Tracks and stacks have other numbers here.
    return !info || apart || info->type == TSMITH_TYPE_TRACK ? TSMITH_FIELD_NONE : field;
}

static bool time_of(const struct value *value, uint64_t *out) {
    double us = 0;
    if (value->form == FORM_I64)
        us = (double)(int64_t)value->bits;
    else if (value->form == FORM_F64)
        memcpy(&us, &value->bits, sizeof us);
    else
        return false;
    if (!(fabs(us) < MOST_US))
        return false;
    *out = (uint64_t)llround(us * 1000);
    return true;
}

static bool natural_below(const struct value *value, uint64_t limit, uint64_t *out) {
    *out = value->bits;
    return (value->form == FORM_U64 || (value->form == FORM_I64 && (int64_t)value->bits >= 0)) &&
           value->bits <= limit;
}

// What JSON has no number for is a string.
static bool no_number(const struct chrome *chrome, uint64_t *bits) {
    static const struct {
        const char *text;
        double value;
    } words[] = {{"NaN", (double)NAN}, {"Infinity", (double)INFINITY}, {"-Infinity", -(double)INFINITY}};
    tsmith_string text = tsmith_dictionary_string(chrome->dictionary, (uint32_t)*bits);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text.bytes, words[i].text) != 0)
            continue;
        memcpy(bits, &words[i].value, sizeof *bits);
        return true;
    }
    return false;
}

static bool bits_of(const struct chrome *chrome, tsmith_type type, const struct value *value, uint64_t *out) {
    *out = value->bits;
    switch (type) {
    case TSMITH_TYPE_TIME:
        return time_of(value, out);
    case TSMITH_TYPE_I64:
        return value->form == FORM_I64;
    case TSMITH_TYPE_U64:
        return natural_below(value, UINT64_MAX, out);
    case TSMITH_TYPE_U32:
        return natural_below(value, UINT32_MAX, out);
    case TSMITH_TYPE_U8:
        return natural_below(value, UINT8_MAX, out);
    case TSMITH_TYPE_F64:
        return value->form == FORM_F64 || (value->form == FORM_STRING && no_number(chrome, out));
    case TSMITH_TYPE_STRING:
        return value->form == FORM_STRING;
    case TSMITH_TYPE_BOOL:
        return value->form == FORM_BOOL;
    default:
        if (value->form != FORM_STRING || type == TSMITH_TYPE_KIND)
            return false;
        *out = tsmith_value_find(type,
                                 tsmith_dictionary_string(chrome->dictionary, (uint32_t)value->bits).bytes);
        return *out != 0;
    }
}

// "[1,2,3]" as we write it.
static bool set_list(struct chrome *chrome, tsmith_batch *batch, uint32_t field, const struct value *value) {
    if (value->form != FORM_JSON)
        return false;
    tsmith_string text = tsmith_dictionary_string(chrome->dictionary, (uint32_t)value->bits);
    if (text.length < 2 || text.bytes[0] != '[' || text.length / 2 > LIST_MAX)
        return false;
    uint64_t *values = malloc((text.length / 2 + 1) * sizeof *values);
    uint32_t count = 0;
    const char *at = text.bytes + 1, *end = text.bytes + text.length - 1;
    bool good = values != NULL;
    while (good && at < end) {
        uint64_t number = 0;
        const char *first = at;
        for (; *at >= '0' && *at <= '9' && good; at++)
            good = !__builtin_mul_overflow(number, 10u, &number) &&
                   !__builtin_add_overflow(number, (uint64_t)(*at - '0'), &number);
        good &= at > first && (at == end || (*at == ',' && at + 1 < end));
        if (good)
            values[count++] = number;
        at++;
    }
    good = good && *end == ']' && tsmith_batch_set_list(batch, field, values, count) == TSMITH_OK;
    free(values);
    return good;
}

bool own_set(struct chrome *chrome, tsmith_batch *batch, const struct value *value) {
    const struct key *key = &chrome->keys[value->key];
    const tsmith_field_info *info =
        key->place == PLACE_ARGUMENT && key->own_field ? tsmith_field_describe(key->own_field) : NULL;
    uint64_t bits;
    if (!info)
        return false;
    if (info->type == TSMITH_TYPE_LIST)
        return set_list(chrome, batch, key->own_field, value);
    return bits_of(chrome, info->type, value, &bits) &&
           tsmith_batch_set(batch, key->own_field, bits) == TSMITH_OK;
}
