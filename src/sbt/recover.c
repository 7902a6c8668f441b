// SPDX-License-Identifier: Apache-2.0
// Sound frames are carried over as they are, so that nothing in them changes, not even what this version
// cannot read. Index, totals and aggregates are made anew. What was lost becomes a LOSS event on a track of
// its own.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/plural.h"
#include "base/sized.h"
#include "base/status.h"
#include "event/merge.h"
#include "sbt/continue.h"
#include "sbt/reader.h"
#include "sbt/writer.h"

struct recovery {
    tsmith_sbt *trace;
    struct sbt_writer *writer;
    tsmith_batch *batch;
    struct scratch scratch;
    uint64_t events, frames;
    uint64_t seen;  // events of the frames there were, damaged ones included
    uint64_t whole; // of those, how many are carried over
    bool leave_recording;
};

static tsmith_status carry_events(struct recovery *recovery, size_t at, const struct frame_header *header,
                                  struct input payload, tsmith_error *error) {
    static const uint32_t fields[] = {TSMITH_FIELD_DURATION, TSMITH_FIELD_NAME, TSMITH_FIELD_LOST,
                                      TSMITH_FIELD_REASON};
    struct column_request request = {fields, sizeof fields / sizeof *fields, NULL};
    uint32_t unknown = 0;
    if (!columns_decode(payload, header, &request, &recovery->scratch, recovery->batch, &unknown)) {
        reader_note_damage(recovery->trace, at);
        return TSMITH_OK;
    }
    recovery->events += header->events;
    recovery->frames++;
    return sbt_writer_carry(recovery->writer, header, payload.at, recovery->batch, error);
}

static tsmith_status carry_frame(struct recovery *recovery, size_t at, tsmith_error *error) {
    const struct index_entry *entry = &recovery->trace->frames.entries[at];
    struct frame_header header;
    struct input payload;
    recovery->seen += entry->type == FRAME_EVENTS ? entry->events : 0;
    if (entry->type == FRAME_EVENTS && recovery->seen > recovery->whole)
        return TSMITH_OK;
    // Made anew: the schema is this version's, the others depend on where frames are.
    if (entry->damaged || entry->type == FRAME_SCHEMA || entry->type == FRAME_AGGREGATE ||
        entry->type == FRAME_INDEX || entry->type == FRAME_END)
        return TSMITH_OK;
    if (recovery->leave_recording && (entry->type == FRAME_RECORDS || entry->type == FRAME_CHUNKS))
        return TSMITH_OK;
    enum frame_result result =
        reader_read_frame(recovery->trace, at, &recovery->trace->buffer, &header, &payload, error);
    if (result != FRAME_SOUND)
        return result == FRAME_FAILED ? TSMITH_ERROR_IO : TSMITH_OK;
    if (entry->type == FRAME_EVENTS && entry->version == SBT_FRAME_VERSION)
        return carry_events(recovery, at, &header, payload, error);
    recovery->frames++;
    return sbt_writer_carry(recovery->writer, &header, payload.at, NULL, error);
}

static uint64_t damaged_parts(const tsmith_sbt *trace) {
    return trace->damaged_entries + trace->damaged_regions + trace->header_damaged;
}

static uint32_t add_loss_track(tsmith_dictionary *dictionary) {
    tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                          .name = tsmith_dictionary_intern_cstr(dictionary, "recovery")};
    return tsmith_dictionary_add_track(dictionary, &track);
}

static bool set_loss(const struct recovery *recovery, tsmith_dictionary *dictionary, uint64_t damaged,
                     bool continued) {
    const tsmith_sbt *trace = recovery->trace;
    tsmith_batch *batch = recovery->batch;
    struct totals span = sbt_writer_totals(recovery->writer);
    uint64_t lost = trace->damaged_events + (continued ? 0 : trace->torn_events);
    char text[160];
    if (damaged)
        (void)snprintf(text, sizeof text, "%" PRIu64 " damaged %s (%" PRIu64 " %s) left out by recovery%s",
                       damaged, plural(damaged, "part", "parts"), trace->damaged_bytes,
                       plural(trace->damaged_bytes, "byte", "bytes"),
                       trace->ended || continued ? "" : "; the recording was cut off");
    else
        (void)snprintf(text, sizeof text, "the recording was cut off here");
    uint64_t message = tsmith_dictionary_intern_cstr(dictionary, text);
    int64_t start = damaged ? span.first_start : span.last_end;
    if (tsmith_dictionary_failed(dictionary) ||
        tsmith_batch_append(batch, TSMITH_KIND_LOSS, start) == UINT32_MAX ||
        tsmith_batch_set(batch, TSMITH_FIELD_TEXT, message) != TSMITH_OK ||
        (lost && tsmith_batch_set(batch, TSMITH_FIELD_LOST, lost) != TSMITH_OK))
        return false;
    if (damaged && tsmith_batch_set(batch, TSMITH_FIELD_DURATION,
                                    (uint64_t)span.last_end - (uint64_t)span.first_start) != TSMITH_OK)
        return false;
    // Cut off between two frames, nothing is known to be damaged.
    return !(damaged || lost) ||
           tsmith_batch_set(batch, TSMITH_FIELD_REASON, TSMITH_REASON_CORRUPT) == TSMITH_OK;
}

// One event. The times of events in damaged parts are unknown: it spans the whole trace. The missing end of a
// recording that was cut off came after that: it is an instant at the end.
static tsmith_status write_loss(struct recovery *recovery, bool continued, tsmith_error *error) {
    const tsmith_sbt *trace = recovery->trace;
    tsmith_dictionary *dictionary = trace->dictionary;
    uint64_t damaged = damaged_parts(trace);
    tsmith_batch_reset(recovery->batch, add_loss_track(dictionary));
    if (!set_loss(recovery, dictionary, damaged, continued) ||
        tsmith_batch_finish(recovery->batch) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while recovering it",
                          trace->path);
    return sbt_writer_write(recovery->writer, dictionary, recovery->batch, error);
}

static tsmith_status copy_frames(struct recovery *recovery, tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    tsmith_status status = tsmith_sbt_dictionary(recovery->trace, &dictionary, error);
    for (size_t i = 0; status == TSMITH_OK && i < recovery->trace->frames.count; i++)
        status = carry_frame(recovery, i, error);
    if (status == TSMITH_OK)
        status = sbt_writer_set_dictionary(recovery->writer, dictionary);
    if (status == TSMITH_OK && !reader_is_complete(recovery->trace))
        status = write_loss(recovery, false, error);
    return status == TSMITH_OK ? sbt_writer_finish(recovery->writer, dictionary, error) : status;
}

// The copied frames may use everything that the version of the damaged file has: the new one has the same version.
static tsmith_status create_like(struct recovery *recovery, const char *path, tsmith_error *error) {
    const tsmith_sbt_write_options options = {
        .size = sizeof options, .compression_level = recovery->trace->minor ? SBT_SMALL_LEVEL : 0};
    return sbt_writer_create(path, &options, &recovery->writer, error);
}

tsmith_status tsmith_sbt_recover(const char *damaged, const char *repaired, tsmith_sbt_recovery *out,
                                 tsmith_error *error) {
    struct recovery recovery = {.whole = UINT64_MAX};
    tsmith_sbt_recovery figures = {.size = sizeof figures};
    sized_give(tsmith_sbt_recovery, &figures, out);
    // Writing over what is being read would leave neither.
    if (file_is_same(damaged, repaired))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "%s cannot be recovered into itself: give another name for the repaired trace",
                          damaged);
    tsmith_status status = tsmith_sbt_open(damaged, &recovery.trace, error);
    if (status == TSMITH_OK && tsmith_batch_create(&recovery.batch) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while recovering it", damaged);
    if (status == TSMITH_OK)
        status = create_like(&recovery, repaired, error);
    if (status == TSMITH_OK)
        status = copy_frames(&recovery, error);
    if (status == TSMITH_OK) {
        const tsmith_sbt *trace = recovery.trace;
        uint64_t bad_bytes = trace->damaged_bytes;
        for (size_t i = 0; i < trace->frames.count; i++)
            if (trace->frames.entries[i].damaged)
                bad_bytes += SBT_FRAME_HEADER_SIZE + frame_stored_length(trace->frames.entries[i].length);
        figures = (tsmith_sbt_recovery){.frames_kept = recovery.frames,
                                        .frames_lost = trace->damaged_entries + trace->damaged_regions +
                                                       (trace->torn_offset != UINT64_MAX),
                                        .bytes_skipped = bad_bytes,
                                        .events_kept = recovery.events};
        sized_give(tsmith_sbt_recovery, &figures, out);
    }
    sbt_writer_destroy(recovery.writer);
    tsmith_batch_destroy(recovery.batch);
    scratch_finish(&recovery.scratch);
    tsmith_sbt_close(recovery.trace);
    return status;
}

// ---- continuing where a file ends

struct sbt_continued {
    struct recovery recovery;
    struct merge *merge;
};

static void look_at_tail(const tsmith_sbt *trace, struct sbt_tail *out) {
    for (size_t i = trace->frames.count; i-- > 0;) {
        const struct index_entry *entry = &trace->frames.entries[i];
        if (entry->type != FRAME_EVENTS)
            continue;
        if (out->rows && entry->track != out->track)
            break;
        out->track = entry->track;
        out->rows += entry->events;
        out->last_end =
            out->rows == entry->events || entry->last_end > out->last_end ? entry->last_end : out->last_end;
    }
}

tsmith_status sbt_continue_open(const char *path, struct sbt_continued **out, struct sbt_tail *tail,
                                tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    struct sbt_continued *continued = calloc(1, sizeof *continued);
    *out = NULL;
    *tail = (struct sbt_tail){.events = 0};
    if (!continued)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while recovering it", path);
    struct recovery *recovery = &continued->recovery;
    tsmith_status status = tsmith_sbt_open(path, &recovery->trace, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_dictionary(recovery->trace, &dictionary, error);
    if (status == TSMITH_OK && tsmith_batch_create(&recovery->batch) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while recovering it", path);
    if (status != TSMITH_OK) {
        sbt_continue_close(continued);
        return status;
    }
    for (size_t i = 0; i < recovery->trace->frames.count; i++)
        if (recovery->trace->frames.entries[i].type == FRAME_EVENTS)
            tail->events += recovery->trace->frames.entries[i].events;
    tail->uncertain = recovery->trace->damaged_regions > 0;
    look_at_tail(recovery->trace, tail);
    *out = continued;
    return TSMITH_OK;
}

void sbt_continue_close(struct sbt_continued *continued) {
    if (!continued)
        return;
    merge_destroy(continued->merge);
    sbt_writer_destroy(continued->recovery.writer);
    tsmith_batch_destroy(continued->recovery.batch);
    scratch_finish(&continued->recovery.scratch);
    tsmith_sbt_close(continued->recovery.trace);
    free(continued);
}

tsmith_dictionary *sbt_continue_dictionary(struct sbt_continued *continued) {
    return continued->recovery.trace->dictionary;
}

bool sbt_continue_damaged(const struct sbt_continued *continued) {
    return damaged_parts(continued->recovery.trace) > 0;
}

uint64_t sbt_continue_events(const struct sbt_continued *continued) {
    return continued->recovery.events;
}

static tsmith_status continue_write(void *self, const tsmith_dictionary *dictionary,
                                    const tsmith_batch *batch, tsmith_error *error) {
    struct sbt_continued *continued = self;
    const tsmith_batch *merged;
    if (merge_take(continued->merge, dictionary) != TSMITH_OK ||
        merge_batch(continued->merge, batch, &merged) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while joining the names of two traces");
    return sbt_writer_write(continued->recovery.writer, sbt_continue_dictionary(continued), merged, error);
}

static tsmith_status continue_finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct sbt_continued *continued = self;
    if (merge_take(continued->merge, dictionary) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY,
                          "out of memory while joining the names of two traces");
    tsmith_dictionary *joined = sbt_continue_dictionary(continued);
    tsmith_status status = TSMITH_OK;
    if (sbt_continue_damaged(continued))
        status = write_loss(&continued->recovery, true, error);
    return status == TSMITH_OK ? sbt_writer_finish(continued->recovery.writer, joined, error) : status;
}

struct sbt_writer *sbt_continue_writer(struct sbt_continued *continued) {
    return continued->recovery.writer;
}

tsmith_status sbt_continue_into(struct sbt_continued *continued, const char *path, uint64_t whole_events,
                                bool recording, tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {continue_write, continue_finish, NULL};
    struct recovery *recovery = &continued->recovery;
    tsmith_dictionary *dictionary = sbt_continue_dictionary(continued);
    recovery->whole = whole_events;
    recovery->leave_recording = !recording;
    *out = NULL;
    tsmith_status status = sbt_writer_create(path, NULL, &recovery->writer, error);
    for (size_t i = 0; status == TSMITH_OK && i < recovery->trace->frames.count; i++)
        status = carry_frame(recovery, i, error);
    if (status == TSMITH_OK)
        status = sbt_writer_set_dictionary(recovery->writer, dictionary);
    continued->merge = status == TSMITH_OK ? merge_create(dictionary, MERGE_EQUAL) : NULL;
    if (status == TSMITH_OK && (!continued->merge || tsmith_sink_create(&ops, continued, out) != TSMITH_OK))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory while recovering it",
                            recovery->trace->path);
    return status;
}
