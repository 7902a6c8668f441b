// SPDX-License-Identifier: Apache-2.0
// The answer of a SQL statement as arrays. SQLite's values have types, its columns do not: the values of the first array decide,
// so it is read before there is a schema.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/column.h"
#include "arrow/stream.h"
#include "base/status.h"

enum { ROWS_MOST = 65536, BYTES_MOST = 64 << 20 };

struct query_stream {
    tsmith_query *query;
    size_t column_count;
    struct arrow_column *columns;
    char **names;              // the statement is gone when its last row was read
    enum arrow_kind *declared; // of a column without a value in the first array
    uint64_t rows_before;      // of arrays that were handed out
    bool begun, ended;
    struct ArrowArray first; // what the schema was settled by, until it is handed out
};

// For a tsmith_sql_type and an arrow_kind, which have the same numbers.
static const char *word_of(int type) {
    static const char *const WORDS[] = {"NULL", "INTEGER", "REAL", "TEXT", "BLOB"};
    return WORDS[type];
}
_Static_assert((int)TSMITH_SQL_INTEGER == ARROW_INTEGER && (int)TSMITH_SQL_REAL == ARROW_REAL &&
                   (int)TSMITH_SQL_TEXT == ARROW_TEXT && (int)TSMITH_SQL_BLOB == ARROW_BINARY,
               "word_of");

static tsmith_status add_value(struct arrow_column *column, const tsmith_sql_value *value) {
    switch (value->type) {
    case TSMITH_SQL_INTEGER:
        return arrow_column_integer(column, value->integer);
    case TSMITH_SQL_REAL:
        return arrow_column_real(column, value->real);
    case TSMITH_SQL_TEXT:
        return arrow_column_bytes(column, value->text.bytes, value->text.length, true);
    case TSMITH_SQL_BLOB:
        return arrow_column_bytes(column, value->text.bytes, value->text.length, false);
    default:
        return arrow_column_null(column);
    }
}

static tsmith_status add_row(struct query_stream *stream, size_t *bytes, tsmith_error *error) {
    for (size_t i = 0; i < stream->column_count; i++) {
        struct arrow_column *column = &stream->columns[i];
        const tsmith_sql_value value = tsmith_query_value(stream->query, i);
        const tsmith_status status = add_value(column, &value);
        if (status == TSMITH_ERROR_UNSUPPORTED)
            return status_set_at(
                error, status, UINT64_MAX, stream->rows_before + column->count,
                "the column %s has a value of type %s in row %llu, and values of type %s before: "
                "an Arrow column has one type, CAST decides which",
                stream->names[i], word_of((int)value.type),
                (unsigned long long)(stream->rows_before + column->count + 1), word_of((int)column->kind));
        if (status != TSMITH_OK)
            return status_set(error, status, "out of memory while building the Arrow answer");
        *bytes += value.type == TSMITH_SQL_TEXT || value.type == TSMITH_SQL_BLOB ? value.text.length : 0;
    }
    return TSMITH_OK;
}

// Rows for one array: how many, 0 at the end.
static tsmith_status read_rows(struct query_stream *stream, size_t *rows, tsmith_error *error) {
    size_t bytes = 0;
    *rows = 0;
    while (!stream->ended && *rows < ROWS_MOST && bytes < BYTES_MOST) {
        tsmith_status status = tsmith_query_next(stream->query, error);
        stream->ended = status == TSMITH_END;
        if (status == TSMITH_OK)
            status = add_row(stream, &bytes, error);
        if (status != TSMITH_OK && status != TSMITH_END)
            return status;
        *rows += status == TSMITH_OK;
    }
    return TSMITH_OK;
}

static enum arrow_kind kind_declared(const char *type) {
    return strcmp(type, "INTEGER") == 0 ? ARROW_INTEGER : strcmp(type, "REAL") == 0 ? ARROW_REAL : ARROW_TEXT;
}

static tsmith_status take_array(struct query_stream *stream, size_t rows, struct ArrowArray *out,
                                tsmith_error *error) {
    bool good = arrow_array_make(out, &(struct arrow_parts){.length = (int64_t)rows,
                                                            .buffer_count = 1,
                                                            .child_count = (int64_t)stream->column_count});
    for (size_t i = 0; good && i < stream->column_count; i++)
        good = arrow_column_take(&stream->columns[i], out->children[i]);
    stream->rows_before += rows;
    if (!good && out->release)
        out->release(out);
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building the Arrow answer");
}

// Reads what the first array has and settles the types.
static tsmith_status begin(struct query_stream *stream, tsmith_error *error) {
    if (stream->begun)
        return TSMITH_OK;
    size_t rows;
    stream->begun = true;
    const tsmith_status status = read_rows(stream, &rows, error);
    if (status != TSMITH_OK)
        return status;
    for (size_t i = 0; i < stream->column_count; i++)
        arrow_column_settle(&stream->columns[i], stream->declared[i]);
    return rows ? take_array(stream, rows, &stream->first, error) : TSMITH_OK;
}

static tsmith_status query_schema(void *self, struct ArrowSchema *out, tsmith_error *error) {
    struct query_stream *stream = self;
    const tsmith_status status = begin(stream, error);
    if (status != TSMITH_OK)
        return status;
    bool good = arrow_schema_make(out, "+s", "", false, (int64_t)stream->column_count, false, NULL, NULL);
    for (size_t i = 0; good && i < stream->column_count; i++)
        good = arrow_schema_make(out->children[i], arrow_column_format(&stream->columns[i]), stream->names[i],
                                 true, 0, false, NULL, NULL);
    if (!good && out->release)
        out->release(out);
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while building an Arrow schema");
}

static tsmith_status query_next(void *self, struct ArrowArray *out, tsmith_error *error) {
    struct query_stream *stream = self;
    size_t rows;
    tsmith_status status = begin(stream, error);
    if (status != TSMITH_OK)
        return status;
    if (stream->first.release) {
        *out = stream->first;
        stream->first.release = NULL;
        return TSMITH_OK;
    }
    status = read_rows(stream, &rows, error);
    if (status != TSMITH_OK)
        return status;
    return rows ? take_array(stream, rows, out, error) : TSMITH_END;
}

static void query_destroy(void *self) {
    struct query_stream *stream = self;
    for (size_t i = 0; stream->columns && i < stream->column_count; i++)
        arrow_column_finish(&stream->columns[i]);
    for (size_t i = 0; stream->names && i < stream->column_count; i++)
        free(stream->names[i]);
    if (stream->first.release)
        stream->first.release(&stream->first);
    free(stream->columns);
    free(stream->names);
    free(stream->declared);
    free(stream);
}

static bool fill(struct query_stream *stream, tsmith_query *query) {
    const size_t count = stream->column_count = tsmith_query_column_count(query);
    stream->query = query;
    stream->columns = calloc(count, sizeof *stream->columns);
    stream->names = calloc(count, sizeof *stream->names);
    stream->declared = calloc(count, sizeof *stream->declared);
    if (!stream->columns || !stream->names || !stream->declared)
        return false;
    for (size_t i = 0; i < count; i++) {
        stream->declared[i] = kind_declared(tsmith_query_column_type(query, i));
        if (!(stream->names[i] = strdup(tsmith_query_column_name(query, i))))
            return false;
    }
    return true;
}

tsmith_status tsmith_arrow_query(tsmith_query *query, struct ArrowArrayStream *out, tsmith_error *error) {
    static const struct arrow_stream_ops ops = {query_schema, query_next, query_destroy};
    *out = (struct ArrowArrayStream){.release = NULL};
    if (tsmith_query_column_count(query) == 0)
        return status_set(error, TSMITH_ERROR_STATE, "no statement that has an answer is prepared");
    struct query_stream *stream = calloc(1, sizeof *stream);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (stream && fill(stream, query))
        status = arrow_stream_make(&ops, stream, out, error);
    else
        status_set(error, status, "out of memory while building the Arrow answer");
    if (status != TSMITH_OK && stream)
        query_destroy(stream);
    return status;
}
