// SPDX-License-Identifier: Apache-2.0
// From the fragments of the metadata to classes of fields, records and streams. Unknown properties are ignored, as the format says;
// extensions change the format, so metadata that declare one are refused.
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/ctf/ctf.h"

void *ctf_make(struct ctf *ctf, size_t count, size_t size) {
    void *made = count > CTF_CLASSES_MAX
                     ? NULL
                     : arena_take(&ctf->arena, count ? count * size : size, alignof(max_align_t));
    if (made)
        memset(made, 0, count ? count * size : size);
    else
        ctf->rows.failed = true;
    return made;
}

// ---- values

static bool number_of(const struct json_value *value, int64_t *out) {
    struct json_number number;
    const char *end = value->at + value->length;
    if (value->type != 'n' || json_number_read(value->at, end + 1, &number) != end || !number.integral ||
        !number.exact || number.exponent != 0)
        return false;
    *out = (int64_t)(number.negative ? -number.mantissa : number.mantissa);
    return true;
}

static bool number_in(const struct json_value *object, const char *key, int64_t *out) {
    struct json_value value;
    return json_member(object, key, &value) && number_of(&value, out);
}

static uint32_t string_of(struct ctf *ctf, const struct json_value *value) {
    return value->type == '"' && value->length
               ? texts_string(&ctf->texts, value->at, value->length, value->plain)
               : 0;
}

static bool text_in(const struct json_value *object, const char *key, const char *text) {
    struct json_value value;
    return json_member(object, key, &value) && value.type == '"' && json_value_is(&value, text);
}

static size_t count_items(const struct json_value *list) {
    struct json_members items = json_members(list);
    struct json_value key, value;
    size_t count = 0;
    while (json_next(&items, list->type == '{' ? &key : NULL, &value))
        count++;
    return count;
}

static struct ctf_range *ranges_of(struct ctf *ctf, const struct json_value *list, size_t *count) {
    struct json_members items = json_members(list), bounds;
    struct json_value item, bound;
    *count = 0;
    if (list->type != '[')
        return NULL;
    struct ctf_range *ranges = ctf_make(ctf, count_items(list), sizeof *ranges);
    while (ranges && json_next(&items, NULL, &item)) {
        bounds = json_members(&item);
        struct ctf_range *range = &ranges[*count];
        if (item.type == '[' && json_next(&bounds, NULL, &bound) && number_of(&bound, &range->from) &&
            json_next(&bounds, NULL, &bound) && number_of(&bound, &range->to))
            ++*count;
    }
    return ranges;
}

// Names to ranges: mappings of integers, flags of bit maps.
static void read_mappings(struct ctf *ctf, struct ctf_class *made, const struct json_value *object) {
    struct json_members items = json_members(object);
    struct json_value key, value;
    if (object->type != '{')
        return;
    made->mappings = ctf_make(ctf, count_items(object), sizeof *made->mappings);
    while (made->mappings && json_next(&items, &key, &value)) {
        struct ctf_member *mapping = &made->mappings[made->mapping_count++];
        mapping->name = string_of(ctf, &key);
        mapping->ranges = ranges_of(ctf, &value, &mapping->range_count);
    }
}

static uint32_t roles_of(const struct json_value *list) {
    static const char *const names[] = {
#define NAME(NAME_, name) name,
        CTF_ROLE_TABLE(NAME)
#undef NAME
    };
    struct json_members items = json_members(list);
    struct json_value item;
    uint32_t roles = 0;
    while (list->type == '[' && json_next(&items, NULL, &item))
        for (unsigned i = 0; i < CTF_ROLE_COUNT; i++)
            if (json_value_is(&item, names[i]))
                roles |= 1u << i;
    return roles;
}

// ---- classes

static enum ctf_type type_of(const struct json_value *object) {
    static const char *const names[] = {
#define NAME(NAME_, name) name,
        CTF_TYPE_TABLE(NAME)
#undef NAME
    };
    struct json_value value;
    if (json_member(object, "type", &value))
        for (unsigned i = 0; i < CTF_TYPE_COUNT; i++)
            if (json_value_is(&value, names[i]))
                return (enum ctf_type)i;
    return CTF_TYPE_COUNT;
}

static bool read_bits(struct ctf_class *made, const struct json_value *object) {
    struct json_value value;
    int64_t alignment = 1;
    made->big = text_in(object, "byte-order", "big-endian");
    made->last_to_first = made->big;
    if (json_member(object, "bit-order", &value))
        made->last_to_first = json_value_is(&value, "last-to-first");
    (void)number_in(object, "alignment", &alignment);
    if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)))
        return false;
    made->alignment = (uint64_t)alignment;
    return made->length > 0 && made->length <= 4096 &&
           (made->big || text_in(object, "byte-order", "little-endian"));
}

static void read_text(struct ctf_class *made, const struct json_value *object) {
    struct json_value value;
    made->alignment = 8;
    made->unit = 1;
    if (!json_member(object, "encoding", &value))
        return;
    made->unit = json_value_is(&value, "utf-16be") || json_value_is(&value, "utf-16le")   ? 2
                 : json_value_is(&value, "utf-32be") || json_value_is(&value, "utf-32le") ? 4
                                                                                          : 1;
    made->big = json_value_is(&value, "utf-16be") || json_value_is(&value, "utf-32be");
}

// Members of a structure, or options of a variant.
static bool read_members(struct ctf *ctf, struct ctf_class *made, const struct json_value *list,
                         struct ctf_class *scope, unsigned depth) {
    struct json_members items = json_members(list);
    struct json_value item, value;
    if (list->type != '[' || !(made->members = ctf_make(ctf, count_items(list), sizeof *made->members)))
        return false;
    while (json_next(&items, NULL, &item)) {
        struct ctf_member *member = &made->members[made->member_count++];
        if (json_member(&item, "name", &value))
            member->name = string_of(ctf, &value);
        if (json_member(&item, "selector-field-ranges", &value))
            member->ranges = ranges_of(ctf, &value, &member->range_count);
        if (!json_member(&item, "field-class", &value) ||
            !(member->of = ctf_class_of(ctf, &value, scope, depth + 1)))
            return false;
        if (made->type == CTF_STRUCTURE && member->of->alignment > made->alignment)
            made->alignment = member->of->alignment;
    }
    return !items.bad;
}

static bool read_element(struct ctf *ctf, struct ctf_class *made, const struct json_value *object,
                         const char *key, unsigned depth) {
    struct json_value value;
    if (!json_member(object, key, &value))
        return false;
    made->element = ctf_class_of(ctf, &value, made->scope, depth + 1);
    return made->element != NULL;
}

static bool read_minimum(struct ctf_class *made, const struct json_value *object) {
    int64_t alignment = 1;
    (void)number_in(object, "minimum-alignment", &alignment);
    if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)))
        return false;
    if ((uint64_t)alignment > made->alignment)
        made->alignment = (uint64_t)alignment;
    return true;
}

bool ctf_add_pending(struct ctf *ctf, struct ctf_class *made) {
    struct ctf_class **place = ARRAY_PUSH(ctf->pending, ctf->pending_count, ctf->pending_capacity);
    if (place)
        *place = made;
    ctf->rows.failed |= !place;
    return place != NULL;
}

static bool needs_location(struct ctf *ctf, struct ctf_class *made, const struct json_value *object,
                           const char *key) {
    return json_member(object, key, &made->location) && made->location.type == '{' &&
           ctf_add_pending(ctf, made);
}

static bool read_class(struct ctf *ctf, struct ctf_class *made, const struct json_value *object,
                       unsigned depth) {
    struct json_value value;
    switch (made->type) {
    case CTF_STRUCTURE:
        made->alignment = 1;
        if (json_member(object, "member-classes", &value) && !read_members(ctf, made, &value, made, depth))
            return false;
        return read_minimum(made, object);
    case CTF_STATIC_ARRAY:
    case CTF_DYNAMIC_ARRAY:
        if ((made->type == CTF_DYNAMIC_ARRAY &&
             !needs_location(ctf, made, object, "length-field-location")) ||
            !read_element(ctf, made, object, "element-field-class", depth))
            return false;
        made->alignment = made->element->alignment;
        return read_minimum(made, object);
    case CTF_OPTIONAL:
        if (json_member(object, "selector-field-ranges", &value))
            made->ranges = ranges_of(ctf, &value, &made->range_count);
        return needs_location(ctf, made, object, "selector-field-location") &&
               read_element(ctf, made, object, "field-class", depth);
    case CTF_VARIANT:
        return needs_location(ctf, made, object, "selector-field-location") &&
               json_member(object, "options", &value) && read_members(ctf, made, &value, made->scope, depth);
    case CTF_VAR_UNSIGNED:
    case CTF_VAR_SIGNED:
        made->alignment = 8;
        return true;
    case CTF_DYNAMIC_TEXT:
    case CTF_DYNAMIC_BLOB:
        read_text(made, object);
        return needs_location(ctf, made, object, "length-field-location");
    case CTF_TEXT:
    case CTF_STATIC_TEXT:
    case CTF_STATIC_BLOB:
        read_text(made, object);
        return true;
    default:
        return read_bits(made, object);
    }
}

struct ctf_class *ctf_class_of(struct ctf *ctf, const struct json_value *value, struct ctf_class *scope,
                               unsigned depth) {
    struct json_value list;
    int64_t length = 0;
    if (value->type == '"') {
        const uint32_t name = string_of(ctf, value);
        const uint64_t *alias = name ? table_find(&ctf->aliases, name) : NULL;
        // Each use is a class of its own, because what depends on a field depends on its place.
        return alias && *alias && depth < CTF_DEPTH_MAX
                   ? ctf_class_of(ctf, &ctf->alias_values[*alias - 1], scope, depth + 1)
                   : NULL;
    }
    if (value->type != '{' || depth >= CTF_DEPTH_MAX || ++ctf->class_count > CTF_CLASSES_MAX)
        return NULL;
    struct ctf_class *made = ctf_make(ctf, 1, sizeof *made);
    if (!made)
        return NULL;
    made->type = type_of(value);
    made->scope = scope;
    made->alignment = 1;
    if (made->type == CTF_TYPE_COUNT || (number_in(value, "length", &length) && length < 0))
        return NULL;
    made->length = (uint64_t)length;
    if (json_member(value, "roles", &list))
        made->roles = roles_of(&list);
    if (json_member(value, made->type == CTF_MAP ? "flags" : "mappings", &list))
        read_mappings(ctf, made, &list);
    return read_class(ctf, made, value, depth) ? made : NULL;
}

// A root structure; true also if the fragment has none.
static bool root_of(struct ctf *ctf, const struct json_value *fragment, const char *key,
                    struct ctf_class **out) {
    struct json_value value;
    *out = NULL;
    if (!json_member(fragment, key, &value))
        return true;
    *out = ctf_class_of(ctf, &value, NULL, 0);
    return *out && (*out)->type == CTF_STRUCTURE;
}

// ---- fragments

static const char *read_preamble(struct ctf *ctf, const struct json_value *fragment) {
    struct json_value value, item;
    int64_t version, byte;
    if (!number_in(fragment, "version", &version) || version != 2)
        return "the preamble is not of version 2";
    if (json_member(fragment, "extensions", &value) && value.type == '{' && count_items(&value))
        return "the metadata declare an extension of CTF, which TraceSmith does not know";
    if (json_member(fragment, "uuid", &value)) {
        struct json_members items = json_members(&value);
        for (unsigned i = 0; i < 16; i++) {
            if (!json_next(&items, NULL, &item) || !number_of(&item, &byte) || byte < 0 || byte > 255)
                return "the UUID of the metadata is no list of 16 bytes";
            ctf->uuid[i] = (uint8_t)byte;
        }
        ctf->has_uuid = true;
    }
    ctf->has_preamble = true;
    return NULL;
}

static const char *read_alias(struct ctf *ctf, const struct json_value *fragment) {
    struct json_value name, value;
    if (!json_member(fragment, "name", &name) || !json_member(fragment, "field-class", &value))
        return "an alias lacks its name or class";
    const uint32_t id = string_of(ctf, &name);
    struct json_value *place = ARRAY_PUSH(ctf->alias_values, ctf->alias_count, ctf->alias_capacity);
    uint64_t *slot = id ? table_add(&ctf->aliases, id, NULL) : NULL;
    if (place)
        *place = value;
    if (slot)
        *slot = ctf->alias_count;
    ctf->rows.failed |= !place;
    return slot ? NULL : "an alias has no name";
}

void ctf_set_fact(struct ctf *ctf, const char *stem, const char *key, size_t length, uint32_t text) {
    char name[160];
    (void)snprintf(name, sizeof name, "trace.%s%.*s", stem, (int)(length < 100 ? length : 100), key);
    tsmith_dictionary_set_attribute(ctf->rows.dictionary, name,
                                    tsmith_dictionary_string(ctf->rows.dictionary, text).bytes);
}

static void set_fact(struct ctf *ctf, const char *stem, const struct json_value *key,
                     const struct json_value *value) {
    enum text_form form;
    const uint32_t text = value->type == '"' ? string_of(ctf, value)
                                             : texts_json_once(&ctf->texts, value->at, value->length, &form);
    ctf_set_fact(ctf, stem, key->at, key->length, text);
}

static const char *read_trace_class(struct ctf *ctf, const struct json_value *fragment) {
    struct ctf_class *roots[CTF_ROOT_COUNT] = {NULL};
    struct json_value environment, key, value;
    if (!root_of(ctf, fragment, "packet-header-field-class", &ctf->packet_header))
        return "the class of packet headers cannot be read";
    if (json_member(fragment, "environment", &environment) && environment.type == '{') {
        struct json_members items = json_members(&environment);
        while (json_next(&items, &key, &value))
            set_fact(ctf, "env.", &key, &value);
    }
    roots[CTF_ROOT_PACKET_HEADER] = ctf->packet_header;
    return ctf_locate(ctf, roots);
}

static const char *read_clock(struct ctf *ctf, const struct json_value *fragment) {
    struct json_value id, offset, value;
    int64_t frequency, number = 0;
    if (!json_member(fragment, "id", &id) || !number_in(fragment, "frequency", &frequency) || frequency <= 0)
        return "a clock lacks its id or frequency";
    struct ctf_clock *clock = ctf_make(ctf, 1, sizeof *clock);
    const uint32_t name = string_of(ctf, &id);
    uint64_t *slot = name ? table_add(&ctf->clocks, name, NULL) : NULL;
    if (!clock || !slot)
        return "a clock has no id";
    clock->frequency = (uint64_t)frequency;
    if (json_member(fragment, "offset-from-origin", &offset)) {
        (void)number_in(&offset, "seconds", &clock->seconds);
        if (number_in(&offset, "cycles", &number) && number > 0)
            clock->cycles = (uint64_t)number;
    }
    clock->unix_epoch = text_in(fragment, "origin", "unix-epoch");
    if (json_member(fragment, "origin", &value))
        set_fact(ctf, "clock.origin.", &id, &value);
    *slot = (uint64_t)(uintptr_t)clock;
    return NULL;
}

static const char *read_stream_class(struct ctf *ctf, const struct json_value *fragment) {
    struct ctf_class *roots[CTF_ROOT_COUNT] = {[CTF_ROOT_PACKET_HEADER] = ctf->packet_header};
    struct json_value value;
    int64_t id = 0;
    struct ctf_stream_class *made = ctf_make(ctf, 1, sizeof *made);
    (void)number_in(fragment, "id", &id);
    uint64_t *slot = table_add(&ctf->streams_by_id, (uint64_t)id, NULL);
    if (!made || !slot)
        return "out of memory";
    if (*slot)
        return "two classes of data streams have one id";
    *slot = (uint64_t)(uintptr_t)made; // before anything can fail: its table is released with it
    if (json_member(fragment, "default-clock-class-id", &value)) {
        const uint64_t *clock = table_find(&ctf->clocks, string_of(ctf, &value));
        if (!clock)
            return "a data stream has a clock that is not there";
        made->clock = (struct ctf_clock *)(uintptr_t)*clock;
    }
    if (!root_of(ctf, fragment, "packet-context-field-class", &made->context) ||
        !root_of(ctf, fragment, "event-record-header-field-class", &made->header) ||
        !root_of(ctf, fragment, "event-record-common-context-field-class", &made->common))
        return "a class of fields of a data stream cannot be read";
    roots[CTF_ROOT_PACKET_CONTEXT] = made->context;
    roots[CTF_ROOT_RECORD_HEADER] = made->header;
    roots[CTF_ROOT_COMMON_CONTEXT] = made->common;
    return ctf_locate(ctf, roots);
}

static const char *read_record_class(struct ctf *ctf, const struct json_value *fragment) {
    struct json_value value;
    int64_t id = 0, stream = 0;
    (void)number_in(fragment, "id", &id);
    (void)number_in(fragment, "data-stream-class-id", &stream);
    const uint64_t *place = table_find(&ctf->streams_by_id, (uint64_t)stream);
    struct ctf_record_class *made = ctf_make(ctf, 1, sizeof *made);
    if (!place || !made)
        return "a class of event records belongs to no data stream";
    struct ctf_stream_class *of = (struct ctf_stream_class *)(uintptr_t)*place;
    if (json_member(fragment, "name", &value))
        made->name = string_of(ctf, &value);
    if (!root_of(ctf, fragment, "specific-context-field-class", &made->specific) ||
        !root_of(ctf, fragment, "payload-field-class", &made->payload))
        return "a class of fields of an event record cannot be read";
    struct ctf_class *roots[CTF_ROOT_COUNT] = {ctf->packet_header, of->context,    of->header,
                                               of->common,         made->specific, made->payload};
    uint64_t *slot = table_add(&of->records, (uint64_t)id, NULL);
    ctf->rows.failed |= !slot;
    if (slot)
        *slot = (uint64_t)(uintptr_t)made;
    return ctf_locate(ctf, roots);
}

static const char *read_fragment(struct ctf *ctf, const struct json_value *fragment) {
    static const struct {
        const char *type;
        const char *(*read)(struct ctf *ctf, const struct json_value *fragment);
    } kinds[] = {{"preamble", read_preamble},
                 {"field-class-alias", read_alias},
                 {"trace-class", read_trace_class},
                 {"clock-class", read_clock},
                 {"data-stream-class", read_stream_class},
                 {"event-record-class", read_record_class}};
    if (fragment->type != '{')
        return "a fragment is no JSON object";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_in(fragment, "type", kinds[i].type))
            return i && !ctf->has_preamble ? "the first fragment is no preamble"
                                           : kinds[i].read(ctf, fragment);
    return "a fragment has a type that CTF 2 does not have";
}

const char *ctf_read_metadata(struct ctf *ctf, const char **at) {
    const char *end = ctf->metadata + strlen(ctf->metadata);
    struct json_value fragment;
    for (*at = ctf->metadata;;) {
        while (*at < end && (**at == '\x1e' || **at == ' ' || **at == '\n' || **at == '\r' || **at == '\t'))
            ++*at;
        if (*at >= end)
            return ctf->has_preamble ? NULL : "there is no fragment";
        const char *past = json_value_read(*at, end, &fragment);
        if (!past)
            return "a fragment does not end";
        const char *problem = read_fragment(ctf, &fragment);
        if (problem || ctf->rows.failed)
            return problem ? problem : "out of memory";
        *at = past;
    }
}
