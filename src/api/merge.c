// SPDX-License-Identifier: Apache-2.0
// Joins a recording with a trace that another profiler made of the same run. The Python package calls it.
//
// The wall clock is what both traces know: the recording compared it with the trace clock throughout, and the other trace
// has times since 1970 once the beginning of its time, `origin`, is added.
#include "tracesmith/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "event/merge.h"
#include "tracesmith/trace.h"
#include "tracesmith/view.h"
#include "watch/host_clock.h"

// What agents record. Of an API that was recorded twice, only one side is kept.
static const uint64_t RECORDED =
    TSMITH_KIND_BIT(TSMITH_KIND_KERNEL) | TSMITH_KIND_BIT(TSMITH_KIND_MEMCPY) |
    TSMITH_KIND_BIT(TSMITH_KIND_MEMSET) | TSMITH_KIND_BIT(TSMITH_KIND_ALLOC) |
    TSMITH_KIND_BIT(TSMITH_KIND_FREE) | TSMITH_KIND_BIT(TSMITH_KIND_API) | TSMITH_KIND_BIT(TSMITH_KIND_SYNC) |
    TSMITH_KIND_BIT(TSMITH_KIND_EVENT_RECORD) | TSMITH_KIND_BIT(TSMITH_KIND_GRAPH_LAUNCH) |
    TSMITH_KIND_BIT(TSMITH_KIND_OBJECT) | TSMITH_KIND_BIT(TSMITH_KIND_FLOW);

struct merging {
    tsmith_trace *recording, *other;
    struct host_clock wall; // the recording's
    int64_t origin;         // of the other trace's time on the wall clock
    bool has_work;          // the recording has calls or work of devices
    tsmith_dictionary *into;
    struct merge *merge;
    tsmith_batch *copy;
    tsmith_sink *sink;
    tsmith_merge_result result;
};

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while merging traces");
}

// ---- clocks

static bool read_number(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    *out = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && errno == 0 && *out > 0;
}

// The statistic of XPlane's plane "Task Environment", in the text of an attribute.
static bool read_start(const tsmith_dictionary *dictionary, int64_t *out) {
    static const char KEY[] = "\"profile_start_time\":";
    const uint32_t count = tsmith_dictionary_attribute_count(dictionary);
    for (uint32_t i = 1; i < count; i++) {
        const tsmith_attribute *attribute = tsmith_dictionary_attribute(dictionary, i);
        const char *found = strstr(tsmith_dictionary_string(dictionary, attribute->value).bytes, KEY);
        if (found && read_number(found + sizeof KEY - 1, out))
            return true;
    }
    return false;
}

static tsmith_status find_origin(struct merging *merging, const char *path, tsmith_error *error) {
    static const int64_t YEAR_2001 = 1000000000000000000;
    const tsmith_dictionary *dictionary;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_sbt *sbt = tsmith_trace_sbt(merging->other);
    tsmith_status status = tsmith_sbt_dictionary(sbt, &dictionary, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_summarize(sbt, &summary, error);
    if (status != TSMITH_OK)
        return status;
    if (strcmp(tsmith_trace_format(merging->other), "sbt") != 0 &&
        (read_number(tsmith_dictionary_find_attribute(dictionary, "trace.baseTimeNanoseconds").bytes,
                     &merging->origin) ||
         read_start(dictionary, &merging->origin)))
        return TSMITH_OK;
    merging->origin = 0;
    if (strcmp(tsmith_trace_format(merging->other), "sbt") != 0 && summary.first_start > YEAR_2001)
        return TSMITH_OK;
    return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                      "%s cannot be merged: the start of its clock on the wall clock is unknown", path);
}

static int64_t convert(const struct merging *merging, int64_t time) {
    int64_t wall;
    if (__builtin_add_overflow(time, merging->origin, &wall))
        wall = time < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return host_clock_convert(&merging->wall, wall);
}

// Of an event, in ns: what the recording's comparisons leave open.
static int64_t bound_of(const tsmith_dictionary *dictionary) {
    int64_t least = INT64_MAX;
    for (uint32_t i = 1; i < tsmith_dictionary_clock_pair_count(dictionary); i++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(dictionary, i);
        const tsmith_clock *clock = tsmith_dictionary_clock(dictionary, pair->clock);
        if (clock && strcmp(tsmith_dictionary_string(dictionary, clock->name).bytes, "CLOCK_REALTIME") == 0 &&
            pair->error < least)
            least = pair->error;
    }
    return least;
}

static tsmith_status check_same_time(const struct merging *merging, const tsmith_sbt_summary *recording,
                                     const char *path, tsmith_error *error) {
    enum { SLACK = 1000000000 };
    const struct host_clock *wall = &merging->wall;
    tsmith_sbt_summary other = {.size = sizeof other};
    const tsmith_status status = tsmith_sbt_summarize(tsmith_trace_sbt(merging->other), &other, error);
    if (status != TSMITH_OK || !other.events)
        return status;
    int64_t from = wall->pairs[0].trace_time, to = wall->pairs[wall->count - 1].trace_time;
    if (recording->events && recording->first_start < from)
        from = recording->first_start;
    if (recording->events && recording->last_end > to)
        to = recording->last_end;
    if (convert(merging, other.last_end) >= from - SLACK && convert(merging, other.first_start) <= to + SLACK)
        return TSMITH_OK;
    return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                      "%s was not recorded at the same time as the recording: it cannot be merged", path);
}

static tsmith_status read_clocks(struct merging *merging, const char *recording, const char *other,
                                 tsmith_error *error) {
    const uint64_t work = TSMITH_KIND_BIT(TSMITH_KIND_KERNEL) | TSMITH_KIND_BIT(TSMITH_KIND_MEMCPY) |
                          TSMITH_KIND_BIT(TSMITH_KIND_MEMSET) | TSMITH_KIND_BIT(TSMITH_KIND_API);
    const tsmith_dictionary *dictionary;
    tsmith_sbt_summary summary = {.size = sizeof summary};
    tsmith_sbt *sbt = tsmith_trace_sbt(merging->recording);
    tsmith_status status = tsmith_sbt_dictionary(sbt, &dictionary, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_summarize(sbt, &summary, error);
    if (status != TSMITH_OK)
        return status;
    if (!host_clock_read(&merging->wall, dictionary, "CLOCK_REALTIME"))
        return no_memory(error);
    if (!merging->wall.count)
        return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                          "cannot merge into %s: its clock is not compared with the wall clock (only "
                          "TraceSmith's own recordings can be merged into)",
                          recording);
    for (uint32_t kind = 0; kind < TSMITH_KIND_LIMIT; kind++)
        merging->has_work |= summary.kinds[kind] && tsmith_kinds_have(work, kind);
    merging->result.error = bound_of(dictionary);
    status = find_origin(merging, other, error);
    return status == TSMITH_OK ? check_same_time(merging, &summary, other, error) : status;
}

// ---- events

static bool is_of_queue(const tsmith_dictionary *dictionary, uint32_t track) {
    const tsmith_track *entry = tsmith_dictionary_track(dictionary, track);
    return entry && (entry->kind == TSMITH_TRACK_QUEUE || entry->kind == TSMITH_TRACK_COPY_ENGINE);
}

static tsmith_status copy_value(struct merging *merging, const tsmith_view *view, uint32_t row) {
    int64_t time;
    if (view->type != TSMITH_TYPE_TIME)
        return tsmith_view_copy(view, row, merging->copy);
    if (!tsmith_view_i64(view, row, &time))
        return TSMITH_OK;
    const uint64_t bits = (uint64_t)convert(merging, time);
    return view->field >= TSMITH_FIELD_DYNAMIC
               ? tsmith_batch_set_dynamic(merging->copy, view->field, view->type, bits)
               : tsmith_batch_set(merging->copy, view->field, bits);
}

static tsmith_status copy_row(struct merging *merging, const tsmith_batch *batch, uint32_t row, uint8_t kind,
                              int64_t start) {
    tsmith_status status = TSMITH_OK;
    if (tsmith_batch_append(merging->copy, (tsmith_kind)kind, convert(merging, start)) == UINT32_MAX)
        return TSMITH_ERROR_NO_MEMORY;
    for (uint32_t i = 0; status == TSMITH_OK && i < tsmith_batch_column_count(batch); i++) {
        const tsmith_view view = tsmith_view_at(batch, i);
        if (view.field != TSMITH_FIELD_START && view.field != TSMITH_FIELD_KIND)
            status = copy_value(merging, &view, row);
    }
    return status;
}

// The other trace's batch with trace times, without what the recording has.
static tsmith_status convert_batch(struct merging *merging, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START};
    tsmith_view views[2];
    const bool leave_queue = merging->has_work && is_of_queue(merging->into, tsmith_batch_track(batch));
    tsmith_status status = TSMITH_OK;
    tsmith_batch_reset(merging->copy, tsmith_batch_track(batch));
    tsmith_view_batch(batch, fields, 2, views);
    const uint8_t *kinds = tsmith_view_every(&views[0]);
    const int64_t *starts = tsmith_view_every(&views[1]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch) && status == TSMITH_OK; row++) {
        const uint8_t kind = kinds[row];
        if (leave_queue || (merging->has_work && tsmith_kinds_have(RECORDED, kind))) {
            merging->result.left_out++;
            continue;
        }
        status = copy_row(merging, batch, row, kind, starts[row]);
        merging->result.added++;
    }
    return status == TSMITH_OK ? tsmith_batch_finish(merging->copy) : status;
}

// ---- the new file

static tsmith_status write_batch(struct merging *merging, const tsmith_batch *batch, bool is_other,
                                 tsmith_error *error) {
    const tsmith_batch *moved = NULL;
    tsmith_status status = merge_batch(merging->merge, batch, &moved);
    if (status == TSMITH_OK && is_other) {
        status = convert_batch(merging, moved);
        moved = merging->copy;
    }
    if (status != TSMITH_OK)
        return no_memory(error);
    return tsmith_batch_count(moved) ? tsmith_sink_write(merging->sink, merging->into, moved, error)
                                     : TSMITH_OK;
}

static tsmith_status copy_batches(struct merging *merging, tsmith_source *source, bool is_other,
                                  tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && (status = tsmith_source_next(source, &batch, error)) == TSMITH_OK)
        status = write_batch(merging, batch, is_other, error);
    return status == TSMITH_END || status == TSMITH_TRUNCATED ? TSMITH_OK : status;
}

static tsmith_status carry_trace(struct merging *merging, tsmith_trace *trace, bool is_other,
                                 tsmith_error *error) {
    const tsmith_dictionary *dictionary;
    tsmith_source *source = NULL;
    tsmith_status status = tsmith_sbt_dictionary(tsmith_trace_sbt(trace), &dictionary, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_scan(tsmith_trace_sbt(trace), NULL, &source, error);
    if (status != TSMITH_OK)
        return status;
    merge_destroy(merging->merge);
    merging->merge = merge_create(merging->into, is_other ? MERGE_SAME_PROCESSES : MERGE_APART);
    if (!merging->merge || merge_take(merging->merge, dictionary) != TSMITH_OK)
        status = no_memory(error);
    if (status == TSMITH_OK)
        status = copy_batches(merging, source, is_other, error);
    tsmith_source_destroy(source);
    return status;
}

static tsmith_status write_all(struct merging *merging, const char *other, const char *output,
                               tsmith_error *error) {
    const tsmith_sbt_write_options options = {.size = sizeof options, .exclusive = 1};
    if (tsmith_dictionary_create(&merging->into) != TSMITH_OK ||
        tsmith_batch_create(&merging->copy) != TSMITH_OK)
        return no_memory(error);
    tsmith_status status = tsmith_sbt_writer_open(output, &options, &merging->sink, error);
    if (status != TSMITH_OK)
        return status;
    status = carry_trace(merging, merging->recording, false, error);
    if (status == TSMITH_OK)
        status = carry_trace(merging, merging->other, true, error);
    if (status == TSMITH_OK) {
        tsmith_dictionary_set_attribute(merging->into, "merged", other);
        status = tsmith_sink_finish(merging->sink, merging->into, error);
    }
    if (status != TSMITH_OK)
        unlink(output);
    return status;
}

// The file is written. TRUNCATED, and why, when one of the traces is not whole.
static tsmith_status check_whole(struct merging *merging, const char *recording, tsmith_error *error) {
    tsmith_sbt_summary summary = {.size = sizeof summary};
    const tsmith_status status = tsmith_sbt_summarize(tsmith_trace_sbt(merging->recording), &summary, error);
    if (status == TSMITH_OK && !summary.complete)
        return status_set(error, TSMITH_TRUNCATED,
                          "%s ends early or is damaged: only the readable part was merged", recording);
    return status == TSMITH_OK ? tsmith_trace_ended(merging->other, error) : status;
}

static void finish(struct merging *merging) {
    tsmith_sink_destroy(merging->sink);
    merge_destroy(merging->merge);
    tsmith_batch_destroy(merging->copy);
    tsmith_dictionary_destroy(merging->into);
    host_clock_finish(&merging->wall);
    tsmith_trace_close(merging->recording);
    tsmith_trace_close(merging->other);
}

tsmith_status tsmith_traces_merge(const char *recording, const char *other, const char *output,
                                  tsmith_merge_result *result, tsmith_error *error) {
    struct merging merging = {.result.size = sizeof merging.result};
    tsmith_status status = tsmith_trace_open(recording, NULL, &merging.recording, error);
    if (status == TSMITH_OK)
        status = tsmith_trace_open(other, NULL, &merging.other, error);
    if (status == TSMITH_OK)
        status = read_clocks(&merging, recording, other, error);
    if (status == TSMITH_OK)
        status = write_all(&merging, other, output, error);
    if (status == TSMITH_OK)
        status = check_whole(&merging, recording, error);
    if (status >= 0 && result) {
        merging.result.size = result->size;
        memcpy(result, &merging.result, result->size < sizeof *result ? result->size : sizeof *result);
    }
    finish(&merging);
    return status;
}
