// SPDX-License-Identifier: Apache-2.0
// A batch: up to TSMITH_BATCH_MAX events of one track, sorted by start time, as columns.
//
// A column is an array with one element per event, and a validity bitmap: an unknown value is marked as not valid and
// is never 0. A column without any value is absent. A batch that a source passes to a reader or that a sink receives is
// lent: it is read-only, and valid until the source yields the next batch or the sink returns. A reader that needs it
// for longer retains it.
//
// Threads: a lent batch is read by one thread at a time, the one that it was lent to. A retained batch never changes:
// any number of threads may read, retain and release it at once. The objects that it refers to by number are in the
// dictionary of its source, which has its own thread rule (tracesmith/dictionary.h).
#ifndef TRACESMITH_BATCH_H
#define TRACESMITH_BATCH_H

#include <stdint.h>

#include "tracesmith/export.h"
#include "tracesmith/schema.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSMITH_BATCH_MAX 65536u

typedef struct tsmith_batch tsmith_batch;

// A view of one column. `values` has `count` elements of the C type that TSMITH_TYPE_TABLE gives for `type`;
// the value of an event that is not valid is unspecified. For LIST, event i has the elements offsets[i] ..
// offsets[i+1]-1 of `values`, and `offsets` has count+1 elements; it is NULL for every other type.
typedef struct tsmith_column {
    uint32_t field;
    tsmith_type type;
    uint32_t count;
    const uint64_t *valid; // bit i of word i/64; NULL: every event has a value
    const void *values;
    const uint32_t *offsets;
} tsmith_column;

static inline int tsmith_column_has(const tsmith_column *column, uint32_t row) {
    return !column->valid || (column->valid[row / 64] >> (row % 64) & 1);
}

TSMITH_API uint32_t tsmith_batch_count(const tsmith_batch *batch);
TSMITH_API uint32_t tsmith_batch_track(const tsmith_batch *batch);
// Earliest start and latest end (start + duration) in ns; both 0 for an empty batch.
TSMITH_API int64_t tsmith_batch_first_start(const tsmith_batch *batch);
TSMITH_API int64_t tsmith_batch_last_end(const tsmith_batch *batch);
TSMITH_API uint32_t tsmith_batch_column_count(const tsmith_batch *batch);
// The column at an index below tsmith_batch_column_count, in ascending order of field number.
TSMITH_API tsmith_column tsmith_batch_column_at(const tsmith_batch *batch, uint32_t index);
// The column of a field; false when the batch has none.
TSMITH_API int tsmith_batch_column(const tsmith_batch *batch, uint32_t field, tsmith_column *out);

// One value widened: any integer type (also strings, tracks, enums, booleans) as uint64_t's bits, F64 as its
// bits. False when the event has no such value. For single values; loops use the column.
TSMITH_API int tsmith_batch_get(const tsmith_batch *batch, uint32_t field, uint32_t row, uint64_t *out);

// Keeps a batch beyond the next call of its source: *out has the same events and columns, never changes, and lives
// until it is released. Nothing is copied: *out takes over the columns of a lent batch, whose owner makes new ones for
// the next events; for a batch that was already retained, *out is the same batch with its reference count increased.
// NO_MEMORY; *out is then NULL. Threads: the borrowing thread for a lent batch, any thread for a retained one.
TSMITH_API tsmith_status tsmith_batch_retain(const tsmith_batch *batch, const tsmith_batch **out);
// Releases one reference from tsmith_batch_retain; the last release frees the batch. Does nothing for NULL and for a batch that is
// only lent. Any thread.
TSMITH_API void tsmith_batch_release(const tsmith_batch *batch);

// Building. A batch owns its memory, grows up to TSMITH_BATCH_MAX rows, and keeps its memory when it is
// reset. One thread at a time. NO_MEMORY; INVALID_ARGUMENT for a field that does not exist or has another type.
TSMITH_API tsmith_status tsmith_batch_create(tsmith_batch **out);
TSMITH_API void tsmith_batch_destroy(tsmith_batch *batch);
TSMITH_API void tsmith_batch_reset(tsmith_batch *batch, uint32_t track);
// Appends an event: its row, or UINT32_MAX when the batch is full or memory is exhausted.
TSMITH_API uint32_t tsmith_batch_append(tsmith_batch *batch, tsmith_kind kind, int64_t start);
// Sets a value of the last appended event. `bits` as in tsmith_batch_get. The type of a schema field comes
// from the schema; set_dynamic takes it (a field has one type in a batch).
TSMITH_API tsmith_status tsmith_batch_set(tsmith_batch *batch, uint32_t field, uint64_t bits);
TSMITH_API tsmith_status tsmith_batch_set_dynamic(tsmith_batch *batch, uint32_t field, tsmith_type type,
                                                  uint64_t bits);
TSMITH_API tsmith_status tsmith_batch_set_list(tsmith_batch *batch, uint32_t field, const uint64_t *values,
                                               uint32_t count);
// Sorts by start (stable) and recomputes first_start and last_end; builders call it once before handing a
// batch on.
TSMITH_API tsmith_status tsmith_batch_finish(tsmith_batch *batch);

#ifdef __cplusplus
}
#endif
#endif
