// SPDX-License-Identifier: Apache-2.0
// One tile: from the levels that are kept, or, where they are too coarse or few events are seen, from the events of the file.
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "tiles/tiles.h"

// Before tiles are filled, more events than this are not read for one tile.
enum { READ_AT_ONCE = 4 << 16 };

struct wanted {
    struct tile_track *track;
    unsigned level;
    int64_t from, to; // since the origin
};

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a part of the timeline");
}

// ---- from the file

tsmith_status tiles_read_events(struct tsmith_tiles *tiles, const struct tile_track *track, int64_t since,
                                int64_t until, tsmith_error *error) {
    int64_t from, to;
    if (__builtin_add_overflow(since, tiles->origin, &from))
        from = INT64_MAX;
    if (__builtin_add_overflow(until, tiles->origin, &to))
        to = INT64_MAX;
    const tsmith_scan scan = {.size = sizeof scan,
                              .has_window = 1,
                              .from = from,
                              .to = to,
                              .tracks = &track->track,
                              .track_count = 1,
                              .fields = tiles_fields,
                              .field_count = TILES_FIELDS};
    tsmith_source *source;
    const tsmith_batch *batch;
    tiles->events.count = 0;
    tiles->events.is_unsorted = false;
    tsmith_status status = tsmith_sbt_scan(tiles->trace, &scan, &source, error);
    while (status == TSMITH_OK && (status = tsmith_source_next(source, &batch, error)) == TSMITH_OK) {
        struct tile_rows rows;
        if (tiles_open_rows(tiles, track, batch, &rows) &&
            !tiles_take_rows(&rows, 0, since, until, &tiles->events))
            status = out_of_memory(error);
    }
    tsmith_source_destroy(source);
    if (status < 0)
        return status;
    if (!tiles_sort_events(&tiles->events))
        return out_of_memory(error);
    return TSMITH_OK; // what a damaged file lacks is in its ledger
}

// The first lane that is free.
static unsigned lane_of(int64_t *ends, unsigned *lanes, const struct tile_event *event) {
    unsigned lane = 0;
    while (lane < *lanes && ends[lane] > event->start)
        lane++;
    if (lane == TSMITH_TILE_LANES)
        lane--;
    *lanes = lane >= *lanes ? lane + 1 : *lanes;
    ends[lane] = event->end;
    return lane;
}

static void put_slices(struct tsmith_tiles *tiles, tsmith_tile *out) {
    int64_t ends[TSMITH_TILE_LANES];
    unsigned lanes = 0;
    for (size_t i = 0; i < tiles->events.count; i++) {
        const struct tile_event *event = &tiles->events.events[i];
        tiles->slices[i] = (tsmith_slice){.start = event->start,
                                          .duration = event->is_timed ? event->end - event->start : -1,
                                          .name = event->name,
                                          .kind = event->kind,
                                          .lane = (uint8_t)lane_of(ends, &lanes, event),
                                          .flags = event->flags};
    }
    out->form = TSMITH_FORM_SLICES;
    out->count = (uint32_t)tiles->events.count;
    out->of.slices = tiles->slices;
}

static void put_events(struct tsmith_tiles *tiles, const struct wanted *wanted, tsmith_tile *out) {
    if (!wanted->track->is_counter && tiles->events.count <= TSMITH_TILE_SLICES) {
        put_slices(tiles, out);
        return;
    }
    if (wanted->track->is_counter) {
        for (size_t i = 0; i < tiles->events.count; i++)
            if (tiles->events.events[i].start >= wanted->from)
                tiles_add_value(
                    &tiles->buckets[(tiles->events.events[i].start - wanted->from) >> wanted->level].value,
                    tiles->events.events[i].value);
        return;
    }
    load_begin(&tiles->load, wanted->from, wanted->level, &tiles->buckets->load, TSMITH_TILE_BUCKETS);
    for (size_t i = 0; i < tiles->events.count; i++)
        load_add(&tiles->load, &tiles->events.events[i]);
    load_end(&tiles->load);
}

// ---- from what is kept

// Buckets of a kept level, joined to those of the tile.
static void put_kept(struct tsmith_tiles *tiles, const struct wanted *wanted) {
    const struct tile_track *track = wanted->track;
    unsigned kept = (wanted->level - track->shift) / TILES_STEP;
    kept = kept < track->level_count ? kept : track->level_count - 1;
    const unsigned step = wanted->level - track->shift - kept * TILES_STEP;
    const struct tile_level *level = &track->levels[kept];
    const uint64_t begin = track->skipped >> (kept * TILES_STEP), end = begin + level->count;
    for (size_t i = 0; i < TSMITH_TILE_BUCKETS; i++) {
        const uint64_t number = ((uint64_t)wanted->from >> wanted->level) + i;
        const uint64_t first = number << step, last = (number + 1) << step;
        const uint64_t from = first > begin ? first : begin, to = last < end ? last : end;
        if (from < to)
            tiles->buckets[i] = tiles_join(level->buckets + (from - begin), (size_t)(to - from),
                                           UINT64_C(1) << step, track->is_counter);
    }
}

// ---- from the detail that is not in memory

static bool is_finer(const struct tsmith_tiles *tiles, const struct wanted *wanted) {
    const struct tile_stretch *finer = &wanted->track->finer;
    return tiles->finer.read && finer->count && wanted->track->is_filled && wanted->level >= finer->shift &&
           wanted->level < wanted->track->shift;
}

// Buckets of the finest length, joined to those of the tile. False: they cannot be had, and events are read.
static bool put_finer(struct tsmith_tiles *tiles, const struct wanted *wanted) {
    const struct tile_stretch *finer = &wanted->track->finer;
    const unsigned step = wanted->level - finer->shift;
    const uint64_t first = (uint64_t)wanted->from >> finer->shift,
                   last = (uint64_t)wanted->to >> finer->shift;
    const uint64_t begin = first > finer->skipped ? first : finer->skipped;
    const uint64_t end = last < finer->skipped + finer->count ? last : finer->skipped + finer->count;
    if (begin >= end)
        return true;
    union tile_bucket *buckets = malloc((size_t)(end - begin) * sizeof *buckets);
    const bool good =
        buckets && tiles->finer.read(tiles->finer.context, (size_t)(wanted->track - tiles->tracks), begin,
                                     (size_t)(end - begin), buckets);
    for (size_t i = 0; good && i < TSMITH_TILE_BUCKETS; i++) {
        const uint64_t from = first + ((uint64_t)i << step), to = from + (UINT64_C(1) << step);
        const uint64_t least = from > begin ? from : begin, most = to < end ? to : end;
        if (least < most)
            tiles->buckets[i] = tiles_join(buckets + (least - begin), (size_t)(most - least),
                                           UINT64_C(1) << step, wanted->track->is_counter);
    }
    free(buckets);
    return good;
}

static uint64_t count_kept(const struct tsmith_tiles *tiles, const tsmith_tile *tile) {
    uint64_t events = 0;
    for (size_t i = 0; i < TSMITH_TILE_BUCKETS; i++)
        events += tile->form == TSMITH_FORM_VALUES ? 0 : tiles->buckets[i].load.events;
    return events;
}

// ---- from the index

// Events of frames that touch the tile.
static uint64_t count_indexed(const struct wanted *wanted) {
    uint64_t events = 0;
    for (size_t i = 0; i < wanted->track->frame_count; i++) {
        const struct tile_frame *frame = &wanted->track->frames[i];
        if (frame->first < wanted->to && frame->last >= wanted->from)
            events += frame->events;
    }
    return events;
}

static void put_indexed(struct tsmith_tiles *tiles, const struct wanted *wanted) {
    const double each = (double)(UINT64_C(1) << wanted->level);
    for (size_t i = 0; i < wanted->track->frame_count; i++) {
        const struct tile_frame *frame = &wanted->track->frames[i];
        const double first = (double)(frame->first - wanted->from) / each,
                     last = (double)(frame->last - wanted->from) / each;
        const double per = frame->events / (last - first > 1 ? last - first : 1);
        for (double at = first > 0 ? first : 0; at <= last && at < TSMITH_TILE_BUCKETS; at++)
            tiles->buckets[(size_t)at].load.events += (uint32_t)(per > 1 ? per : 1);
    }
}

// ----

static tsmith_status find_wanted(const struct tsmith_tiles *tiles, uint32_t track, uint32_t level,
                                 uint64_t index, struct wanted *out, tsmith_error *error) {
    if (level >= TSMITH_TILE_LEVELS)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "Level %u of the timeline does not exist; the last is %d", level,
                          TSMITH_TILE_LEVELS - 1);
    const unsigned shift = level + 9;
    _Static_assert(TSMITH_TILE_BUCKETS == 1 << 9, "a tile is 2^9 buckets");
    if (index >= (UINT64_C(1) << 61) >> shift)
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "Tile %llu of level %u is beyond the range of times", (unsigned long long)index,
                          level);
    *out = (struct wanted){tiles_find(tiles, track), level, (int64_t)(index << shift),
                           (int64_t)((index + 1) << shift)};
    return out->track ? TSMITH_OK
                      : status_set(error, TSMITH_ERROR_NOT_FOUND, "Track %u has no events", track);
}

static bool is_outdated(const struct wanted *wanted) {
    const struct tile_track *track = wanted->track;
    return track->outdated_from < track->outdated_to && wanted->to > track->outdated_from &&
           wanted->from < track->outdated_to;
}

static bool is_kept(const struct wanted *wanted) {
    return wanted->track->is_filled && wanted->level >= wanted->track->shift && !is_outdated(wanted);
}

// Whether events of the file must be read: `out` is then not filled.
static bool must_read(struct tsmith_tiles *tiles, const struct wanted *wanted, tsmith_tile *out) {
    if (is_kept(wanted)) {
        put_kept(tiles, wanted);
        return !wanted->track->is_counter && count_kept(tiles, out) <= TSMITH_TILE_SLICES;
    }
    if (is_finer(tiles, wanted) && put_finer(tiles, wanted))
        return !wanted->track->is_counter && count_kept(tiles, out) <= TSMITH_TILE_SLICES;
    const bool is_known = tiles->is_full || (wanted->track->is_filled && !is_outdated(wanted));
    if (is_known || count_indexed(wanted) <= READ_AT_ONCE)
        return true;
    if (!wanted->track->is_counter)
        put_indexed(tiles, wanted);
    out->preliminary = 1;
    return false;
}

tsmith_status tsmith_tiles_read(tsmith_tiles *tiles, uint32_t track, uint32_t level, uint64_t index,
                                tsmith_tile *given, tsmith_error *error) {
    struct wanted wanted;
    tsmith_status status = find_wanted(tiles, track, level, index, &wanted, error);
    if (status != TSMITH_OK)
        return status;
    memset(tiles->buckets, 0, TSMITH_TILE_BUCKETS * sizeof *tiles->buckets);
    tsmith_tile tile = {.size = sizeof tile,
                        .form = wanted.track->is_counter ? TSMITH_FORM_VALUES : TSMITH_FORM_BUCKETS,
                        .level = level,
                        .count = TSMITH_TILE_BUCKETS};
    tiles->events.count = 0;
    tiles->events.is_unsorted = false;
    if (wanted.to <= wanted.track->first || wanted.from > wanted.track->last)
        put_events(tiles, &wanted, &tile); // none
    else if (must_read(tiles, &wanted, &tile)) {
        memset(tiles->buckets, 0, TSMITH_TILE_BUCKETS * sizeof *tiles->buckets);
        status = tiles_read_events(tiles, wanted.track, wanted.from, wanted.to, error);
        put_events(tiles, &wanted, &tile);
    }
    if (tile.form == TSMITH_FORM_BUCKETS)
        tile.of.buckets = &tiles->buckets->load;
    else if (tile.form == TSMITH_FORM_VALUES)
        tile.of.values = &tiles->buckets->value;
    sized_give(tsmith_tile, &tile, given);
    return status;
}
