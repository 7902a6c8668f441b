// SPDX-License-Identifier: Apache-2.0
// Facts about a trace as a whole. A complete one stores them (END, AGGREGATE); in any other one the frames
// are counted: those with one kind of event by their header alone, the rest by reading them.
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "sbt/reader.h"

static const uint32_t counted_fields[] = {TSMITH_FIELD_DURATION, TSMITH_FIELD_NAME, TSMITH_FIELD_LOST,
                                          TSMITH_FIELD_REASON};

// Reads EVENTS frames for their totals, one after the other.
struct counter {
    tsmith_batch *batch;
    struct scratch scratch;
};

static void counter_finish(struct counter *counter) {
    tsmith_batch_destroy(counter->batch);
    scratch_finish(&counter->scratch);
}

static bool is_events(const struct index_entry *entry) {
    return entry->type == FRAME_EVENTS && entry->version == SBT_FRAME_VERSION && !entry->damaged;
}

// SOUND: the frame's columns are in counter->batch.
static enum frame_result read_counted(tsmith_sbt *trace, size_t at, struct counter *counter,
                                      tsmith_error *error) {
    struct frame_header header;
    struct input payload;
    struct column_request request = {counted_fields, sizeof counted_fields / sizeof *counted_fields, NULL};
    uint32_t unknown = 0;
    if (!counter->batch && tsmith_batch_create(&counter->batch) != TSMITH_OK) {
        status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while counting its events", trace->path);
        return FRAME_FAILED;
    }
    enum frame_result result = reader_read_frame(trace, at, &trace->buffer, &header, &payload, error);
    if (result == FRAME_SOUND &&
        !columns_decode(payload, &header, &request, &counter->scratch, counter->batch, &unknown)) {
        reader_note_damage(trace, at);
        result = FRAME_DAMAGED;
    }
    return result;
}

static tsmith_status failure(const tsmith_error *error) {
    return error ? error->status : TSMITH_ERROR_IO;
}

static tsmith_status count_events(tsmith_sbt *trace, struct totals *totals, tsmith_error *error) {
    struct counter counter = {0};
    tsmith_status status = TSMITH_OK;
    *totals = (struct totals){0};
    for (size_t i = 0; status == TSMITH_OK && i < trace->frames.count; i++) {
        if (!is_events(&trace->frames.entries[i]))
            continue;
        enum frame_result result = read_counted(trace, i, &counter, error);
        if (result == FRAME_SOUND)
            totals_add(totals, counter.batch);
        else if (result == FRAME_FAILED)
            status = failure(error);
    }
    counter_finish(&counter);
    return status;
}

tsmith_status tsmith_sbt_verify(tsmith_sbt *trace, tsmith_error *error) {
    for (size_t i = 0; i < trace->frames.count; i++) {
        struct frame_header header;
        struct input payload;
        if (!trace->frames.entries[i].damaged &&
            reader_read_frame(trace, i, &trace->buffer, &header, &payload, error) == FRAME_FAILED)
            return failure(error);
    }
    return TSMITH_OK;
}

tsmith_status tsmith_sbt_summarize(tsmith_sbt *trace, tsmith_sbt_summary *out, tsmith_error *error) {
    struct totals totals = trace->totals;
    sized_give(tsmith_sbt_summary, (&(tsmith_sbt_summary){.size = sizeof *out}), out);
    if (!trace->has_totals || trace->first_bad != UINT64_MAX) {
        tsmith_status status = count_events(trace, &totals, error);
        if (status != TSMITH_OK)
            return status;
    }
    tsmith_sbt_summary full = {.version_major = trace->major,
                               .version_minor = trace->minor,
                               .complete = reader_is_complete(trace),
                               .bytes = trace->size,
                               .frames = trace->frames.count - trace->damaged_entries - trace->unknown_frames,
                               .damaged_frames =
                                   trace->damaged_entries + trace->damaged_regions + trace->header_damaged,
                               .unknown_frames = trace->unknown_frames,
                               .first_bad_offset = trace->first_bad,
                               .events = totals.events,
                               .first_start = totals.first_start,
                               .last_end = totals.last_end};
    _Static_assert(sizeof totals.kinds <= sizeof full.kinds && sizeof totals.lost <= sizeof full.lost,
                   "the summary has room for every kind and reason");
    memcpy(full.kinds, totals.kinds, sizeof totals.kinds);
    memcpy(full.lost, totals.lost, sizeof totals.lost);
    sized_give(tsmith_sbt_summary, &full, out);
    return TSMITH_OK;
}

// ---- totals per name

// EVENTS frames from `from` on, before `before`, that no AGGREGATE covers.
static tsmith_status add_uncovered(tsmith_sbt *trace, size_t from, size_t before,
                                   struct aggregates *aggregates, struct counter *counter,
                                   tsmith_error *error) {
    for (size_t i = from; i < before; i++) {
        if (!is_events(&trace->frames.entries[i]))
            continue;
        enum frame_result result = read_counted(trace, i, counter, error);
        if (result == FRAME_FAILED)
            return failure(error);
        if (result == FRAME_SOUND)
            aggregates_add(aggregates, counter->batch);
    }
    return TSMITH_OK;
}

// The first frame whose sequence is at least `sequence`, from `from` on and before `before`. Sequences are
// not in the list: they equal the place in it, unless frames were lost before; then the header has them.
static size_t find_sequence(tsmith_sbt *trace, uint64_t sequence, size_t from, size_t before) {
    if (trace->damaged_regions == 0)
        return sequence < from ? from : sequence < before ? (size_t)sequence : before;
    for (size_t i = from; i < before; i++) {
        uint64_t of_frame;
        if (reader_read_sequence(trace, i, &of_frame) && of_frame >= sequence)
            return i;
    }
    return before;
}

static tsmith_status add_all(tsmith_sbt *trace, struct aggregates *aggregates, struct counter *counter,
                             tsmith_error *error) {
    size_t uncovered = 0; // frames before it are in the sums
    for (size_t i = 0; i < trace->frames.count; i++) {
        const struct index_entry *entry = &trace->frames.entries[i];
        struct frame_header header;
        struct input payload;
        uint64_t first;
        if (entry->type != FRAME_AGGREGATE || entry->version != SBT_FRAME_VERSION || entry->damaged)
            continue;
        enum frame_result result = reader_read_frame(trace, i, &trace->buffer, &header, &payload, error);
        if (result == FRAME_FAILED)
            return failure(error);
        if (result == FRAME_DAMAGED)
            continue;
        if (!aggregates_read(aggregates, payload, &trace->scratch, &first)) {
            reader_note_damage(trace, i);
            continue;
        }
        tsmith_status status = add_uncovered(trace, uncovered, find_sequence(trace, first, uncovered, i),
                                             aggregates, counter, error);
        if (status != TSMITH_OK)
            return status;
        uncovered = i + 1;
    }
    return add_uncovered(trace, uncovered, trace->frames.count, aggregates, counter, error);
}

static int by_total(const void *a, const void *b) {
    const tsmith_aggregate *left = a, *right = b;
    if (left->total != right->total)
        return left->total > right->total ? -1 : 1;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return left->name < right->name ? -1 : left->name > right->name;
}

static tsmith_status hand_out(const tsmith_sbt *trace, const struct aggregates *aggregates,
                              tsmith_aggregate **out, size_t *count, tsmith_error *error) {
    *out = aggregates->failed ? NULL : calloc(aggregates->count + 1, sizeof **out);
    if (!*out)
        return status_set(error, TSMITH_ERROR_LIMIT,
                          "%s: too many different names to add up, or out of memory", trace->path);
    for (size_t i = 0; i < aggregates->count; i++) {
        (*out)[i] = aggregates->entries[i].total;
        (*out)[i].timed = aggregates->entries[i].timed;
    }
    qsort(*out, aggregates->count, sizeof **out, by_total);
    *count = aggregates->count;
    return TSMITH_OK;
}

tsmith_status tsmith_sbt_aggregates(tsmith_sbt *trace, tsmith_aggregate **out, size_t *count,
                                    tsmith_error *error) {
    struct aggregates aggregates = {0};
    struct counter counter = {0};
    *out = NULL;
    *count = 0;
    tsmith_status status = add_all(trace, &aggregates, &counter, error);
    if (status == TSMITH_OK)
        status = hand_out(trace, &aggregates, out, count, error);
    aggregates_finish(&aggregates);
    counter_finish(&counter);
    return status;
}
