// SPDX-License-Identifier: Apache-2.0
// A table over batches. A cursor goes one of three ways:
//
//   scan     batch after batch out of the file, as the first run of a plan does
//   grouped  all rows that pass, in memory, in the order the statement groups or sorts by: SQLite need not sort
//   kept     all rows of the table, in memory, looked up by the plan's key: from the second run of a plan on, that is,
//            inside a join or a subquery. Where they would take too much memory every run is a scan
//
// What a statement keeps goes when the next statement is taken up (plans_clear).
#include "query/events.h"
#include "query/lists.h"

#include <stdlib.h>
#include <string.h>

#include "event/batch.h"
#include "query/store.h"

// How a value is given without looking at what its column is.
struct cell {
    enum { CELL_ANY, CELL_NUMBER, CELL_STRING } how;
    const void *values;
    const uint64_t *valid;
};

enum { CELLS = 63 };

enum way { WAY_NONE, WAY_SCAN, WAY_STORE, WAY_KEY, WAY_START };

struct cursor {
    sqlite3_vtab_cursor base;
    struct event_table *table;
    const tsmith_dictionary *dictionary;
    uint32_t string_count;
    uint32_t string_id; // of `string`: neighbors often have the same
    tsmith_string string;
    struct plan *plan;
    enum way way;
    bool whole; // WAY_SCAN: every row of the batch passes
    // What it stands on.
    uint64_t row;
    uint64_t at, end;   // WAY_SCAN: in `rows`; WAY_STORE: rows; WAY_START: places
    tsmith_view *views; // by slot
    struct cell *cells; // by column: the first ones, which most statements are about
    uint32_t track;     // WAY_SCAN
    tsmith_source *source;
    const tsmith_batch *batch;
    struct filter filter;
    uint32_t *rows;
    struct store *grouped;
    const struct store *store; // grouped or the plan's
};

// ---- life

static uint32_t slot_count(const tsmith_query *query) {
    return TSMITH_FIELD_LIMIT + tsmith_dictionary_dynamic_field_count(query->backend.dictionary);
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    struct event_table *table = (struct event_table *)query_table_of(vtab);
    struct cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->table = table;
    cursor->dictionary = table->base.query->backend.dictionary;
    cursor->string_count = tsmith_dictionary_string_count(cursor->dictionary);
    cursor->string_id = UINT32_MAX;
    cursor->views = calloc(slot_count(table->base.query), sizeof *cursor->views);
    cursor->cells = calloc(CELLS, sizeof *cursor->cells);
    if (!cursor->views || !cursor->cells) {
        free(cursor->views);
        free(cursor->cells);
        free(cursor);
        return SQLITE_NOMEM;
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

static void stop(struct cursor *cursor) {
    tsmith_source_destroy(cursor->source);
    store_destroy(cursor->grouped);
    filter_finish(&cursor->filter);
    cursor->source = NULL;
    cursor->grouped = NULL;
    cursor->store = NULL;
    cursor->way = WAY_NONE;
}

static int cursor_close(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    stop(cursor);
    free(cursor->views);
    free(cursor->cells);
    free(cursor->rows);
    free(cursor);
    return SQLITE_OK;
}

// ---- batches

// The next batch of which rows pass, and which; OK, END or a failure.
static tsmith_status next_batch(struct cursor *cursor, uint32_t *count, tsmith_error *error) {
    tsmith_query *query = cursor->table->base.query;
    for (;;) {
        if (atomic_load_explicit(&query->interrupted, memory_order_relaxed))
            return TSMITH_ERROR_STATE;
        tsmith_status status = tsmith_source_next(cursor->source, &cursor->batch, error);
        if (status != TSMITH_OK) // the summary reports the losses of a damaged file
            return status == TSMITH_TRUNCATED ? TSMITH_END : status;
        *count = filter_select(&cursor->filter, cursor->batch, cursor->rows);
        cursor->whole = *count == tsmith_batch_count(cursor->batch);
        if (*count)
            return TSMITH_OK;
    }
}

static void view_cells(struct cursor *cursor) {
    size_t count = cursor->table->base.shown.column_count;
    for (size_t i = 0; i < CELLS && i < count; i++) {
        const struct event_column *column = &cursor->table->columns[i];
        struct cell *cell = &cursor->cells[i];
        const tsmith_view *view = &cursor->views[column->slot];
        cell->how = CELL_ANY;
        if (!(cursor->plan->columns >> i & 1) || column->other || column->aspect != ASPECT_VALUE ||
            !tsmith_view_exists(view))
            continue;
        if (column->type == TSMITH_TYPE_STRING)
            cell->how = CELL_STRING;
        else if (column->type == TSMITH_TYPE_TIME || column->type == TSMITH_TYPE_I64)
            cell->how = CELL_NUMBER;
        cell->values = view->values;
        cell->valid = view->valid;
    }
}

static void view_batch(struct cursor *cursor) {
    cursor->track = tsmith_batch_track(cursor->batch);
    for (uint32_t i = 0; i < cursor->plan->slot_count; i++) {
        uint32_t slot = cursor->plan->slots[i];
        const uint32_t field = slot == SLOT_TRACK ? TSMITH_FIELD_NONE : slot_field(slot);
        tsmith_view_batch(cursor->batch, &field, 1, &cursor->views[slot]);
    }
}

static int fail(struct cursor *cursor, tsmith_status status, const tsmith_error *error) {
    stop(cursor);
    return query_fail(cursor->table->base.query, status, error);
}

static int scan_on(struct cursor *cursor) {
    tsmith_error error = {.message = ""};
    uint32_t count = 0;
    tsmith_status status = next_batch(cursor, &count, &error);
    cursor->at = 0;
    cursor->end = count;
    if (status < 0)
        return fail(cursor, status, &error);
    if (status == TSMITH_END) {
        cursor->way = WAY_NONE;
        return SQLITE_OK;
    }
    view_batch(cursor);
    cursor->row = cursor->whole ? 0 : cursor->rows[0];
    return SQLITE_OK;
}

// `counting`: only what rows are grouped by is asked for.
static tsmith_status open_scan(struct cursor *cursor, bool counting, tsmith_error *error) {
    const struct query_backend *backend = &cursor->table->base.query->backend;
    tsmith_scan scan;
    if (!cursor->rows && !(cursor->rows = malloc(TSMITH_BATCH_MAX * sizeof *cursor->rows)))
        return TSMITH_ERROR_NO_MEMORY;
    filter_scan(&cursor->filter, cursor->plan, &scan);
    uint32_t field = counting ? slot_field(cursor->table->columns[cursor->plan->orders[0].column].slot) : 0;
    if (counting && !cursor->plan->constraint_count) {
        scan.fields = &field;
        scan.field_count = 1;
    }
    return backend->scan(backend->context, &scan, &cursor->source, error);
}

// ---- stores

typedef tsmith_status (*store_taker)(struct store *store, const tsmith_batch *batch, const uint32_t *rows,
                                     uint32_t count);

// Gives a store what passes.
static tsmith_status fill(struct cursor *cursor, struct store *store, store_taker take, tsmith_error *error) {
    uint32_t count = 0;
    tsmith_status status = open_scan(cursor, take == store_count_rows, error);
    while (status == TSMITH_OK && (status = next_batch(cursor, &count, error)) == TSMITH_OK)
        status = take(store, cursor->batch, cursor->whole ? NULL : cursor->rows, count);
    tsmith_source_destroy(cursor->source);
    cursor->source = NULL;
    return status == TSMITH_END ? TSMITH_OK : status;
}

static void stand_in_store(struct cursor *cursor, const struct store *store) {
    cursor->store = store;
    for (uint32_t i = 0; i < cursor->plan->slot_count; i++)
        cursor->views[cursor->plan->slots[i]] = store_view(store, cursor->plan->slots[i]);
    view_cells(cursor);
}

static tsmith_status fill_grouped(struct cursor *cursor, tsmith_error *error) {
    struct store *store = cursor->grouped;
    tsmith_status status;
    if (cursor->plan->order_count > 1 || cursor->plan->has_lists) {
        status = fill(cursor, store, store_add, error);
        return status == TSMITH_OK ? store_sort(store) : status;
    }
    status = fill(cursor, store, store_count_rows, error);
    if (status == TSMITH_OK)
        status = store_begin_places(store);
    return status == TSMITH_OK ? fill(cursor, store, store_put, error) : status;
}

static int begin_grouped(struct cursor *cursor) {
    tsmith_error error = {.message = ""};
    cursor->grouped = store_create(cursor->table->base.query, cursor->table, cursor->plan);
    tsmith_status status = cursor->grouped ? fill_grouped(cursor, &error) : TSMITH_ERROR_NO_MEMORY;
    if (status != TSMITH_OK)
        return fail(cursor, status, &error);
    stand_in_store(cursor, cursor->grouped);
    cursor->way = WAY_STORE;
    cursor->row = 0;
    cursor->end = store_count(cursor->grouped);
    return SQLITE_OK;
}

// Keeps the table for this plan: OK also when it is too large, and then not kept.
static int keep_rows(struct cursor *cursor) {
    tsmith_error error = {.message = ""};
    struct plan *plan = cursor->plan;
    struct filter filter = cursor->filter;
    cursor->filter = (struct filter){.kinds = cursor->table->kinds};
    struct store *store = store_create(cursor->table->base.query, cursor->table, plan);
    tsmith_status status = store ? fill(cursor, store, store_add, &error) : TSMITH_ERROR_NO_MEMORY;
    cursor->filter = filter;
    if (status == TSMITH_OK)
        status = store_index(store);
    if (status != TSMITH_OK) {
        store_destroy(store);
        return status == TSMITH_ERROR_LIMIT ? SQLITE_OK : fail(cursor, status, &error);
    }
    plan->store = store;
    return SQLITE_OK;
}

// Whether the key's value can be looked up by its bits.
static bool is_findable(const struct cursor *cursor, sqlite3_value *value) {
    const struct event_column *column =
        &cursor->table->columns[cursor->plan->constraints[cursor->plan->key].column];
    bool is_text = column->type == TSMITH_TYPE_STRING && column->aspect == ASPECT_VALUE;
    return sqlite3_value_type(value) == (is_text ? SQLITE_TEXT : SQLITE_INTEGER);
}

static void begin_kept(struct cursor *cursor, sqlite3_value **values) {
    const struct plan *plan = cursor->plan;
    stand_in_store(cursor, plan->store);
    cursor->way = WAY_STORE;
    cursor->row = 0;
    cursor->end = store_count(plan->store);
    if (plan->key >= 0 && is_findable(cursor, values[plan->key])) {
        cursor->way = WAY_KEY;
        cursor->row = store_find(plan->store, values[plan->key]);
    } else if (plan->key == KEY_START) {
        cursor->way = WAY_START;
        cursor->at = store_lower_bound(plan->store, cursor->filter.start_from);
        if (cursor->filter.start_to != INT64_MAX)
            cursor->end = store_lower_bound(plan->store, cursor->filter.start_to + 1);
        if (cursor->at < cursor->end)
            cursor->row = store_by_start(plan->store, cursor->at);
    }
}

// ---- rows

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                         sqlite3_value **values) {
    struct cursor *cursor = (struct cursor *)base;
    tsmith_error error = {.message = ""};
    (void)text, (void)argc;
    stop(cursor);
    cursor->plan = cursor->table->plans[number];
    struct plan *plan = cursor->plan;
    if (!plan_settle(cursor->table, plan) || !filter_init(&cursor->filter, cursor->table, plan, values))
        return SQLITE_NOMEM;
    if (cursor->filter.never)
        return SQLITE_OK;
    if (plan->order_count)
        return begin_grouped(cursor);
    if (plan->runs++ == 1) {
        int code = keep_rows(cursor);
        if (code != SQLITE_OK)
            return code;
    }
    if (plan->store) {
        begin_kept(cursor, values);
        return SQLITE_OK;
    }
    tsmith_status status = open_scan(cursor, false, &error);
    if (status != TSMITH_OK)
        return fail(cursor, status, &error);
    cursor->way = WAY_SCAN;
    return scan_on(cursor);
}

static int cursor_next(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    switch (cursor->way) {
    case WAY_SCAN:
        if (++cursor->at == cursor->end)
            return scan_on(cursor);
        cursor->row = cursor->whole ? cursor->at : cursor->rows[cursor->at];
        break;
    case WAY_STORE:
        cursor->row++;
        break;
    case WAY_KEY:
        cursor->row = store_find_next(cursor->store, (uint32_t)cursor->row);
        break;
    case WAY_START:
        if (++cursor->at < cursor->end)
            cursor->row = store_by_start(cursor->store, cursor->at);
        break;
    case WAY_NONE:
        break;
    }
    return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base) {
    const struct cursor *cursor = (const struct cursor *)base;
    switch (cursor->way) {
    case WAY_STORE:
        return cursor->row >= cursor->end;
    case WAY_KEY:
        return cursor->row == UINT32_MAX;
    case WAY_START:
        return cursor->at >= cursor->end;
    case WAY_SCAN:
        return 0;
    default:
        return 1;
    }
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    const struct cursor *cursor = (const struct cursor *)base;
    *out = cursor->store ? store_rowid(cursor->store, cursor->row)
                         : (int64_t)(batch_sequence(cursor->batch) << 16 | cursor->row);
    return SQLITE_OK;
}

// ---- values

static void give_string(sqlite3_context *context, tsmith_string string) {
    sqlite3_result_text64(context, string.bytes, string.length, SQLITE_STATIC, SQLITE_UTF8);
}

static void give_track(sqlite3_context *context, const tsmith_dictionary *dictionary,
                       const struct event_column *column, uint32_t id) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
    if (!track)
        return;
    if (column->aspect == ASPECT_VALUE)
        sqlite3_result_int64(context, id);
    else
        list_give_track_name(context, dictionary, id);
}

static void give_list(const struct cursor *cursor, sqlite3_context *context, const tsmith_view *view) {
    const uint32_t row = (uint32_t)cursor->row;
    const uint64_t *values = NULL;
    const uint64_t count = cursor->store ? store_list(cursor->store, tsmith_view_known(view, row), &values)
                                         : tsmith_view_list(view, row, &values);
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendchar(text, 1, '[');
    for (uint64_t i = 0; i < count; i++)
        sqlite3_str_appendf(text, i ? ",%llu" : "%llu", (unsigned long long)values[i]);
    sqlite3_str_appendchar(text, 1, ']');
    char *json = sqlite3_str_finish(text);
    if (json)
        sqlite3_result_text(context, json, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(context);
}

static void give_number(sqlite3_context *context, const struct event_column *column, uint64_t bits) {
    double real;
    if (column->type == TSMITH_TYPE_F64) {
        memcpy(&real, &bits, sizeof real);
        sqlite3_result_double(context, real);
    } else if (column->type == TSMITH_TYPE_U64 && bits > INT64_MAX && column->quantity) {
        sqlite3_result_double(context, (double)bits);
    } else {
        sqlite3_result_int64(context, (int64_t)bits);
    }
}

static void give_end(const struct cursor *cursor, sqlite3_context *context, uint64_t row) {
    const tsmith_view *start = &cursor->views[TSMITH_FIELD_START],
                      *duration = &cursor->views[TSMITH_FIELD_DURATION];
    int64_t end;
    if (has_value(start, row) && has_value(duration, row) &&
        !__builtin_add_overflow(((const int64_t *)start->values)[row],
                                ((const int64_t *)duration->values)[row], &end))
        sqlite3_result_int64(context, end);
}

static void give_quotient(const struct cursor *cursor, sqlite3_context *context, uint64_t row) {
    const tsmith_view *bytes = &cursor->views[TSMITH_FIELD_BYTES],
                      *duration = &cursor->views[TSMITH_FIELD_DURATION];
    if (has_value(bytes, row) && has_value(duration, row) && ((const int64_t *)duration->values)[row] > 0)
        sqlite3_result_double(context, (double)((const uint64_t *)bytes->values)[row] /
                                           (double)((const int64_t *)duration->values)[row]);
}

// A value of any column.
static void return_any_column(const struct cursor *cursor, sqlite3_context *context, int index) {
    const struct event_column *column = &cursor->table->columns[index];
    const tsmith_dictionary *dictionary = cursor->dictionary;
    uint64_t row = cursor->row;
    if (column->slot == SLOT_TRACK && !cursor->store) {
        give_track(context, dictionary, column, cursor->track);
        return;
    }
    if (column->aspect == ASPECT_END) {
        give_end(cursor, context, row);
        return;
    }
    while (!has_value(&cursor->views[column->slot], row)) {
        if (!column->other)
            return; // NULL
        column = &cursor->table->columns[column->other];
    }
    if (column->aspect == ASPECT_QUOTIENT) {
        give_quotient(cursor, context, row);
        return;
    }
    const tsmith_view *view = &cursor->views[column->slot];
    if (column->type == TSMITH_TYPE_LIST) {
        give_list(cursor, context, view);
        return;
    }
    uint64_t bits = tsmith_view_known(view, (uint32_t)row);
    const char *name = tsmith_value_name((tsmith_type)column->type, bits);
    if (column->type == TSMITH_TYPE_TRACK)
        give_track(context, dictionary, column, (uint32_t)bits);
    else if (name)
        sqlite3_result_text(context, name, -1, SQLITE_STATIC);
    else if (column->type != TSMITH_TYPE_STRING)
        give_number(context, column, bits);
    else if (bits < cursor->string_count && column->aspect == ASPECT_VALUE)
        give_string(context, tsmith_dictionary_string(dictionary, (uint32_t)bits));
    else if (bits < cursor->string_count)
        sqlite3_result_int64(context, (int64_t)bits);
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index) {
    struct cursor *cursor = (struct cursor *)base;
    uint64_t row = cursor->row;
    if (index >= CELLS) {
        if (cursor->table->named[index])
            return_any_column(cursor, context, index);
        else
            sqlite3_result_error(
                context,
                "additional fields of a trace must be named in the statement; NATURAL JOIN is not possible",
                -1);
        return SQLITE_OK;
    }
    const struct cell *cell = &cursor->cells[index];
    if (cell->how == CELL_ANY) {
        return_any_column(cursor, context, index);
        return SQLITE_OK;
    }
    if (cell->valid && !(cell->valid[row / 64] >> (row % 64) & 1))
        return SQLITE_OK; // NULL
    if (cell->how == CELL_NUMBER) {
        sqlite3_result_int64(context, ((const int64_t *)cell->values)[row]);
        return SQLITE_OK;
    }
    uint32_t id = ((const uint32_t *)cell->values)[row];
    if (id >= cursor->string_count)
        return SQLITE_OK;
    if (id != cursor->string_id) {
        cursor->string_id = id;
        cursor->string = tsmith_dictionary_string(cursor->dictionary, id);
    }
    give_string(context, cursor->string);
    return SQLITE_OK;
}

const sqlite3_module events_module = {
    .iVersion = 1,
    .xConnect = query_connect,
    .xBestIndex = plan_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = cursor_open,
    .xClose = cursor_close,
    .xFilter = cursor_filter,
    .xNext = cursor_next,
    .xEof = cursor_eof,
    .xColumn = cursor_column,
    .xRowid = cursor_rowid,
};
