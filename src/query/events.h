// SPDX-License-Identifier: Apache-2.0
// Tables over batches.
#ifndef QUERY_EVENTS_H
#define QUERY_EVENTS_H

#include "query/query.h"
#include "tracesmith/batch.h"
#include "tracesmith/view.h"

// The slots of columns: slot 0 is the batch's track, slots 1 .. TSMITH_FIELD_LIMIT-1 are the fields of the
// schema, those from there on the fields of the trace.
enum { SLOT_TRACK = 0, SLOT_DYNAMIC = TSMITH_FIELD_LIMIT - 1 };

static inline uint32_t slot_field(uint32_t slot) {
    return slot < TSMITH_FIELD_LIMIT ? slot : TSMITH_FIELD_DYNAMIC + slot - SLOT_DYNAMIC;
}

enum aspect {
    ASPECT_VALUE,      // the value; text of a string, name of an enumeration, JSON of a list
    ASPECT_ID,         // number of a string
    ASPECT_TRACK_NAME, // text of a track's name
    ASPECT_END,        // start + duration
    ASPECT_QUOTIENT    // bytes / duration, where the slot has a value
};

struct event_column {
    uint32_t slot;
    uint32_t other; // index of a column with values of another type under the same name, or 0
    uint8_t type;   // tsmith_type of the slot
    uint8_t aspect;
    bool quantity; // has a unit: what is too large for int64 becomes a double, not a negative number
};

// What xBestIndex settled: which columns a cursor decodes and what it leaves out.
enum { CONSTRAINTS_MAX = 8, ORDERS_MAX = 4 };

struct plan_constraint {
    uint16_t column;
    uint8_t op; // SQLITE_INDEX_CONSTRAINT_...; its value is the argument of the same index
};

struct plan_order {
    uint16_t column;
    bool descending;
};

struct plan {
    uint64_t columns; // as in sqlite3_index_info.colUsed
    uint32_t constraint_count, order_count;
    struct plan_constraint constraints[CONSTRAINTS_MAX];
    struct plan_order orders[ORDERS_MAX];
    // From here on: found out when it first runs.
    uint32_t *slots, *fields;
    uint32_t slot_count, field_count;
    bool has_lists;
    uint64_t runs;
    struct store *store;
    int key; // constraint by which the store is looked up: an index, KEY_START or KEY_NONE
};

enum { KEY_NONE = -1, KEY_START = -2 };

struct event_table {
    struct query_table base;
    uint64_t kinds; // TSMITH_KIND_BIT of each; 0: all
    uint64_t rows;
    struct event_column *columns; // those shown, then those that only `other` refers to
    bool *named;                  // by column shown: the statement being prepared names it
    struct plan **plans;
    size_t plan_count, plan_capacity;
};

// Fills the event tables of the query. False when memory is exhausted.
bool schema_make_events(tsmith_query *query);

extern const sqlite3_module events_module;

// ---- plans (plan.c)

int plan_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
bool plan_settle(const struct event_table *table, struct plan *plan); // slots, fields, key
void plans_clear(struct event_table *table);

// Whether a column of what a cursor stands on has a value in a row. A cursor's view is all zero where its store has no such column.
static inline bool has_value(const tsmith_view *view, uint64_t row) {
    return tsmith_view_exists(view) && tsmith_view_has(view, (uint32_t)row);
}

// ---- rows that cannot match are left out before SQLite sees them (filter.c)

struct filter_equal {
    uint32_t slot;
    uint8_t type;
    uint64_t bits;
};

struct filter {
    bool never;
    uint64_t kinds; // TSMITH_KIND_BIT of each; 0: all
    bool has_start, has_end;
    int64_t start_from, start_to, end_from, end_to;
    uint32_t *tracks; // NULL: all
    size_t track_count;
    struct filter_equal equals[CONSTRAINTS_MAX];
    size_t equal_count;
};

// What surely follows from the constraints' values; SQLite checks every row again. False without memory.
bool filter_init(struct filter *filter, const struct event_table *table, const struct plan *plan,
                 sqlite3_value **values);
void filter_finish(struct filter *filter);
// The scan that yields at least the rows that pass.
void filter_scan(const struct filter *filter, const struct plan *plan, tsmith_scan *scan);
// The rows of the batch that pass: how many, listed in `rows` unless it is all of them.
uint32_t filter_select(const struct filter *filter, const tsmith_batch *batch, uint32_t *rows);

// Number of an enumeration's value by its name; 0 when there is none.

#endif
