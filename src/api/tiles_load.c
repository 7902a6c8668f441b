// SPDX-License-Identifier: Apache-2.0
// Fills the tiles of a timeline from a file of detail frames, which trace_tiles.c wrote. It and the reader for browsers call it.
#include <stdlib.h>
#include <string.h>

#include "api/trace_tiles.h"
#include "base/status.h"
#include "sbt/detail.h"
#include "tiles/tiles.h"

struct loading {
    tsmith_tiles *tiles;
    union tile_bucket *buckets; // DETAIL_MOST
};

static float float_of(uint64_t bits) {
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static void make_buckets(const struct sbt_detail *detail, union tile_bucket *out) {
    const uint64_t *const *columns = detail->columns;
    for (uint32_t i = 0; i < detail->count; i++) {
        if (detail->form == DETAIL_VALUES)
            out[i].value = (tsmith_value_bucket){float_of(columns[0][i]), float_of(columns[1][i]),
                                                 (uint32_t)columns[2][i]};
        else
            out[i].load = (tsmith_bucket){.name = (uint32_t)columns[0][i],
                                          .events = (uint32_t)columns[1][i],
                                          .busy = (uint16_t)columns[2][i],
                                          .kind = (uint8_t)columns[3][i],
                                          .flags = (uint8_t)(columns[3][i] >> 8)};
    }
}

static bool take_detail(void *context, const struct sbt_detail *detail) {
    struct loading *loading = context;
    make_buckets(detail, loading->buckets);
    return tiles_kept_put(loading->tiles, &(struct tiles_kept){.track = detail->track,
                                                               .is_counter = detail->form == DETAIL_VALUES,
                                                               .origin = detail->origin,
                                                               .shift = detail->shift,
                                                               .first = detail->first,
                                                               .buckets = loading->buckets,
                                                               .count = detail->count});
}

bool trace_tiles_read(tsmith_sbt *kept, tsmith_tiles *tiles) {
    struct loading loading = {tiles, malloc(DETAIL_MOST * sizeof(union tile_bucket))};
    bool good = loading.buckets && tiles_kept_begin(tiles);
    if (good)
        good = tiles_kept_end(tiles, sbt_detail_read(kept, take_detail, &loading, NULL) == TSMITH_OK);
    free(loading.buckets);
    return good;
}

// ---- buckets that are read when they are wanted

struct finer {
    struct loading loading; // first: its buckets are of one frame
    tsmith_sbt *kept;
    // Of the call.
    size_t track, frame; // number of the frame in the track
    uint64_t first;
    size_t count;
    union tile_bucket *out;
};

static size_t frames_of(const struct tile_stretch *stretch) {
    return (stretch->count + DETAIL_MOST - 1) / DETAIL_MOST;
}

// Copies what is wanted of a frame, which is as little trusted as those that are loaded.
static bool take_finer(void *context, const struct sbt_detail *detail) {
    struct finer *finer = context;
    const struct tsmith_tiles *tiles = finer->loading.tiles;
    const struct tile_track *track = &tiles->tracks[finer->track];
    const size_t skipped = finer->frame * DETAIL_MOST, left = track->finer.count - skipped;
    if (detail->track != track->track || detail->origin != tiles->origin ||
        detail->shift != track->finer.shift || (detail->form == DETAIL_VALUES) != track->is_counter ||
        detail->first != track->finer.skipped + skipped ||
        detail->count != (left < DETAIL_MOST ? left : DETAIL_MOST))
        return false;
    const uint64_t wanted = finer->first + finer->count, there = detail->first + detail->count;
    const uint64_t begin = finer->first > detail->first ? finer->first : detail->first;
    const uint64_t end = wanted < there ? wanted : there;
    union tile_bucket *buckets = finer->loading.buckets;
    make_buckets(detail, buckets);
    for (uint64_t i = begin; !track->is_counter && i < end; i++)
        if (!tiles_kept_is_load(tiles, &buckets[i - detail->first].load))
            return false;
    memcpy(finer->out + (begin - finer->first), buckets + (begin - detail->first),
           (size_t)(end - begin) * sizeof *buckets);
    return true;
}

static bool read_finer(void *context, size_t track, uint64_t first, size_t count, union tile_bucket *out) {
    struct finer *finer = context;
    const struct tsmith_tiles *tiles = finer->loading.tiles;
    const uint64_t skipped = first - tiles->tracks[track].finer.skipped;
    const size_t from = (size_t)(skipped / DETAIL_MOST), to = (size_t)((skipped + count - 1) / DETAIL_MOST);
    size_t before = 0; // frames of other tracks
    for (size_t i = 0; i < track; i++)
        before += frames_of(&tiles->tracks[i].finer);
    finer->track = track;
    finer->first = first;
    finer->count = count;
    finer->out = out;
    for (finer->frame = from; finer->frame <= to; finer->frame++)
        if (sbt_detail_read_some(finer->kept, before + finer->frame, 1, take_finer, finer, NULL) != TSMITH_OK)
            return false;
    return true;
}

static void finish_finer(void *context) {
    struct finer *finer = context;
    tsmith_sbt_close(finer->kept);
    free(finer->loading.buckets);
    free(finer);
}

bool trace_tiles_read_coarse(tsmith_sbt *kept, tsmith_tiles *tiles) {
    struct finer *finer = calloc(1, sizeof *finer);
    union tile_bucket *buckets = malloc(DETAIL_MOST * sizeof *buckets);
    bool good = finer && buckets && tiles_kept_begin_coarse(tiles);
    if (good) {
        size_t finest = 0;
        for (size_t i = 0; i < tiles->track_count; i++)
            finest += frames_of(&tiles->tracks[i].finer);
        *finer = (struct finer){.loading = {tiles, buckets}, .kept = kept};
        good = tiles_kept_end_coarse(tiles, &(struct tiles_finer){finer, read_finer, finish_finer},
                                     sbt_detail_read_some(kept, finest, SIZE_MAX - finest, take_detail,
                                                          &finer->loading, NULL) == TSMITH_OK);
    }
    if (!good) {
        free(buckets);
        free(finer);
    }
    return good;
}

static bool has_coarse(const tsmith_sbt *kept, const tsmith_tiles *tiles) {
    size_t finest = 0;
    for (size_t i = 0; i < tiles->track_count; i++) {
        const struct tile_stretch stretch = tiles_finest(&tiles->tracks[i]);
        finest += frames_of(&stretch);
    }
    return sbt_detail_count(kept) > finest;
}

tsmith_status tsmith_tiles_load(tsmith_tiles *tiles, const char *path, tsmith_error *error) {
    tsmith_sbt *kept;
    tsmith_status status = tsmith_sbt_open(path, &kept, error);
    if (status != TSMITH_OK)
        return status;
    if (has_coarse(kept, tiles)) {
        if (trace_tiles_read_coarse(kept, tiles))
            return TSMITH_OK; // the file is the tiles'
        status =
            status_set(error, TSMITH_ERROR_CORRUPT, "%s does not belong to this trace or is damaged", path);
    } else if (!trace_tiles_read(kept, tiles))
        status =
            status_set(error, TSMITH_ERROR_CORRUPT, "%s does not belong to this trace or is damaged", path);
    tsmith_sbt_close(kept);
    return status;
}
