// SPDX-License-Identifier: Apache-2.0
// Slices in order and on lanes.
//
// Perfetto nests slices by their begins and ends alone: on one track they must be nested, a begin at
// the time of another slice's end comes after it, and one that begins together with a longer one comes after that.
// Batches of a track overlap in time, so events are held back up to a limit, sorted, and written from the
// earliest on. A slice that crosses one that is open goes to the next lane, a child track, on which it does not.
//
// Packets of events do not set FLAG_NEEDS_STATE: it lets a reader skip packets that come before the state of their
// sequence, and here none do. That is 4 bytes of every slice.
//
// Packets carry the time since the packet before, on a clock of the sequence that cannot go back. What is earlier
// than what was written already ("late") has absolute times and lanes of its own.
#include <stdlib.h>

#include "export/perfetto/perfetto.h"

enum {
    HELD_MAX = 96 << 20, // bytes that wait in all sequences
    LANES_MAX = 1024,
    HEAD_MAX = 64
};

// ---- packets

struct place {
    struct perfetto *perfetto;
    struct sequence *sequence;
    struct lanes *lanes;
    uint32_t track;
};

static uint64_t own_clock(const struct perfetto *perfetto) {
    return perfetto->origin.imported ? CLOCK_BOOTTIME_ID : CLOCK_MONOTONIC_RAW_ID;
}

static void put_clock(struct place place, int64_t time) {
    struct proto_out *out = &place.perfetto->scratch;
    proto_add_uint(out, PACKET_SEQUENCE, place.track);
    size_t snapshot = proto_open(out), clock = snapshot;
    proto_add_uint(out, 1, CLOCK_OF_SEQUENCE);
    proto_add_uint(out, 2, (uint64_t)time);
    proto_add_uint(out, 3, 1); // incremental
    proto_close(out, clock, 1);
    clock = proto_open(out);
    proto_add_uint(out, 1, own_clock(place.perfetto));
    proto_add_uint(out, 2, (uint64_t)time);
    proto_close(out, clock, 1);
    proto_add_uint(out, 2, own_clock(place.perfetto)); // what the reader shows
    proto_close(out, snapshot, PACKET_CLOCK_SNAPSHOT);
    perfetto_put_packet(place.perfetto);
    place.sequence->clocked = true;
    place.sequence->last_time = time;
}

// A packet around `event`, on the track of the sequence or, when `uuid` is not 0, on another.
static void put_event(struct place place, int64_t time, const uint8_t *event, size_t length, uint32_t uuid) {
    struct sequence *sequence = place.sequence;
    uint8_t head[HEAD_MAX], track[HEAD_MAX], *at = head;
    size_t track_length = uuid ? (size_t)(proto_uint(track, EVENT_TRACK, uuid) - track) : 0;
    if (place.lanes->late) {
        at = proto_uint(at, PACKET_TIMESTAMP, (uint64_t)time);
        at = proto_uint(at, PACKET_CLOCK, own_clock(place.perfetto));
    } else {
        at = proto_uint(at, PACKET_TIMESTAMP, (uint64_t)(time - sequence->last_time));
        sequence->last_time = time;
    }
    at = proto_uint(at, PACKET_SEQUENCE, place.track);
    at = proto_varint(proto_tag(at, PACKET_TRACK_EVENT, PROTO_BYTES), length + track_length);
    struct output *output = &place.perfetto->output;
    size_t head_length = (size_t)(at - head);
    uint8_t *to = (uint8_t *)output_room(output);
    to = proto_varint(proto_tag(to, TRACE_PACKET, PROTO_BYTES), head_length + track_length + length);
    memcpy(to, head, head_length);
    memcpy(to + head_length, track, track_length);
    to += head_length + track_length;
    if (length <= OUTPUT_RESERVE / 2) {
        memcpy(to, event, length);
        output_advance(output, (char *)to + length);
    } else {
        output_advance(output, (char *)to);
        output_bytes(output, (const char *)event, length);
    }
}

// ---- lanes

static uint32_t lane_uuid(struct place place, size_t lane) {
    if (lane == 0 && !place.lanes->late)
        return 0;
    struct lane *it = &place.lanes->lanes[lane];
    if (!it->uuid)
        it->uuid = perfetto_put_lane(place.perfetto, place.track, place.sequence);
    return it->uuid;
}

static int64_t innermost_end(const struct lane *lane) {
    return lane->depth ? lane->ends[lane->depth - 1] : INT64_MAX;
}

static void find_next_end(struct lanes *lanes) {
    lanes->next_end = INT64_MAX;
    for (size_t i = 0; i < lanes->count; i++)
        if (innermost_end(&lanes->lanes[i]) < lanes->next_end)
            lanes->next_end = innermost_end(&lanes->lanes[i]);
}

// Ends what ends by `time`, in order of time.
static void end_until(struct place place, int64_t time) {
    static const uint8_t end[] = {EVENT_TYPE << 3, TYPE_SLICE_END};
    struct lanes *lanes = place.lanes;
    while (lanes->next_end <= time && lanes->next_end != INT64_MAX) {
        int64_t now = lanes->next_end;
        for (size_t i = 0; i < lanes->count; i++)
            while (innermost_end(&lanes->lanes[i]) == now) {
                put_event(place, now, end, sizeof end, lane_uuid(place, i));
                lanes->lanes[i].depth--;
            }
        find_next_end(lanes);
    }
}

// The first lane on which a slice until `end` is nested in the open slices; lanes->count if none.
static size_t find_lane(const struct lanes *lanes, int64_t end) {
    size_t i = 0;
    while (i < lanes->count && lanes->lanes[i].depth && lanes->lanes[i].ends[lanes->lanes[i].depth - 1] < end)
        i++;
    return i;
}

static bool open_slice(struct perfetto *perfetto, struct lanes *lanes, size_t at, int64_t end) {
    if (at == lanes->count) {
        if (!ARRAY_RESERVE(lanes->lanes, lanes->capacity, at + 1)) {
            perfetto->failed = true;
            return false;
        }
        lanes->lanes[lanes->count++] = (struct lane){0};
    }
    struct lane *lane = &lanes->lanes[at];
    if (!ARRAY_RESERVE(lane->ends, lane->capacity, lane->depth + 1)) {
        perfetto->failed = true;
        return false;
    }
    lane->ends[lane->depth++] = end;
    if (end < lanes->next_end)
        lanes->next_end = end;
    return true;
}

// A slice without a free lane: an instant with its duration.
static void put_instead(struct place place, const struct waiting *it) {
    struct perfetto *perfetto = place.perfetto;
    size_t field = perfetto_field(perfetto, TSMITH_FIELD_DURATION);
    struct proto_out event = {0};
    uint8_t *at = proto_begin(&event, it->length + HEAD_MAX);
    const struct interned *name =
        field == SIZE_MAX
            ? NULL
            : perfetto_intern(perfetto, place.sequence, SPACE_ANNOTATION, field + 1,
                              perfetto->fields[field].name, strlen(perfetto->fields[field].name));
    if (!at || !name) {
        perfetto->failed = true;
        return;
    }
    perfetto_put_interned(perfetto, place.track, place.sequence);
    memcpy(at, place.sequence->events.bytes + it->at, it->length);
    at[1] = TYPE_INSTANT;
    proto_end(&event, at + it->length);
    size_t annotation = proto_open(&event);
    proto_add_uint(&event, ANNOTATION_NAME, name->iid);
    proto_add_uint(&event, ANNOTATION_INT, (uint64_t)(it->end - it->start));
    proto_close(&event, annotation, EVENT_ANNOTATION);
    put_event(place, it->start, event.bytes, event.used, 0);
    free(event.bytes);
}

static void write_waiting(struct place place, const struct waiting *it) {
    end_until(place, it->start);
    const uint8_t *event = place.sequence->events.bytes + it->at;
    if (it->end == INT64_MIN) {
        put_event(place, it->start, event, it->length, 0);
        return;
    }
    size_t lane = find_lane(place.lanes, it->end);
    if (lane == LANES_MAX)
        put_instead(place, it);
    else if (open_slice(place.perfetto, place.lanes, lane, it->end))
        put_event(place, it->start, event, it->length, lane_uuid(place, lane));
}

void perfetto_finish_lanes(struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++)
        free(lanes->lanes[i].ends);
    free(lanes->lanes);
    *lanes = (struct lanes){.next_end = INT64_MAX};
}

// ---- what waits

// Drops the first `count`.
static void drop_written(struct perfetto *perfetto, struct sequence *sequence, size_t count) {
    size_t rest = sequence->waiting_count - count;
    struct proto_out kept = {0};
    for (size_t i = 0; i < rest; i++) {
        struct waiting it = sequence->waiting[count + i];
        uint8_t *to = proto_begin(&kept, it.length);
        if (!to)
            break;
        memcpy(to, sequence->events.bytes + it.at, it.length);
        it.at = (uint32_t)kept.used;
        proto_end(&kept, to + it.length);
        sequence->waiting[i] = it;
    }
    perfetto->failed |= kept.failed;
    perfetto->held -= sequence->events.used - kept.used + count * sizeof *sequence->waiting;
    if (rest) {
        free(sequence->events.bytes);
        sequence->events = kept;
    } else {
        sequence->events.used = 0;
    }
    sequence->waiting_count = kept.failed ? 0 : rest;
}

void perfetto_put_waiting(struct perfetto *perfetto, uint32_t track, struct sequence *sequence, size_t most,
                          bool end) {
    size_t count = most < sequence->waiting_count ? most : sequence->waiting_count, late = 0;
    if (!waiting_sort(sequence->waiting, sequence->waiting_count, &perfetto->sorting)) {
        perfetto->failed = true;
        return;
    }
    struct place place = {perfetto, sequence, &sequence->lanes, track};
    if (count && !sequence->clocked)
        put_clock(place, sequence->waiting[0].start);
    while (late < count && sequence->waiting[late].start < sequence->last_time)
        late++;
    struct lanes apart = {.next_end = INT64_MAX, .late = true};
    place.lanes = &apart;
    for (size_t i = 0; i < late; i++)
        write_waiting(place, &sequence->waiting[i]);
    end_until(place, INT64_MAX);
    perfetto_finish_lanes(&apart);
    place.lanes = &sequence->lanes;
    for (size_t i = late; i < count; i++)
        write_waiting(place, &sequence->waiting[i]);
    if (end)
        end_until(place, INT64_MAX);
    drop_written(perfetto, sequence, count);
}

void perfetto_bound(struct perfetto *perfetto) {
    while (perfetto->held > HELD_MAX && !perfetto->failed) {
        size_t share = perfetto->held / (2 * perfetto->sequence_capacity);
        for (size_t track = 0; track < perfetto->sequence_capacity; track++) {
            struct sequence *sequence = perfetto->sequences[track];
            if (sequence &&
                sequence->events.used + sequence->waiting_count * sizeof *sequence->waiting > share)
                perfetto_put_waiting(perfetto, (uint32_t)track, sequence, (sequence->waiting_count + 1) / 2,
                                     false);
        }
    }
}
