// SPDX-License-Identifier: Apache-2.0
// Looks up fields, kinds and reasons in the tables of tracesmith/schema.h. Readers, importers, exporters and the
// command call it.
#include "tracesmith/schema.h"

#include <string.h>

#include "base/names.h"
#include "tracesmith/dictionary.h"

_Static_assert(TSMITH_KIND_LIMIT <= 64, "a set of kinds has 64 bits");

NAMES_CHECK_LIMIT(TSMITH_KIND_TABLE, TSMITH_KIND_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_TYPE_TABLE, TSMITH_TYPE_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_FIELD_TABLE, TSMITH_FIELD_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_REASON_TABLE, TSMITH_REASON_LIMIT);

static const tsmith_field_info fields[TSMITH_FIELD_LIMIT] = {
#define ROW(NAME, number, name, type, unit, doc) [number] = {number, TSMITH_TYPE_##type, name, unit, doc},
    TSMITH_FIELD_TABLE(ROW)
#undef ROW
};

const tsmith_field_info *tsmith_field_describe(uint32_t field) {
    return field < TSMITH_FIELD_LIMIT && fields[field].name ? &fields[field] : NULL;
}

uint32_t tsmith_field_find(const char *name) {
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++)
        if (fields[field].name && strcmp(fields[field].name, name) == 0)
            return field;
    return TSMITH_FIELD_NONE;
}

NAMES_DEFINE(tsmith_kind_name, tsmith_kind, TSMITH_KIND_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_kind_doc, tsmith_kind, TSMITH_KIND_TABLE, NAMES_DOC, NULL)

tsmith_kind tsmith_kind_find(const char *name) {
    for (int kind = 1; kind < TSMITH_KIND_LIMIT; kind++) {
        const char *candidate = tsmith_kind_name((tsmith_kind)kind);
        if (candidate && strcmp(candidate, name) == 0)
            return (tsmith_kind)kind;
    }
    return TSMITH_KIND_NONE;
}

NAMES_DEFINE(tsmith_operation_name, tsmith_operation, TSMITH_OPERATION_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_direction_name, tsmith_direction, TSMITH_DIRECTION_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_reason_name, tsmith_reason, TSMITH_REASON_TABLE, NAMES_NAME, NULL)
NAMES_DEFINE(tsmith_reason_doc, tsmith_reason, TSMITH_REASON_TABLE, NAMES_DOC, NULL)

NAMES_DEFINE(tsmith_certainty_name, tsmith_certainty, TSMITH_CERTAINTY_TABLE, NAMES_NAME, NULL)

bool tsmith_operation_is_map(tsmith_operation operation) {
    return operation == TSMITH_OPERATION_MAP || operation == TSMITH_OPERATION_UNMAP ||
           operation == TSMITH_OPERATION_MAP_IMAGE || operation == TSMITH_OPERATION_SVM_MAP ||
           operation == TSMITH_OPERATION_SVM_UNMAP;
}

bool tsmith_reason_is_partial(tsmith_reason reason) {
    return reason == TSMITH_REASON_NO_TIMING || reason == TSMITH_REASON_UNMATCHED;
}

bool tsmith_reason_is_of_events(tsmith_reason reason) {
    return reason != TSMITH_REASON_NO_STACK && reason != TSMITH_REASON_PARTIAL_STACK &&
           reason != TSMITH_REASON_DEEP_STACK && reason != TSMITH_REASON_PYTHON_STACK &&
           reason != TSMITH_REASON_SUM_FULL;
}

NAMES_DEFINE(tsmith_track_kind_name, tsmith_track_kind, TSMITH_TRACK_KIND_TABLE, NAMES_NAME, NULL)

static const struct {
    const char *name;
    uint32_t size;
} types[TSMITH_TYPE_LIMIT] = {
#define ROW(NAME, number, ctype, doc) [number] = {#NAME, sizeof(ctype)},
    TSMITH_TYPE_TABLE(ROW)
#undef ROW
};

const char *tsmith_type_name(tsmith_type type) {
    return type > 0 && type < TSMITH_TYPE_LIMIT ? types[type].name : NULL;
}

uint32_t tsmith_type_size(tsmith_type type) {
    return type > 0 && type < TSMITH_TYPE_LIMIT ? types[type].size : 0;
}

bool tsmith_type_has_names(tsmith_type type) {
    return (type >= TSMITH_TYPE_KIND && type <= TSMITH_TYPE_REASON) || type == TSMITH_TYPE_CERTAINTY;
}

const char *tsmith_value_name(tsmith_type type, uint64_t value) {
    if (value > UINT8_MAX)
        return NULL;
    switch ((int)type) {
    case TSMITH_TYPE_KIND:
        return tsmith_kind_name((tsmith_kind)value);
    case TSMITH_TYPE_OPERATION:
        return tsmith_operation_name((tsmith_operation)value);
    case TSMITH_TYPE_DIRECTION:
        return tsmith_direction_name((tsmith_direction)value);
    case TSMITH_TYPE_REASON:
        return tsmith_reason_name((tsmith_reason)value);
    case TSMITH_TYPE_CERTAINTY:
        return tsmith_certainty_name((tsmith_certainty)value);
    default:
        return NULL;
    }
}

uint8_t tsmith_value_find(tsmith_type type, const char *name) {
    for (uint8_t value = UINT8_MAX; value > 0; value--) {
        const char *known = tsmith_value_name(type, value);
        if (known && strcmp(known, name) == 0)
            return value;
    }
    return 0;
}
