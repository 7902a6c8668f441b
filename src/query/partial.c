// SPDX-License-Identifier: Apache-2.0
// Partials of a query: a table of rows, each with the values of GROUP BY and a state for each aggregate, and a table of the traces, in a
// database of their own. Equal rows are joined when it is written or asked. A partial that is read is untrusted input.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/destination.h"
#include "base/hash.h"
#include "query/partial.h"
#include "tracesmith/query_partial.h"

static const char MAGIC[8] = {'T', 'S', 'Q', 'P', 'A', 'R', 'T', '\n'};
enum { VERSION = 1, HEAD_SIZE = 24 }; // magic, version, CRC32C and size of what follows

struct tsmith_query_partial {
    sqlite3 *db; // NULL: no statement yet
    struct partial_plan plan;
    sqlite3_stmt *insert, *answer, *traces;
    size_t trace_at; // of `traces`: the row that it is on, from 1
};

// ---- the database

static tsmith_status fail_sql(const tsmith_query_partial *partial, tsmith_error *error) {
    const int code = partial->db ? sqlite3_errcode(partial->db) : SQLITE_NOMEM;
    return code == SQLITE_NOMEM
               ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while joining partials")
               : status_set(error, TSMITH_ERROR_CORRUPT, "the partial: %s", sqlite3_errmsg(partial->db));
}

enum list { NAMES, PLACES, MERGED, GROUPS };

// "c0, c1", "?, ?", "c0, partial_merge(c1)", "typeof(c0), c0"
static void add_list(sqlite3_str *out, const struct partial_plan *plan, enum list list) {
    bool first = true;
    for (int i = 0; i < (int)plan->count; i++) {
        const bool is_key = plan->columns[i].kind == PARTIAL_KEY;
        if (list == GROUPS && !is_key)
            continue;
        sqlite3_str_appendall(out, first ? "" : ", ");
        first = false;
        if (list == PLACES)
            sqlite3_str_appendall(out, "?");
        else if (list == GROUPS)
            sqlite3_str_appendf(out, "typeof(c%d), c%d", i, i);
        else if (list == MERGED && !is_key)
            sqlite3_str_appendf(out, "partial_merge(c%d) AS c%d", i, i);
        else
            sqlite3_str_appendf(out, "c%d", i);
    }
}

static sqlite3_stmt *prepare(const tsmith_query_partial *partial, sqlite3_str *sql) {
    sqlite3_stmt *statement = NULL;
    char *text = sqlite3_str_finish(sql);
    if (text)
        (void)sqlite3_prepare_v2(partial->db, text, -1, &statement, NULL);
    sqlite3_free(text);
    return statement;
}

static bool has_keys(const struct partial_plan *plan) {
    for (size_t i = 0; i < plan->count; i++)
        if (plan->columns[i].kind == PARTIAL_KEY)
            return true;
    return false;
}

// The rows, those of one group joined, in the order of the groups.
static sqlite3_stmt *prepare_rows(const tsmith_query_partial *partial, bool values) {
    sqlite3_str *sql = sqlite3_str_new(partial->db);
    sqlite3_str_appendall(sql, "SELECT ");
    for (int i = 0; values && i < (int)partial->plan.count; i++) {
        const struct partial_column *column = &partial->plan.columns[i];
        sqlite3_str_appendall(sql, i ? ", " : "");
        if (column->kind == PARTIAL_KEY)
            sqlite3_str_appendf(sql, "c%d", i);
        else
            sqlite3_str_appendf(sql, "partial_value(%d, %!.17g, c%d)", (int)column->kind, column->percent, i);
    }
    sqlite3_str_appendall(sql, values ? " FROM (SELECT " : "");
    add_list(sql, &partial->plan, MERGED);
    sqlite3_str_appendall(sql, " FROM rows");
    if (has_keys(&partial->plan)) {
        sqlite3_str_appendall(sql, " GROUP BY ");
        add_list(sql, &partial->plan, GROUPS);
        sqlite3_str_appendall(sql, " ORDER BY ");
        add_list(sql, &partial->plan, GROUPS);
    }
    sqlite3_str_appendall(sql, values ? ")" : "");
    return prepare(partial, sql);
}

static tsmith_status open_database(tsmith_query_partial *partial, const char *text, tsmith_error *error) {
    tsmith_status status = partial_plan_make(text, &partial->plan, error);
    if (status != TSMITH_OK)
        return status;
    if (sqlite3_open_v2(":memory:", &partial->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        !partial_functions_add(partial->db))
        return fail_sql(partial, error);
    sqlite3_str *create = sqlite3_str_new(partial->db), *insert = sqlite3_str_new(partial->db);
    sqlite3_str_appendall(create, "CREATE TABLE rows (");
    add_list(create, &partial->plan, NAMES);
    sqlite3_str_appendall(create, "); CREATE TABLE traces (label, digest, lost, reason)");
    char *tables = sqlite3_str_finish(create);
    const bool created = tables && sqlite3_exec(partial->db, tables, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_free(tables);
    sqlite3_str_appendall(insert, "INSERT INTO rows VALUES (");
    add_list(insert, &partial->plan, PLACES);
    sqlite3_str_appendall(insert, ")");
    partial->insert = prepare(partial, insert);
    return created ? TSMITH_OK : fail_sql(partial, error);
}

tsmith_status tsmith_query_partial_create(const char *sql, tsmith_query_partial **out, tsmith_error *error) {
    *out = NULL;
    tsmith_query_partial *partial = calloc(1, sizeof *partial);
    if (!partial)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a partial");
    tsmith_status status = sql ? open_database(partial, sql, error) : TSMITH_OK;
    if (status == TSMITH_OK)
        *out = partial;
    else
        tsmith_query_partial_destroy(partial);
    return status;
}

void tsmith_query_partial_destroy(tsmith_query_partial *partial) {
    if (!partial)
        return;
    sqlite3_finalize(partial->insert);
    sqlite3_finalize(partial->answer);
    sqlite3_finalize(partial->traces);
    sqlite3_close(partial->db);
    partial_plan_finish(&partial->plan);
    free(partial);
}

// ---- adding

// Whether a trace with this digest, or one of this name that could not be read, is there already.
static bool has_trace(const tsmith_query_partial *partial, uint64_t digest, const char *label) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(partial->db,
                           label ? "SELECT 1 FROM traces WHERE reason IS NOT NULL AND label = ?"
                                 : "SELECT 1 FROM traces WHERE reason IS NULL AND digest = ?",
                           -1, &statement, NULL) != SQLITE_OK)
        return false;
    if (label)
        sqlite3_bind_text(statement, 1, label, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)digest);
    const bool found = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_finalize(statement);
    return found;
}

static tsmith_status add_trace(const tsmith_query_partial *partial, const char *label, uint64_t digest,
                               uint64_t lost, const char *reason, tsmith_error *error) {
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(partial->db, "INSERT INTO traces VALUES (?, ?, ?, ?)", -1, &statement,
                                   NULL) == SQLITE_OK;
    if (done) {
        sqlite3_bind_text(statement, 1, label, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)digest);
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)lost);
        if (reason)
            sqlite3_bind_text(statement, 4, reason, -1, SQLITE_TRANSIENT);
        done = sqlite3_step(statement) == SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return done ? TSMITH_OK : fail_sql(partial, error);
}

static void bind(sqlite3_stmt *statement, int place, const tsmith_sql_value *value) {
    switch (value->type) {
    case TSMITH_SQL_INTEGER:
        sqlite3_bind_int64(statement, place, value->integer);
        break;
    case TSMITH_SQL_REAL:
        sqlite3_bind_double(statement, place, value->real);
        break;
    case TSMITH_SQL_TEXT:
        sqlite3_bind_text64(statement, place, value->text.bytes, value->text.length, SQLITE_TRANSIENT,
                            SQLITE_UTF8);
        break;
    case TSMITH_SQL_BLOB:
        sqlite3_bind_blob64(statement, place, value->text.bytes, value->text.length, SQLITE_TRANSIENT);
        break;
    default:
        sqlite3_bind_null(statement, place);
    }
}

static tsmith_status insert_row(const tsmith_query_partial *partial, tsmith_error *error) {
    const bool done = sqlite3_step(partial->insert) == SQLITE_DONE;
    tsmith_status status = done ? TSMITH_OK : fail_sql(partial, error);
    sqlite3_reset(partial->insert);
    return status;
}

static tsmith_status run_statement(tsmith_query_partial *partial, tsmith_query *query, tsmith_error *error) {
    size_t used;
    tsmith_status status =
        tsmith_query_prepare(query, partial->plan.text, strlen(partial->plan.text), &used, error);
    if (status == TSMITH_OK) // SQLite has checked what the user wrote
        status = tsmith_query_prepare(query, partial->plan.sql, strlen(partial->plan.sql), &used, error);
    while (status == TSMITH_OK && (status = tsmith_query_next(query, error)) == TSMITH_OK) {
        for (size_t i = 0; i < partial->plan.count; i++) {
            const tsmith_sql_value value = tsmith_query_value(query, i);
            bind(partial->insert, (int)i + 1, &value);
        }
        status = insert_row(partial, error);
    }
    return status == TSMITH_END ? TSMITH_OK : status;
}

static void begin_change(const tsmith_query_partial *partial) {
    (void)sqlite3_exec(partial->db, "BEGIN", NULL, NULL, NULL);
}

static tsmith_status end_change(const tsmith_query_partial *partial, tsmith_status status) {
    (void)sqlite3_exec(partial->db, status < 0 ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
    return status;
}

static tsmith_status no_statement(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_STATE, "a partial needs a statement first");
}

tsmith_status tsmith_query_partial_add(tsmith_query_partial *partial, const char *label, uint64_t digest,
                                       uint64_t lost, tsmith_query *query, tsmith_error *error) {
    if (!partial->db)
        return no_statement(error);
    if (has_trace(partial, digest, NULL))
        return TSMITH_OK;
    begin_change(partial);
    tsmith_status status = run_statement(partial, query, error);
    if (status == TSMITH_OK)
        status = add_trace(partial, label, digest, lost, NULL, error);
    return end_change(partial, status);
}

tsmith_status tsmith_query_partial_add_missing(tsmith_query_partial *partial, const char *label,
                                               const char *reason, tsmith_error *error) {
    if (!partial->db)
        return no_statement(error);
    return has_trace(partial, 0, label) ? TSMITH_OK : add_trace(partial, label, 0, 0, reason, error);
}

// ---- writing

struct bytes {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
};

static void add_bytes(struct bytes *out, const void *bytes, size_t size) {
    out->failed = out->failed || !ARRAY_RESERVE(out->data, out->capacity, out->size + size);
    if (!out->failed && size) {
        memcpy(out->data + out->size, bytes, size);
        out->size += size;
    }
}

static void add_u64(struct bytes *out, uint64_t value) {
    add_bytes(out, &value, sizeof value);
}

static void add_text(struct bytes *out, const void *text, size_t size) {
    add_u64(out, size);
    add_bytes(out, text, size);
}

// A type of tsmith_sql_type, which are those of SQLite but for NULL, and the value.
static void add_column(struct bytes *out, sqlite3_stmt *statement, int column) {
    const int type = sqlite3_column_type(statement, column);
    const uint8_t byte = type == SQLITE_NULL ? TSMITH_SQL_NULL : (uint8_t)type;
    add_bytes(out, &byte, 1);
    if (type == SQLITE_INTEGER) {
        add_u64(out, (uint64_t)sqlite3_column_int64(statement, column));
    } else if (type == SQLITE_FLOAT) {
        const double real = sqlite3_column_double(statement, column);
        add_bytes(out, &real, sizeof real);
    } else if (type != SQLITE_NULL) {
        const void *text = type == SQLITE_TEXT ? (const void *)sqlite3_column_text(statement, column)
                                               : sqlite3_column_blob(statement, column);
        add_text(out, text, (size_t)sqlite3_column_bytes(statement, column));
    }
}

// The number of rows, and their columns. False: SQLite has failed.
static bool add_rows(struct bytes *out, sqlite3_stmt *statement, int columns) {
    const size_t at = out->size;
    uint64_t count = 0;
    int code = SQLITE_NOMEM;
    add_u64(out, 0);
    while (statement && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++)
            add_column(out, statement, i);
        count++;
    }
    if (!out->failed)
        bytes_put_u64(out->data + at, count);
    sqlite3_finalize(statement);
    return code == SQLITE_DONE;
}

static const char TRACES[] = "SELECT label, digest, lost, reason FROM traces ORDER BY label, reason, digest";

tsmith_status tsmith_query_partial_write(tsmith_query_partial *partial, const tsmith_output *output,
                                         tsmith_error *error) {
    struct bytes out = {0};
    sqlite3_stmt *traces = NULL;
    tsmith_status status = destination_check(output, error);
    if (status == TSMITH_OK && !partial->db)
        status = no_statement(error);
    if (status != TSMITH_OK)
        return status;
    const uint8_t head[HEAD_SIZE] = {0};
    add_bytes(&out, head, sizeof head);
    add_text(&out, partial->plan.text, strlen(partial->plan.text));
    (void)sqlite3_prepare_v2(partial->db, TRACES, -1, &traces, NULL);
    if (!add_rows(&out, traces, 4) ||
        !add_rows(&out, prepare_rows(partial, false), (int)partial->plan.count)) {
        status = fail_sql(partial, error);
    } else if (out.failed) {
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing a partial");
    } else {
        memcpy(out.data, MAGIC, sizeof MAGIC);
        bytes_put_u32(out.data + 8, VERSION);
        bytes_put_u32(out.data + 12, crc32c(0, out.data + HEAD_SIZE, out.size - HEAD_SIZE));
        bytes_put_u64(out.data + 16, out.size - HEAD_SIZE);
        status = destination_write(&(struct destination){.fd = -1, .output = *output}, "partial", out.data,
                                   out.size, error);
    }
    free(out.data);
    return status;
}

// ---- reading

struct cursor {
    const uint8_t *at, *end;
    bool damaged;
};

static uint64_t get_u64(struct cursor *cursor) {
    if (cursor->end - cursor->at < 8) {
        cursor->damaged = true;
        cursor->at = cursor->end;
        return 0;
    }
    cursor->at += 8;
    return bytes_get_u64(cursor->at - 8);
}

static tsmith_string get_text(struct cursor *cursor) {
    const uint64_t size = get_u64(cursor);
    if (cursor->damaged || size > (uint64_t)(cursor->end - cursor->at)) {
        cursor->damaged = true;
        return (tsmith_string){"", 0};
    }
    cursor->at += size;
    return (tsmith_string){(const char *)cursor->at - size, (size_t)size};
}

static tsmith_sql_value get_value(struct cursor *cursor) {
    tsmith_sql_value value = {.type = TSMITH_SQL_NULL};
    if (cursor->at == cursor->end) {
        cursor->damaged = true;
        return value;
    }
    value.type = (tsmith_sql_type)*cursor->at++;
    if (value.type == TSMITH_SQL_INTEGER) {
        value.integer = (int64_t)get_u64(cursor);
    } else if (value.type == TSMITH_SQL_REAL) {
        const uint64_t bits = get_u64(cursor);
        memcpy(&value.real, &bits, sizeof bits);
    } else if (value.type == TSMITH_SQL_TEXT || value.type == TSMITH_SQL_BLOB) {
        value.text = get_text(cursor);
    } else if (value.type != TSMITH_SQL_NULL) {
        cursor->damaged = true;
    }
    return value;
}

static tsmith_status add_read_trace(tsmith_query_partial *partial, const char *label, struct cursor *cursor,
                                    tsmith_error *error) {
    tsmith_sql_value values[4];
    char *texts[2] = {NULL, NULL};
    for (size_t i = 0; i < 4; i++)
        values[i] = get_value(cursor);
    const bool has_reason = values[3].type == TSMITH_SQL_TEXT;
    cursor->damaged = cursor->damaged || values[0].type != TSMITH_SQL_TEXT ||
                      values[1].type != TSMITH_SQL_INTEGER || values[2].type != TSMITH_SQL_INTEGER ||
                      (!has_reason && values[3].type != TSMITH_SQL_NULL);
    if (cursor->damaged)
        return TSMITH_OK; // the caller sees it
    texts[0] = strndup(values[0].text.bytes, values[0].text.length);
    texts[1] = has_reason ? strndup(values[3].text.bytes, values[3].text.length) : NULL;
    tsmith_status status = TSMITH_OK;
    if (!texts[0] || (has_reason && !texts[1]))
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a partial");
    else if (!has_reason && has_trace(partial, (uint64_t)values[1].integer, NULL))
        status = status_set(error, TSMITH_ERROR_STATE,
                            "%s: it has the trace %s, which another partial has too: it would count twice",
                            label, texts[0]);
    else if (!has_reason || !has_trace(partial, 0, texts[0]))
        status = add_trace(partial, texts[0], (uint64_t)values[1].integer, (uint64_t)values[2].integer,
                           texts[1], error);
    free(texts[0]);
    free(texts[1]);
    return status;
}

static tsmith_status read_body(tsmith_query_partial *partial, const char *label, struct cursor *cursor,
                               tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    for (uint64_t traces = get_u64(cursor); status == TSMITH_OK && traces && !cursor->damaged; traces--)
        status = add_read_trace(partial, label, cursor, error);
    for (uint64_t rows = get_u64(cursor); status == TSMITH_OK && rows && !cursor->damaged; rows--) {
        for (size_t i = 0; i < partial->plan.count; i++) {
            const tsmith_sql_value value = get_value(cursor);
            cursor->damaged = cursor->damaged || (partial->plan.columns[i].kind != PARTIAL_KEY) !=
                                                     (value.type == TSMITH_SQL_BLOB);
            bind(partial->insert, (int)i + 1, &value);
        }
        if (!cursor->damaged)
            status = insert_row(partial, error);
    }
    return status == TSMITH_OK && (cursor->damaged || cursor->at != cursor->end)
               ? status_set(error, TSMITH_ERROR_CORRUPT, "%s: the partial is damaged", label)
               : status;
}

tsmith_status tsmith_query_partial_add_bytes(tsmith_query_partial *partial, const char *label,
                                             const void *bytes, size_t size, tsmith_error *error) {
    const uint8_t *data = bytes;
    if (!tsmith_query_is_partial(bytes, size))
        return status_set(error, TSMITH_ERROR_FORMAT, "%s: it is no partial of 'tracesmith query'", label);
    if (size < HEAD_SIZE || bytes_get_u64(data + 16) != size - HEAD_SIZE ||
        crc32c(0, data + HEAD_SIZE, size - HEAD_SIZE) != bytes_get_u32(data + 12))
        return status_set(error, TSMITH_ERROR_CORRUPT, "%s: the partial is damaged", label);
    if (bytes_get_u32(data + 8) != VERSION)
        return status_set(error, TSMITH_ERROR_UNSUPPORTED, "%s: the partial has version %u, not %d", label,
                          bytes_get_u32(data + 8), VERSION);
    struct cursor cursor = {data + HEAD_SIZE, data + size, false};
    const tsmith_string sql = get_text(&cursor);
    char *text = strndup(sql.bytes, sql.length);
    tsmith_status status = TSMITH_OK;
    if (!text)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while reading a partial");
    else if (!partial->db)
        status = open_database(partial, text, error);
    if (status == TSMITH_OK && strcmp(text, partial->plan.text) != 0)
        status = status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "%s: its statement is another one: %.200s",
                            label, text);
    free(text);
    if (status != TSMITH_OK)
        return status;
    begin_change(partial);
    return end_change(partial, read_body(partial, label, &cursor, error));
}

int tsmith_query_is_partial(const void *bytes, size_t size) {
    return size >= sizeof MAGIC && memcmp(bytes, MAGIC, sizeof MAGIC) == 0;
}

// ---- the answer

size_t tsmith_query_partial_column_count(const tsmith_query_partial *partial) {
    return partial->plan.count;
}

const char *tsmith_query_partial_column_name(const tsmith_query_partial *partial, size_t index) {
    return index < partial->plan.count ? partial->plan.columns[index].name : "";
}

tsmith_status tsmith_query_partial_next(tsmith_query_partial *partial, tsmith_error *error) {
    if (!partial->db)
        return no_statement(error);
    if (!partial->answer)
        partial->answer = prepare_rows(partial, true);
    const int code = partial->answer ? sqlite3_step(partial->answer) : SQLITE_NOMEM;
    return code == SQLITE_ROW ? TSMITH_OK : code == SQLITE_DONE ? TSMITH_END : fail_sql(partial, error);
}

tsmith_sql_value tsmith_query_partial_value(tsmith_query_partial *partial, size_t index) {
    tsmith_sql_value value = {.type = TSMITH_SQL_NULL};
    const int column = (int)index;
    const int type = index < partial->plan.count ? sqlite3_column_type(partial->answer, column) : SQLITE_NULL;
    if (type == SQLITE_NULL)
        return value;
    value.type = (tsmith_sql_type)type;
    if (type == SQLITE_INTEGER)
        value.integer = sqlite3_column_int64(partial->answer, column);
    else if (type == SQLITE_FLOAT)
        value.real = sqlite3_column_double(partial->answer, column);
    else
        value.text =
            (tsmith_string){type == SQLITE_TEXT ? (const char *)sqlite3_column_text(partial->answer, column)
                                                : sqlite3_column_blob(partial->answer, column),
                            (size_t)sqlite3_column_bytes(partial->answer, column)};
    return value;
}

int tsmith_query_partial_trace(tsmith_query_partial *partial, size_t index, const char **label,
                               const char **reason, uint64_t *lost) {
    if (!partial->db)
        return 0;
    if (!partial->traces || index + 1 <= partial->trace_at) {
        sqlite3_finalize(partial->traces);
        partial->traces = NULL;
        partial->trace_at = 0;
        if (sqlite3_prepare_v2(partial->db, TRACES, -1, &partial->traces, NULL) != SQLITE_OK)
            return 0;
    }
    for (; partial->trace_at < index + 1; partial->trace_at++)
        if (sqlite3_step(partial->traces) != SQLITE_ROW)
            return 0;
    *label = (const char *)sqlite3_column_text(partial->traces, 0);
    *lost = (uint64_t)sqlite3_column_int64(partial->traces, 2);
    *reason = (const char *)sqlite3_column_text(partial->traces, 3);
    return 1;
}
