// SPDX-License-Identifier: Apache-2.0
// Events as a table with named columns: the one list of columns for the Arrow stream (src/arrow) and for the exports to Arrow
// IPC and Parquet.
//
// The first column is the track of the event; then comes each field of the schema under its name, and each field of the trace
// itself as args.NAME. If two fields have the same name, the type is appended to the second name.
#ifndef EVENT_EVENT_COLUMNS_H
#define EVENT_EVENT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

// One column. The texts are UTF-8 and belong to it.
struct event_columns_field {
    uint32_t field; // 0: the track
    tsmith_type type;
    char *name, *unit;
    const char *doc; // of the schema
};

// Zero-initialized, it is not settled.
struct event_columns {
    struct event_columns_field *items;
    size_t count, capacity;
    struct table by_field, names; // index of a field's column; hashes of the names
    bool settled;
    bool chosen; // only some fields were requested: a batch may have others
};

// Settles the columns once; later calls do nothing. `fields` (NULL: all of the schema and of the dictionary) are the requested
// ones. INVALID_ARGUMENT for a field that does not exist or is requested twice, NO_MEMORY.
tsmith_status event_columns_settle(struct event_columns *columns, const tsmith_dictionary *dictionary,
                                   const uint32_t *fields, size_t field_count, bool without_track,
                                   tsmith_error *error);

// Checks that each column of the batch is in the table with the same type. UNSUPPORTED if it is not, LIMIT for lists with too
// many elements for 31-bit offsets.
tsmith_status event_columns_check(const struct event_columns *columns, const tsmith_dictionary *dictionary,
                                  const tsmith_batch *batch, tsmith_error *error);

// Rows of the first `count` whose value is unknown, by a bitmap of a batch (NULL: every value is known).
uint32_t event_columns_count_nulls(const uint64_t *valid, uint32_t count);

void event_columns_finish(struct event_columns *columns);

// Whether the values are numbers of texts: strings of the dictionary, or words of the vocabulary.
static inline bool event_columns_is_text(tsmith_type type) {
    return type == TSMITH_TYPE_STRING || tsmith_type_has_names(type);
}

#endif
