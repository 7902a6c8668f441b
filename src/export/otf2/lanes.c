// SPDX-License-Identifier: Apache-2.0
// Events in order and on lanes.
//
// A location of OTF2 wants its events by time, and its regions left in the order in which they were entered last. So
// events of a track wait until there is much of them, are sorted, and written from the earliest on, each to the first
// lane of the track (a location of its own) whose last event is no later and whose open slice ends no sooner. That
// covers slices that cross as well as those that come late. Open slices are left when something later is written to
// their lane.
#include <stdlib.h>

#include "base/array.h"
#include "export/otf2/otf2.h"

enum {
    HELD_MAX = 32 << 20,    // bytes that wait in all tracks
    LANES_MAX = 1024,       // of a track
    LOCATIONS_MAX = 1 << 14 // each is a file
};

// ---- tracks and lanes

static struct otf2_lane *add_lane(struct otf2 *otf2, struct otf2_track *track) {
    if (!ARRAY_RESERVE(track->lanes, track->lane_capacity, track->lane_count + 1)) {
        otf2_no_memory(otf2);
        return NULL;
    }
    struct otf2_lane *lane = &track->lanes[track->lane_count];
    *lane = (struct otf2_lane){.location = otf2->locations};
    lane->writer = OTF2_Archive_GetEvtWriter(otf2->archive, lane->location);
    if (!lane->writer) {
        otf2_check(otf2, OTF2_ERROR_MEM_ALLOC_FAILED, "another location");
        return NULL;
    }
    track->lane_count++;
    otf2->locations++;
    return lane;
}

struct otf2_track *otf2_track(struct otf2 *otf2, uint32_t id) {
    size_t had = otf2->track_capacity;
    void *tracks = otf2->tracks;
    if (otf2->status != TSMITH_OK)
        return NULL;
    if (id < had && otf2->tracks[id])
        return otf2->tracks[id];
    if (otf2->locations >= LOCATIONS_MAX) {
        otf2->status = status_set(&otf2->error, TSMITH_ERROR_LIMIT,
                                  "%s: the trace has more than %d tracks, and in OTF2 each is a file of its "
                                  "own: export it to another format",
                                  otf2->path, LOCATIONS_MAX);
        return NULL;
    }
    struct otf2_track *track = calloc(1, sizeof *track);
    if (!track || !array_reserve(&tracks, &otf2->track_capacity, (size_t)id + 1, sizeof *otf2->tracks)) {
        free(track);
        otf2_no_memory(otf2);
        return NULL;
    }
    otf2->tracks = tracks;
    for (size_t i = had; i < otf2->track_capacity; i++)
        otf2->tracks[i] = NULL;
    otf2->tracks[id] = track;
    return add_lane(otf2, track) ? track : NULL;
}

// ---- writing

static void put_attribute(struct otf2 *otf2, const struct otf2_value *it) {
    OTF2_AttributeValue value = {.uint64 = it->bits};
    if (it->type == OTF2_TYPE_STRING)
        value = (OTF2_AttributeValue){.stringRef = (OTF2_StringRef)it->bits};
    else if (it->type == OTF2_TYPE_UINT8)
        value = (OTF2_AttributeValue){.uint8 = (uint8_t)it->bits};
    otf2_check(otf2, OTF2_AttributeList_AddAttribute(otf2->attributes, it->ref, (OTF2_Type)it->type, value),
               "an attribute");
}

// Leaves what ends by `time`.
static void leave_until(struct otf2 *otf2, struct otf2_lane *lane, int64_t time) {
    while (lane->depth && lane->open[lane->depth - 1].end <= time) {
        const struct otf2_open_slice *it = &lane->open[--lane->depth];
        lane->last = (uint64_t)it->end;
        otf2_check(otf2, OTF2_EvtWriter_Leave(lane->writer, NULL, lane->last, it->region), "an event");
    }
}

static void enter(struct otf2 *otf2, struct otf2_lane *lane, uint32_t region, uint64_t start, int64_t end) {
    if (!ARRAY_RESERVE(lane->open, lane->capacity, lane->depth + 1)) {
        otf2_no_memory(otf2);
        return;
    }
    lane->open[lane->depth++] = (struct otf2_open_slice){end, region};
    lane->has_regions = true;
    otf2_check(otf2, OTF2_EvtWriter_Enter(lane->writer, otf2->attributes, start, region), "an event");
}

// The attributes that are in the list go with the first event.
static void put_series(struct otf2 *otf2, struct otf2_lane *lane, const struct otf2_value *series,
                       uint32_t count, uint64_t time) {
    for (uint32_t i = 0; i < count; i++) {
        const OTF2_Type type = (OTF2_Type)series[i].type;
        const OTF2_MetricValue value = {.unsigned_int = series[i].bits};
        otf2_check(otf2,
                   OTF2_EvtWriter_Metric(lane->writer, i ? NULL : otf2->attributes, time, series[i].ref, 1,
                                         &type, &value),
                   "an event");
    }
}

static void put_on(struct otf2 *otf2, struct otf2_lane *lane, const struct otf2_value *event, uint64_t time,
                   int64_t end) {
    lane->last = time;
    if (event->type) {
        put_series(otf2, lane, event + 1, event->type, time);
    } else if (end != INT64_MIN) {
        enter(otf2, lane, event->ref, time, end);
    } else {
        enter(otf2, lane, event->ref, time, (int64_t)time);
        leave_until(otf2, lane, (int64_t)time);
    }
}

static bool fits_lane(const struct otf2_lane *lane, const struct waiting *it) {
    return lane->last <= (uint64_t)it->start &&
           (it->end == INT64_MIN || !lane->depth || lane->open[lane->depth - 1].end >= it->end);
}

// An event without a free lane: an instant with its time.
static void put_instead(struct otf2 *otf2, struct otf2_lane *lane, const struct otf2_value *event,
                        const struct waiting *it) {
    struct otf2_value said = {otf2_attribute(otf2, TSMITH_FIELD_START, TSMITH_TYPE_TIME), OTF2_TYPE_INT64,
                              (uint64_t)it->start};
    uint64_t time = lane->last > (uint64_t)it->start ? lane->last : (uint64_t)it->start;
    // An event before 0 has it already.
    if (time != (uint64_t)it->start && !OTF2_AttributeList_TestAttributeByID(otf2->attributes, said.ref))
        put_attribute(otf2, &said);
    if (it->end != INT64_MIN) {
        said.ref = otf2_attribute(otf2, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64);
        said.bits = (uint64_t)(it->end - it->start);
        put_attribute(otf2, &said);
    }
    put_on(otf2, lane, event, time, INT64_MIN);
}

static void write_waiting(struct otf2 *otf2, struct otf2_track *track, const struct waiting *it) {
    const struct otf2_value *event = &track->values[it->at];
    struct otf2_lane *lane = NULL;
    for (size_t i = 0; i < track->lane_count && !lane; i++) {
        if (track->lanes[i].last <= (uint64_t)it->start)
            leave_until(otf2, &track->lanes[i], it->start);
        if (fits_lane(&track->lanes[i], it))
            lane = &track->lanes[i];
    }
    if (!lane && track->lane_count < LANES_MAX && otf2->locations < LOCATIONS_MAX)
        lane = add_lane(otf2, track);
    for (uint32_t i = 1 + event->type; i < it->length; i++)
        put_attribute(otf2, &event[i]);
    if (lane)
        put_on(otf2, lane, event, (uint64_t)it->start, it->end);
    else if (otf2->status == TSMITH_OK)
        put_instead(otf2, &track->lanes[0], event, it);
    if (otf2->status != TSMITH_OK)
        return;
    otf2_check(otf2, OTF2_AttributeList_RemoveAllAttributes(otf2->attributes), "an event");
    uint64_t end = (uint64_t)(it->end == INT64_MIN ? it->start : it->end);
    otf2->first = (uint64_t)it->start < otf2->first ? (uint64_t)it->start : otf2->first;
    otf2->end = end > otf2->end ? end : otf2->end;
}

// ---- what waits

struct otf2_value *otf2_track_room(struct otf2 *otf2, struct otf2_track *track, size_t count) {
    if (!ARRAY_RESERVE(track->values, track->value_capacity, track->value_count + count)) {
        otf2_no_memory(otf2);
        return NULL;
    }
    return track->values + track->value_count;
}

void otf2_wait(struct otf2 *otf2, struct otf2_track *track, int64_t start, int64_t end, size_t at) {
    void *waiting = track->waiting;
    if (!array_reserve(&waiting, &track->waiting_capacity, track->waiting_count + 1,
                       sizeof *track->waiting)) {
        otf2_no_memory(otf2);
        return;
    }
    track->waiting = waiting;
    size_t length = track->value_count - at;
    track->waiting[track->waiting_count++] = (struct waiting){start, end, (uint32_t)at, (uint32_t)length};
    otf2->held += length * sizeof *track->values + sizeof *track->waiting;
}

// Drops the first `count`.
static void drop_written(struct otf2 *otf2, struct otf2_track *track, size_t count) {
    struct otf2_track kept = {0};
    size_t rest = track->waiting_count - count;
    for (size_t i = 0; i < rest; i++) {
        struct waiting *it = &track->waiting[count + i];
        struct otf2_value *to = otf2_track_room(otf2, &kept, it->length);
        if (!to)
            break;
        for (uint32_t k = 0; k < it->length; k++)
            to[k] = track->values[it->at + k];
        track->waiting[i] = (struct waiting){it->start, it->end, (uint32_t)kept.value_count, it->length};
        kept.value_count += it->length;
    }
    otf2->held -=
        (track->value_count - kept.value_count) * sizeof *track->values + count * sizeof *track->waiting;
    free(track->values);
    track->values = kept.values;
    track->value_count = kept.value_count;
    track->value_capacity = kept.value_capacity;
    track->waiting_count = otf2->status == TSMITH_OK ? rest : 0;
}

void otf2_put_waiting(struct otf2 *otf2, struct otf2_track *track, size_t most, bool end) {
    size_t count = most < track->waiting_count ? most : track->waiting_count;
    if (otf2->status == TSMITH_OK && !waiting_sort(track->waiting, track->waiting_count, &otf2->sorting))
        otf2_no_memory(otf2);
    for (size_t i = 0; i < count && otf2->status == TSMITH_OK; i++)
        write_waiting(otf2, track, &track->waiting[i]);
    for (size_t i = 0; end && i < track->lane_count && otf2->status == TSMITH_OK; i++)
        leave_until(otf2, &track->lanes[i], INT64_MAX);
    if (count)
        drop_written(otf2, track, count);
}

void otf2_bound(struct otf2 *otf2) {
    while (otf2->held > HELD_MAX && otf2->status == TSMITH_OK) {
        size_t share = otf2->held / (2 * otf2->track_capacity);
        for (size_t id = 0; id < otf2->track_capacity; id++) {
            struct otf2_track *track = otf2->tracks[id];
            if (track &&
                track->value_count * sizeof *track->values + track->waiting_count * sizeof *track->waiting >
                    share)
                otf2_put_waiting(otf2, track, (track->waiting_count + 1) / 2, false);
        }
    }
}

void otf2_close_lanes(struct otf2 *otf2) {
    for (size_t id = 0; id < otf2->track_capacity; id++)
        for (size_t i = 0; otf2->tracks[id] && i < otf2->tracks[id]->lane_count; i++) {
            struct otf2_lane *lane = &otf2->tracks[id]->lanes[i];
            if (!lane->writer)
                continue;
            otf2_check(otf2, OTF2_EvtWriter_GetNumberOfEvents(lane->writer, &lane->events), "a location");
            otf2_check(otf2, OTF2_Archive_CloseEvtWriter(otf2->archive, lane->writer), "a location");
            lane->writer = NULL;
        }
}

void otf2_lanes_finish(struct otf2 *otf2) {
    for (size_t id = 0; id < otf2->track_capacity; id++) {
        struct otf2_track *track = otf2->tracks[id];
        if (!track)
            continue;
        for (size_t i = 0; i < track->lane_count; i++)
            free(track->lanes[i].open);
        free(track->lanes);
        free(track->waiting);
        free(track->values);
        free(track);
    }
    free(otf2->tracks);
    free(otf2->sorting.items);
}
