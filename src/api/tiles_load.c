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

static bool take_detail(void *context, const struct sbt_detail *detail) {
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
        good = tiles_kept_end(tiles, sbt_detail_read(kept, take_detail, &loading, NULL) == TSMITH_OK);
    free(loading.buckets);
    return good;
}

tsmith_status tsmith_tiles_load(tsmith_tiles *tiles, const char *path, tsmith_error *error) {
    tsmith_sbt *kept;
    tsmith_status status = tsmith_sbt_open(path, &kept, error);
    if (status != TSMITH_OK)
        return status;
    if (!trace_tiles_read(kept, tiles))
        status =
            status_set(error, TSMITH_ERROR_CORRUPT, "%s does not belong to this trace or is damaged", path);
    tsmith_sbt_close(kept);
    return status;
}
