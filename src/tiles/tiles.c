// SPDX-License-Identifier: Apache-2.0
// Makes tiles from the index of a file: which tracks have events, how many, and when.
#include "tracesmith/tiles.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "base/table.h"
#include "tiles/tiles.h"

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating the tracks of a timeline");
}

static struct tile_track *track_of(struct tsmith_tiles *tiles, struct table *known, uint32_t number) {
    bool is_new;
    uint64_t *index = table_add(known, number, &is_new);
    if (!index)
        return NULL;
    if (!is_new)
        return &tiles->tracks[*index];
    struct tile_track *track = ARRAY_PUSH(tiles->tracks, tiles->track_count, tiles->track_capacity);
    if (!track)
        return NULL;
    *track = (struct tile_track){.track = number, .first = INT64_MAX, .last = INT64_MIN};
    *index = tiles->track_count - 1;
    return track;
}

static bool add_frames(struct tsmith_tiles *tiles) {
    struct table known = {0};
    bool good = true;
    const size_t count = tsmith_sbt_event_frame_count(tiles->trace);
    for (size_t i = 0; i < count && good; i++) {
        tsmith_sbt_event_frame frame = {.size = sizeof frame};
        if (!tsmith_sbt_event_frame_at(tiles->trace, i, &frame))
            continue;
        struct tile_track *track = track_of(tiles, &known, frame.track);
        struct tile_frame *entry =
            track ? ARRAY_PUSH(track->frames, track->frame_count, track->frame_capacity) : NULL;
        good = entry != NULL;
        if (!good)
            break;
        *entry = (struct tile_frame){frame.first_start, frame.last_end, INT64_MAX, frame.events};
        track->events += frame.events;
        track->first = frame.first_start < track->first ? frame.first_start : track->first;
        track->last = frame.last_end > track->last ? frame.last_end : track->last;
    }
    tiles->frame_next = count;
    table_finish(&known);
    return good;
}

static int by_number(const void *a, const void *b) {
    const struct tile_track *left = a, *right = b;
    return left->track < right->track ? -1 : left->track > right->track;
}

void tiles_order_tracks(struct tsmith_tiles *tiles) {
    if (tiles->track_count)
        qsort(tiles->tracks, tiles->track_count, sizeof *tiles->tracks, by_number);
}

void tiles_set_kind(struct tile_track *track, const tsmith_dictionary *dictionary) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track->track);
    track->is_counter = entry && entry->kind == TSMITH_TRACK_COUNTER;
    track->is_queue = entry && (entry->kind == TSMITH_TRACK_QUEUE || entry->kind == TSMITH_TRACK_COPY_ENGINE);
}

bool tiles_describe(struct tsmith_tiles *tiles) {
    const size_t count = tiles->track_count ? tiles->track_count : 1;
    tsmith_tile_track *described = realloc(tiles->described, count * sizeof *described);
    if (!described)
        return false;
    tiles->described = described;
    for (size_t i = 0; i < tiles->track_count; i++) {
        const struct tile_track *track = &tiles->tracks[i];
        described[i] =
            (tsmith_tile_track){track->track, track->events, track->first, track->last, track->is_counter};
    }
    return true;
}

static void order_frames(const struct tsmith_tiles *tiles, struct tile_track *track) {
    int64_t least = INT64_MAX;
    for (size_t i = track->frame_count; i-- > 0;) {
        struct tile_frame *frame = &track->frames[i];
        frame->first = tile_time_since(frame->first, tiles->origin);
        frame->last = tile_time_since(frame->last, tiles->origin);
        frame->least_after = least;
        least = frame->first < least ? frame->first : least;
    }
}

// What is known of each track from its frames: window, order, kind.
static bool finish_tracks(struct tsmith_tiles *tiles, const tsmith_dictionary *dictionary) {
    tiles->origin = INT64_MAX;
    tiles->end = INT64_MIN;
    for (size_t i = 0; i < tiles->track_count; i++) {
        const struct tile_track *track = &tiles->tracks[i];
        tiles->origin = track->first < tiles->origin ? track->first : tiles->origin;
        tiles->end = track->last > tiles->end ? track->last : tiles->end;
    }
    tiles->has_events = tiles->track_count > 0;
    if (!tiles->has_events)
        tiles->origin = tiles->end = 0;
    tiles_order_tracks(tiles);
    for (size_t i = 0; i < tiles->track_count; i++) {
        struct tile_track *track = &tiles->tracks[i];
        tiles_set_kind(track, dictionary);
        track->first = tile_time_since(track->first, tiles->origin);
        track->last = tile_time_since(track->last, tiles->origin);
        order_frames(tiles, track);
    }
    return tiles_describe(tiles);
}

tsmith_status tsmith_tiles_create(tsmith_sbt *trace, tsmith_tiles **out, tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    *out = NULL;
    tsmith_status status = tsmith_sbt_dictionary(trace, &dictionary, error);
    if (status != TSMITH_OK)
        return status;
    struct tsmith_tiles *tiles = calloc(1, sizeof *tiles);
    if (!tiles)
        return out_of_memory(error);
    tiles->trace = trace;
    tiles->string_count = tsmith_dictionary_string_count(dictionary);
    tiles->buckets = calloc(TSMITH_TILE_BUCKETS, sizeof *tiles->buckets);
    tiles->slices = calloc(TSMITH_TILE_SLICES, sizeof *tiles->slices);
    if (!tiles->buckets || !tiles->slices || !add_frames(tiles) || !finish_tracks(tiles, dictionary)) {
        tsmith_tiles_destroy(tiles);
        return out_of_memory(error);
    }
    *out = tiles;
    return TSMITH_OK;
}

void tsmith_tiles_destroy(tsmith_tiles *tiles) {
    if (!tiles)
        return;
    tsmith_source_destroy(tiles->filling);
    if (tiles->finer.finish)
        tiles->finer.finish(tiles->finer.context);
    for (size_t i = 0; i < tiles->track_count; i++) {
        struct tile_track *track = &tiles->tracks[i];
        for (unsigned level = 0; level < track->level_count; level++)
            free(track->levels[level].buckets);
        free(track->frames);
        free(track->pending.events);
        free(track->load);
    }
    free(tiles->tracks);
    free(tiles->described);
    free(tiles->buckets);
    free(tiles->slices);
    free(tiles->events.events);
    free(tiles);
}

int64_t tsmith_tiles_origin(const tsmith_tiles *tiles) {
    return tiles->origin;
}

int64_t tsmith_tiles_end(const tsmith_tiles *tiles) {
    return tiles->end;
}

const tsmith_tile_track *tsmith_tiles_tracks(const tsmith_tiles *tiles, size_t *count) {
    *count = tiles->track_count;
    return tiles->described;
}

struct tile_track *tiles_find(const struct tsmith_tiles *tiles, uint32_t number) {
    const struct tile_track key = {.track = number};
    return tiles->track_count
               ? bsearch(&key, tiles->tracks, tiles->track_count, sizeof *tiles->tracks, by_number)
               : NULL;
}
