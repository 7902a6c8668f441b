// SPDX-License-Identifier: Apache-2.0
// Strings, attributes, regions and metrics: defined in the archive at first
// use.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/otf2/otf2.h"

enum {
    TEXT_MAX = 1 << 20 // a definition has to fit into a chunk of 4 MiB
};

// The value of the key, 0 when *is_new. NULL when memory is exhausted.
static uint64_t *entry_of(struct otf2 *otf2, struct table *table, uint64_t key, bool *is_new) {
    uint64_t *value = table_add(table, key, is_new);
    if (!value)
        otf2_no_memory(otf2);
    return value;
}

// ---- strings

// OTF2's strings end with a NUL: a NUL inside becomes "\0". A string longer than the limit is cut, and marked as cut.
static OTF2_StringRef put_awkward(struct otf2 *otf2, const char *bytes, size_t length) {
    static const char cut[] = " (cut)";
    size_t most = length < TEXT_MAX ? length : TEXT_MAX, at = 0;
    char *text = malloc(2 * most + sizeof cut);
    if (!text) {
        otf2_no_memory(otf2);
        return 0;
    }
    for (size_t i = 0; i < most; i++) {
        if (bytes[i] == '\0')
            text[at++] = '\\';
        text[at++] = bytes[i] ? bytes[i] : '0';
    }
    memcpy(text + at, cut, most < length ? sizeof cut : 0);
    text[most < length ? at + sizeof cut - 1 : at] = '\0';
    otf2_check(otf2, OTF2_GlobalDefWriter_WriteString(otf2->definitions, otf2->string_count, text),
               "a string");
    free(text);
    return otf2->string_count++;
}

OTF2_StringRef otf2_text(struct otf2 *otf2, const char *bytes, size_t length) {
    if (length > TEXT_MAX || memchr(bytes, '\0', length))
        return put_awkward(otf2, bytes, length);
    otf2_check(otf2, OTF2_GlobalDefWriter_WriteString(otf2->definitions, otf2->string_count, bytes),
               "a string");
    return otf2->string_count++;
}

OTF2_StringRef otf2_constant(struct otf2 *otf2, const char *text) {
    bool is_new;
    uint64_t *entry = entry_of(otf2, &otf2->constants, (uint64_t)(uintptr_t)text, &is_new);
    if (entry && is_new)
        *entry = otf2_text(otf2, text, strlen(text));
    return entry ? (uint32_t)*entry : 0;
}

OTF2_StringRef otf2_string(struct otf2 *otf2, uint32_t id) {
    size_t had = otf2->string_capacity;
    if (id >= tsmith_dictionary_string_count(otf2->dictionary))
        id = 0;
    if (!ARRAY_RESERVE(otf2->strings, otf2->string_capacity, (size_t)id + 1)) {
        otf2_no_memory(otf2);
        return 0;
    }
    memset(otf2->strings + had, 0, (otf2->string_capacity - had) * sizeof *otf2->strings);
    if (!otf2->strings[id]) {
        tsmith_string text = tsmith_dictionary_string(otf2->dictionary, id);
        otf2->strings[id] = otf2_text(otf2, text.bytes, text.length) + 1;
    }
    return otf2->strings[id] - 1;
}

static OTF2_StringRef put_path(struct otf2 *otf2, uint32_t stack) {
    if (!otf2->stacks && tsmith_stack_names_create(otf2->dictionary, &otf2->stacks) != TSMITH_OK) {
        otf2_no_memory(otf2);
        return 0;
    }
    size_t length = tsmith_stack_path(otf2->stacks, stack, NULL, 0);
    char *path = malloc(length + 1);
    if (!path) {
        otf2_no_memory(otf2);
        return 0;
    }
    (void)tsmith_stack_path(otf2->stacks, stack, path, length + 1);
    OTF2_StringRef string = otf2_text(otf2, path, length);
    free(path);
    return string;
}

OTF2_StringRef otf2_path(struct otf2 *otf2, uint32_t stack) {
    bool is_new;
    uint64_t *entry = entry_of(otf2, &otf2->paths, (uint64_t)stack + 1, &is_new);
    if (entry && is_new)
        *entry = put_path(otf2, stack);
    return entry ? (uint32_t)*entry : 0;
}

// ---- attributes

OTF2_Type otf2_type(tsmith_type type) {
    switch ((int)type) {
    case TSMITH_TYPE_TIME:
    case TSMITH_TYPE_I64:
        return OTF2_TYPE_INT64;
    case TSMITH_TYPE_F64:
        return OTF2_TYPE_DOUBLE;
    case TSMITH_TYPE_BOOL:
        return OTF2_TYPE_UINT8;
    case TSMITH_TYPE_TRACK:
        return OTF2_TYPE_LOCATION;
    case TSMITH_TYPE_U64:
    case TSMITH_TYPE_U32:
    case TSMITH_TYPE_U8:
        return OTF2_TYPE_UINT64;
    default:
        return OTF2_TYPE_STRING;
    }
}

size_t otf2_field(struct otf2 *otf2, uint32_t field, tsmith_type type) {
    tsmith_field_info info;
    for (size_t i = 0; i < otf2->field_count; i++)
        if (otf2->fields[i].field == field && otf2->fields[i].type == type)
            return i;
    if (!tsmith_dictionary_describe_field(otf2->dictionary, field, &info))
        return SIZE_MAX;
    if (!ARRAY_RESERVE(otf2->fields, otf2->field_capacity, otf2->field_count + 1)) {
        otf2_no_memory(otf2);
        return SIZE_MAX;
    }
    OTF2_StringRef name = otf2_text(otf2, info.name, strlen(info.name));
    const char *doc = *info.doc ? info.doc : info.unit;
    OTF2_StringRef description = otf2_text(otf2, doc, strlen(doc));
    otf2->fields[otf2->field_count] = (struct otf2_field){field, type, (OTF2_AttributeRef)otf2->field_count};
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteAttribute(otf2->definitions, (OTF2_AttributeRef)otf2->field_count,
                                                   name, description, otf2_type(type)),
               "an attribute");
    return otf2->field_count++;
}

OTF2_AttributeRef otf2_attribute(struct otf2 *otf2, uint32_t field, tsmith_type type) {
    size_t index = otf2_field(otf2, field, type);
    return index == SIZE_MAX ? OTF2_UNDEFINED_ATTRIBUTE : otf2->fields[index].attribute;
}

// ---- regions

static OTF2_RegionRole role_of(tsmith_kind kind) {
    switch ((int)kind) {
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_GRAPH_LAUNCH:
    case TSMITH_KIND_HOST_FUNCTION:
    case TSMITH_KIND_COMPILE:
        return OTF2_REGION_ROLE_FUNCTION;
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
        return OTF2_REGION_ROLE_DATA_TRANSFER;
    case TSMITH_KIND_ALLOC:
        return OTF2_REGION_ROLE_ALLOCATE;
    case TSMITH_KIND_FREE:
        return OTF2_REGION_ROLE_DEALLOCATE;
    case TSMITH_KIND_API:
        return OTF2_REGION_ROLE_WRAPPER;
    case TSMITH_KIND_SYNC:
        return OTF2_REGION_ROLE_TASK_WAIT;
    case TSMITH_KIND_COLLECTIVE:
        return OTF2_REGION_ROLE_COLL_OTHER;
    case TSMITH_KIND_LOSS:
    case TSMITH_KIND_OVERHEAD:
        return OTF2_REGION_ROLE_ARTIFICIAL;
    default:
        return OTF2_REGION_ROLE_CODE;
    }
}

OTF2_RegionRef otf2_region(struct otf2 *otf2, uint64_t name, tsmith_kind kind, bool instant,
                           OTF2_Paradigm paradigm) {
    static const char nothing[] = "";
    bool is_new, named = name != UINT64_MAX;
    uint64_t key = (named ? name : 0) << 32 | (uint64_t)((uint32_t)kind & 0xff) << 16 |
                   (uint64_t)((uint32_t)paradigm & 0xff) << 8 | (uint64_t)named << 2 |
                   (uint64_t)instant << 1 | 1;
    uint64_t *entry = entry_of(otf2, &otf2->regions, key, &is_new);
    if (!entry || !is_new)
        return entry ? (uint32_t)*entry : 0;
    const char *kind_name = tsmith_kind_name(kind);
    char both[64];
    kind_name = kind_name ? kind_name : "unknown";
    int length = snprintf(both, sizeof both, "%s (instant)", kind_name);
    OTF2_StringRef kind_text = otf2_constant(otf2, kind_name);
    OTF2_StringRef description = instant ? otf2_text(otf2, both, (size_t)length) : kind_text;
    OTF2_StringRef text = named ? otf2_string(otf2, (uint32_t)name) : otf2_constant(otf2, nothing);
    *entry = otf2->region_count++;
    // The description is the kind; the name that is shown of what has none is the kind, too.
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteRegion(otf2->definitions, (uint32_t)*entry, named ? text : kind_text,
                                                text, description, role_of(kind), paradigm,
                                                OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0),
               "a region");
    return (uint32_t)*entry;
}

// ---- metrics

OTF2_MetricRef otf2_metric(struct otf2 *otf2, uint64_t name, const struct otf2_field *field, OTF2_Type type) {
    tsmith_field_info info;
    bool is_new, named = name != UINT64_MAX;
    uint64_t key =
        (named ? name : 0) << 32 | (uint64_t)(field->attribute & 0xffffff) << 8 | (uint64_t)named << 1 | 1;
    uint64_t *entry = entry_of(otf2, &otf2->metrics, key, &is_new);
    if (!entry || !is_new || !tsmith_dictionary_describe_field(otf2->dictionary, field->field, &info))
        return entry ? (uint32_t)*entry : 0;
    OTF2_StringRef series = otf2_text(otf2, info.name, strlen(info.name));
    OTF2_StringRef text = named ? otf2_string(otf2, (uint32_t)name) : series;
    OTF2_StringRef unit = otf2_text(otf2, info.unit, strlen(info.unit));
    *entry = otf2->metric_count++;
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteMetricMember(otf2->definitions, (uint32_t)*entry, text, series,
                                                      OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
                                                      type, OTF2_BASE_DECIMAL, 0, unit),
               "a metric");
    const OTF2_MetricMemberRef member = (uint32_t)*entry;
    otf2_check(otf2,
               OTF2_GlobalDefWriter_WriteMetricClass(otf2->definitions, (uint32_t)*entry, 1, &member,
                                                     OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT),
               "a metric");
    return (uint32_t)*entry;
}

void otf2_definitions_finish(struct otf2 *otf2) {
    free(otf2->strings);
    table_finish(&otf2->constants);
    table_finish(&otf2->regions);
    table_finish(&otf2->metrics);
    table_finish(&otf2->paths);
    tsmith_stack_names_destroy(otf2->stacks);
    free(otf2->fields);
}
