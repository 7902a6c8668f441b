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

const uint8_t tile_traits[UINT8_MAX + 1] = {
    [TSMITH_KIND_LOSS] = TSMITH_TILE_LOSS,
    [TSMITH_KIND_SYNC] = TSMITH_TILE_WAIT,
    [TSMITH_KIND_COMPILE] = TSMITH_TILE_BUILD,
    [TSMITH_KIND_KERNEL] = TRAIT_WORK | TRAIT_COMMAND,
    [TSMITH_KIND_MEMCPY] = TRAIT_WORK | TRAIT_COMMAND,
    [TSMITH_KIND_MEMSET] = TRAIT_WORK | TRAIT_COMMAND,
    [TSMITH_KIND_COLLECTIVE] = TRAIT_WORK | TRAIT_COMMAND,
    [TSMITH_KIND_HOST_FUNCTION] = TRAIT_WORK,
    [TSMITH_KIND_GRAPH_LAUNCH] = TRAIT_WORK,
};

enum { START, DURATION, KIND, NAME, VALUE };

bool tiles_open_rows(const struct tsmith_tiles *tiles, const struct tile_track *track,
                     const tsmith_batch *batch, struct tile_rows *out) {
    tsmith_view views[TILES_FIELDS];
    tsmith_view_batch(batch, tiles_fields, TILES_FIELDS, views);
    *out = (struct tile_rows){.starts = tsmith_view_every(&views[START]),
                              .count = tsmith_batch_count(batch),
                              .origin = tiles->origin,
                              .duration = views[DURATION],
                              .kind = views[KIND],
                              .name = views[NAME],
                              .value = views[VALUE],
                              .is_queue = track->is_queue};
    return out->count && out->starts && tsmith_view_every(&views[KIND]);
}

bool tile_rows_are_plain(const struct tile_rows *rows) {
    const uint64_t origin = (uint64_t)rows->origin;
    uint64_t all = 0, steps = 0, last = 0;
    for (uint32_t row = 0; row < rows->count; row++) {
        const uint64_t since = (uint64_t)rows->starts[row] - origin;
        all |= since;
        steps |= since - last; // negative: the top bit
        last = since;
    }
    return all < (uint64_t)TILES_FARTHEST && !(steps >> 63) && rows->origin < TILES_FARTHEST &&
           rows->origin > -TILES_FARTHEST;
}

int64_t tile_time_since(int64_t time, int64_t origin) {
    int64_t since;
    if (__builtin_sub_overflow(time, origin, &since))
        since = time < origin ? -TILES_FARTHEST : TILES_FARTHEST;
    return since > TILES_FARTHEST ? TILES_FARTHEST : since < -TILES_FARTHEST ? -TILES_FARTHEST : since;
}

struct tile_event tile_event_of(const struct tile_rows *rows, uint32_t row) {
    struct tile_event event = {.start = tile_time_since(rows->starts[row], rows->origin),
                               .kind = tsmith_view_word(&rows->kind, row),
                               .name = tsmith_view_id(&rows->name, row)};
    int64_t duration = 0;
    event.is_timed = tsmith_view_i64(&rows->duration, row, &duration);
    event.end = event.start + (duration > TILES_FARTHEST ? TILES_FARTHEST : duration > 0 ? duration : 0);
    if (!tsmith_view_f64(&rows->value, row, &event.value))
        event.value = __builtin_nan("");
    const uint8_t trait = tile_traits[event.kind];
    event.flags = trait & TRAIT_FLAGS;
    if (!event.is_timed && (trait & TRAIT_COMMAND))
        event.flags |= TSMITH_TILE_UNTIMED;
    // The duration of a sum is its period, in which its track did nothing.
    event.is_idle = (rows->is_queue && !(trait & TRAIT_WORK)) || event.kind == TSMITH_KIND_SUM;
    return event;
}

// The longer first, so that an event comes after the one that contains it.
static inline bool is_after(const struct tile_event *left, const struct tile_event *right) {
    return left->start != right->start ? left->start > right->start : left->end < right->end;
}

// Whether an event can touch a window. Its start alone decides most.
static bool touches_window(const struct tile_rows *rows, uint32_t row, int64_t from, int64_t to) {
    const int64_t start = tile_time_since(rows->starts[row], rows->origin);
    if (start >= to || start >= from)
        return start < to;
    return tsmith_view_i64_or(&rows->duration, row, 0) > from - start;
}

bool tiles_take_rows(const struct tile_rows *rows, uint32_t first, int64_t from, int64_t to,
                     struct tile_events *out) {
    if (!ARRAY_RESERVE(out->events, out->capacity, out->count + rows->count))
        return false;
    for (uint32_t row = first; row < rows->count; row++) {
        if (!touches_window(rows, row, from, to))
            continue;
        struct tile_event *event = &out->events[out->count];
        *event = tile_event_of(rows, row);
        out->is_unsorted = out->is_unsorted || (out->count && is_after(event - 1, event));
        out->least = out->count++ && out->least < event->start ? out->least : event->start;
    }
    return true;
}

// The end of the run in order that begins at `from`.
static size_t run_end(const struct tile_events *events, size_t from) {
    while (++from < events->count && !is_after(&events->events[from - 1], &events->events[from]))
        continue;
    return from < events->count ? from : events->count;
}

static void merge(const struct tile_event *left, const struct tile_event *left_end,
                  const struct tile_event *right, const struct tile_event *right_end,
                  struct tile_event *out) {
    while (left < left_end && right < right_end)
        *out++ = is_after(left, right) ? *right++ : *left++;
    memcpy(out, left, (size_t)(left_end - left) * sizeof *left);
    out += left_end - left;
    memcpy(out, right, (size_t)(right_end - right) * sizeof *right);
}

// Events come from batches, each of which is in order: runs are merged, two by two.
bool tiles_sort_events(struct tile_events *events) {
    if (!events->is_unsorted)
        return true;
    struct tile_event *other = malloc(events->capacity * sizeof *other);
    if (!other)
        return false;
    size_t runs;
    do {
        runs = 0;
        for (size_t from = 0; from < events->count; runs++) {
            const size_t middle = run_end(events, from);
            const size_t to = middle < events->count ? run_end(events, middle) : middle;
            merge(events->events + from, events->events + middle, events->events + middle,
                  events->events + to, other + from);
            from = to;
        }
        struct tile_event *sorted = other;
        other = events->events;
        events->events = sorted;
    } while (runs > 1);
    free(other);
    events->is_unsorted = false;
    return true;
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
