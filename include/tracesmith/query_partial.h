// SPDX-License-Identifier: Apache-2.0
// One SQL statement over the traces of many hosts: each host runs it on its own traces and keeps states of its aggregates instead of
// values (a partial); partials are added in any order and tree, and the values are computed from the last one. The bytes of a
// partial depend on the set of traces and on nothing else.
//
// The statement is SELECT ... FROM ... [WHERE ...] [GROUP BY ...]. Each column of its answer is count, sum, total, avg, min, max,
// median or percentile of an expression, or one of the expressions of GROUP BY. Sums are exact, also of real numbers. median and
// percentile are computed from the numbers of values in ranges: at most 0.4% from the exact value.
//
// One thread at a time.
#ifndef TRACESMITH_QUERY_PARTIAL_H
#define TRACESMITH_QUERY_PARTIAL_H

#include "tracesmith/output.h"
#include "tracesmith/query.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsmith_query_partial tsmith_query_partial;

// `sql`: the statement, or NULL: that of the first partial that is added. ERROR_UNSUPPORTED if it cannot be computed from partials; the
// message says which part of it.
TSMITH_API tsmith_status tsmith_query_partial_create(const char *sql, tsmith_query_partial **out,
                                                     tsmith_error *error);
TSMITH_API void tsmith_query_partial_destroy(tsmith_query_partial *partial);

// Runs the statement on a trace. `label` names it (copied); `digest` is a number of its content: two traces with one digest are the same
// trace, and the second is ignored. `lost`: events that the trace lost, as far as known.
TSMITH_API tsmith_status tsmith_query_partial_add(tsmith_query_partial *partial, const char *label,
                                                  uint64_t digest, uint64_t lost, tsmith_query *query,
                                                  tsmith_error *error);
// Notes a trace that could not be read, and why. Both strings are copied.
TSMITH_API tsmith_status tsmith_query_partial_add_missing(tsmith_query_partial *partial, const char *label,
                                                          const char *reason, tsmith_error *error);
// Adds a partial, all of it or nothing. `label` is for messages. The bytes are not kept. ERROR_CORRUPT if it is damaged, ERROR_FORMAT if
// it is something else, ERROR_INVALID_ARGUMENT if it is of another statement, ERROR_STATE if a trace is in both, because it would
// count twice.
TSMITH_API tsmith_status tsmith_query_partial_add_bytes(tsmith_query_partial *partial, const char *label,
                                                        const void *bytes, size_t size, tsmith_error *error);
TSMITH_API tsmith_status tsmith_query_partial_write(tsmith_query_partial *partial,
                                                    const tsmith_output *output, tsmith_error *error);
// Whether bytes (8 are enough) begin as such a partial does.
TSMITH_API int tsmith_query_is_partial(const void *bytes, size_t size);

// The answer: its columns, and its rows, sorted by the columns of GROUP BY. next: OK, END, or an error. A value lives until the next call.
TSMITH_API size_t tsmith_query_partial_column_count(const tsmith_query_partial *partial);
TSMITH_API const char *tsmith_query_partial_column_name(const tsmith_query_partial *partial, size_t index);
TSMITH_API tsmith_status tsmith_query_partial_next(tsmith_query_partial *partial, tsmith_error *error);
TSMITH_API tsmith_sql_value tsmith_query_partial_value(tsmith_query_partial *partial, size_t index);

// The traces, sorted by label: false past the last. `reason` is NULL of a trace that was read. Lives until the next call.
TSMITH_API int tsmith_query_partial_trace(tsmith_query_partial *partial, size_t index, const char **label,
                                          const char **reason, uint64_t *lost);

#ifdef __cplusplus
}
#endif
#endif
