// SPDX-License-Identifier: Apache-2.0
// SQL over a trace: every kind of event is a table, every field a column (docs/query.md has them all).
//
// Read-only: SELECT, WITH, VALUES, EXPLAIN, and temporary tables and views, which live as long as the query handle.
// Nothing is copied into a database: rows are read from the batches of the file, and only the columns and the time
// range that a statement needs are decoded. An unknown value is NULL, never 0. Times and durations are integers in
// nanoseconds.
//
// The dialect is SQLite's. Only a statement that groups, joins or sorts keeps rows, and no more than it needs of them.
// One thread at a time, except tsmith_query_interrupt.
#ifndef TRACESMITH_QUERY_H
#define TRACESMITH_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"
#include "tracesmith/export.h"
#include "tracesmith/sbt.h"
#include "tracesmith/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_query tsmith_query;

typedef enum tsmith_sql_type {
    TSMITH_SQL_NULL = 0,
    TSMITH_SQL_INTEGER = 1,
    TSMITH_SQL_REAL = 2,
    TSMITH_SQL_TEXT = 3,
    TSMITH_SQL_BLOB = 4
} tsmith_sql_type;

typedef struct tsmith_sql_value {
    tsmith_sql_type type;
    int64_t integer;    // INTEGER
    double real;        // REAL
    tsmith_string text; // TEXT and BLOB: any bytes, as they are in the trace
} tsmith_sql_value;

// A column of a table.
typedef struct tsmith_query_column {
    const char *name;
    const char *type; // "INTEGER", "REAL", "TEXT"; "" of a field that a trace has in more than one type
    const char *unit; // "" when it has none
    const char *doc;
    int hidden; // not in SELECT *, because few events of the table have it; a statement can still name it
} tsmith_query_column;

typedef struct tsmith_query_table {
    const char *name;
    const char *doc;
    const tsmith_query_column *columns;
    size_t column_count;
} tsmith_query_table;

// Opens the tables of a trace, which must outlive the query. Events are read only when a statement needs them.
TSMITH_API tsmith_status tsmith_query_open(tsmith_sbt *trace, tsmith_query **out, tsmith_error *error);
TSMITH_API void tsmith_query_close(tsmith_query *query);

// The tables, in the order of the documentation; NULL past the last. Lives as long as the query.
TSMITH_API const tsmith_query_table *tsmith_query_table_at(const tsmith_query *query, size_t index);

// Prepares the first statement in `sql` and drops the previous one. *used is its length in bytes: the next statement begins
// there. END if there is none. ERROR_INVALID_ARGUMENT if it is not valid or not allowed; error->offset is then its byte in
// `sql`, or UINT64_MAX.
TSMITH_API tsmith_status tsmith_query_prepare(tsmith_query *query, const char *sql, size_t length,
                                              size_t *used, tsmith_error *error);
// The number of columns of its answer; 0 for a statement without an answer (CREATE TEMP VIEW).
TSMITH_API size_t tsmith_query_column_count(const tsmith_query *query);
TSMITH_API const char *tsmith_query_column_name(const tsmith_query *query, size_t index);
// The declared type of a column that is one of a table: "INTEGER", "REAL" or "TEXT"; "" for an expression, and for a column with
// values of several types. SQLite does not enforce it. Lives until the next prepare.
TSMITH_API const char *tsmith_query_column_type(const tsmith_query *query, size_t index);

// The next row: OK, END, or an error. ERROR_STATE if the statement was interrupted.
TSMITH_API tsmith_status tsmith_query_next(tsmith_query *query, tsmith_error *error);
// A value of the row; lives until the next call of next or prepare.
TSMITH_API tsmith_sql_value tsmith_query_value(tsmith_query *query, size_t index);

// Makes the running statement fail soon, for example after Ctrl-C; if none runs, the next one. Any thread, and signal
// handlers.
TSMITH_API void tsmith_query_interrupt(tsmith_query *query);

#ifdef __cplusplus
}
#endif
#endif
