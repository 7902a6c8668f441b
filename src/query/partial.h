// SPDX-License-Identifier: Apache-2.0
// The inside of partials of a query: which statements can be reduced (partial_plan.c), and the states of their aggregates
// (partial_state.c). partial.c keeps the rows, and writes and reads them.
#ifndef QUERY_PARTIAL_H
#define QUERY_PARTIAL_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum partial_kind {
    PARTIAL_KEY, // of GROUP BY
    PARTIAL_COUNT,
    PARTIAL_SUM,
    PARTIAL_TOTAL,
    PARTIAL_AVG,
    PARTIAL_MIN,
    PARTIAL_MAX,
    PARTIAL_PERCENTILE
};

struct partial_column {
    enum partial_kind kind;
    double percent; // of PERCENTILE
    char *name;
};

struct partial_plan {
    char *text; // the statement in one form, whatever its spaces and letters' case
    char *sql;  // what is run on a trace: its aggregates give states
    struct partial_column *columns;
    size_t count, capacity;
};

// UNSUPPORTED if it cannot be reduced.
tsmith_status partial_plan_make(const char *sql, struct partial_plan *plan, tsmith_error *error);
void partial_plan_finish(struct partial_plan *plan);

// The SQL functions of states: partial_state(kind, x) is an aggregate of values, partial_merge(state) of states,
// partial_value(kind, percent, state) the value of one. A state is a blob, the same for the same values in any order.
bool partial_functions_add(sqlite3 *db);

#endif
