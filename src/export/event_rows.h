// SPDX-License-Identifier: Apache-2.0
// Gathers events of batches of any size into blocks of rows, as columns: what the exports to Arrow IPC and
// Parquet encode. A reader that takes a full block gives another one for it.
//
// Invariants of a column with `count` rows, of which `nulls` are unknown:
//   - `values` has an element for each row, 0 where it is unknown; it is not used while every value is unknown.
//   - `valid` has a bit for each row, and 0 after the last; it is not used while no value or every value is unknown.
//   - A string's number is below the number of strings of the dictionary.
#ifndef EXPORT_EVENT_ROWS_H
#define EXPORT_EVENT_ROWS_H

#include "event/event_columns.h"
#include "tracesmith/view.h"

enum { ROWS_MAX = 32768 };

struct event_rows_column {
    tsmith_type type;
    size_t width; // bytes of a value; of a list, of its elements
    uint32_t nulls;
    uint32_t room;     // rows of a block
    uint8_t *values;   // of `room` rows; of a list, its elements
    uint64_t *valid;   // of `room` bits
    uint32_t *offsets; // of a list: `room` + 1, from 0
    size_t capacity;   // of the elements of lists
};

struct event_rows_loss {
    uint64_t entries, events;
};

// Zero-initialized, it has no columns.
struct event_rows_block {
    struct event_rows_column *items; // as the columns of the rows
    size_t columns;
    uint32_t count; // rows
};

struct event_rows {
    struct event_columns columns;
    struct event_rows_block block;      // that is being filled
    uint32_t *fields;                   // as columns.items
    tsmith_view *views;                 // the same, of a batch
    uint32_t room;                      // rows of a block
    uint64_t total;                     // rows of the blocks before
    struct event_rows_loss losses[256]; // by reason; 0: of unknown reason
};

struct event_rows_reader {
    void *self;
    // Called for each block, which is rows->block and has rows. It may take the block: event_rows_exchange.
    tsmith_status (*block)(void *self, const tsmith_dictionary *dictionary, struct event_rows *rows,
                           tsmith_error *error);
};

// Settles the columns by the dictionary, once. Blocks get `room` rows, a multiple of 64 of at most ROWS_MAX. The columns of a block should
// stay in the processor's cache: a trace may have a hundred. NO_MEMORY.
tsmith_status event_rows_begin(struct event_rows *rows, const tsmith_dictionary *dictionary, uint32_t room,
                               tsmith_error *error);
// Adds the events of a batch; full blocks go to the reader. As event_columns_check; NO_MEMORY; the reader's failures.
tsmith_status event_rows_add(struct event_rows *rows, const tsmith_dictionary *dictionary,
                             const tsmith_batch *batch, const struct event_rows_reader *reader,
                             tsmith_error *error);
// The last block goes to the reader.
tsmith_status event_rows_end(struct event_rows *rows, const tsmith_dictionary *dictionary,
                             const struct event_rows_reader *reader, tsmith_error *error);
void event_rows_finish(struct event_rows *rows);

// Another block for these rows. False when memory is exhausted.
bool event_rows_block_begin(struct event_rows_block *block, const struct event_rows *rows);
void event_rows_block_finish(struct event_rows_block *block);
// `block` gets the full one; the one that it was is filled next.
void event_rows_exchange(struct event_rows *rows, struct event_rows_block *block);

static inline bool event_rows_column_is_empty(const struct event_rows_block *block,
                                              const struct event_rows_column *column) {
    return column->nulls == block->count;
}

#endif
