// SPDX-License-Identifier: Apache-2.0
// Tiles filled from buckets that were kept from an earlier fill (src/api/trace_tiles.c reads and writes them). Kept buckets are not
// trusted: they must fit the index of the file, and are dropped as a whole when one does not.
#include <stdlib.h>
#include <string.h>

#include "tiles/tiles.h"

static void drop(struct tsmith_tiles *tiles) {
    for (size_t i = 0; i < tiles->track_count; i++) {
        struct tile_track *track = &tiles->tracks[i];
        free(track->levels[0].buckets);
        track->levels[0] = (struct tile_level){0};
        track->level_count = 0;
        track->shift = 0;
        track->finer = (struct tile_stretch){0};
    }
}

static bool is_unfilled(const struct tsmith_tiles *tiles) {
    return !tiles->is_full && !tiles->filling && !tiles->grows;
}

bool tiles_kept_begin(struct tsmith_tiles *tiles) {
    const bool is_meant = is_unfilled(tiles);
    bool good = is_meant;
    for (size_t i = 0; good && i < tiles->track_count; i++) {
        tiles->tracks[i].kept_count = 0;
        good = tiles_make_finest(&tiles->tracks[i]);
    }
    if (!good && is_meant)
        drop(tiles);
    return good;
}

bool tiles_kept_begin_coarse(struct tsmith_tiles *tiles) {
    if (!is_unfilled(tiles))
        return false;
    for (size_t i = 0; i < tiles->track_count; i++) {
        tiles->tracks[i].kept_count = 0;
        tiles->tracks[i].finer = tiles_finest(&tiles->tracks[i]);
    }
    return true;
}

bool tiles_kept_is_load(const struct tsmith_tiles *tiles, const tsmith_bucket *bucket) {
    const unsigned flags = TSMITH_TILE_LOSS | TSMITH_TILE_WAIT | TSMITH_TILE_BUILD | TSMITH_TILE_UNTIMED;
    return bucket->name < tiles->string_count && bucket->kind < TSMITH_KIND_LIMIT &&
           !(bucket->flags & ~flags);
}

// The first coarse buckets of a track say how coarse.
static bool begin_coarse(struct tile_track *track, unsigned shift) {
    const struct tile_stretch *finer = &track->finer;
    if (!finer->count || shift < finer->shift || shift > finer->shift + TILES_KEPT * TILES_STEP)
        return false;
    const unsigned step = shift - finer->shift;
    const uint64_t skipped = finer->skipped >> step, last = (finer->skipped + finer->count - 1) >> step;
    return tiles_make_stretch(track, &(struct tile_stretch){shift, skipped, (size_t)(last - skipped + 1)});
}

bool tiles_kept_put(struct tsmith_tiles *tiles, const struct tiles_kept *kept) {
    struct tile_track *track = tiles_find(tiles, kept->track);
    if (!track || (!track->level_count && !begin_coarse(track, kept->shift)) ||
        kept->origin != tiles->origin || kept->shift != track->shift ||
        kept->is_counter != track->is_counter || kept->first != track->skipped + track->kept_count ||
        kept->count > track->levels[0].count - track->kept_count)
        return false;
    for (size_t i = 0; !track->is_counter && i < kept->count; i++)
        if (!tiles_kept_is_load(tiles, &kept->buckets[i].load))
            return false;
    memcpy(track->levels[0].buckets + track->kept_count, kept->buckets, kept->count * sizeof *kept->buckets);
    track->kept_count += kept->count;
    return true;
}

// Whether all buckets are there and have the events of the index; of a counter, not more: values may be unknown.
static bool is_whole(const struct tile_track *track) {
    uint64_t events = 0;
    for (size_t i = 0; i < track->kept_count; i++) {
        const union tile_bucket *bucket = &track->levels[0].buckets[i];
        events += track->is_counter ? bucket->value.events : bucket->load.events;
    }
    return track->kept_count == track->levels[0].count &&
           (track->is_counter ? events <= track->events : events == track->events);
}

bool tiles_kept_end(struct tsmith_tiles *tiles, bool is_good) {
    for (size_t i = 0; is_good && i < tiles->track_count; i++)
        is_good = is_whole(&tiles->tracks[i]);
    if (!is_good)
        drop(tiles);
    return is_good && tiles_finish(tiles);
}

bool tiles_kept_end_coarse(struct tsmith_tiles *tiles, const struct tiles_finer *finer, bool is_good) {
    if (!tiles_kept_end(tiles, is_good))
        return false;
    tiles->finer = *finer;
    return true;
}

size_t tiles_kept_count(const struct tsmith_tiles *tiles) {
    return tiles->is_full && !tiles->is_truncated && !tiles->finer.read ? tiles->track_count : 0;
}

struct tiles_kept tiles_kept_at(const struct tsmith_tiles *tiles, size_t index, unsigned joined) {
    const struct tile_track *track = &tiles->tracks[index];
    const unsigned level = joined < track->level_count ? joined : track->level_count - 1;
    return (struct tiles_kept){.track = track->track,
                               .is_counter = track->is_counter,
                               .origin = tiles->origin,
                               .shift = track->shift + level * TILES_STEP,
                               .first = track->skipped >> (level * TILES_STEP),
                               .buckets = track->levels[level].buckets,
                               .count = track->levels[level].count};
}
