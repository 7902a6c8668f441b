// SPDX-License-Identifier: Apache-2.0
// Fills tiles: one pass over the events of a file, all tracks at once. A track's batches may overlap in time; an event is added
// when no later batch of the track can have an earlier one.
#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "base/status.h"
#include "tiles/tiles.h"

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY,
                      "out of memory while building the buckets of a timeline");
}

struct tile_stretch tiles_finest(const struct tile_track *track) {
    const uint64_t length = (uint64_t)(track->last - track->first);
    const uint64_t wanted = track->events / TILES_PER_BUCKET;
    const uint64_t most = wanted > TILES_LEAST ? wanted : TILES_LEAST;
    struct tile_stretch out = {.shift = track->shift}; // one that grows keeps it
    while ((length >> out.shift) >= most)
        out.shift++;
    out.skipped = (uint64_t)track->first >> out.shift;
    out.count = (size_t)(((uint64_t)track->last >> out.shift) - out.skipped + 1);
    return out;
}

bool tiles_make_stretch(struct tile_track *track, const struct tile_stretch *stretch) {
    union tile_bucket *buckets = calloc(stretch->count, sizeof *buckets);
    if (!buckets)
        return false;
    track->shift = stretch->shift;
    track->skipped = stretch->skipped;
    track->levels[0] = (struct tile_level){buckets, stretch->count};
    track->level_count = 1;
    return true;
}

bool tiles_make_finest(struct tile_track *track) {
    const struct tile_stretch finest = tiles_finest(track);
    return tiles_make_stretch(track, &finest);
}

static bool begin_track(struct tile_track *track) {
    if (!tiles_make_finest(track))
        return false;
    if (track->is_counter)
        return true;
    track->load = malloc(sizeof *track->load);
    if (track->load)
        load_begin(track->load, (int64_t)track->skipped << track->shift, track->shift,
                   &track->levels[0].buckets->load, track->levels[0].count);
    return track->load != NULL;
}

static void add_values(struct tile_track *track, const struct tile_rows *rows) {
    for (uint32_t row = 0; row < rows->count; row++) {
        double value;
        const int64_t start = tile_time_since(rows->starts[row], rows->origin);
        const uint64_t bucket = (uint64_t)(start >> track->shift) - track->skipped;
        if (start >= 0 && bucket < track->levels[0].count && tsmith_view_f64(&rows->value, row, &value))
            tiles_add_value(&track->levels[0].buckets[bucket].value, value);
    }
}

static void drop_pending(struct tile_events *pending, size_t count) {
    pending->count -= count;
    if (count && pending->count)
        memmove(pending->events, pending->events + count, pending->count * sizeof *pending->events);
    pending->least = pending->count ? pending->events->start : 0;
}

// Whether something is pending before a time, which is then sorted.
static bool is_due(const struct tile_track *track, int64_t before) {
    return track->pending.count && track->pending.least < before;
}

// Adds what is pending before a time. It is sorted.
static void add_pending(struct tile_track *track, int64_t before) {
    struct tile_events *pending = &track->pending;
    size_t i = 0;
    while (i < pending->count && pending->events[i].start < before)
        load_add(track->load, &pending->events[i++]);
    drop_pending(pending, i);
}

// The first row at or after a time.
static uint32_t row_at(const struct tile_rows *rows, uint32_t row, int64_t time) {
    return SORTED_FIND(i, row, rows->count, rows->starts[i] - rows->origin < time);
}

// Adds rows and what is pending in order, up to a time. Returns the first row that is left.
static uint32_t add_rows(struct tile_track *track, const struct tile_rows *rows, int64_t before) {
    struct tile_events *pending = &track->pending;
    uint32_t row = 0;
    size_t i = 0;
    const bool has_due = is_due(track, before);
    for (; has_due && i < pending->count && pending->events[i].start < before; i++) {
        const uint32_t to = row_at(rows, row, pending->events[i].start);
        load_add_rows(track->load, rows, row, to);
        load_add(track->load, &pending->events[i]);
        row = to;
    }
    if (i)
        drop_pending(pending, i);
    const uint32_t to = row_at(rows, row, before);
    load_add_rows(track->load, rows, row, to);
    return to;
}

// The earliest start of what comes after this batch. A damaged frame of the index may not have come.
static int64_t least_after(struct tile_track *track, const struct tsmith_tiles *tiles,
                           const tsmith_batch *batch) {
    const int64_t first = tile_time_since(tsmith_batch_first_start(batch), tiles->origin);
    while (track->frame_next < track->frame_count) {
        const struct tile_frame *frame = &track->frames[track->frame_next++];
        if (frame->first == first && frame->events == tsmith_batch_count(batch))
            return frame->least_after;
    }
    return INT64_MAX;
}

static tsmith_status take_batch(struct tsmith_tiles *tiles, const tsmith_batch *batch, tsmith_error *error) {
    struct tile_track *track = tiles_find(tiles, tsmith_batch_track(batch));
    if (!track)
        return TSMITH_OK;
    if (!track->level_count && !begin_track(track))
        return out_of_memory(error);
    struct tile_rows rows;
    if (!tiles_open_rows(tiles, track, batch, &rows))
        return TSMITH_OK;
    if (track->is_counter) {
        add_values(track, &rows);
        return TSMITH_OK;
    }
    const int64_t before = least_after(track, tiles, batch);
    const bool is_plain = tile_rows_are_plain(&rows);
    if (is_due(track, before) && !tiles_sort_events(&track->pending))
        return out_of_memory(error);
    const uint32_t added = is_plain ? add_rows(track, &rows, before) : 0;
    if (added == rows.count)
        return TSMITH_OK;
    if (!tiles_take_rows(&rows, added, INT64_MIN, INT64_MAX, &track->pending))
        return out_of_memory(error);
    if (!is_plain && is_due(track, before)) {
        if (!tiles_sort_events(&track->pending))
            return out_of_memory(error);
        add_pending(track, before);
    }
    return TSMITH_OK;
}

static bool finish_track(struct tile_track *track) {
    if (!track->level_count)
        return true; // no batch of it could be read
    if (track->load) {
        if (!tiles_sort_events(&track->pending))
            return false;
        add_pending(track, INT64_MAX);
        load_end(track->load);
    }
    free(track->load);
    free(track->pending.events);
    free(track->frames);
    track->load = NULL;
    track->frames = NULL;
    track->pending = (struct tile_events){0};
    track->frame_count = track->frame_capacity = 0;
    track->is_filled = true;
    return tiles_make_levels(track);
}

bool tiles_finish(struct tsmith_tiles *tiles) {
    for (size_t i = 0; i < tiles->track_count; i++)
        if (!finish_track(&tiles->tracks[i]))
            return false;
    tiles->is_full = true;
    return true;
}

static tsmith_status finish(struct tsmith_tiles *tiles, tsmith_status ended, tsmith_error *error) {
    tsmith_source_destroy(tiles->filling);
    tiles->filling = NULL;
    if (!tiles_finish(tiles))
        return out_of_memory(error);
    tiles->is_truncated = ended == TSMITH_TRUNCATED;
    return ended == TSMITH_END ? TSMITH_OK : ended;
}

tsmith_status tsmith_tiles_fill(tsmith_tiles *tiles, size_t batches, tsmith_error *error) {
    if (tiles->is_full)
        return TSMITH_OK;
    if (tiles->grows)
        return status_set(error, TSMITH_ERROR_STATE, "Tiles that are extended cannot be filled");
    const tsmith_scan scan = {.size = sizeof scan, .fields = tiles_fields, .field_count = TILES_FIELDS};
    if (!tiles->filling) {
        const tsmith_status status = tsmith_sbt_scan(tiles->trace, &scan, &tiles->filling, error);
        if (status != TSMITH_OK)
            return status;
    }
    for (size_t taken = 0; batches == 0 || taken < batches; taken++) {
        const tsmith_batch *batch;
        tsmith_status status = tsmith_source_next(tiles->filling, &batch, error);
        if (status == TSMITH_END || status == TSMITH_TRUNCATED)
            return finish(tiles, status, error);
        if (status == TSMITH_OK)
            status = take_batch(tiles, batch, error);
        if (status != TSMITH_OK)
            return status;
    }
    return TSMITH_AGAIN;
}
