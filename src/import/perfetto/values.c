// SPDX-License-Identifier: Apache-2.0
// Annotations of track events: values of fields. What is nested becomes JSON.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"
#include "import/perfetto/perfetto.h"

enum {
    NAME_IID = 1,
    BOOL_VALUE = 2,
    UINT_VALUE = 3,
    INT_VALUE = 4,
    DOUBLE_VALUE = 5,
    STRING_VALUE = 6,
    POINTER_VALUE = 7,
    NESTED_VALUE = 8,
    JSON_VALUE = 9,
    NAME = 10,
    DICT_ENTRIES = 11,
    ARRAY_VALUES = 12,
    STRING_IID = 17
};

static const struct {
    uint32_t type;
    const char *unit;
} forms[PF_FORMS] = {
    [PF_BOOL] = {TSMITH_TYPE_BOOL, ""},
    [PF_UINT] = {TSMITH_TYPE_U64, ""},
    [PF_INT] = {TSMITH_TYPE_I64, ""},
    [PF_DOUBLE] = {TSMITH_TYPE_F64, ""},
    [PF_STRING] = {TSMITH_TYPE_STRING, ""},
    [PF_JSON] = {TSMITH_TYPE_STRING, "json"},
    [PF_POINTER] = {TSMITH_TYPE_U64, "pointer"},
    [PF_LIST] = {TSMITH_TYPE_LIST, ""},
};

// ---- fields

uint32_t pf_name(struct pf *pf, uint32_t string) {
    if (pf->name_count == 0) {
        if (!ARRAY_RESERVE(pf->names, pf->name_capacity, 1)) {
            pf->failed = true;
            return 0;
        }
        pf->names[pf->name_count++] = (struct pf_name){.string = 0};
    }
    uint32_t *index = pf_map_at(pf, &pf->name_map, string, 1, pf->name_count < PF_FIELDS_MAX);
    if (!index || *index)
        return index ? *index : 0;
    if (!ARRAY_RESERVE(pf->names, pf->name_capacity, pf->name_count + 1)) {
        pf->failed = true;
        return 0;
    }
    struct pf_name name = {.string = string};
    // In a file of TraceSmith a name of the schema is that field; others are defined before they are used.
    tsmith_string text = tsmith_dictionary_string(pf->dictionary, string);
    uint32_t field = tsmith_field_find(text.bytes);
    bool taken = field == TSMITH_FIELD_CORRELATION || field == TSMITH_FIELD_BYTES;
    if (field && strlen(text.bytes) == text.length && (pf->ours || taken)) {
        name.field = field;
        name.type = (uint32_t)tsmith_field_describe(field)->type;
    }
    pf->names[pf->name_count] = name;
    return *index = (uint32_t)pf->name_count++;
}

uint32_t pf_new_field(struct pf *pf, uint32_t string, uint32_t type, const char *unit) {
    if (pf->field_count >= PF_FIELDS_MAX)
        return 0;
    pf->field_count++;
    tsmith_dynamic_field entry = {
        .name = string, .unit = tsmith_dictionary_intern_cstr(pf->dictionary, unit), .type = type};
    uint32_t id = tsmith_dictionary_add_dynamic_field(pf->dictionary, &entry);
    return id ? TSMITH_FIELD_DYNAMIC + id : 0;
}

uint32_t pf_field(struct pf *pf, uint32_t name, enum pf_form form) {
    if (!name) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY_FIELDS);
        return 0;
    }
    uint32_t *field = &pf->names[name].fields[form];
    if (!*field)
        *field = pf_new_field(pf, pf->names[name].string, forms[form].type, forms[form].unit);
    if (!*field)
        pf_problem(pf, PF_PROBLEM_TOO_MANY_FIELDS);
    return *field;
}

// ---- events

void pf_event_begin(struct pf_event *event) {
    struct pf_event kept = *event;
    *event = (struct pf_event){.values = kept.values,
                               .capacity = kept.capacity,
                               .items = kept.items,
                               .item_capacity = kept.item_capacity};
}

void pf_event_finish(struct pf_event *event) {
    free(event->values);
    free(event->items);
    *event = (struct pf_event){0};
}

static struct pf_value *add(struct pf *pf, struct pf_event *event, uint32_t field, uint32_t type) {
    if (!field)
        return NULL;
    for (size_t i = 0; i < event->count; i++)
        if (event->values[i].field == field)
            return &event->values[i]; // the last one wins
    if (event->count >= PF_VALUES_MAX) {
        pf_problem(pf, PF_PROBLEM_TOO_MANY_FIELDS);
        return NULL;
    }
    if (!ARRAY_RESERVE(event->values, event->capacity, event->count + 1)) {
        pf->failed = true;
        return NULL;
    }
    event->values[event->count] = (struct pf_value){.field = field, .type = type};
    return &event->values[event->count++];
}

void pf_add_value(struct pf *pf, struct pf_event *event, uint32_t field, uint32_t type, uint64_t bits) {
    struct pf_value *value = add(pf, event, field, type);
    if (value)
        value->bits = bits;
}

void pf_add_list(struct pf *pf, struct pf_event *event, uint32_t field, const uint64_t *items, size_t count) {
    struct pf_value *value = add(pf, event, field, TSMITH_TYPE_LIST);
    if (!value || !ARRAY_RESERVE(event->items, event->item_capacity, event->item_count + count + 1)) {
        pf->failed |= value != NULL;
        return;
    }
    if (count)
        memcpy(event->items + event->item_count, items, count * sizeof *items);
    value->bits = event->item_count;
    value->count = (uint32_t)count;
    event->item_count += count;
}

void pf_add_named(struct pf *pf, struct pf_event *event, const char *name, uint32_t type, uint64_t bits) {
    uint32_t index = pf_name(pf, tsmith_dictionary_intern_cstr(pf->dictionary, name));
    enum pf_form form = type == TSMITH_TYPE_STRING ? PF_STRING
                        : type == TSMITH_TYPE_F64  ? PF_DOUBLE
                        : type == TSMITH_TYPE_I64  ? PF_INT
                        : type == TSMITH_TYPE_BOOL ? PF_BOOL
                                                   : PF_UINT;
    pf_add_value(pf, event, pf_field(pf, index, form), type, bits);
}

// ---- JSON of what is nested

static void append_bytes(struct pf *pf, const char *bytes, size_t length) {
    if (!ARRAY_RESERVE(pf->scratch, pf->scratch_capacity, pf->scratch_used + length)) {
        pf->failed = true;
        return;
    }
    memcpy(pf->scratch + pf->scratch_used, bytes, length);
    pf->scratch_used += length;
}

static void put_text(struct pf *pf, const char *text) {
    append_bytes(pf, text, strlen(text));
}

// Bytes that are no UTF-8 become \udc80 .. \udcff, as elsewhere in TraceSmith.
static void put_string(struct pf *pf, const char *bytes, size_t length) {
    put_text(pf, "\"");
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)bytes[i];
        unsigned valid = json_utf8_length(bytes + i, length - i);
        if (valid && c >= 0x20 && c != '"' && c != '\\') {
            append_bytes(pf, bytes + i, valid);
            i += valid;
            continue;
        }
        char escaped[8];
        (void)snprintf(escaped, sizeof escaped, "\\u%04x", c < 0x80 ? c : 0xdc00u + c);
        put_text(pf, escaped);
        i++;
    }
    put_text(pf, "\"");
}

static void put_number(struct pf *pf, const struct proto_field *field, uint32_t form) {
    char text[40];
    double real = proto_double(field);
    if (form == DOUBLE_VALUE && !isfinite(real))
        (void)snprintf(text, sizeof text, "\"%s\"",
                       isnan(real) ? "NaN"
                       : real < 0  ? "-Infinity"
                                   : "Infinity");
    else if (form == DOUBLE_VALUE)
        (void)snprintf(text, sizeof text, "%.17g", real);
    else if (form == INT_VALUE)
        (void)snprintf(text, sizeof text, "%" PRId64, (int64_t)field->value);
    else
        (void)snprintf(text, sizeof text, "%" PRIu64, field->value);
    put_text(pf, text);
}

static void put_interned(struct pf *pf, const struct pf_sequence *sequence, uint64_t iid) {
    uint32_t string = 0;
    (void)pf_text(pf, sequence, PF_STRINGS, iid, &string);
    tsmith_string text = tsmith_dictionary_string(pf->dictionary, string);
    put_string(pf, text.bytes, text.length);
}

static void put_annotation(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in,
                           unsigned depth);

static void put_name(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in) {
    struct proto_field field;
    uint32_t name = 0;
    while (proto_next(&in, &field)) {
        if (field.number == NAME && field.wire == PROTO_BYTES) {
            put_string(pf, (const char *)field.bytes, field.length);
            return;
        }
        if (field.number == NAME_IID && pf_text(pf, sequence, PF_ANNOTATIONS, field.value, &name))
            break;
    }
    tsmith_string text = tsmith_dictionary_string(pf->dictionary, name ? pf->names[name].string : 0);
    put_string(pf, text.bytes, text.length);
}

// {"a":1,"b":2} of dict_entries, or [1,2] of array_values.
static void put_members(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in, uint32_t which,
                        unsigned depth) {
    struct proto_field field;
    bool any = false;
    put_text(pf, which == DICT_ENTRIES ? "{" : "[");
    while (proto_next(&in, &field)) {
        if (field.number != which || field.wire != PROTO_BYTES)
            continue;
        if (any)
            put_text(pf, ",");
        any = true;
        if (which == DICT_ENTRIES) {
            put_name(pf, sequence, proto_within(&field));
            put_text(pf, ":");
        }
        put_annotation(pf, sequence, proto_within(&field), depth + 1);
    }
    put_text(pf, which == DICT_ENTRIES ? "}" : "]");
}

// The older form: keys and values in lists of their own.
static void put_nested(struct pf *pf, struct proto_in in, unsigned depth) {
    struct proto_in keys = in, values = in, look = in;
    struct proto_field field, value;
    uint64_t type = 0;
    bool any = false;
    while (proto_next(&look, &field))
        if (field.number == 1)
            type = field.value;
    if (type == 0 || depth > PF_DEPTH_MAX) {
        while (proto_next(&in, &field)) {
            if (field.number == 8 && field.wire == PROTO_BYTES)
                put_string(pf, (const char *)field.bytes, field.length);
            else if (field.number == 7)
                put_text(pf, field.value ? "true" : "false");
            else if (field.number == 5 || field.number == 6)
                put_number(pf, &field, field.number == 5 ? INT_VALUE : DOUBLE_VALUE);
            else
                continue;
            return;
        }
        put_text(pf, "null");
        return;
    }
    put_text(pf, type == 1 ? "{" : "[");
    while (proto_next(&values, &value)) {
        if (value.number != (type == 1 ? 3 : 4) || value.wire != PROTO_BYTES)
            continue;
        if (any)
            put_text(pf, ",");
        any = true;
        while (type == 1 && proto_next(&keys, &field))
            if (field.number == 2 && field.wire == PROTO_BYTES)
                break;
        if (type == 1) {
            put_string(pf, keys.bad || field.number != 2 ? "" : (const char *)field.bytes,
                       keys.bad || field.number != 2 ? 0 : field.length);
            put_text(pf, ":");
        }
        put_nested(pf, proto_within(&value), depth + 1);
    }
    put_text(pf, type == 1 ? "}" : "]");
}

static void put_annotation(struct pf *pf, const struct pf_sequence *sequence, struct proto_in in,
                           unsigned depth) {
    struct proto_in all = in;
    struct proto_field field;
    while (depth <= PF_DEPTH_MAX && proto_next(&in, &field)) {
        switch (field.number) {
        case BOOL_VALUE:
            put_text(pf, field.value ? "true" : "false");
            return;
        case UINT_VALUE:
        case INT_VALUE:
        case DOUBLE_VALUE:
        case POINTER_VALUE:
            put_number(pf, &field, field.number);
            return;
        case STRING_IID:
            put_interned(pf, sequence, field.value);
            return;
        case STRING_VALUE:
        case JSON_VALUE:
            put_string(pf, (const char *)field.bytes, field.length);
            return;
        case NESTED_VALUE:
            put_nested(pf, proto_within(&field), depth + 1);
            return;
        case DICT_ENTRIES:
        case ARRAY_VALUES:
            put_members(pf, sequence, all, field.number, depth);
            return;
        default:
            break;
        }
    }
    put_text(pf, "null");
}

// ---- annotations

static bool form_fits(const struct pf_name *name, enum pf_form form) {
    switch ((int)name->type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        return form == PF_INT;
    case TSMITH_TYPE_U64:
        return form == PF_UINT || form == PF_INT;
    case TSMITH_TYPE_U32:
    case TSMITH_TYPE_U8:
    case TSMITH_TYPE_TRACK:
        return form == PF_UINT;
    case TSMITH_TYPE_F64:
        return form == PF_DOUBLE;
    case TSMITH_TYPE_BOOL:
        return form == PF_BOOL;
    case TSMITH_TYPE_LIST:
        return form == PF_LIST;
    default:
        return form == PF_STRING;
    }
}

// Start, duration, kind, name and category, which our exporter says only where they are not told otherwise.
static bool set_exception(struct pf *pf, struct pf_event *event, const struct pf_name *name, uint64_t bits) {
    switch (name->field) {
    case TSMITH_FIELD_START:
        event->start = (int64_t)bits;
        event->has_start = true;
        return true;
    case TSMITH_FIELD_DURATION:
        event->duration = (int64_t)bits;
        event->has_duration = true;
        return true;
    case TSMITH_FIELD_KIND:
        event->kind = (tsmith_kind)tsmith_value_find(
            TSMITH_TYPE_KIND, tsmith_dictionary_string(pf->dictionary, (uint32_t)bits).bytes);
        if (!event->kind)
            event->kind = TSMITH_KIND_LIMIT; // it has none, independent of its category
        return true;
    case TSMITH_FIELD_NAME:
        event->name = (uint32_t)bits;
        event->has_name = event->own_name = true;
        return true;
    case TSMITH_FIELD_CATEGORY:
        event->category = (uint32_t)bits;
        event->has_category = event->own_category = true;
        return true;
    default:
        return false;
    }
}

// A value into the field of the vocabulary, or of ours, that it belongs to.
static bool set_known(struct pf *pf, struct pf_event *event, const struct pf_name *name, enum pf_form form,
                      uint64_t bits) {
    if (!name->field || !form_fits(name, form) || (!pf->ours && form == PF_INT && (int64_t)bits < 0))
        return false;
    if (set_exception(pf, event, name, bits))
        return true;
    if (tsmith_type_has_names((tsmith_type)name->type))
        bits = tsmith_value_find((tsmith_type)name->type,
                                 tsmith_dictionary_string(pf->dictionary, (uint32_t)bits).bytes);
    else if (name->type == TSMITH_TYPE_TRACK)
        bits = pf_track_id(pf, pf_track_of_uuid(pf, bits));
    pf_add_value(pf, event, name->field, name->type, bits);
    return true;
}

static void set(struct pf *pf, struct pf_event *event, uint32_t name, enum pf_form form, uint64_t bits) {
    if (name && set_known(pf, event, &pf->names[name], form, bits))
        return;
    uint32_t field = pf_field(pf, name, form);
    pf_add_value(pf, event, field, forms[form].type, bits);
}

// array_values that are numbers, for a field of ours that is a list.
static void set_list(struct pf *pf, struct pf_event *event, const struct pf_name *name, struct proto_in in) {
    struct proto_field field, item;
    size_t used = 0, capacity = 0;
    uint64_t *items = NULL;
    while (proto_next(&in, &field)) {
        if (field.number != ARRAY_VALUES || field.wire != PROTO_BYTES)
            continue;
        struct proto_in element = proto_within(&field);
        if (!proto_next(&element, &item) || item.number != UINT_VALUE)
            continue;
        if (!ARRAY_RESERVE(items, capacity, used + 1)) {
            pf->failed = true;
            break;
        }
        items[used++] = item.value;
    }
    pf_add_list(pf, event, name->field, items, used);
    free(items);
}

static void set_nested(struct pf *pf, const struct pf_sequence *sequence, struct pf_event *event,
                       uint32_t name, struct proto_in in, bool is_array) {
    if (name && is_array && pf->names[name].field && form_fits(&pf->names[name], PF_LIST)) {
        set_list(pf, event, &pf->names[name], in);
        return;
    }
    pf->scratch_used = 0;
    put_annotation(pf, sequence, in, 0);
    set(pf, event, name, PF_JSON, tsmith_dictionary_intern(pf->dictionary, pf->scratch, pf->scratch_used));
}

void pf_read_annotation(struct pf *pf, const struct pf_sequence *sequence, struct pf_event *event,
                        struct proto_in in) {
    struct proto_in all = in;
    struct proto_field field, value = {.number = 0};
    uint32_t name = 0, string = 0;
    while (proto_next(&in, &field)) {
        if (field.number == NAME_IID && field.wire == PROTO_VARINT)
            (void)pf_text(pf, sequence, PF_ANNOTATIONS, field.value, &name);
        else if (field.number == NAME && field.wire == PROTO_BYTES)
            name = pf_name(pf, pf_intern(pf, &field));
        else
            value = field;
    }
    switch (value.number) {
    case BOOL_VALUE:
        set(pf, event, name, PF_BOOL, value.value != 0);
        break;
    case UINT_VALUE:
        set(pf, event, name, PF_UINT, value.value);
        break;
    case INT_VALUE:
        set(pf, event, name, PF_INT, value.value);
        break;
    case DOUBLE_VALUE:
        set(pf, event, name, PF_DOUBLE, value.value);
        break;
    case POINTER_VALUE:
        set(pf, event, name, PF_POINTER, value.value);
        break;
    case STRING_IID:
        if (pf_text(pf, sequence, PF_STRINGS, value.value, &string))
            set(pf, event, name, PF_STRING, string);
        break;
    case STRING_VALUE:
    case JSON_VALUE:
        set(pf, event, name, value.number == JSON_VALUE ? PF_JSON : PF_STRING, pf_intern(pf, &value));
        break;
    case NESTED_VALUE:
    case DICT_ENTRIES:
    case ARRAY_VALUES:
        set_nested(pf, sequence, event, name, all, value.number == ARRAY_VALUES);
        break;
    default:
        pf_problem(pf, PF_PROBLEM_UNREAD_FIELD);
    }
}
