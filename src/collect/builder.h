// SPDX-License-Identifier: Apache-2.0
// A builder gathers the rows of one track until they become a batch. Rows come in the order in which they were recorded,
// which is nearly that of their start times.
//
// A range is a row from its beginning on; its duration comes with its end. Rows still open when the builder
// is flushed are carried over into the next batch.
#ifndef COLLECT_BUILDER_H
#define COLLECT_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"
#include "tracesmith/schema.h"
#include "wire/record.h"

#define BUILDER_OPEN_MAX 1024u // ranges open at once on a thread; deeper ones have no duration
// Rows of a batch, at most. A quarter of what a batch can hold: so a builder, the batch made from it and what encoding
// needs stay in the processor's cache. The files are as small as with four times as many.
#define BUILDER_ROWS_MAX (TSMITH_BATCH_MAX / 4)
#define BUILDER_OWN 64u // fields of the trace's own whose columns are found at once

struct builder_column {
    uint32_t field;
    tsmith_type type;
    uint32_t size;    // of a value, in bytes
    void *values;     // as in a batch; for LIST: where the row's elements are in `elements`, and how many
    uint64_t *valid;  // bitmap; of rows that a layout made only once they are settled
    uint64_t *device; // bitmap: rows whose value is a device's time; NULL while there is none
};

// A range that is open: its row, and where its record begins in open_words.
struct builder_open {
    uint32_t row;
    uint32_t record;
};

// Where the words of a record go, for all records of one shape. The pointers hold until the columns grow or are handed on.
struct builder_move {
    void *values;
    uint16_t column;
    uint8_t word;     // of the record, its head not counted
    uint8_t size;     // of a value, in bytes
    uint8_t encoding; // enum record_encoding, or the collector's own
    bool optional;    // the row has no such value where it is 0
    bool device;      // a device's time
    bool eager;       // whether there is a value is noted row by row
};
enum { BUILDER_MOVES = RECORD_MAX_FIELDS + 1, BUILDER_LAYOUTS = 128, BUILDER_CLASSES = 10 };
struct builder_layout {
    uint32_t number; // of the shape, in the whole session; 0: must be filled in before the next row
    uint32_t made;   // that of the rows which name this layout and are not settled
    uint8_t slot;    // among the builder's, from 1
    uint8_t kind;
    uint8_t ends[BUILDER_CLASSES]; // of the collector's classes of moves, in the end their number
    bool device;                   // some are a device's time
    struct builder_move moves[BUILDER_MOVES];
};

// A ring that rows of the builder came from.
struct collect_channel;
struct builder_source {
    struct collect_channel *channel;
    uint32_t slot;
    bool fresh;         // since the last flush
    uint64_t delivered; // recover: the part of the ring before this position is in the file
};

// Rows that follow each other, in a batch as in the builder.
struct builder_stretch {
    uint32_t from, count;
};

struct builder {
    uint32_t track;
    uint32_t rows;
    uint32_t capacity;
    uint32_t word; // of the row appended last, in a bitmap; and its bit there
    uint64_t bit;
    uint32_t column_count;
    struct builder_column *columns;
    size_t column_capacity;
    uint16_t column_of[TSMITH_FIELD_LIMIT]; // of a schema field: index + 1
    uint16_t own_column_of[BUILDER_OWN];    // the same of the first of the trace's own fields
    uint64_t *elements;                     // of all lists
    size_t element_count, element_capacity;
    struct builder_layout *layouts[BUILDER_LAYOUTS]; // by number
    uint8_t *slots;   // by row: of the layout that made it, 0: none, or it is settled, or there is no row
    uint8_t *kinds;   // the values of KIND
    uint32_t settled; // rows
    struct builder_open *open; // ranges, outermost first
    uint32_t open_count;
    uint32_t too_deep; // open ranges beyond BUILDER_OPEN_MAX
    size_t open_capacity;
    uint64_t *open_words; // the records that began them, one after the other
    size_t open_word_count, open_word_capacity;
    uint32_t *order; // scratch for sorting
    struct builder_stretch *stretches;
    uint32_t order_capacity; // rows that both are for
    bool device_times;
    uint64_t records; // read for this builder since the last flush: an event is one, a range two
    // The collector's:
    bool fresh;                    // has read something for it that is in no batch yet
    uint64_t first_serial;         // of the first sub-buffer that gave a row
    int64_t opened_at;             // trace time of the first row's arrival
    struct collect_channel *owner; // the channel whose track it is, NULL before the first row,
    uint32_t local;                // and its number there, or LAYOUT_JOURNAL_PROCESS, LAYOUT_JOURNAL_LOSS
    struct builder_source *sources;
    size_t source_count, source_capacity, source_at; // the one of the last row
};

void builder_init(struct builder *builder, uint32_t track);
void builder_finish(struct builder *builder);

static inline bool builder_full(const struct builder *builder) {
    return builder->rows >= BUILDER_ROWS_MAX;
}

// Rows by layout: only the words of a record and the row's layout are stored. Which values there are
// follows from both, for all rows at once: they are settled.
//
// The layout of this number; its own number is 0 when it must be filled in first. NULL when memory is exhausted (the builder
// must not be full).
struct builder_layout *builder_layout(struct builder *builder, uint32_t number);

// Appends a row. False when memory is exhausted (the builder must not be full).
bool builder_append(struct builder *builder, tsmith_kind kind, int64_t start);

// Values of the row appended last. False when memory is exhausted. Inline: they are called for every word of every
// record.
struct builder_column *builder_find_column(struct builder *builder, uint32_t field, tsmith_type type);
bool builder_add_device_bitmap(struct builder *builder, struct builder_column *column);

static inline struct builder_column *builder_column(struct builder *builder, uint32_t field,
                                                    tsmith_type type) {
    const uint32_t own = field - TSMITH_FIELD_DYNAMIC;
    const uint32_t index = field < TSMITH_FIELD_LIMIT ? builder->column_of[field]
                           : own < BUILDER_OWN        ? builder->own_column_of[own]
                                                      : 0;
    return index ? &builder->columns[index - 1] : builder_find_column(builder, field, type);
}

static inline void builder_store(void *values, uint32_t size, uint32_t row, uint64_t bits) {
    if (size == 8)
        ((uint64_t *)values)[row] = bits;
    else if (size == 4)
        ((uint32_t *)values)[row] = (uint32_t)bits;
    else
        ((uint8_t *)values)[row] = (uint8_t)bits;
}

static inline uint64_t builder_value(const struct builder_column *column, uint32_t row) {
    return column->size == 8   ? ((const uint64_t *)column->values)[row]
           : column->size == 4 ? ((const uint32_t *)column->values)[row]
                               : ((const uint8_t *)column->values)[row];
}

static inline bool builder_set(struct builder *builder, uint32_t field, tsmith_type type, uint64_t bits) {
    struct builder_column *column = builder_column(builder, field, type);
    if (!column)
        return false;
    builder_store(column->values, column->size, builder->rows - 1, bits);
    column->valid[builder->word] |= builder->bit;
    return true;
}

static inline bool builder_set_device_time(struct builder *builder, uint32_t field, uint64_t bits) {
    struct builder_column *column = builder_column(builder, field, TSMITH_TYPE_TIME);
    if (!column || (!column->device && !builder_add_device_bitmap(builder, column)))
        return false;
    builder_store(column->values, column->size, builder->rows - 1, bits);
    column->valid[builder->word] |= builder->bit;
    column->device[builder->word] |= builder->bit;
    builder->device_times = true;
    return true;
}

bool builder_set_list(struct builder *builder, uint32_t field, const uint64_t *values, uint32_t count);

// The row appended last begins a range, by this record; the innermost open range ends. End gives false when none is
// open.
bool builder_open_range(struct builder *builder, const uint64_t *record, uint32_t words);
bool builder_close_range(struct builder *builder, int64_t end);
// Drops all open ranges; returns their number.
uint32_t builder_abandon_ranges(struct builder *builder);

// Moves device times by `offset`, sorts, and fills `batch` with all rows but the open ranges, which stay. END
// when no row is left for the batch.
tsmith_status builder_flush(struct builder *builder, int64_t device_offset, tsmith_batch *batch);

#endif
