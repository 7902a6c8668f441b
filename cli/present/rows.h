// SPDX-License-Identifier: Apache-2.0
// Rows of an answer, as a table for people, as JSON or as CSV.
#ifndef CLI_ROWS_H
#define CLI_ROWS_H

#include <stdbool.h>

#include "text.h"
#include "tracesmith/query.h"

enum rows_format { ROWS_TEXT, ROWS_JSON, ROWS_CSV };

struct rows {
    enum rows_format format;
    size_t results; // begun so far
    // Of the result that is being written.
    size_t column_count;
    struct text *names; // as they are written
    uint64_t count;
    struct text record;
    // Text: cells of the first rows, until the widths are known.
    struct text held;
    size_t *ends; // of cells, in `held`
    size_t cell_count, cell_capacity;
    size_t *widths;
    bool *is_number;
    bool settled;
    bool failed;
};

void rows_finish(struct rows *rows);
// A result of these columns; then its rows, then its end. False once nothing more can be written.
bool rows_begin(struct rows *rows, const char *const *names, size_t count);
bool rows_add(struct rows *rows, const tsmith_sql_value *values);
bool rows_end(struct rows *rows);

#endif
