// SPDX-License-Identifier: Apache-2.0
// Joins the records of a profile without times with the events of a trace of the same program, or of the same run. What the records are, and how
// they are recognized, depends on the format: join_match.c. The trace is read twice: to find the events, and to copy them.
#include "api/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "event/merge.h"
#include "tracesmith/view.h"

// The fields and strings of the other file in the dictionary of the result.
struct field {
    uint32_t from, to;
    tsmith_type type;
};

struct joined {
    struct join join;
    const char *name;
    tsmith_trace *other;
    tsmith_dictionary *into;
    struct merge *merge;
    tsmith_source *source; // of the trace
    const tsmith_dictionary *dictionary;
    tsmith_batch *copy;
    struct field *fields;
    size_t field_count, field_capacity;
    uint64_t ordinal; // of the first row of the next batch
    size_t hit_at;    // the next one that was not reached
    tsmith_join_result result;
};

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while joining traces");
}

// ---- the other file

static tsmith_status keep_records(struct join *join, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND};
    const tsmith_batch *kept;
    tsmith_view view;
    if (!ARRAY_RESERVE(join->batches, join->batch_capacity, join->batch_count + 1) ||
        tsmith_batch_retain(batch, &kept) != TSMITH_OK)
        return TSMITH_ERROR_NO_MEMORY;
    join->batches[join->batch_count++] = kept;
    tsmith_view_batch(kept, fields, 1, &view);
    const uint8_t *kinds = tsmith_view_every(&view);
    for (uint32_t row = 0; kinds && row < tsmith_batch_count(kept); row++) {
        if (kinds[row] == TSMITH_KIND_LOSS)
            continue;
        struct join_record *record = ARRAY_PUSH(join->records, join->record_count, join->record_capacity);
        if (!record)
            return TSMITH_ERROR_NO_MEMORY;
        *record = (struct join_record){.batch = kept, .row = row};
    }
    return TSMITH_OK;
}

static tsmith_status read_other(struct joined *joined, const char *path, tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_source *source = NULL;
    tsmith_status status = tsmith_trace_open(path, NULL, &joined->other, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_dictionary(tsmith_trace_sbt(joined->other), &joined->join.other, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_scan(tsmith_trace_sbt(joined->other), NULL, &source, error);
    if (status == TSMITH_OK) {
        while ((status = tsmith_source_next(source, &batch, error)) == TSMITH_OK)
            if (keep_records(&joined->join, batch) != TSMITH_OK) {
                status = no_memory(error);
                break;
            }
        tsmith_source_destroy(source);
    }
    return status == TSMITH_END || status == TSMITH_TRUNCATED ? TSMITH_OK : status;
}

// ---- the events

static tsmith_status find_events(struct joined *joined, tsmith_trace *trace, tsmith_error *error) {
    const tsmith_batch *batch;
    tsmith_source *source = NULL;
    tsmith_status status = tsmith_sbt_dictionary(tsmith_trace_sbt(trace), &joined->dictionary, error);
    joined->join.dictionary = joined->dictionary;
    if (status == TSMITH_OK)
        status = tsmith_sbt_scan(tsmith_trace_sbt(trace), NULL, &source, error);
    if (status != TSMITH_OK)
        return status;
    uint64_t ordinal = 0;
    while ((status = tsmith_source_next(source, &batch, error)) == TSMITH_OK) {
        if (!join_look(&joined->join, batch, ordinal)) {
            status = no_memory(error);
            break;
        }
        ordinal += tsmith_batch_count(batch);
    }
    tsmith_source_destroy(source);
    if (status != TSMITH_END && status != TSMITH_TRUNCATED)
        return status;
    return join_match(&joined->join) ? TSMITH_OK : no_memory(error);
}

// ---- values

static const struct field *field_of(struct joined *joined, const tsmith_view *view) {
    for (size_t i = 0; i < joined->field_count; i++)
        if (joined->fields[i].from == view->field)
            return &joined->fields[i];
    tsmith_field_info info;
    struct field *added = ARRAY_PUSH(joined->fields, joined->field_count, joined->field_capacity);
    if (!added)
        return NULL;
    *added = (struct field){view->field, 0, view->type};
    if (tsmith_dictionary_describe_field(joined->join.other, view->field, &info))
        added->to = tsmith_dictionary_field(joined->into, info.name, info.type, info.unit);
    return added->to ? added : NULL;
}

static tsmith_status add_values(struct joined *joined, const struct join_record *record) {
    tsmith_status status = TSMITH_OK;
    for (uint32_t i = 0; status == TSMITH_OK && i < tsmith_batch_column_count(record->batch); i++) {
        const tsmith_view view = tsmith_view_at(record->batch, i);
        uint64_t bits;
        if (view.field < TSMITH_FIELD_DYNAMIC || !tsmith_view_bits(&view, record->row, &bits))
            continue;
        const struct field *field = field_of(joined, &view);
        if (!field)
            return TSMITH_ERROR_NO_MEMORY;
        if (field->type == TSMITH_TYPE_STRING) {
            const tsmith_string text = tsmith_dictionary_string(joined->join.other, (uint32_t)bits);
            bits = tsmith_dictionary_intern(joined->into, text.bytes, text.length);
        }
        status = tsmith_batch_set_dynamic(joined->copy, field->to, field->type, bits);
    }
    return status;
}

static tsmith_status copy_row(struct joined *joined, const tsmith_batch *batch, uint32_t row, uint8_t kind,
                              int64_t start) {
    tsmith_status status = TSMITH_OK;
    if (tsmith_batch_append(joined->copy, (tsmith_kind)kind, start) == UINT32_MAX)
        return TSMITH_ERROR_NO_MEMORY;
    for (uint32_t i = 0; status == TSMITH_OK && i < tsmith_batch_column_count(batch); i++) {
        const tsmith_view view = tsmith_view_at(batch, i);
        if (view.field != TSMITH_FIELD_START && view.field != TSMITH_FIELD_KIND)
            status = tsmith_view_copy(&view, row, joined->copy);
    }
    return status;
}

// The batch with the values of the records that belong to its rows.
static tsmith_status extend(struct joined *joined, const tsmith_batch *batch) {
    static const uint32_t fields[] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START};
    const struct join *join = &joined->join;
    tsmith_view views[2];
    tsmith_status status = TSMITH_OK;
    tsmith_batch_reset(joined->copy, tsmith_batch_track(batch));
    tsmith_view_batch(batch, fields, 2, views);
    const uint8_t *kinds = tsmith_view_every(&views[0]);
    const int64_t *starts = tsmith_view_every(&views[1]);
    for (uint32_t row = 0; kinds && starts && row < tsmith_batch_count(batch) && status == TSMITH_OK; row++) {
        status = copy_row(joined, batch, row, kinds[row], starts[row]);
        if (status == TSMITH_OK && joined->hit_at < join->hit_count &&
            join->hits[joined->hit_at].ordinal == joined->ordinal + row)
            status = add_values(joined, &join->records[join->hits[joined->hit_at++].record]);
    }
    return status == TSMITH_OK ? tsmith_batch_finish(joined->copy) : status;
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct joined *joined = self;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_source_next(joined->source, &batch, error);
    if (status != TSMITH_OK)
        return status;
    const uint64_t end = joined->ordinal + tsmith_batch_count(batch);
    if (merge_batch(joined->merge, batch, out) != TSMITH_OK)
        return no_memory(error);
    if (joined->hit_at < joined->join.hit_count && joined->join.hits[joined->hit_at].ordinal < end) {
        if (extend(joined, *out) != TSMITH_OK)
            return no_memory(error);
        *out = joined->copy;
    }
    joined->ordinal = end;
    return TSMITH_OK;
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct joined *)self)->into;
}

static void destroy(void *self) {
    struct joined *joined = self;
    tsmith_source_destroy(joined->source);
    join_finish(&joined->join);
    merge_destroy(joined->merge);
    tsmith_batch_destroy(joined->copy);
    tsmith_dictionary_destroy(joined->into);
    tsmith_trace_close(joined->other);
    free(joined->fields);
    free(joined);
}

static tsmith_status prepare(struct joined *joined, tsmith_trace *trace, const char *other,
                             tsmith_error *error) {
    tsmith_status status = read_other(joined, other, error);
    if (status != TSMITH_OK)
        return status;
    if (!join_begin(&joined->join, tsmith_trace_format(joined->other)))
        return status_set(
            error, TSMITH_ERROR_UNSUPPORTED,
            "%s: is %s, which cannot be joined with a trace; an execution trace of PyTorch and CSV of "
            "Nsight Compute can",
            other, tsmith_trace_format(joined->other));
    status = find_events(joined, trace, error);
    if (status != TSMITH_OK)
        return status;
    if (tsmith_dictionary_create(&joined->into) != TSMITH_OK ||
        tsmith_batch_create(&joined->copy) != TSMITH_OK ||
        !(joined->merge = merge_create(joined->into, MERGE_APART)) ||
        merge_take(joined->merge, joined->dictionary) != TSMITH_OK)
        return no_memory(error);
    tsmith_dictionary_set_attribute(joined->into, "joined", other);
    tsmith_dictionary_set_attribute(joined->into, "joined.format", tsmith_trace_format(joined->other));
    return tsmith_sbt_scan(tsmith_trace_sbt(trace), NULL, &joined->source, error);
}

tsmith_status tsmith_trace_join(tsmith_trace *trace, const char *other, tsmith_join_result *result,
                                tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    struct joined *joined = calloc(1, sizeof *joined);
    *out = NULL;
    if (!joined)
        return no_memory(error);
    tsmith_status status = prepare(joined, trace, other, error);
    if (status == TSMITH_OK && tsmith_source_create(&ops, joined, out) != TSMITH_OK)
        status = no_memory(error);
    if (status == TSMITH_OK && result) {
        const tsmith_join_result mine = {.size = result->size,
                                         .records = joined->join.record_count,
                                         .joined = joined->join.hit_count,
                                         .ambiguous = joined->join.ambiguous,
                                         .missing = joined->join.missing};
        memcpy(result, &mine, result->size < sizeof mine ? result->size : sizeof mine);
    }
    if (status != TSMITH_OK)
        destroy(joined);
    return status;
}
