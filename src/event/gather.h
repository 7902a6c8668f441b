// SPDX-License-Identifier: Apache-2.0
// Gathers rows of many tracks, in any order, into batches, each sorted and of one track. For importers that read row by row.
//
// Every pair of track and lane has one batch under construction; a lane is a set of rows with the same columns, such as a table. A
// full batch is ready. If all batches together exceed the budget, all are ready. So memory is bounded for any file, and rows in
// order of time give batches that do not overlap.
//
// Two producers fill columns themselves, because this limits their speed: the Chrome importer (src/import/chrome/rows.c) and the
// collector (src/collect/builder.c).
#ifndef EVENT_GATHER_H
#define EVENT_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracesmith/batch.h"

struct gather_run;

struct gather {
    struct gather_run *runs; // hash table
    size_t slots, used;
    struct gather_run *last;
    tsmith_batch **ready; // the oldest first
    size_t ready_count, ready_taken, ready_capacity;
    tsmith_batch *given; // with the consumer
    size_t bytes;        // estimate of what is under construction
    int64_t first_start, last_end;
    bool any, failed; // out of memory
};

// A zeroed struct is a valid, empty one.
void gather_finish(struct gather *gather);

// A new row of the track, to be filled with tsmith_batch_set. NULL when memory is exhausted (`failed` is set).
// The row's duration is needed for the bounds of the trace; 0 if it has none.
tsmith_batch *gather_row(struct gather *gather, uint32_t track, uint32_t lane, tsmith_kind kind,
                         int64_t start, int64_t duration);

// Whether batches should be taken before more rows are added.
bool gather_is_full(const struct gather *gather);
// Everything under construction becomes ready.
void gather_flush(struct gather *gather);
// The next batch that is ready, NULL when there is none; the one before is given back. ERROR_NO_MEMORY once
// anything failed.
tsmith_status gather_take(struct gather *gather, const tsmith_batch **out);

#endif
