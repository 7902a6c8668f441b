// SPDX-License-Identifier: Apache-2.0
// Reads samples into columns. timeline_samples.c and cli/studio/samples.c call it.
#include "sample_columns.h"

#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "tracesmith/view.h"

enum { COMPACT_AT = 65536 };

static const uint32_t IS_MODULE = UINT32_C(1) << 31; // in place of a function

static int by_key(const void *left, const void *right) {
    const struct sample_place *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void join_places(struct sample_row *row) {
    size_t kept = 0;
    if (row->place_count)
        qsort(row->places, row->place_count, sizeof *row->places, by_key);
    for (size_t i = 0; i < row->place_count; i++) {
        if (kept && row->places[kept - 1].key == row->places[i].key)
            row->places[kept - 1].count += row->places[i].count;
        else
            row->places[kept++] = row->places[i];
    }
    row->place_count = kept;
}

static bool add_place(struct sample_row *row, uint64_t key) {
    // The memory follows the number of different stacks, not of samples.
    if (row->place_count == row->place_capacity && row->place_count >= COMPACT_AT) {
        join_places(row);
        if (row->place_count > row->place_capacity / 2 &&
            !map_array_reserve((void **)&row->places, &row->place_capacity, row->place_capacity,
                               sizeof *row->places))
            return false;
    }
    if (!map_array_reserve((void **)&row->places, &row->place_capacity, row->place_count,
                           sizeof *row->places))
        return false;
    row->places[row->place_count++] = (struct sample_place){.key = key, .count = 1};
    return true;
}

int64_t sample_column_start(const struct sample_frame *frame, size_t column) {
    const uint64_t span = (uint64_t)frame->to - (uint64_t)frame->from;
    return (int64_t)((uint64_t)frame->from + (uint64_t)((unsigned __int128)span * column / frame->columns));
}

static size_t column_of(const struct sample_frame *frame, int64_t time) {
    const uint64_t span = (uint64_t)frame->to - (uint64_t)frame->from;
    const uint64_t since = (uint64_t)time - (uint64_t)frame->from;
    size_t column = (size_t)((unsigned __int128)since * frame->columns / span);
    while (column + 1 < frame->columns && sample_column_start(frame, column + 1) <= time)
        column++;
    return column < frame->columns ? column : frame->columns - 1;
}

static void add_time(const struct sample_frame *frame, int64_t *sums, int64_t start, int64_t end) {
    for (size_t column = column_of(frame, start); column < frame->columns && start < end; column++) {
        const int64_t border =
            column + 1 < frame->columns ? sample_column_start(frame, column + 1) : frame->to;
        const int64_t until = end < border ? end : border;
        if (until > start)
            sums[column] += until - start;
        start = until > start ? until : start;
    }
}

size_t sample_part_count(const struct sample_frame *frame) {
    return frame->columns / frame->part_columns ? frame->columns / frame->part_columns : 1;
}

static size_t part_of(const struct sample_frame *frame, size_t column) {
    const size_t parts = sample_part_count(frame), part = column / frame->part_columns;
    return part < parts ? part : parts - 1;
}

static bool make_row(const struct sample_frame *frame, struct sample_row *row) {
    row->user = calloc(frame->columns, sizeof *row->user);
    row->kernel = calloc(frame->columns, sizeof *row->kernel);
    row->count = calloc(frame->columns, sizeof *row->count);
    return row->user && row->kernel && row->count;
}

enum { KIND, START, STACK, PERIOD, CATEGORY, FIELDS };
static const uint32_t fields[FIELDS] = {TSMITH_FIELD_KIND, TSMITH_FIELD_START, TSMITH_FIELD_STACK,
                                        TSMITH_FIELD_SAMPLER_PERIOD, TSMITH_FIELD_CATEGORY};

static bool is_kernel(const tsmith_dictionary *dictionary, uint32_t category) {
    const tsmith_string text = tsmith_dictionary_string(dictionary, category);
    return text.length == 6 && memcmp(text.bytes, "kernel", 6) == 0;
}

static bool take_batch(struct sample_columns *columns, const tsmith_batch *batch) {
    const struct sample_frame *frame = &columns->frame;
    const uint32_t track = tsmith_batch_track(batch);
    tsmith_view views[FIELDS];
    if (track >= frame->track_count || !frame->row_of[track])
        return true;
    struct sample_row *row = &columns->rows[frame->row_of[track] - 1];
    tsmith_view_batch(batch, fields, FIELDS, views);
    for (uint32_t at = 0; at < tsmith_batch_count(batch); at++) {
        const int64_t time = tsmith_view_i64_or(&views[START], at, 0);
        const uint64_t period = tsmith_view_u64_or(&views[PERIOD], at, 0);
        if (tsmith_view_word(&views[KIND], at) != TSMITH_KIND_SAMPLE || time < frame->from ||
            time >= frame->to)
            continue;
        if (!row->count && !make_row(frame, row))
            return false;
        const size_t column = column_of(frame, time);
        const uint64_t part = part_of(frame, column);
        const bool kernel = is_kernel(columns->dictionary, tsmith_view_id(&views[CATEGORY], at));
        const uint64_t before = (uint64_t)time - (uint64_t)frame->from;
        const int64_t length = (int64_t)(period < before ? period : before);
        columns->has_kernel |= kernel;
        row->count[column]++;
        row->samples++;
        row->total += length;
        add_time(frame, kernel ? row->kernel : row->user, time - length, time);
        if (!add_place(row, part << 32 | tsmith_view_id(&views[STACK], at)))
            return false;
    }
    return true;
}

// From stacks to the functions that they are in: the string of the name, or the module where it is not known.
static void find_functions(struct sample_columns *columns, struct sample_row *row) {
    join_places(row);
    for (size_t i = 0; i < row->place_count; i++) {
        tsmith_stack_line line;
        const uint32_t stack = (uint32_t)row->places[i].key;
        (void)tsmith_stack_place(columns->dictionary, columns->names, stack, &line);
        row->places[i].key = row->places[i].key >> 32 << 32 |
                             (line.function || !line.module ? line.function : IS_MODULE | line.module);
    }
    join_places(row);
}

static tsmith_status read_batches(struct sample_columns *columns, tsmith_sbt *file, tsmith_error *error) {
    const tsmith_scan scan = {.size = sizeof scan,
                              .has_window = 1,
                              .from = columns->frame.from,
                              .to = columns->frame.to,
                              .kinds = TSMITH_KIND_BIT(TSMITH_KIND_SAMPLE),
                              .fields = fields,
                              .field_count = FIELDS};
    tsmith_source *source = NULL;
    const tsmith_batch *batch;
    tsmith_status status = tsmith_sbt_scan(file, &scan, &source, error);
    while (status == TSMITH_OK) {
        status = tsmith_source_next(source, &batch, error);
        if (status == TSMITH_OK && !take_batch(columns, batch))
            status = TSMITH_ERROR_NO_MEMORY;
    }
    tsmith_source_destroy(source);
    return status < 0 ? status : TSMITH_OK;
}

tsmith_status sample_columns_read(tsmith_sbt *file, const tsmith_dictionary *dictionary,
                                  const struct sample_frame *frame, struct sample_columns *out,
                                  tsmith_error *error) {
    *out = (struct sample_columns){.dictionary = dictionary, .frame = *frame};
    out->rows = calloc(frame->row_count + 1, sizeof *out->rows);
    tsmith_status status = out->rows && tsmith_stack_names_create(dictionary, &out->names) == TSMITH_OK
                               ? read_batches(out, file, error)
                               : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK) {
        tsmith_stack_names_hide_interpreter(out->names, 1);
        for (size_t i = 0; i < frame->row_count; i++)
            find_functions(out, &out->rows[i]);
    }
    if (status == TSMITH_ERROR_NO_MEMORY && error)
        *error = (tsmith_error){.status = status, .message = "out of memory"};
    return status;
}

void sample_columns_finish(struct sample_columns *columns) {
    for (size_t i = 0; columns->rows && i < columns->frame.row_count; i++) {
        free(columns->rows[i].user);
        free(columns->rows[i].kernel);
        free(columns->rows[i].count);
        free(columns->rows[i].places);
    }
    tsmith_stack_names_destroy(columns->names);
    free(columns->rows);
    *columns = (struct sample_columns){0};
}

uint32_t sample_most_frequent(const struct sample_row *row, size_t part, size_t *cursor, uint64_t *count) {
    uint32_t function = 0;
    *count = 0;
    for (; *cursor < row->place_count && row->places[*cursor].key >> 32 == part; ++*cursor) {
        const struct sample_place *place = &row->places[*cursor];
        if (place->count > *count) {
            *count = place->count;
            function = (uint32_t)place->key;
        }
    }
    return function;
}

tsmith_string sample_columns_name(const struct sample_columns *columns, uint32_t function) {
    const tsmith_module *module =
        function & IS_MODULE ? tsmith_dictionary_module(columns->dictionary, function & ~IS_MODULE) : NULL;
    if (!module)
        return tsmith_dictionary_string(columns->dictionary, function & IS_MODULE ? 0 : function);
    tsmith_string path = tsmith_dictionary_string(columns->dictionary, module->path);
    const char *slash = path.length ? memrchr(path.bytes, '/', path.length) : NULL;
    const size_t folder = slash ? (size_t)(slash + 1 - path.bytes) : 0;
    return (tsmith_string){path.bytes + folder, path.length - folder};
}
