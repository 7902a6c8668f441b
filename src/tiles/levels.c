// SPDX-License-Identifier: Apache-2.0
// The levels of a track: buckets joined from finer ones. fill.c makes what is kept, read.c what is between two kept levels.
#include <stdlib.h>

#include "tiles/tiles.h"

static union tile_bucket join_loads(const union tile_bucket *buckets, size_t count, uint64_t of) {
    uint64_t events = 0, busy = 0;
    size_t most = 0;
    uint64_t most_time = 0;
    union tile_bucket out = {.load = {0}};
    for (size_t i = 0; i < count; i++) {
        const tsmith_bucket *one = &buckets[i].load;
        events += one->events;
        busy += one->busy;
        out.load.flags |= one->flags;
        uint64_t time = 0; // that the buckets with this name were busy
        for (size_t j = i; j < count; j++)
            if (buckets[j].load.name == one->name && buckets[j].load.kind == one->kind)
                time += buckets[j].load.busy;
        const bool is_first = !buckets[most].load.kind && one->kind;
        if (time > most_time || is_first) {
            most = i;
            most_time = time;
        }
    }
    out.load.name = buckets[most].load.name;
    out.load.kind = buckets[most].load.kind;
    out.load.events = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
    out.load.busy = (uint16_t)((busy + of / 2) / of);
    if (busy && !out.load.busy)
        out.load.busy = 1;
    return out;
}

static union tile_bucket join_values(const union tile_bucket *buckets, size_t count) {
    union tile_bucket out = {.value = {0}};
    for (size_t i = 0; i < count; i++) {
        const tsmith_value_bucket *one = &buckets[i].value;
        if (!one->events)
            continue;
        if (!out.value.events || one->least < out.value.least)
            out.value.least = one->least;
        if (!out.value.events || one->most > out.value.most)
            out.value.most = one->most;
        const uint64_t events = (uint64_t)out.value.events + one->events;
        out.value.events = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
    }
    return out;
}

union tile_bucket tiles_join(const union tile_bucket *buckets, size_t count, uint64_t of, bool is_counter) {
    return is_counter ? join_values(buckets, count) : join_loads(buckets, count, of);
}

// Joins buckets [first, last] of a level from those of the level below; all counted from the origin.
static void join_buckets(const struct tile_track *track, unsigned level, uint64_t first, uint64_t last) {
    const struct tile_level *below = &track->levels[level - 1];
    // Buckets begin at multiples of their length since the origin, independent of the first kept one.
    const uint64_t begin = track->skipped >> (TILES_STEP * (level - 1)), end = begin + below->count;
    const uint64_t skipped = track->skipped >> (TILES_STEP * level), each = UINT64_C(1) << TILES_STEP;
    for (uint64_t number = first; number <= last; number++) {
        const uint64_t wanted = number * each;
        const uint64_t from = wanted > begin ? wanted : begin, to = wanted + each < end ? wanted + each : end;
        track->levels[level].buckets[number - skipped] =
            tiles_join(below->buckets + (from - begin), (size_t)(to - from), each, track->is_counter);
    }
}

bool tiles_update_levels(struct tile_track *track, uint64_t first, uint64_t last) {
    for (unsigned level = 1; level < TILES_KEPT && track->levels[level - 1].count > TILES_LEAST / 4;
         level++) {
        const struct tile_level *below = &track->levels[level - 1];
        const uint64_t begin = track->skipped >> (TILES_STEP * (level - 1));
        const uint64_t skipped = track->skipped >> (TILES_STEP * level);
        const size_t count = (size_t)(((begin + below->count - 1) >> TILES_STEP) - skipped + 1);
        first >>= TILES_STEP;
        last >>= TILES_STEP;
        if (level == track->level_count) {
            track->levels[track->level_count++] = (struct tile_level){0};
            first = skipped;
            last = skipped + count - 1;
        }
        struct tile_level *made = &track->levels[level];
        if (made->count != count) {
            union tile_bucket *buckets = realloc(made->buckets, count * sizeof *buckets);
            if (!buckets)
                return false;
            *made = (struct tile_level){buckets, count};
        }
        join_buckets(track, level, first, last);
    }
    return true;
}

bool tiles_make_levels(struct tile_track *track) {
    return tiles_update_levels(track, track->skipped, track->skipped + track->levels[0].count - 1);
}
