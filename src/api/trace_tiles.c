// SPDX-License-Identifier: Apache-2.0
// Keeps the detail of a timeline in the cache of imported traces, so that the next `studio` of the same trace does not read its events
// again. An entry is an SBT file that has DETAIL frames and no events. It is found by the content of the trace: a hash of all its frame
// headers, each of which has the checksum of its payload.
#include "api/trace_tiles.h"

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

enum { LEAST = 1 << 20 }; // bytes: the detail of a smaller trace is built as quickly as it is looked up

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

// ---- loading

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

static bool take(void *context, const struct sbt_detail *detail) {
    struct loading *loading = context;
    const uint64_t *const *columns = detail->columns;
    for (uint32_t i = 0; i < detail->count; i++) {
        if (detail->form == DETAIL_VALUES)
            loading->buckets[i].value = (tsmith_value_bucket){
                float_of(columns[0][i]), float_of(columns[1][i]), (uint32_t)columns[2][i]};
        else
            loading->buckets[i].load = (tsmith_bucket){.name = (uint32_t)columns[0][i],
                                                       .events = (uint32_t)columns[1][i],
                                                       .busy = (uint16_t)columns[2][i],
                                                       .kind = (uint8_t)columns[3][i],
                                                       .flags = (uint8_t)(columns[3][i] >> 8)};
    }
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
        good = tiles_kept_end(tiles, sbt_detail_read(kept, take, &loading, NULL) == TSMITH_OK);
    free(loading.buckets);
    return good;
}

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
                             "No detail of this trace was kept that can be used");
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

tsmith_status trace_tiles_write(int fd, const tsmith_tiles *tiles, tsmith_error *error) {
    struct sbt_writer *writer;
    uint64_t *columns[DETAIL_COLUMNS];
    uint64_t *all = calloc(DETAIL_COLUMNS * DETAIL_MOST, sizeof *all);
    tsmith_dictionary *dictionary = NULL;
    if (!all || tsmith_dictionary_create(&dictionary) != TSMITH_OK) {
        free(all);
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "Out of memory while keeping the detail of a timeline");
    }
    for (int i = 0; i < DETAIL_COLUMNS; i++)
        columns[i] = all + (size_t)i * DETAIL_MOST;
    tsmith_status status = sbt_writer_create_fd(fd, "detail", NULL, &writer, error);
    if (status == TSMITH_OK) {
        for (size_t i = 0; status == TSMITH_OK && i < tiles_kept_count(tiles); i++) {
            const struct tiles_kept track = tiles_kept_at(tiles, i);
            status = write_track(writer, &track, columns, error);
        }
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
        status = trace_tiles_write(fd, tiles, error);
        if (status == TSMITH_OK)
            import_cache_keep(&cache, fd);
        (void)close(fd);
    }
    import_cache_close(&cache);
    return status;
}
