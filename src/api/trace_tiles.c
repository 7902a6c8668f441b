// SPDX-License-Identifier: Apache-2.0
// Keeps the detail of a timeline in the cache of imported traces, so that the next `studio` of the same trace does not read its events
// again. An entry is an SBT file that has DETAIL frames and no events. It is found by the content of the trace: a hash of all its frame
// headers, each of which has the checksum of its payload. tiles_load.c reads such a file.
#include "api/trace_tiles.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/import_cache.h"
#include "api/opened_trace.h"
#include "base/file.h"
#include "base/status.h"
#include "sbt/detail.h"
#include "sbt/reader.h"
#include "tiles/tiles.h"
#include "tracesmith/trace.h"

enum {
    LEAST = 1 << 20,    // bytes: the detail of a smaller trace is built as quickly as it is looked up
    HELD_MOST = 1 << 18 // buckets that the loader of a saved file has to hold
};

// ---- what a trace is found by

static bool find_identity(const tsmith_sbt *sbt, struct chunk_hash *out) {
    static const char what[] = "detail 1";
    uint8_t block[64 * SBT_FRAME_HEADER_SIZE];
    size_t held = 0;
    struct {
        struct chunk_hash before, block;
    } state = {chunk_hash_of(what, sizeof what), {0}};
    for (size_t i = 0; i <= sbt->frames.count; i++) {
        if (held == sizeof block || i == sbt->frames.count) {
            state.block = chunk_hash_of(block, held);
            state.before = chunk_hash_of(&state, sizeof state);
            held = 0;
        }
        if (i < sbt->frames.count && !reader_read_header(sbt, i, block + held))
            return false;
        held += SBT_FRAME_HEADER_SIZE;
    }
    *out = state.before;
    return true;
}

static bool open_cache(tsmith_trace *trace, struct import_cache *cache) {
    struct chunk_hash identity;
    uint64_t limit;
    const tsmith_sbt *sbt = tsmith_trace_sbt(trace);
    const char *folder = opened_trace_cache(trace, &limit);
    if (!folder || sbt->size < LEAST || !reader_is_complete(sbt) || !find_identity(sbt, &identity))
        return false;
    import_cache_open_by(cache, folder, limit, identity);
    return true;
}

// ---- the cache

tsmith_status tsmith_trace_load_tiles(tsmith_trace *trace, tsmith_tiles *tiles, tsmith_error *error) {
    struct import_cache cache;
    tsmith_sbt *kept = NULL;
    bool good = false;
    if (open_cache(trace, &cache)) {
        const int fd = import_cache_find(&cache);
        if (fd >= 0) {
            good =
                tsmith_sbt_open_fd(fd, "detail", &kept, NULL) == TSMITH_OK && trace_tiles_read(kept, tiles);
            (void)close(fd);
            tsmith_sbt_close(kept);
            if (!good) // what nothing can be made of would be found again
                import_cache_remove(&cache);
        }
        import_cache_close(&cache);
    }
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NOT_FOUND,
                             "no usable timeline detail of this trace is in the cache");
}

// ---- keeping

static void put_columns(uint64_t *columns[DETAIL_COLUMNS], const struct tiles_kept *track, size_t from,
                        uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const union tile_bucket *bucket = &track->buckets[from + i];
        uint32_t bits[2];
        if (track->is_counter) {
            memcpy(bits, &bucket->value.least, sizeof *bits);
            memcpy(bits + 1, &bucket->value.most, sizeof *bits);
            columns[0][i] = bits[0];
            columns[1][i] = bits[1];
            columns[2][i] = bucket->value.events;
        } else {
            columns[0][i] = bucket->load.name;
            columns[1][i] = bucket->load.events;
            columns[2][i] = bucket->load.busy;
            columns[3][i] = bucket->load.kind | (uint64_t)bucket->load.flags << 8;
        }
    }
}

static tsmith_status write_track(struct sbt_writer *writer, const struct tiles_kept *track,
                                 uint64_t *columns[DETAIL_COLUMNS], tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t from = 0; status == TSMITH_OK && from < track->count; from += DETAIL_MOST) {
        const size_t left = track->count - from;
        struct sbt_detail detail = {.track = track->track,
                                    .form = track->is_counter ? DETAIL_VALUES : DETAIL_LOADS,
                                    .origin = track->origin,
                                    .shift = track->shift,
                                    .first = track->first + from,
                                    .count = left < DETAIL_MOST ? (uint32_t)left : DETAIL_MOST};
        put_columns(columns, track, from, detail.count);
        for (int i = 0; i < DETAIL_COLUMNS; i++)
            detail.columns[i] = columns[i];
        status = sbt_detail_write(writer, &detail, error);
    }
    return status;
}

// How many times buckets are joined until at most `most` are left; 0: they are few enough as they are.
static unsigned joined_for(const tsmith_tiles *tiles, size_t most) {
    for (unsigned joined = 0;; joined++) {
        size_t count = 0;
        for (size_t i = 0; i < tiles_kept_count(tiles); i++)
            count += tiles_kept_at(tiles, i, joined).count;
        if (count <= most || joined == TILES_KEPT)
            return joined;
    }
}

static tsmith_status write_tracks(struct sbt_writer *writer, const tsmith_tiles *tiles, unsigned joined,
                                  uint64_t *columns[DETAIL_COLUMNS], tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (size_t i = 0; status == TSMITH_OK && i < tiles_kept_count(tiles); i++) {
        const struct tiles_kept track = tiles_kept_at(tiles, i, joined);
        status = write_track(writer, &track, columns, error);
    }
    return status;
}

tsmith_status trace_tiles_write(int fd, const tsmith_tiles *tiles, size_t held, tsmith_error *error) {
    struct sbt_writer *writer;
    uint64_t *columns[DETAIL_COLUMNS];
    uint64_t *all = calloc(DETAIL_COLUMNS * DETAIL_MOST, sizeof *all);
    tsmith_dictionary *dictionary = NULL;
    if (!all || tsmith_dictionary_create(&dictionary) != TSMITH_OK) {
        free(all);
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while keeping the detail of a timeline");
    }
    for (int i = 0; i < DETAIL_COLUMNS; i++)
        columns[i] = all + (size_t)i * DETAIL_MOST;
    tsmith_status status = sbt_writer_create_fd(fd, "detail", NULL, &writer, error);
    if (status == TSMITH_OK) {
        const unsigned joined = joined_for(tiles, held);
        status = write_tracks(writer, tiles, 0, columns, error);
        if (status == TSMITH_OK && joined)
            status = write_tracks(writer, tiles, joined, columns, error);
        if (status == TSMITH_OK)
            status = sbt_writer_finish(writer, dictionary, error);
        sbt_writer_destroy(writer);
    }
    tsmith_dictionary_destroy(dictionary);
    free(all);
    return status;
}

tsmith_status tsmith_trace_keep_tiles(tsmith_trace *trace, const tsmith_tiles *tiles, tsmith_error *error) {
    struct import_cache cache;
    if (!tiles_kept_count(tiles) || !open_cache(trace, &cache))
        return TSMITH_OK;
    tsmith_status status = TSMITH_OK;
    const int fd = file_temporary();
    if (fd >= 0) {
        status = trace_tiles_write(fd, tiles, SIZE_MAX, error); // all of it is loaded
        if (status == TSMITH_OK)
            import_cache_keep(&cache, fd);
        (void)close(fd);
    }
    import_cache_close(&cache);
    return status;
}

// ---- a file of the caller

tsmith_status tsmith_tiles_save(const tsmith_tiles *tiles, const char *path, tsmith_error *error) {
    if (!tiles_kept_count(tiles))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "%s: the timeline detail is incomplete and cannot be kept", path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return status_set_errno(error, "%s cannot be written", path);
    tsmith_status status = trace_tiles_write(fd, tiles, HELD_MOST, error);
    if (close(fd) != 0 && status == TSMITH_OK)
        status = status_set_errno(error, "%s cannot be written", path);
    if (status != TSMITH_OK)
        (void)unlink(path);
    return status;
}
