// SPDX-License-Identifier: Apache-2.0
// The CPU time of sampled threads, by columns of a picture, as JSON. answer.c calls it.
#include <inttypes.h>
#include <stdlib.h>

#include "cli/present/sample_columns.h"
#include "cli/studio/picture.h"
#include "cli/studio/server.h"

enum { COLUMNS_USUAL = 1024, COLUMNS_MOST = 4096, PART_COLUMNS = 8 };

// Of the time of a column, in thousandths.
static void add_shares(struct text *text, const char *name, const struct sample_frame *frame,
                       const int64_t *times) {
    text_add_format(text, ",\"%s\":[", name);
    for (size_t column = 0; column < frame->columns; column++) {
        const int64_t width = sample_column_start(frame, column + 1) - sample_column_start(frame, column);
        const double share = width > 0 ? (double)times[column] / (double)width : 0;
        text_add_format(text, "%s%.0f", column ? "," : "", 1000 * (share < 1 ? share : 1));
    }
    text_add_char(text, ']');
}

static void add_row(const struct sample_columns *columns, uint32_t track, struct text *text) {
    const struct sample_row *row = &columns->rows[track];
    size_t cursor = 0;
    text_add_format(text, "{\"track\":%" PRIu32 ",\"samples\":%" PRIu64 ",\"cpu_ns\":", track, row->samples);
    if (row->total)
        text_add_i64(text, row->total);
    else
        text_add_cstr(text, "null");
    add_shares(text, "user", &columns->frame, row->user);
    add_shares(text, "kernel", &columns->frame, row->kernel);
    text_add_cstr(text, ",\"count\":[");
    for (size_t column = 0; column < columns->frame.columns; column++)
        text_add_format(text, "%s%" PRIu64, column ? "," : "", row->count[column]);
    text_add_cstr(text, "],\"functions\":[");
    for (size_t part = 0; part < sample_part_count(&columns->frame); part++) {
        uint64_t count;
        const uint32_t function = sample_most_frequent(row, part, &cursor, &count);
        text_add_cstr(text, part ? "," : "");
        if (count)
            text_add_json(text, sample_columns_name(columns, function));
        else
            text_add_cstr(text, "null");
    }
    text_add_cstr(text, "]}");
}

static void add_columns(const struct sample_columns *columns, int64_t origin, struct text *text) {
    const struct sample_frame *frame = &columns->frame;
    const char *separator = "\n";
    text_add_format(
        text, "{\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"columns\":%zu,\"part_columns\":%zu,\"threads\":[",
        frame->from - origin, frame->to - origin, frame->columns, frame->part_columns);
    for (uint32_t track = 0; track < frame->track_count; track++) {
        if (!columns->rows[track].count)
            continue;
        text_add_cstr(text, separator);
        add_row(columns, track, text);
        separator = ",\n";
    }
    text_add_cstr(text, "]}\n");
}

// The part of the trace that is asked for, at least 1 ns.
static bool read_frame(const struct file *file, const struct request *request, struct sample_frame *out) {
    const char *from = request->parameter(request, "from"), *to = request->parameter(request, "to"),
               *columns = request->parameter(request, "columns");
    const int64_t origin = tsmith_tiles_origin(file->tiles);
    const uint64_t whole = (uint64_t)tsmith_tiles_end(file->tiles) - (uint64_t)origin;
    uint64_t begin = 0, end = whole + 1, count = COLUMNS_USUAL;
    if ((from && !picture_number(from, INT64_MAX, &begin)) || (to && !picture_number(to, INT64_MAX, &end)) ||
        (columns && !picture_number(columns, COLUMNS_MOST, &count)) || !count)
        return false;
    end = end > whole + 1 ? whole + 1 : end;
    if (begin >= end)
        return false;
    *out = (struct sample_frame){.from = (int64_t)((uint64_t)origin + begin),
                                 .to = (int64_t)((uint64_t)origin + end),
                                 .columns = (size_t)count,
                                 .part_columns = PART_COLUMNS};
    return true;
}

void answer_samples(struct file *file, const struct request *request, struct answer *out) {
    struct sample_columns columns = {0};
    struct sample_frame frame;
    tsmith_error error = {.message = "out of memory"};
    file_enter(file);
    const bool good = read_frame(file, request, &frame);
    const uint32_t tracks = tsmith_dictionary_track_count(file->dictionary);
    uint32_t *rows = good ? calloc((size_t)tracks + 1, sizeof *rows) : NULL;
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (rows) {
        for (uint32_t track = 0; track < tracks; track++)
            rows[track] = track + 1;
        frame.row_of = rows;
        frame.row_count = frame.track_count = tracks;
        status = sample_columns_read(file->sbt, file->dictionary, &frame, &columns, &error);
    }
    if (rows && status == TSMITH_OK)
        add_columns(&columns, tsmith_tiles_origin(file->tiles), &out->text);
    sample_columns_finish(&columns);
    free(rows);
    file_leave(file);
    if (!good)
        answer_failure(out, 400,
                       "The request may name a part of the trace and the columns of a picture: "
                       "from=0&to=1000&columns=500");
    else if (status != TSMITH_OK)
        answer_failure(out, 500, "%s", error.message);
}
