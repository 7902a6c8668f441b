// SPDX-License-Identifier: Apache-2.0
// Fills whole columns of a batch, for the file reader and importers. tracesmith/batch.h fills a batch row by row.
#ifndef EVENT_BATCH_H
#define EVENT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"

// Empties the batch and gives it `count` rows (at most TSMITH_BATCH_MAX) of `track`, with no column yet.
tsmith_status batch_begin_columns(tsmith_batch *batch, uint32_t track, uint32_t count);

// Adds a column; returns its values, uninitialized, to be filled by the caller for every row, or NULL when
// memory is exhausted or the field is there already. With `valid` not NULL the column gets a bitmap, all
// clear, handed out there.
void *batch_add_column(tsmith_batch *batch, uint32_t field, tsmith_type type, uint64_t **valid);

// Exchanges the values of a column that was just added with an array of the caller (from malloc) of the same size. False,
// without a change, if the sizes differ.
bool batch_exchange_values(tsmith_batch *batch, uint32_t field, void **values, size_t bytes);

// Adds a LIST column of `total` elements over all rows; the caller fills offsets (count+1, ascending from 0
// to total) and the values returned.
uint64_t *batch_add_list_column(tsmith_batch *batch, uint32_t field, uint32_t total, uint32_t **offsets,
                                uint64_t **valid);

// States the bounds of the filled rows (tsmith_batch_finish computes them; a reader knows them from the
// frame).
void batch_set_bounds(tsmith_batch *batch, int64_t first_start, int64_t last_end);

// Copies `from` to `to`, for sinks, whose batches are only lent.
tsmith_status batch_copy(tsmith_batch *to, const tsmith_batch *from);

// A number that a reader gives the batches of a file: the same one for the same batch in every scan. 0 unless given.
void batch_set_sequence(tsmith_batch *batch, uint64_t sequence);
uint64_t batch_sequence(const tsmith_batch *batch);

// The bits of a value of a scalar column, as in tsmith_batch_get, for loops over rows. Does not check that the value is known.
static inline uint64_t batch_column_bits(const tsmith_column *column, size_t row) {
    switch (tsmith_type_size(column->type)) {
    case 1:
        return ((const uint8_t *)column->values)[row];
    case 4:
        return ((const uint32_t *)column->values)[row];
    default:
        return ((const uint64_t *)column->values)[row];
    }
}

// Words of a validity bitmap of `rows` rows.
static inline uint32_t batch_bitmap_words(uint32_t rows) {
    return (rows + 63) / 64;
}

#endif
