// SPDX-License-Identifier: Apache-2.0
// CSV (RFC 4180): one line per event, in the order of the batches, with every field there is.
//
// The header is written with the first batch. A field of the trace's own may have the name of one of the schema's: its
// column is "args.NAME". Those that are described later go to the last column, as "name=value; name=value", so that
// nothing is left out of a trace that comes as a stream.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/formats.h"
#include "export/json_out.h"
#include "tracesmith/view.h"

struct csv {
    struct output output;
    struct json_out json;
    const tsmith_dictionary *dictionary; // of the call
    bool started;
    uint32_t *fields;     // of the columns
    tsmith_view *columns; // of the batch, by index in fields
    size_t field_count;
    tsmith_view *late; // columns of the batch that the header does not have
    size_t late_count, late_capacity;
};

// Within quotes.
static void put_doubled(struct output *output, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"')
            output_char(output, '"');
        output_char(output, bytes[i]);
    }
}

// `prefix` needs no quotes.
static void put_prefixed(struct output *output, const char *prefix, const char *bytes, size_t length) {
    bool plain = true;
    for (size_t i = 0; plain && i < length; i++)
        plain = bytes[i] != ',' && bytes[i] != '"' && bytes[i] != '\n' && bytes[i] != '\r';
    if (!plain)
        output_char(output, '"');
    output_text(output, prefix);
    if (plain) {
        output_bytes(output, bytes, length);
        return;
    }
    put_doubled(output, bytes, length);
    output_char(output, '"');
}

static void put_text(struct output *output, const char *bytes, size_t length) {
    put_prefixed(output, "", bytes, length);
}

static void put_string(struct csv *csv, uint32_t id, bool quoted) {
    tsmith_string text = tsmith_dictionary_string(csv->dictionary, id);
    if (quoted)
        put_doubled(&csv->output, text.bytes, text.length);
    else
        put_text(&csv->output, text.bytes, text.length);
}

// ---- the header

static bool begin(struct csv *csv, const tsmith_dictionary *dictionary) {
    csv->dictionary = dictionary;
    if (csv->started)
        return true;
    csv->started = true;
    uint32_t dynamic = tsmith_dictionary_dynamic_field_count(dictionary);
    csv->fields = calloc(TSMITH_FIELD_LIMIT + (size_t)dynamic, sizeof *csv->fields);
    csv->columns = calloc(TSMITH_FIELD_LIMIT + (size_t)dynamic, sizeof *csv->columns);
    if (!csv->fields || !csv->columns)
        return false;
    output_text(&csv->output, "track,track_kind,track_name,pid,tid,device");
    for (uint32_t i = 1; i < TSMITH_FIELD_LIMIT + dynamic; i++) {
        uint32_t field = i < TSMITH_FIELD_LIMIT ? i : TSMITH_FIELD_DYNAMIC + i - TSMITH_FIELD_LIMIT;
        tsmith_field_info info;
        if (!tsmith_dictionary_describe_field(dictionary, field, &info))
            continue;
        csv->fields[csv->field_count++] = field;
        output_char(&csv->output, ',');
        put_prefixed(&csv->output, field < TSMITH_FIELD_LIMIT ? "" : "args.", info.name, strlen(info.name));
    }
    output_text(&csv->output, ",other\r\n");
    return true;
}

// ---- rows

static const char *word_of(tsmith_type type, uint64_t value) {
    return type == TSMITH_TYPE_BOOL ? (value ? "true" : "false") : tsmith_value_name(type, value);
}

static void put_number(struct csv *csv, tsmith_type type, uint64_t value) {
    double real;
    memcpy(&real, &value, sizeof real);
    if (type == TSMITH_TYPE_F64 && !isfinite(real))
        output_text(&csv->output, isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
    else if (type == TSMITH_TYPE_F64)
        json_out_double(&csv->json, value);
    else if (type == TSMITH_TYPE_TIME || type == TSMITH_TYPE_I64)
        json_out_i64(&csv->output, (int64_t)value);
    else
        json_out_u64(&csv->output, value);
}

// `quoted`: within quotes already.
static void put_value(struct csv *csv, const tsmith_view *column, uint32_t row, bool quoted) {
    struct output *output = &csv->output;
    if (column->type == TSMITH_TYPE_LIST) {
        for (uint32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
            if (i > column->offsets[row])
                output_char(output, ' ');
            json_out_u64(output, tsmith_view_known(column, i));
        }
        return;
    }
    uint64_t value = tsmith_view_known(column, row);
    const char *word = word_of(column->type, value);
    if (word)
        output_text(output, word);
    else if (column->type == TSMITH_TYPE_STRING)
        put_string(csv, (uint32_t)value, quoted);
    else
        put_number(csv, column->type, value);
}

// What the header does not have.
static void put_late(struct csv *csv, uint32_t row) {
    bool any = false;
    for (size_t i = 0; i < csv->late_count; i++) {
        tsmith_field_info info;
        if (!tsmith_view_has(&csv->late[i], row) ||
            !tsmith_dictionary_describe_field(csv->dictionary, csv->late[i].field, &info))
            continue;
        output_text(&csv->output, any ? "; " : "\"");
        put_doubled(&csv->output, info.name, strlen(info.name));
        output_char(&csv->output, '=');
        put_value(csv, &csv->late[i], row, true);
        any = true;
    }
    if (any)
        output_char(&csv->output, '"');
}

static void put_track_name(struct csv *csv, uint32_t id, const tsmith_track *track) {
    char room[TSMITH_LABEL_SIZE];
    if (!track->name && (track->kind != TSMITH_TRACK_QUEUE || !track->device))
        return;
    const tsmith_string name = output_track_name(csv->dictionary, id, room);
    put_text(&csv->output, name.bytes, name.length);
}

static void put_track(struct csv *csv, uint32_t id) {
    struct output *output = &csv->output;
    const tsmith_track *track = tsmith_dictionary_track(csv->dictionary, id);
    static const tsmith_track unknown;
    json_out_u64(output, id);
    track = track ? track : &unknown;
    const char *kind = tsmith_track_kind_name((tsmith_track_kind)track->kind);
    const tsmith_process *process = tsmith_dictionary_process(csv->dictionary, track->process);
    const tsmith_device *device = tsmith_dictionary_device(csv->dictionary, track->device);
    output_char(output, ',');
    output_text(output, kind ? kind : "");
    output_char(output, ',');
    put_track_name(csv, id, track);
    output_char(output, ',');
    if (process)
        json_out_u64(output, process->pid);
    output_char(output, ',');
    if (track->kind == TSMITH_TRACK_THREAD)
        json_out_u64(output, track->tid);
    output_char(output, ',');
    if (device)
        put_string(csv, device->name, false);
}

// The columns of the batch that the header has, and those that it does not have.
static bool place_columns(struct csv *csv, const tsmith_batch *batch) {
    const uint32_t count = tsmith_batch_column_count(batch);
    if (!ARRAY_RESERVE(csv->late, csv->late_capacity, count))
        return false;
    tsmith_view_batch(batch, csv->fields, csv->field_count, csv->columns);
    csv->late_count = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) { // both ascend by field
        const tsmith_view view = tsmith_view_at(batch, i);
        while (at < csv->field_count && csv->fields[at] < view.field)
            at++;
        if (at == csv->field_count || csv->fields[at] != view.field)
            csv->late[csv->late_count++] = view;
    }
    return true;
}

static tsmith_status write_batch(void *self, const tsmith_dictionary *dictionary, const tsmith_batch *batch,
                                 tsmith_error *error) {
    struct csv *csv = self;
    if (!begin(csv, dictionary) || !place_columns(csv, batch))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    uint32_t count = tsmith_batch_count(batch);
    for (uint32_t row = 0; row < count; row++) {
        put_track(csv, tsmith_batch_track(batch));
        for (size_t i = 0; i < csv->field_count; i++) {
            output_char(&csv->output, ',');
            if (tsmith_view_exists(&csv->columns[i]) && tsmith_view_has(&csv->columns[i], row))
                put_value(csv, &csv->columns[i], row, false);
        }
        output_char(&csv->output, ',');
        put_late(csv, row);
        output_text(&csv->output, "\r\n");
    }
    if (csv->output.status != TSMITH_OK && error)
        *error = csv->output.error;
    return csv->output.status;
}

static tsmith_status finish(void *self, const tsmith_dictionary *dictionary, tsmith_error *error) {
    struct csv *csv = self;
    if (!begin(csv, dictionary))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    return output_finish(&csv->output, error);
}

static void destroy(void *self) {
    struct csv *csv = self;
    if (!csv)
        return;
    free(csv->fields);
    free(csv->columns);
    free(csv->late);
    json_out_finish(&csv->json);
    output_close(&csv->output);
    free(csv);
}

tsmith_status csv_open(const struct export_place *place, const tsmith_export_options *options,
                       tsmith_sink **out, tsmith_error *error) {
    static const tsmith_sink_ops ops = {write_batch, finish, destroy};
    struct csv *csv = calloc(1, sizeof *csv);
    if (!csv)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory");
    csv->json.output = &csv->output;
    return output_sink(&csv->output, &ops, csv, place, options, out, error);
}
