// SPDX-License-Identifier: Apache-2.0
// Tiles of a trace that grows. New frames make a stretch of their track out of date: its finest buckets are made again from the events
// of the file, exactly, piece by piece; what they are joined to follows. Nothing is kept of events between two calls.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "tiles/tiles.h"

enum {
    PIECE_EVENTS = 1 << 17, // as good as always at most this many are read at once
    FINER = 8
};

static tsmith_status out_of_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "Out of memory while extending a timeline");
}

// ---- new frames

static struct tile_track *track_of(struct tsmith_tiles *tiles, uint32_t number,
                                   const tsmith_dictionary *dictionary) {
    struct tile_track *track = tiles_find(tiles, number);
    if (track)
        return track;
    track = ARRAY_PUSH(tiles->tracks, tiles->track_count, tiles->track_capacity);
    if (!track)
        return NULL;
    *track = (struct tile_track){.track = number, .first = INT64_MAX, .last = INT64_MIN};
    tiles_set_kind(track, dictionary);
    tiles_order_tracks(tiles);
    return tiles_find(tiles, number);
}

static void free_levels(struct tile_track *track, unsigned from) {
    while (track->level_count > from)
        free(track->levels[--track->level_count].buckets);
}

static void set_outdated(struct tile_track *track, int64_t from, int64_t to) {
    const bool is_new = track->outdated_from >= track->outdated_to;
    track->outdated_from = is_new || from < track->outdated_from ? from : track->outdated_from;
    track->outdated_to = is_new || to > track->outdated_to ? to : track->outdated_to;
}

static void restart_track(struct tile_track *track) {
    free_levels(track, 0);
    track->shift = 0;
    track->is_filled = false;
    set_outdated(track, track->first, track->last + 1);
}

static int64_t move_time(int64_t time, int64_t by) {
    return tile_time_since(time, -by);
}

// An event came that begins before all others: times count from it.
static void move_origin(struct tsmith_tiles *tiles, int64_t origin) {
    const int64_t by = tiles->has_events ? tile_time_since(tiles->origin, origin) : 0;
    for (size_t i = 0; i < tiles->track_count && by; i++) {
        struct tile_track *track = &tiles->tracks[i];
        for (size_t f = 0; f < track->frame_count; f++) {
            track->frames[f].first = move_time(track->frames[f].first, by);
            track->frames[f].last = move_time(track->frames[f].last, by);
        }
        track->first = move_time(track->first, by);
        track->last = move_time(track->last, by);
        restart_track(track);
    }
    tiles->origin = origin;
}

static bool add_frame(struct tsmith_tiles *tiles, const tsmith_sbt_event_frame *frame,
                      const tsmith_dictionary *dictionary) {
    if (!tiles->has_events || frame->first_start < tiles->origin)
        move_origin(tiles, frame->first_start);
    if (!tiles->has_events || frame->last_end > tiles->end)
        tiles->end = frame->last_end;
    tiles->has_events = true;
    struct tile_track *track = track_of(tiles, frame->track, dictionary);
    struct tile_frame *entry =
        track ? ARRAY_PUSH(track->frames, track->frame_count, track->frame_capacity) : NULL;
    if (!entry)
        return false;
    *entry = (struct tile_frame){.first = tile_time_since(frame->first_start, tiles->origin),
                                 .last = tile_time_since(frame->last_end, tiles->origin),
                                 .least_after = INT64_MAX,
                                 .events = frame->events};
    entry->last = entry->last < entry->first ? entry->first : entry->last; // whatever a file says
    track->events += frame->events;
    track->first = entry->first < track->first ? entry->first : track->first;
    track->last = entry->last > track->last ? entry->last : track->last;
    set_outdated(track, entry->first, entry->last + 1);
    return true;
}

static tsmith_status add_frames(struct tsmith_tiles *tiles, tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    const size_t count = tsmith_sbt_event_frame_count(tiles->trace);
    const tsmith_status status = tsmith_sbt_dictionary(tiles->trace, &dictionary, error);
    if (status != TSMITH_OK)
        return status;
    bool good = true;
    for (; good && tiles->frame_next < count; tiles->frame_next++) {
        tsmith_sbt_event_frame frame = {.size = sizeof frame};
        if (tsmith_sbt_event_frame_at(tiles->trace, tiles->frame_next, &frame))
            good = add_frame(tiles, &frame, dictionary);
    }
    tiles->string_count = tsmith_dictionary_string_count(dictionary);
    return good && tiles_describe(tiles) ? TSMITH_OK : out_of_memory(error);
}

// ---- room for them

// The finest level with buckets twice as long.
static bool double_bucket_length(struct tile_track *track) {
    struct tile_level *level = &track->levels[0];
    const uint64_t begin = track->skipped, end = begin + level->count, first = begin >> 1;
    const size_t count = (size_t)(((end - 1) >> 1) - first + 1);
    union tile_bucket *buckets = calloc(count, sizeof *buckets);
    if (!buckets)
        return false;
    for (size_t i = 0; i < count; i++) {
        const uint64_t wanted = (first + i) * 2;
        const uint64_t from = wanted > begin ? wanted : begin, to = wanted + 2 < end ? wanted + 2 : end;
        buckets[i] = tiles_join(level->buckets + (from - begin), (size_t)(to - from), 2, track->is_counter);
    }
    free_levels(track, 1);
    free(level->buckets);
    *level = (struct tile_level){buckets, count};
    track->skipped = first;
    track->shift++;
    return true;
}

// Buckets for all of [first, last] of the track.
static bool widen_level(struct tile_track *track) {
    struct tile_level *level = &track->levels[0];
    const uint64_t first = (uint64_t)track->first >> track->shift,
                   last = (uint64_t)track->last >> track->shift;
    const uint64_t before = track->skipped - first;
    const size_t count = (size_t)(last - first + 1);
    if (first == track->skipped && count == level->count)
        return true;
    union tile_bucket *buckets =
        before ? calloc(count, sizeof *buckets) : realloc(level->buckets, count * sizeof *buckets);
    if (!buckets)
        return false;
    if (before) {
        memcpy(buckets + before, level->buckets, level->count * sizeof *buckets);
        free(level->buckets);
        free_levels(track, 1); // which begin elsewhere now
    } else {
        memset(buckets + level->count, 0, (count - level->count) * sizeof *buckets);
    }
    *level = (struct tile_level){buckets, count};
    track->skipped = first;
    return true;
}

static bool make_room_for_frames(struct tile_track *track) {
    const uint64_t length = (uint64_t)(track->last - track->first);
    const uint64_t wanted = track->events / TILES_PER_BUCKET;
    // Many more events than before: buckets as coarse as these would take too many of them. It happens once in a while only.
    if (track->level_count && track->shift && wanted > FINER * track->levels[0].count)
        restart_track(track);
    if (!track->level_count)
        return tiles_make_finest(track);
    const uint64_t most = wanted > TILES_LEAST ? wanted : TILES_LEAST;
    bool good = true;
    while (good && (length >> track->shift) >= most)
        good = double_bucket_length(track);
    return good && widen_level(track);
}

// ---- a piece

static uint64_t count_events(const struct tile_track *track, int64_t from, int64_t to) {
    uint64_t events = 0;
    for (size_t i = 0; i < track->frame_count; i++)
        if (track->frames[i].first < to && track->frames[i].last >= from)
            events += track->frames[i].events;
    return events;
}

static void put_values(const struct tsmith_tiles *tiles, struct tile_track *track, int64_t from, int64_t to) {
    for (size_t i = 0; i < tiles->events.count; i++) {
        const struct tile_event *event = &tiles->events.events[i];
        const uint64_t bucket = ((uint64_t)event->start >> track->shift) - track->skipped;
        if (event->start >= from && event->start < to && bucket < track->levels[0].count)
            tiles_add_value(&track->levels[0].buckets[bucket].value, event->value);
    }
}

// Makes buckets [first, last] again.
static tsmith_status make_buckets_again(struct tsmith_tiles *tiles, struct tile_track *track, uint64_t first,
                                        uint64_t last, tsmith_error *error) {
    const int64_t from = (int64_t)(first << track->shift), to = (int64_t)((last + 1) << track->shift);
    union tile_bucket *buckets = track->levels[0].buckets + (first - track->skipped);
    const size_t count = (size_t)(last - first + 1);
    const tsmith_status status = tiles_read_events(tiles, track, from, to, error);
    if (status != TSMITH_OK)
        return status;
    memset(buckets, 0, count * sizeof *buckets);
    if (track->is_counter) {
        put_values(tiles, track, from, to);
    } else {
        load_begin(&tiles->load, from, track->shift, &buckets->load, count);
        for (size_t i = 0; i < tiles->events.count; i++)
            load_add(&tiles->load, &tiles->events.events[i]);
        load_end(&tiles->load);
    }
    return tiles_update_levels(track, first, last) ? TSMITH_OK : out_of_memory(error);
}

// The first part of what is out of date, as long as its events are not too many.
static tsmith_status make_next_piece(struct tsmith_tiles *tiles, struct tile_track *track,
                                     tsmith_error *error) {
    const uint64_t end = track->skipped + track->levels[0].count;
    const uint64_t from =
        (uint64_t)(track->outdated_from > track->first ? track->outdated_from : track->first);
    const uint64_t first = from >> track->shift;
    uint64_t last = (uint64_t)(track->outdated_to - 1) >> track->shift;
    last = last < end ? last : end - 1;
    while (last > first && count_events(track, (int64_t)(first << track->shift),
                                        (int64_t)((last + 1) << track->shift)) > PIECE_EVENTS)
        last = first + (last - first) / 2;
    const tsmith_status status = make_buckets_again(tiles, track, first, last, error);
    track->outdated_from = (int64_t)((last + 1) << track->shift);
    track->is_filled = true;
    return status;
}

tsmith_status tsmith_tiles_extend(tsmith_tiles *tiles, size_t pieces, tsmith_error *error) {
    if (tiles->is_full || tiles->filling)
        return status_set(error, TSMITH_ERROR_STATE, "Tiles that were filled cannot be extended");
    for (size_t i = 0; i < tiles->track_count && !tiles->grows; i++)
        set_outdated(&tiles->tracks[i], tiles->tracks[i].first, tiles->tracks[i].last + 1);
    tiles->grows = true;
    tsmith_status status = add_frames(tiles, error);
    for (size_t i = 0; i < tiles->track_count && status == TSMITH_OK; i++) {
        struct tile_track *track = &tiles->tracks[i];
        if (track->outdated_from < track->outdated_to && !make_room_for_frames(track))
            status = out_of_memory(error);
        while (status == TSMITH_OK && track->outdated_from < track->outdated_to) {
            status = make_next_piece(tiles, track, error);
            if (status == TSMITH_OK && pieces && !--pieces)
                return TSMITH_AGAIN;
        }
    }
    return status;
}
