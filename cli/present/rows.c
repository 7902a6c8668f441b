// SPDX-License-Identifier: Apache-2.0
// Writes the rows of a query as a table, JSON or CSV. `query` calls it.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rows.h"
#include "terminal.h"

// A table is as wide as its first rows; later ones that are wider stick out. So an answer of any length needs no more
// memory than these.
enum { HELD_CELLS = 20000, HELD_BYTES = 1 << 20 };

// Names of kernels are up to a thousand characters long. A lone column has room for them.
enum { CELL_COLUMNS = 60 };

static void drop(struct rows *rows) {
    for (size_t i = 0; rows->names && i < rows->column_count; i++)
        text_finish(&rows->names[i]);
    free(rows->names);
    free(rows->widths);
    free(rows->is_number);
    rows->names = NULL;
    rows->widths = NULL;
    rows->is_number = NULL;
    rows->column_count = 0;
}

void rows_finish(struct rows *rows) {
    drop(rows);
    text_finish(&rows->record);
    text_finish(&rows->held);
    free(rows->ends);
    *rows = (struct rows){.format = rows->format};
}

// ---- values

static void add_hex(struct text *text, tsmith_string bytes) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes.length; i++) {
        text_add_char(text, digits[(unsigned char)bytes.bytes[i] >> 4]);
        text_add_char(text, digits[(unsigned char)bytes.bytes[i] & 15]);
    }
}

static void add_number(struct text *text, const tsmith_sql_value *value) {
    if (value->type == TSMITH_SQL_INTEGER)
        text_add_i64(text, value->integer);
    else
        text_add_f64(text, value->real);
}

static bool is_number(const tsmith_sql_value *value) {
    return value->type == TSMITH_SQL_INTEGER || value->type == TSMITH_SQL_REAL;
}

static void add_json(struct text *text, const tsmith_sql_value *value) {
    if (is_number(value)) {
        add_number(text, value);
    } else if (value->type == TSMITH_SQL_TEXT) {
        text_add_json(text, value->text);
    } else if (value->type == TSMITH_SQL_BLOB) {
        text_add_char(text, '"');
        add_hex(text, value->text);
        text_add_char(text, '"');
    } else {
        text_add_cstr(text, "null");
    }
}

static void add_csv(struct text *text, const tsmith_sql_value *value) {
    if (is_number(value))
        add_number(text, value);
    else if (value->type == TSMITH_SQL_TEXT)
        text_add_csv(text, value->text);
    else if (value->type == TSMITH_SQL_BLOB)
        add_hex(text, value->text);
}

// How wide it is.
static size_t add_plain(struct text *text, const struct rows *rows, const tsmith_sql_value *value) {
    size_t from = text->length;
    if (value->type == TSMITH_SQL_TEXT)
        return text_add_safe(text, value->text, rows->column_count > 1 ? CELL_COLUMNS : 0);
    if (value->type == TSMITH_SQL_REAL && isinf(value->real)) {
        text_add_cstr(text, value->real > 0 ? "Inf" : "-Inf");
    } else if (is_number(value)) {
        add_number(text, value);
    } else if (value->type == TSMITH_SQL_BLOB) {
        text_add_cstr(text, "x'");
        add_hex(text, value->text);
        text_add_char(text, '\'');
    } else {
        text_add_cstr(text, "NULL");
    }
    return text->length - from;
}

// ---- a table for people

static void add_cell(struct text *line, const struct rows *rows, size_t column, const char *bytes,
                     size_t length, size_t columns) {
    size_t padding = rows->widths[column] > columns ? rows->widths[column] - columns : 0;
    if (column)
        text_add_cstr(line, "  ");
    if (rows->is_number[column])
        text_add_repeat(line, ' ', padding);
    text_add(line, bytes, length);
    if (!rows->is_number[column] && column + 1 < rows->column_count)
        text_add_repeat(line, ' ', padding);
}

static bool write_heading(struct rows *rows) {
    struct text *line = &rows->record;
    text_clear(line);
    if (rows->results > 1)
        text_add_char(line, '\n');
    for (size_t i = 0; i < rows->column_count; i++)
        add_cell(line, rows, i, rows->names[i].bytes, rows->names[i].length,
                 text_columns(rows->names[i].bytes, rows->names[i].length));
    text_add_char(line, '\n');
    for (size_t i = 0; i < rows->column_count; i++) {
        if (i)
            text_add_cstr(line, "  ");
        text_add_repeat(line, '-', rows->widths[i]);
    }
    text_add_char(line, '\n');
    return output_text(line);
}

// The widths are known: writes the heading and what was held.
static bool write_held(struct rows *rows) {
    struct text *line = &rows->record;
    size_t from = 0;
    rows->settled = true;
    if (!write_heading(rows))
        return false;
    text_clear(line);
    for (size_t cell = 0; cell < rows->cell_count; cell++) {
        const char *bytes = rows->held.bytes + from;
        size_t length = rows->ends[cell] - from, column = cell % rows->column_count;
        add_cell(line, rows, column, bytes, length, text_columns(bytes, length));
        from = rows->ends[cell];
        if (column + 1 < rows->column_count)
            continue;
        text_add_char(line, '\n');
        if (!output_text(line))
            return false;
    }
    return true;
}

static bool hold_row(struct rows *rows, const tsmith_sql_value *values) {
    if (rows->cell_count + rows->column_count > rows->cell_capacity) {
        size_t capacity = 2 * rows->cell_capacity + rows->column_count + 64;
        size_t *ends = realloc(rows->ends, capacity * sizeof *ends);
        if (!ends) {
            rows->failed = true;
            return false;
        }
        rows->ends = ends;
        rows->cell_capacity = capacity;
    }
    for (size_t i = 0; i < rows->column_count; i++) {
        size_t width = add_plain(&rows->held, rows, &values[i]);
        rows->widths[i] = width > rows->widths[i] ? width : rows->widths[i];
        rows->is_number[i] &= values[i].type != TSMITH_SQL_TEXT && values[i].type != TSMITH_SQL_BLOB;
        rows->ends[rows->cell_count++] = rows->held.length;
    }
    return rows->cell_count + rows->column_count > HELD_CELLS || rows->held.length > HELD_BYTES
               ? write_held(rows)
               : true;
}

static bool add_row(struct rows *rows, const tsmith_sql_value *values) {
    if (!rows->settled)
        return hold_row(rows, values);
    struct text cell = {0};
    text_clear(&rows->record);
    for (size_t i = 0; i < rows->column_count; i++) {
        text_clear(&cell);
        size_t width = add_plain(&cell, rows, &values[i]);
        add_cell(&rows->record, rows, i, cell.bytes, cell.length, width);
    }
    rows->failed |= cell.failed;
    text_finish(&cell);
    text_add_char(&rows->record, '\n');
    return output_text(&rows->record);
}

// ---- JSON and CSV

static bool begin_json(struct rows *rows) {
    struct text *head = &rows->record;
    text_clear(head);
    text_add_cstr(head, rows->results > 1 ? ",\n{\"columns\":[" : "\n{\"columns\":[");
    for (size_t i = 0; i < rows->column_count; i++) {
        text_add_cstr(head, i ? "," : "");
        text_add(head, rows->names[i].bytes, rows->names[i].length);
    }
    text_add_cstr(head, "],\n\"rows\":[");
    return output_text(head);
}

static bool begin_csv(struct rows *rows) {
    struct text *head = &rows->record;
    text_clear(head);
    text_add_cstr(head, rows->results > 1 ? "\r\n" : "");
    for (size_t i = 0; i < rows->column_count; i++) {
        text_add_cstr(head, i ? "," : "");
        text_add(head, rows->names[i].bytes, rows->names[i].length);
    }
    text_add_cstr(head, "\r\n");
    return output_text(head);
}

static bool add_json_row(struct rows *rows, const tsmith_sql_value *values) {
    text_clear(&rows->record);
    text_add_cstr(&rows->record, rows->count > 1 ? ",\n{" : "\n{");
    for (size_t i = 0; i < rows->column_count; i++) {
        text_add_cstr(&rows->record, i ? "," : "");
        text_add(&rows->record, rows->names[i].bytes, rows->names[i].length);
        text_add_char(&rows->record, ':');
        add_json(&rows->record, &values[i]);
    }
    text_add_char(&rows->record, '}');
    return output_text(&rows->record);
}

static bool add_csv_row(struct rows *rows, const tsmith_sql_value *values) {
    text_clear(&rows->record);
    for (size_t i = 0; i < rows->column_count; i++) {
        text_add_cstr(&rows->record, i ? "," : "");
        add_csv(&rows->record, &values[i]);
    }
    text_add_cstr(&rows->record, "\r\n");
    return output_text(&rows->record);
}

// ---- results

// A column's name as it is written; in JSON no two are alike.
static void name_column(struct rows *rows, const char *const *names, size_t index) {
    struct text *name = &rows->names[index];
    unsigned before = 0;
    if (rows->format == ROWS_CSV) {
        text_add_csv(name, text_string(names[index]));
    } else if (rows->format == ROWS_TEXT) {
        rows->widths[index] = text_add_safe(name, text_string(names[index]), 0);
    } else {
        struct text numbered = {0};
        for (size_t i = 0; i < index; i++)
            before += strcmp(names[i], names[index]) == 0;
        text_add_cstr(&numbered, names[index]);
        if (before)
            text_add_format(&numbered, "_%u", before + 1);
        text_add_json(name, (tsmith_string){numbered.bytes, numbered.length});
        text_finish(&numbered);
    }
}

bool rows_begin(struct rows *rows, const char *const *names, size_t count) {
    drop(rows);
    text_clear(&rows->held);
    rows->cell_count = 0;
    rows->settled = false;
    rows->count = 0;
    rows->results++;
    rows->names = calloc(count + 1, sizeof *rows->names);
    rows->widths = calloc(count + 1, sizeof *rows->widths);
    rows->is_number = calloc(count + 1, sizeof *rows->is_number);
    if (!rows->names || !rows->widths || !rows->is_number) {
        rows->failed = true;
        return false;
    }
    rows->column_count = count;
    for (size_t i = 0; i < count; i++) {
        rows->is_number[i] = true;
        name_column(rows, names, i);
    }
    return rows->format == ROWS_JSON ? begin_json(rows) : rows->format == ROWS_CSV ? begin_csv(rows) : true;
}

bool rows_add(struct rows *rows, const tsmith_sql_value *values) {
    rows->count++;
    return rows->format == ROWS_JSON  ? add_json_row(rows, values)
           : rows->format == ROWS_CSV ? add_csv_row(rows, values)
                                      : add_row(rows, values);
}

bool rows_end(struct rows *rows) {
    if (rows->format == ROWS_JSON)
        return output_cstr("\n]}");
    return rows->format == ROWS_TEXT && !rows->settled ? write_held(rows) : true;
}
