// SPDX-License-Identifier: Apache-2.0
// The connection and its statements. The text of a statement is the user's own, so what it may do is a matter of what
// makes sense; the trace is anybody's, so no name in it may become a part of a statement other than as a quoted name.
#include "query/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "query/events.h"
#include "query/lists.h"
#include "query/partial.h"
#include "query/statistics.h"

// ---- what a statement may do

static bool is_one_of(const char *word, const char *const *words) {
    for (; word && *words; words++)
        if (sqlite3_stricmp(word, *words) == 0)
            return true;
    return false;
}

static int refuse_action(tsmith_query *query, const char *what) {
    sqlite3_snprintf(sizeof query->refused, query->refused, "%s", what);
    return SQLITE_DENY;
}

// Notes which columns the statement names: SQLite itself no longer distinguishes those from the 64th on.
static void note_column(tsmith_query *query, const char *table, const char *column) {
    for (size_t i = 0; i < query->event_count; i++) {
        struct event_table *events = &query->events[i];
        if (sqlite3_stricmp(events->base.shown.name, table) != 0)
            continue;
        for (size_t at = 0; at < events->base.shown.column_count; at++)
            events->named[at] |= sqlite3_stricmp(events->base.shown.columns[at].name, column) == 0;
        return;
    }
}

// Temporary tables; and SQLite itself updates its own table to declare a virtual one, which it does not allow to others.
static bool may_change(int action, const char *table, const char *database) {
    return (database && strcmp(database, "temp") == 0) ||
           (action == SQLITE_UPDATE && table && strcmp(table, "sqlite_master") == 0);
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database,
                     const char *trigger) {
    static const char *const functions[] = {"load_extension", "fts3_tokenizer", NULL};
    static const char *const pragmas[] = {"table_info",  "table_xinfo",   "table_list",
                                          "module_list", "function_list", NULL};
    tsmith_query *query = context;
    (void)trigger;
    switch (action) {
    case SQLITE_READ:
        if (first && second && *second)
            note_column(query, first, second);
        return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_DROP_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_VIEW:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_one_of(second, functions) ? refuse_action(query, "this function") : SQLITE_OK;
    case SQLITE_PRAGMA:
        return is_one_of(first, pragmas) ? SQLITE_OK : refuse_action(query, "this PRAGMA");
    case SQLITE_UPDATE:
    case SQLITE_INSERT:
    case SQLITE_DELETE:
    case SQLITE_REINDEX: // what CREATE TEMP INDEX does
        return may_change(action, first, database) ? SQLITE_OK : refuse_action(query, "to change the trace");
    default:
        return refuse_action(query, "this statement");
    }
}

// ---- life

// Declares the columns of a table to SQLite.
static int declare(const struct query_table *table) {
    tsmith_query *query = table->query;
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(");
    for (size_t i = 0; i < table->shown.column_count; i++) {
        const tsmith_query_column *column = &table->shown.columns[i];
        sqlite3_str_appendf(text, "%s\"%w\" %s%s", i ? "," : "", column->name, column->type,
                            column->hidden ? " HIDDEN" : "");
    }
    sqlite3_str_appendchar(text, 1, ')');
    char *declaration = sqlite3_str_finish(text);
    int code = declaration ? sqlite3_declare_vtab(query->db, declaration) : SQLITE_NOMEM;
    sqlite3_free(declaration);
    return code;
}

int query_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
                  char **message) {
    struct query_table *table = aux;
    (void)argc, (void)argv;
    struct query_vtab *vtab = sqlite3_malloc64(sizeof *vtab);
    int code = vtab ? declare(table) : SQLITE_NOMEM;
    if (code != SQLITE_OK) {
        sqlite3_free(vtab);
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return code;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *vtab = (struct query_vtab){.table = table};
    *out = &vtab->base;
    return SQLITE_OK;
}

int query_disconnect(sqlite3_vtab *vtab) {
    sqlite3_free(vtab);
    return SQLITE_OK;
}

// The longest text or blob: names of traces are at most 64 MiB; what is longer is an accident of the statement.
enum { LONGEST_VALUE = (64 << 20) + 4096 };

static bool configure(tsmith_query *query) {
    static const struct {
        int option, on;
    } options[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1},
        {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
        // An unknown name is an error, not a text.
        {SQLITE_DBCONFIG_DQS_DML, 0},
        {SQLITE_DBCONFIG_DQS_DDL, 0},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (sqlite3_db_config(query->db, options[i].option, options[i].on, NULL) != SQLITE_OK)
            return false;
    sqlite3_limit(query->db, SQLITE_LIMIT_LENGTH, LONGEST_VALUE);
    if (!printf_add(&query->plain_printf, query->db) || !statistics_add(query->db) ||
        !partial_functions_add(query->db))
        return false;
    for (size_t i = 0; i < query->event_count; i++)
        if (sqlite3_create_module_v2(query->db, query->events[i].base.shown.name, &events_module,
                                     &query->events[i], NULL) != SQLITE_OK)
            return false;
    for (size_t i = 0; i < query->list_count; i++)
        if (sqlite3_create_module_v2(query->db, query->lists[i].base.shown.name, &lists_module,
                                     &query->lists[i], NULL) != SQLITE_OK)
            return false;
    return sqlite3_set_authorizer(query->db, authorize, query) == SQLITE_OK;
}

tsmith_status query_create(const struct query_backend *backend, tsmith_query **out, tsmith_error *error) {
    *out = NULL;
    tsmith_query *query = calloc(1, sizeof *query);
    if (!query) {
        backend->close(backend->context);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a query");
    }
    query->backend = *backend;
    if (!schema_make_events(query) || !lists_make(query) ||
        sqlite3_open_v2(":memory:", &query->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        !configure(query)) {
        tsmith_query_close(query);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a query");
    }
    *out = query;
    return TSMITH_OK;
}

static void drop_statement(tsmith_query *query) {
    sqlite3_finalize(query->statement);
    query->statement = NULL;
    for (size_t i = 0; i < query->event_count; i++) {
        struct event_table *table = &query->events[i];
        plans_clear(table);
        memset(table->named, 0, table->base.shown.column_count * sizeof *table->named);
    }
    query->refused[0] = '\0';
    query->failure = TSMITH_OK;
}

void tsmith_query_close(tsmith_query *query) {
    if (!query)
        return;
    if (query->db)
        drop_statement(query);
    sqlite3_close(query->db);
    printf_finish(&query->plain_printf);
    free(query->aggregates);
    tsmith_stack_names_destroy(query->stack_names);
    free(query->runs);
    query->backend.close(query->backend.context);
    arena_finish(&query->arena);
    free(query);
}

const tsmith_query_table *tsmith_query_table_at(const tsmith_query *query, size_t index) {
    if (index < query->event_count)
        return &query->events[index].base.shown;
    index -= query->event_count;
    return index < query->list_count ? &query->lists[index].base.shown : NULL;
}

// ---- statements

int query_fail(tsmith_query *query, tsmith_status status, const tsmith_error *error) {
    query->failure = status;
    query->failure_error = *error;
    return status == TSMITH_ERROR_NO_MEMORY ? SQLITE_NOMEM
           : status == TSMITH_ERROR_STATE   ? SQLITE_INTERRUPT
                                            : SQLITE_ERROR;
}

static tsmith_status explain(tsmith_query *query, int code, uint64_t offset, tsmith_error *error) {
    if ((code & 0xff) == SQLITE_INTERRUPT) {
        atomic_store(&query->interrupted, false);
        return status_set(error, TSMITH_ERROR_STATE, "the query was interrupted");
    }
    if (query->failure && query->failure_error.message[0]) {
        if (error)
            *error = query->failure_error;
        return query->failure;
    }
    if ((code & 0xff) == SQLITE_NOMEM)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while running the query");
    if ((code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR)
        return status_set(error, TSMITH_ERROR_NO_SPACE,
                          "no space for the temporary file of this query (SQLITE_TMPDIR, TMPDIR or /tmp)");
    if ((code & 0xff) == SQLITE_AUTH)
        return status_set_at(error, TSMITH_ERROR_INVALID_ARGUMENT, offset, UINT64_MAX,
                             "a query cannot change a trace: %s is not allowed",
                             query->refused[0] ? query->refused : "this statement");
    return status_set_at(error, TSMITH_ERROR_INVALID_ARGUMENT, offset, UINT64_MAX, "SQL: %s",
                         sqlite3_errmsg(query->db));
}

static uint64_t error_offset(const tsmith_query *query) {
#if SQLITE_VERSION_NUMBER >= 3038000
    int offset = sqlite3_error_offset(query->db);
    return offset < 0 ? UINT64_MAX : (uint64_t)offset;
#else
    (void)query;
    return UINT64_MAX;
#endif
}

tsmith_status tsmith_query_prepare(tsmith_query *query, const char *sql, size_t length, size_t *used,
                                   tsmith_error *error) {
    size_t at = 0;
    *used = 0;
    drop_statement(query);
    if (atomic_load(&query->interrupted))
        return explain(query, SQLITE_INTERRUPT, UINT64_MAX, error);
    if (length > INT32_MAX)
        return status_set(error, TSMITH_ERROR_LIMIT, "SQL of more than 2 GiB");
    if (memchr(sql, '\0', length))
        return status_set_at(error, TSMITH_ERROR_INVALID_ARGUMENT,
                             (uint64_t)((const char *)memchr(sql, '\0', length) - sql), UINT64_MAX,
                             "SQL: a NUL byte");
    while (at < length && !query->statement) { // comments and lone semicolons are statements of nothing
        const char *tail = NULL;
        int code = sqlite3_prepare_v2(query->db, sql + at, (int)(length - at), &query->statement, &tail);
        if (code != SQLITE_OK) {
            uint64_t offset = error_offset(query);
            return explain(query, code, offset == UINT64_MAX ? offset : offset + at, error);
        }
        at = tail ? (size_t)(tail - sql) : length;
    }
    *used = at;
    return query->statement ? TSMITH_OK : TSMITH_END;
}

size_t tsmith_query_column_count(const tsmith_query *query) {
    return query->statement ? (size_t)sqlite3_column_count(query->statement) : 0;
}

const char *tsmith_query_column_name(const tsmith_query *query, size_t index) {
    const char *name = query->statement ? sqlite3_column_name(query->statement, (int)index) : NULL;
    return name ? name : "";
}

const char *tsmith_query_column_type(const tsmith_query *query, size_t index) {
    const char *type = query->statement ? sqlite3_column_decltype(query->statement, (int)index) : NULL;
    return type ? type : "";
}

tsmith_status tsmith_query_next(tsmith_query *query, tsmith_error *error) {
    if (!query->statement)
        return TSMITH_END;
    if (atomic_load(&query->interrupted))
        return explain(query, SQLITE_INTERRUPT, UINT64_MAX, error);
    int code = sqlite3_step(query->statement);
    if (code == SQLITE_ROW)
        return TSMITH_OK;
    tsmith_status status = code == SQLITE_DONE ? TSMITH_END : explain(query, code, UINT64_MAX, error);
    drop_statement(query);
    return status;
}

tsmith_sql_value tsmith_query_value(tsmith_query *query, size_t index) {
    tsmith_sql_value value = {.type = TSMITH_SQL_NULL, .text = {"", 0}};
    if (!query->statement)
        return value;
    switch (sqlite3_column_type(query->statement, (int)index)) {
    case SQLITE_INTEGER:
        value.type = TSMITH_SQL_INTEGER;
        value.integer = sqlite3_column_int64(query->statement, (int)index);
        break;
    case SQLITE_FLOAT:
        value.type = TSMITH_SQL_REAL;
        value.real = sqlite3_column_double(query->statement, (int)index);
        break;
    case SQLITE_TEXT:
        value.type = TSMITH_SQL_TEXT;
        value.text.bytes = (const char *)sqlite3_column_text(query->statement, (int)index);
        value.text.length = (size_t)sqlite3_column_bytes(query->statement, (int)index);
        break;
    case SQLITE_BLOB:
        value.type = TSMITH_SQL_BLOB;
        value.text.bytes = sqlite3_column_blob(query->statement, (int)index);
        value.text.length = (size_t)sqlite3_column_bytes(query->statement, (int)index);
        break;
    default:
        break;
    }
    if (!value.text.bytes)
        value.text = (tsmith_string){"", 0};
    return value;
}

void tsmith_query_interrupt(tsmith_query *query) {
    atomic_store(&query->interrupted, true);
    sqlite3_interrupt(query->db);
}
