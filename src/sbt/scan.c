// SPDX-License-Identifier: Apache-2.0
// A source over the frames of a trace that were asked for, one at a time: what it holds at any moment is one
// frame, packed and unpacked.
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "base/status.h"
#include "event/batch.h"
#include "sbt/reader.h"

struct scan {
    tsmith_sbt *trace;
    tsmith_scan filter;
    uint32_t kinds;   // that the filter asks for, as frames have them
    uint32_t *tracks; // sorted
    uint32_t *fields;
    const tsmith_dictionary *dictionary;
    size_t next; // frame
    tsmith_batch *batch;
    struct output buffer;
    struct scratch scratch;
};

static int by_number(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

// The kinds that are asked for as a frame's header has them: 32 bits, the last for all kinds from there on. A program that
// was built when the set had 32 bits may have anything in the others: they ask for nothing that this version has.
static uint32_t frame_kinds(uint64_t asked) {
    const uint64_t known = asked & (TSMITH_KIND_BIT(TSMITH_KIND_LIMIT) - 1);
    uint32_t kinds = 0;
    for (unsigned kind = 0; kind < TSMITH_KIND_LIMIT; kind++)
        if (tsmith_kinds_have(known, kind))
            kinds |= frame_kind_bit(kind);
    if (tsmith_kinds_have(known, TSMITH_KIND_NONE)) // as which kinds unknown here are read
        kinds |= ~(frame_kind_bit(TSMITH_KIND_LIMIT) - 1);
    return known ? kinds : UINT32_MAX;
}

static bool has_events(const struct index_entry *entry) {
    return entry->type == FRAME_EVENTS && entry->version == SBT_FRAME_VERSION && !entry->damaged;
}

size_t tsmith_sbt_event_frame_count(const tsmith_sbt *trace) {
    return trace->frames.count;
}

int tsmith_sbt_event_frame_at(const tsmith_sbt *trace, size_t index, tsmith_sbt_event_frame *out) {
    if (index >= trace->frames.count || !has_events(&trace->frames.entries[index]))
        return 0;
    const struct index_entry *entry = &trace->frames.entries[index];
    const tsmith_sbt_event_frame frame = {.size = sizeof frame,
                                          .track = entry->track,
                                          .events = entry->events,
                                          .first_start = entry->first_start,
                                          .last_end = entry->last_end,
                                          .offset = entry->offset,
                                          .length = SBT_FRAME_HEADER_SIZE + (uint64_t)entry->length};
    sized_give(tsmith_sbt_event_frame, &frame, out);
    return 1;
}

static bool is_asked_for(const struct scan *scan, const struct index_entry *entry) {
    const tsmith_scan *filter = &scan->filter;
    if (!has_events(entry))
        return false;
    if (filter->has_window && (entry->first_start > filter->to || entry->last_end < filter->from))
        return false;
    if (!(entry->kinds & scan->kinds))
        return false;
    return !filter->tracks ||
           bsearch(&entry->track, scan->tracks, filter->track_count, sizeof *scan->tracks, by_number) != NULL;
}

static tsmith_status scan_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct scan *scan = self;
    tsmith_sbt *trace = scan->trace;
    struct column_request request = {scan->fields, scan->filter.field_count, scan->dictionary};
    while (scan->next < trace->frames.count) {
        size_t at = scan->next++;
        if (!is_asked_for(scan, &trace->frames.entries[at]))
            continue;
        struct frame_header header;
        struct input payload;
        enum frame_result result = reader_read_frame(trace, at, &scan->buffer, &header, &payload, error);
        if (result == FRAME_FAILED)
            return TSMITH_ERROR_IO;
        if (result == FRAME_DAMAGED)
            continue;
        uint32_t unknown = 0;
        if (columns_decode(payload, &header, &request, &scan->scratch, scan->batch, &unknown)) {
            trace->unknown_columns += unknown;
            batch_set_sequence(scan->batch, at);
            *out = scan->batch;
            return TSMITH_OK;
        }
        reader_note_damage(trace, at);
    }
    return reader_say_end(trace, error);
}

static const tsmith_dictionary *scan_dictionary(void *self) {
    return ((struct scan *)self)->dictionary;
}

static void scan_destroy(void *self) {
    struct scan *scan = self;
    tsmith_batch_destroy(scan->batch);
    scratch_finish(&scan->scratch);
    free(scan->buffer.bytes);
    free(scan->tracks);
    free(scan->fields);
    free(scan);
}

// A copy that does not go away with the caller's; NULL for nothing.
static bool copy_numbers(const uint32_t *numbers, size_t count, uint32_t **out) {
    *out = NULL;
    if (!numbers)
        return true;
    *out = calloc(count ? count : 1, sizeof **out);
    if (*out && count)
        memcpy(*out, numbers, count * sizeof **out);
    return *out != NULL;
}

static tsmith_status fill_scan(struct scan *scan, tsmith_error *error) {
    tsmith_status status = tsmith_sbt_dictionary(scan->trace, &scan->dictionary, error);
    if (status != TSMITH_OK)
        return status;
    if (!copy_numbers(scan->filter.tracks, scan->filter.track_count, &scan->tracks) ||
        !copy_numbers(scan->filter.fields, scan->filter.field_count, &scan->fields) ||
        tsmith_batch_create(&scan->batch) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while reading it",
                          scan->trace->path);
    if (scan->tracks)
        qsort(scan->tracks, scan->filter.track_count, sizeof *scan->tracks, by_number);
    return TSMITH_OK;
}

tsmith_status tsmith_sbt_scan(tsmith_sbt *trace, const tsmith_scan *filter, tsmith_source **out,
                              tsmith_error *error) {
    static const tsmith_source_ops ops = {scan_next, scan_dictionary, scan_destroy};
    *out = NULL;
    struct scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while reading it", trace->path);
    scan->trace = trace;
    tsmith_status status = sized_take(tsmith_scan, filter, &scan->filter, error);
    scan->kinds = frame_kinds(scan->filter.kinds);
    if (status == TSMITH_OK)
        status = fill_scan(scan, error);
    if (status == TSMITH_OK && tsmith_source_create(&ops, scan, out) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while reading it", trace->path);
    if (status != TSMITH_OK)
        scan_destroy(scan);
    return status;
}
