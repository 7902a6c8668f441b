// SPDX-License-Identifier: Apache-2.0
// The inside of a query: an in-memory SQLite connection of our own, and a virtual table for each table of the trace.
//
//   query.c      the connection, what a statement may do, statements one after the other
//   schema.c     which tables and columns there are, made from the tables of tracesmith/schema.h
//   events.c     a virtual table over batches: what is asked for goes down into the scan of the file (plan.c, filter.c)
//   store.c      rows kept in memory, grouped or indexed, where a statement goes over them more than once
//   printf.c     printf() and format() that cannot run away
//   partial.c    one statement over the traces of many hosts
//   lists.c      virtual tables over what is in memory anyway: tracks, strings, states...
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/arena.h"
#include "query/printf.h"
#include "tracesmith/query.h"
#include "tracesmith/stacks.h"
#include "tracesmith/states.h"

// What the states tables are made of; `states` is NULL before it is asked for.
struct query_states {
    const tsmith_timeline *timeline;
    const tsmith_states *states;
};

// Where the rows come from.
struct query_backend {
    void *context;
    const tsmith_dictionary *dictionary;
    uint64_t kinds[TSMITH_KIND_LIMIT]; // events by kind; of kinds unknown here under NONE
    tsmith_status (*scan)(void *context, const tsmith_scan *scan, tsmith_source **out, tsmith_error *error);
    tsmith_status (*aggregates)(void *context, tsmith_aggregate **out, size_t *count, tsmith_error *error);
    tsmith_status (*states)(void *context, struct query_states *out, tsmith_error *error);
    void (*close)(void *context); // also when query_create fails
};

struct event_table;
struct list_table;

// Anything with columns; the first member of both.
struct query_table {
    tsmith_query *query;
    tsmith_query_table shown;
};

struct tsmith_query {
    struct query_backend backend;
    sqlite3 *db;
    struct printf_plain plain_printf;
    sqlite3_stmt *statement;
    atomic_bool interrupted;
    struct arena arena;         // of tables and columns
    struct event_table *events; // "events", then one per kind
    size_t event_count;
    struct list_table *lists;
    size_t list_count;
    // For the lists, once they are asked for.
    tsmith_aggregate *aggregates;
    size_t aggregate_count;
    tsmith_stack_names *stack_names;
    struct query_states states;
    struct segment_run *runs;
    size_t run_count;
    size_t store_bytes;    // kept by all stores of the statement
    tsmith_status failure; // of a scan, for a better message than SQLite's
    tsmith_error failure_error;
    char refused[128]; // what the authorizer did not allow
};

// Takes over the backend.
tsmith_status query_create(const struct query_backend *backend, tsmith_query **out, tsmith_error *error);

// A failure inside a virtual table: kept for the caller of next, and its code for SQLite.
int query_fail(tsmith_query *query, tsmith_status status, const tsmith_error *error);

struct query_vtab {
    sqlite3_vtab base;
    struct query_table *table; // what its module was made for
};

static inline struct query_table *query_table_of(sqlite3_vtab *vtab) {
    return ((struct query_vtab *)vtab)->table;
}

// xConnect and xDisconnect of every module; its `aux` is a query_table.
int query_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                  char **message);
int query_disconnect(sqlite3_vtab *vtab);

#endif
