// SPDX-License-Identifier: Apache-2.0
// The columns of events as a table. Used by src/arrow and by the exports to Arrow IPC and Parquet.
#include "event/event_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/status.h"
#include "event/utf8.h"

// Whether the name is new. From then on it is taken. False also when memory is exhausted: the name becomes longer then.
static bool take_name(struct event_columns *columns, const char *name) {
    bool is_new = false;
    return table_add(&columns->names, hash_bytes(name, strlen(name)), &is_new) && is_new;
}

static char *make_name(struct event_columns *columns, const tsmith_field_info *info) {
    const char *prefix = info->field < TSMITH_FIELD_DYNAMIC ? "" : "args.";
    char *plain = utf8_copy(info->name);
    const size_t size = plain ? strlen(plain) + 64 : 0;
    char *name = plain ? malloc(size) : NULL;
    if (name) {
        (void)snprintf(name, size, "%s%s", prefix, plain);
        if (!take_name(columns, name)) {
            (void)snprintf(name, size, "%s%s (%s)", prefix, plain, tsmith_type_name(info->type));
            if (!take_name(columns, name))
                (void)snprintf(name, size, "%s%s (%s %u)", prefix, plain, tsmith_type_name(info->type),
                               (unsigned)info->field);
        }
    }
    free(plain);
    return name;
}

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building the columns of events");
}

// Takes over `name`, which may be NULL: memory is exhausted.
static tsmith_status add_item(struct event_columns *columns, uint32_t field, tsmith_type type, char *name,
                              const char *unit, const char *doc, tsmith_error *error) {
    char *copied = name ? utf8_copy(unit) : NULL;
    struct event_columns_field *item =
        copied ? ARRAY_PUSH(columns->items, columns->count, columns->capacity) : NULL;
    if (!item) {
        free(copied);
        free(name);
        return out_of_memory(error);
    }
    *item = (struct event_columns_field){field, type, name, copied, doc};
    return TSMITH_OK;
}

static tsmith_status add_field(struct event_columns *columns, const tsmith_dictionary *dictionary,
                               uint32_t field, tsmith_error *error) {
    tsmith_field_info info;
    if (!tsmith_dictionary_describe_field(dictionary, field, &info) || !tsmith_type_size(info.type))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "field number %u does not exist",
                          (unsigned)field);
    bool is_new = false;
    uint64_t *place = table_add(&columns->by_field, field, &is_new);
    if (!place)
        return out_of_memory(error);
    if (!is_new)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "the field %s is requested twice", info.name);
    *place = columns->count;
    return add_item(columns, field, info.type, make_name(columns, &info), info.unit ? info.unit : "",
                    info.doc ? info.doc : "", error);
}

tsmith_status event_columns_settle(struct event_columns *columns, const tsmith_dictionary *dictionary,
                                   const uint32_t *fields, size_t field_count, bool without_track,
                                   tsmith_error *error) {
    if (columns->settled)
        return TSMITH_OK;
    columns->chosen = fields != NULL;
    tsmith_status status = TSMITH_OK;
    if (!without_track) {
        (void)take_name(columns, "track");
        status = add_item(columns, 0, TSMITH_TYPE_TRACK, strdup("track"), "",
                          "id of the track in the dictionary", error);
    }
    for (size_t i = 0; fields && i < field_count && status == TSMITH_OK; i++)
        status = add_field(columns, dictionary, fields[i], error);
    for (uint32_t field = 1; !fields && field < TSMITH_FIELD_LIMIT && status == TSMITH_OK; field++)
        if (tsmith_field_describe(field))
            status = add_field(columns, dictionary, field, error);
    const uint32_t brought = tsmith_dictionary_dynamic_field_count(dictionary);
    for (uint32_t id = 1; !fields && id < brought && status == TSMITH_OK; id++)
        status = add_field(columns, dictionary, TSMITH_FIELD_DYNAMIC + id, error);
    columns->settled = status == TSMITH_OK;
    return status;
}

tsmith_status event_columns_check(const struct event_columns *columns, const tsmith_dictionary *dictionary,
                                  const tsmith_batch *batch, tsmith_error *error) {
    const uint32_t count = tsmith_batch_column_count(batch);
    for (uint32_t i = 0; i < count; i++) {
        const tsmith_column column = tsmith_batch_column_at(batch, i);
        const uint64_t *place = table_find(&columns->by_field, column.field);
        const struct event_columns_field *found = place ? &columns->items[*place] : NULL;
        tsmith_field_info info;
        if (found && found->type != column.type)
            return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                              "the field %s is a %s in a batch, a %s in the schema", found->name,
                              tsmith_type_name(column.type), tsmith_type_name(found->type));
        // A field that a damaged file does not describe has no name to be a column by; other exports leave it out as well.
        if (!found && !columns->chosen && tsmith_dictionary_describe_field(dictionary, column.field, &info))
            return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                              "the field %s appeared after the schema was fixed: open the trace with "
                              "tsmith_trace_open, or name the fields to read",
                              info.name);
        if (found && column.offsets && column.offsets[column.count] > INT32_MAX)
            return status_set(error, TSMITH_ERROR_LIMIT, "the lists of field %s have too many elements",
                              found->name);
    }
    return TSMITH_OK;
}

uint32_t event_columns_count_nulls(const uint64_t *valid, uint32_t count) {
    uint32_t known = 0;
    if (!valid)
        return 0;
    for (uint32_t word = 0; word < count / 64; word++)
        known += (uint32_t)__builtin_popcountll(valid[word]);
    if (count % 64)
        known += (uint32_t)__builtin_popcountll(valid[count / 64] & (((uint64_t)1 << (count % 64)) - 1));
    return count - known;
}

void event_columns_finish(struct event_columns *columns) {
    for (size_t i = 0; i < columns->count; i++) {
        free(columns->items[i].name);
        free(columns->items[i].unit);
    }
    table_finish(&columns->by_field);
    table_finish(&columns->names);
    free(columns->items);
    *columns = (struct event_columns){.count = 0};
}
