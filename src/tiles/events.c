// SPDX-License-Identifier: Apache-2.0
// Takes out of batches what a picture shows of events. fill.c and read.c call it.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tiles/tiles.h"
#include "tracesmith/view.h"

// In the order of the views below.
const uint32_t tiles_fields[TILES_FIELDS] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION, TSMITH_FIELD_KIND,
                                             TSMITH_FIELD_NAME, TSMITH_FIELD_VALUE};

static uint8_t flags_of(uint8_t kind, bool is_timed) {
    switch (kind) {
    case TSMITH_KIND_LOSS:
        return TSMITH_TILE_LOSS;
    case TSMITH_KIND_SYNC:
        return TSMITH_TILE_WAIT;
    case TSMITH_KIND_COMPILE:
        return TSMITH_TILE_BUILD;
    case TSMITH_KIND_KERNEL:
    case TSMITH_KIND_MEMCPY:
    case TSMITH_KIND_MEMSET:
    case TSMITH_KIND_COLLECTIVE:
        return is_timed ? 0 : TSMITH_TILE_UNTIMED;
    default:
        return 0;
    }
}

// Whether a command of this kind keeps a queue busy. Other events on a queue (annotations, waits) are about something else.
static bool is_work(uint8_t kind) {
    return kind == TSMITH_KIND_KERNEL || kind == TSMITH_KIND_MEMCPY || kind == TSMITH_KIND_MEMSET ||
           kind == TSMITH_KIND_COLLECTIVE || kind == TSMITH_KIND_HOST_FUNCTION ||
           kind == TSMITH_KIND_GRAPH_LAUNCH;
}

enum { START, DURATION, KIND, NAME, VALUE };

static struct tile_event event_of(const struct tsmith_tiles *tiles, const tsmith_view views[TILES_FIELDS],
                                  int64_t start, uint32_t row) {
    struct tile_event event = {.start = tiles_since(tiles, start),
                               .kind = tsmith_view_word(&views[KIND], row),
                               .name = tsmith_view_id(&views[NAME], row)};
    int64_t duration = 0;
    event.is_timed = tsmith_view_i64(&views[DURATION], row, &duration);
    event.end = event.start + (duration > TILES_FARTHEST ? TILES_FARTHEST : duration > 0 ? duration : 0);
    (void)!tsmith_view_f64(&views[VALUE], row, &event.value); // of counters, which were looked at
    event.flags = flags_of(event.kind, event.is_timed);
    return event;
}

bool tiles_take_batch(const struct tsmith_tiles *tiles, const struct tile_track *track,
                      const tsmith_batch *batch, struct tile_event **events, size_t *count,
                      size_t *capacity) {
    tsmith_view views[TILES_FIELDS];
    tsmith_view_batch(batch, tiles_fields, TILES_FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    const uint32_t rows = tsmith_batch_count(batch);
    if (!rows || !starts)
        return true;
    if (!ARRAY_RESERVE(*events, *capacity, *count + rows))
        return false;
    bool is_sorted = true;
    for (uint32_t row = 0; row < rows; row++) {
        if (track->is_counter && !tsmith_view_has(&views[VALUE], row))
            continue;
        struct tile_event *event = &(*events)[*count];
        *event = event_of(tiles, views, starts[row], row);
        event->is_idle = track->is_queue && !is_work(event->kind);
        is_sorted = is_sorted && (*count == 0 || event[-1].start <= event->start);
        ++*count;
    }
    if (!is_sorted)
        tiles_sort_events(*events, *count);
    return true;
}

// The longer first, so that an event comes after the one that contains it.
static int by_start(const void *a, const void *b) {
    const struct tile_event *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return (left->end < right->end) - (left->end > right->end);
}

void tiles_sort_events(struct tile_event *events, size_t count) {
    qsort(events, count, sizeof *events, by_start);
}

void tiles_add_value(tsmith_value_bucket *bucket, double value) {
    const float shown = (float)value;
    if (shown != shown)
        return; // not a number
    if (!bucket->events || shown < bucket->least)
        bucket->least = shown;
    if (!bucket->events || shown > bucket->most)
        bucket->most = shown;
    bucket->events += bucket->events < UINT32_MAX;
}
