// SPDX-License-Identifier: Apache-2.0
// Gathers rows of many tracks, in any order, into sorted batches. The importers that read row by row call it.
#include "event/gather.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/table.h"

enum { BUDGET = 48 << 20, ROW_BYTES = 10, RUN_BYTES = 12 << 10 };

struct gather_run {
    tsmith_batch *batch; // NULL: none yet
    uint32_t track, lane;
    bool used;
};

void gather_finish(struct gather *gather) {
    for (size_t i = 0; i < gather->slots; i++)
        tsmith_batch_destroy(gather->runs[i].batch);
    for (size_t i = gather->ready_taken; i < gather->ready_count; i++)
        tsmith_batch_destroy(gather->ready[i]);
    tsmith_batch_destroy(gather->given);
    free(gather->runs);
    free(gather->ready);
    *gather = (struct gather){0};
}

static uint64_t hash_of(uint32_t track, uint32_t lane) {
    return table_hash((uint64_t)track << 32 | lane);
}

static struct gather_run *find_run(struct gather *gather, uint32_t track, uint32_t lane) {
    struct gather_run *run = gather->last;
    if (run && run->track == track && run->lane == lane)
        return run;
    if (!TABLE_ROOM(gather->runs, gather->slots, gather->used, 64, slot, slot->used,
                    hash_of(slot->track, slot->lane)))
        return NULL;
    run = TABLE_SLOT(gather->runs, gather->slots, hash_of(track, lane), slot,
                     !slot->used || (slot->track == track && slot->lane == lane));
    if (!run->used) {
        *run = (struct gather_run){NULL, track, lane, true};
        gather->used++;
    }
    return gather->last = run;
}

static void make_ready(struct gather *gather, struct gather_run *run) {
    if (!ARRAY_RESERVE(gather->ready, gather->ready_capacity, gather->ready_count + 1)) {
        gather->failed = true;
        return;
    }
    gather->ready[gather->ready_count++] = run->batch;
    run->batch = NULL;
}

void gather_flush(struct gather *gather) {
    for (size_t i = 0; i < gather->slots; i++)
        if (gather->runs[i].batch)
            make_ready(gather, &gather->runs[i]);
    gather->bytes = 0;
}

static void note_span(struct gather *gather, int64_t start, int64_t duration) {
    int64_t end;
    if (__builtin_add_overflow(start, duration, &end) || end < start)
        end = start;
    if (!gather->any || start < gather->first_start)
        gather->first_start = start;
    if (!gather->any || end > gather->last_end)
        gather->last_end = end;
    gather->any = true;
}

tsmith_batch *gather_row(struct gather *gather, uint32_t track, uint32_t lane, tsmith_kind kind,
                         int64_t start, int64_t duration) {
    struct gather_run *run = find_run(gather, track, lane);
    if (!run)
        goto fail;
    if (run->batch && tsmith_batch_count(run->batch) == TSMITH_BATCH_MAX) {
        size_t bytes = (size_t)TSMITH_BATCH_MAX * tsmith_batch_column_count(run->batch) * ROW_BYTES;
        gather->bytes -= bytes < gather->bytes ? bytes : gather->bytes;
        make_ready(gather, run);
    }
    if (!run->batch) {
        if (gather->failed || tsmith_batch_create(&run->batch) != TSMITH_OK)
            goto fail;
        tsmith_batch_reset(run->batch, track);
        gather->bytes += RUN_BYTES;
    }
    uint32_t row = tsmith_batch_append(run->batch, kind, start);
    if (row == UINT32_MAX)
        goto fail;
    if (row >= 64 && (row & (row - 1)) == 0) // it has just doubled
        gather->bytes += (size_t)row * tsmith_batch_column_count(run->batch) * ROW_BYTES;
    note_span(gather, start, duration);
    return run->batch;
fail:
    gather->failed = true;
    return NULL;
}

bool gather_is_full(const struct gather *gather) {
    return gather->failed || gather->ready_count > gather->ready_taken || gather->bytes > BUDGET;
}

tsmith_status gather_take(struct gather *gather, const tsmith_batch **out) {
    *out = NULL;
    tsmith_batch_destroy(gather->given);
    gather->given = NULL;
    if (gather->bytes > BUDGET)
        gather_flush(gather);
    if (gather->failed)
        return TSMITH_ERROR_NO_MEMORY;
    if (gather->ready_taken == gather->ready_count) {
        gather->ready_taken = gather->ready_count = 0;
        return TSMITH_OK;
    }
    gather->given = gather->ready[gather->ready_taken++];
    tsmith_status status = tsmith_batch_finish(gather->given);
    *out = status == TSMITH_OK ? gather->given : NULL;
    return status;
}
