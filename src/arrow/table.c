// SPDX-License-Identifier: Apache-2.0
// A report's table as one array. Everything is copied when the stream is made.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/column.h"
#include "arrow/stream.h"
#include "base/status.h"

struct table_stream {
    char *name, *doc;
    tsmith_report_column *columns; // names are copies
    size_t column_count;
    struct ArrowArray array; // released once it was handed out
};

static enum arrow_kind kind_of(tsmith_cell_type type) {
    switch ((int)type) {
    case TSMITH_CELL_TEXT:
        return ARROW_TEXT;
    case TSMITH_CELL_SHARE:
    case TSMITH_CELL_RATE:
    case TSMITH_CELL_NUMBER:
    case TSMITH_CELL_FLOP_RATE:
        return ARROW_REAL;
    default:
        return ARROW_INTEGER;
    }
}

static const char *suffix_of(tsmith_cell_type type) {
    switch ((int)type) {
#define CELL_SUFFIX(NAME, number, suffix, doc)                                                               \
    case number:                                                                                             \
        return suffix;
        TSMITH_CELL_TABLE(CELL_SUFFIX)
#undef CELL_SUFFIX
    default:
        return "";
    }
}

static const char *doc_of(tsmith_cell_type type) {
    switch ((int)type) {
#define CELL_DOC(NAME, number, suffix, doc)                                                                  \
    case number:                                                                                             \
        return doc;
        TSMITH_CELL_TABLE(CELL_DOC)
#undef CELL_DOC
    default:
        return "";
    }
}

static bool column_schema(const tsmith_report_column *column, struct ArrowSchema *out) {
    const char *suffix = suffix_of(column->type);
    const size_t size = strlen(column->name) + strlen(suffix) + 1;
    char *name = malloc(size);
    if (name)
        (void)snprintf(name, size, "%s%s", column->name, suffix);
    const bool made =
        name &&
        arrow_schema_make(out, arrow_column_format(&(struct arrow_column){.kind = kind_of(column->type)}),
                          name, true, 0, false, *suffix ? suffix + 1 : "", doc_of(column->type));
    free(name);
    return made;
}

static tsmith_status add_cell(struct arrow_column *column, const tsmith_cell *cell) {
    if (!cell->known)
        return arrow_column_null(column);
    if (column->kind == ARROW_TEXT)
        return arrow_column_bytes(column, cell->value.text, strlen(cell->value.text), true);
    return column->kind == ARROW_REAL ? arrow_column_real(column, cell->value.number)
                                      : arrow_column_integer(column, cell->value.integer);
}

static bool column_array(const tsmith_report_table *table, size_t at, struct ArrowArray *out) {
    struct arrow_column column = {.kind = kind_of(table->columns[at].type), .settled = true};
    tsmith_status status = TSMITH_OK;
    for (size_t row = 0; row < table->row_count && status == TSMITH_OK; row++)
        status = add_cell(&column, &table->cells[row * table->column_count + at]);
    const bool good = status == TSMITH_OK && arrow_column_take(&column, out);
    arrow_column_finish(&column);
    return good;
}

static tsmith_status table_schema(void *self, struct ArrowSchema *out, tsmith_error *error) {
    const struct table_stream *stream = self;
    bool good = arrow_schema_make(out, "+s", stream->name, false, (int64_t)stream->column_count, false, NULL,
                                  stream->doc);
    for (size_t i = 0; good && i < stream->column_count; i++)
        good = column_schema(&stream->columns[i], out->children[i]);
    if (!good && out->release)
        out->release(out);
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building an Arrow schema");
}

static tsmith_status table_next(void *self, struct ArrowArray *out, tsmith_error *error) {
    struct table_stream *stream = self;
    (void)error;
    if (!stream->array.release)
        return TSMITH_END;
    *out = stream->array;
    stream->array.release = NULL;
    return TSMITH_OK;
}

static void table_destroy(void *self) {
    struct table_stream *stream = self;
    for (size_t i = 0; i < stream->column_count; i++)
        free((char *)(uintptr_t)stream->columns[i].name);
    if (stream->array.release)
        stream->array.release(&stream->array);
    free(stream->columns);
    free(stream->name);
    free(stream->doc);
    free(stream);
}

static bool fill(struct table_stream *stream, const tsmith_report_table *table) {
    const size_t count = table->column_count;
    stream->name = strdup(table->name);
    stream->doc = strdup(table->doc ? table->doc : "");
    stream->columns = calloc(count + 1, sizeof *stream->columns);
    bool good = stream->name && stream->doc && stream->columns &&
                arrow_array_make(&stream->array, &(struct arrow_parts){.length = (int64_t)table->row_count,
                                                                       .buffer_count = 1,
                                                                       .child_count = (int64_t)count});
    for (size_t i = 0; good && i < count; i++) {
        stream->columns[i] = (tsmith_report_column){strdup(table->columns[i].name), table->columns[i].type};
        stream->column_count++;
        good = stream->columns[i].name && column_array(table, i, stream->array.children[i]);
    }
    return good;
}

tsmith_status tsmith_arrow_table(const tsmith_report_table *table, struct ArrowArrayStream *out,
                                 tsmith_error *error) {
    static const struct arrow_stream_ops ops = {table_schema, table_next, table_destroy};
    struct table_stream *stream = calloc(1, sizeof *stream);
    *out = (struct ArrowArrayStream){.release = NULL};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (stream && fill(stream, table))
        status = arrow_stream_make(&ops, stream, out, error);
    else
        status_set(error, status, "out of memory while building an Arrow table");
    if (status != TSMITH_OK && stream)
        table_destroy(stream);
    return status;
}
