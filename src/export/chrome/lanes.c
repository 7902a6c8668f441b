// SPDX-License-Identifier: Apache-2.0
// Invariant of a lane: the open slices are nested, and only their ends are later than `last`. A slice that begins no
// sooner than that and ends within the innermost one may join it.
#include "export/chrome/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/batch.h"

enum {
    HELD_MAX = 64 << 20, // bytes that wait
    LANES_MAX = 1024,    // of a track
    LEAST_ROWS = 64      // that a batch has memory for
};

struct lane {
    int64_t last;
    int64_t *ends; // of the open slices, the outermost first
    size_t depth, capacity;
};

struct lane_track {
    struct lane *lanes;
    size_t count, capacity;
};

// ---- one slice

static void end_until(struct lane *lane, int64_t time) {
    while (lane->depth && lane->ends[lane->depth - 1] <= time)
        lane->last = lane->ends[--lane->depth];
}

static bool fits_lane(const struct lane *lane, int64_t start, int64_t end) {
    return lane->last <= start && (!lane->depth || lane->ends[lane->depth - 1] >= end);
}

static bool open_slice(struct lane *lane, int64_t start, int64_t end) {
    if (!ARRAY_RESERVE(lane->ends, lane->capacity, lane->depth + 1))
        return false;
    lane->ends[lane->depth++] = end;
    lane->last = start;
    return true;
}

static bool add_lane(struct lane_track *track) {
    if (!ARRAY_RESERVE(track->lanes, track->capacity, track->count + 1))
        return false;
    track->lanes[track->count++] = (struct lane){.last = INT64_MIN};
    return true;
}

static bool assign_lane(struct lane_track *track, int64_t start, int64_t end, uint32_t *out) {
    size_t at = 0;
    for (; at < track->count; at++) {
        if (track->lanes[at].last <= start)
            end_until(&track->lanes[at], start);
        if (fits_lane(&track->lanes[at], start, end))
            break;
    }
    *out = at < LANES_MAX ? (uint32_t)at : LANE_NONE;
    if (at == LANES_MAX)
        return true;
    return (at < track->count || add_lane(track)) && open_slice(&track->lanes[at], start, end);
}

// ---- what is held

bool chrome_lanes_hold(struct chrome_lanes *lanes, const tsmith_batch *batch) {
    void *held = lanes->held;
    tsmith_batch *copy;
    if (tsmith_batch_create(&copy) != TSMITH_OK)
        return false;
    if (!array_reserve(&held, &lanes->capacity, lanes->count + 1, sizeof *lanes->held) ||
        (lanes->held = held, batch_copy(copy, batch) != TSMITH_OK)) {
        tsmith_batch_destroy(copy);
        return false;
    }
    lanes->held[lanes->count] = (struct held_batch){copy, NULL, lanes->count};
    lanes->count++;
    size_t rows = tsmith_batch_count(batch) > LEAST_ROWS ? tsmith_batch_count(batch) : LEAST_ROWS;
    lanes->bytes += rows * (tsmith_batch_column_count(batch) * sizeof(uint64_t) + 2 * sizeof(struct waiting));
    return true;
}

bool chrome_lanes_full(const struct chrome_lanes *lanes) {
    return lanes->bytes > HELD_MAX;
}

static int by_track(const void *left, const void *right) {
    const struct held_batch *a = left, *b = right;
    uint32_t track_a = tsmith_batch_track(a->batch), track_b = tsmith_batch_track(b->batch);
    if (track_a != track_b)
        return track_a < track_b ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

// Adds the slices of a batch to those that wait; what lasts less than nothing lasts nothing. `count` counts them.
static bool gather(struct chrome_lanes *lanes, size_t index, size_t *count) {
    const tsmith_batch *batch = lanes->held[index].batch;
    static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION, TSMITH_FIELD_KIND};
    enum { START, DURATION, KIND, FIELDS };
    tsmith_view views[FIELDS];
    tsmith_view_batch(batch, fields, FIELDS, views);
    const int64_t *starts = tsmith_view_every(&views[START]);
    const uint32_t rows = tsmith_batch_count(batch);
    void *waiting = lanes->waiting;
    if (!starts || !tsmith_view_exists(&views[DURATION]))
        return true;
    if (!array_reserve(&waiting, &lanes->waiting_capacity, *count + rows, sizeof *lanes->waiting))
        return false;
    lanes->waiting = waiting;
    for (uint32_t row = 0; row < rows; row++) {
        const uint8_t kind = tsmith_view_word(&views[KIND], row);
        int64_t duration, end;
        if (!tsmith_view_i64(&views[DURATION], row, &duration) || kind == TSMITH_KIND_MARKER ||
            kind == TSMITH_KIND_COUNTER)
            continue;
        if (duration < 0)
            duration = 0;
        if (__builtin_add_overflow(starts[row], duration, &end))
            end = INT64_MAX;
        lanes->waiting[(*count)++] = (struct waiting){starts[row], end, (uint32_t)index, row};
    }
    return true;
}

static bool set_lane(struct held_batch *held, uint32_t row, uint32_t lane) {
    if (!held->lanes && lane)
        held->lanes = calloc(tsmith_batch_count(held->batch), sizeof *held->lanes);
    if (held->lanes)
        held->lanes[row] = lane;
    return held->lanes || !lane;
}

// The batches held[from .. to) are those of one track.
static bool assign_track(struct chrome_lanes *lanes, size_t from, size_t to) {
    uint32_t id = tsmith_batch_track(lanes->held[from].batch);
    size_t had = lanes->track_capacity, count = 0;
    if (!ARRAY_RESERVE(lanes->tracks, lanes->track_capacity, (size_t)id + 1))
        return false;
    memset(lanes->tracks + had, 0, (lanes->track_capacity - had) * sizeof *lanes->tracks);
    for (size_t i = from; i < to; i++)
        if (!gather(lanes, i, &count))
            return false;
    if (count && !waiting_sort(lanes->waiting, count, &lanes->sorting))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct waiting *it = &lanes->waiting[i];
        uint32_t lane;
        if (!assign_lane(&lanes->tracks[id], it->start, it->end, &lane) ||
            !set_lane(&lanes->held[it->at], it->length, lane))
            return false;
    }
    return true;
}

bool chrome_lanes_assign(struct chrome_lanes *lanes) {
    if (lanes->count)
        qsort(lanes->held, lanes->count, sizeof *lanes->held, by_track);
    for (size_t from = 0, to; from < lanes->count; from = to) {
        for (to = from + 1; to < lanes->count; to++)
            if (tsmith_batch_track(lanes->held[to].batch) != tsmith_batch_track(lanes->held[from].batch))
                break;
        if (!assign_track(lanes, from, to))
            return false;
    }
    return true;
}

void chrome_lanes_drop(struct chrome_lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++) {
        tsmith_batch_destroy(lanes->held[i].batch);
        free(lanes->held[i].lanes);
    }
    lanes->count = lanes->bytes = 0;
}

void chrome_lanes_finish(struct chrome_lanes *lanes) {
    chrome_lanes_drop(lanes);
    for (size_t id = 0; id < lanes->track_capacity; id++) {
        for (size_t i = 0; i < lanes->tracks[id].count; i++)
            free(lanes->tracks[id].lanes[i].ends);
        free(lanes->tracks[id].lanes);
    }
    free(lanes->tracks);
    free(lanes->held);
    free(lanes->waiting);
    free(lanes->sorting.items);
}
