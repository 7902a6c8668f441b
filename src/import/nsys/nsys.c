// SPDX-License-Identifier: Apache-2.0
// From table to table of an nsys export.
//
// Rows are read in the order of their table and gathered into batches per track and table (gather.h): nothing is
// sorted by SQLite, so that there are no temporary files and memory does not grow with the file.
//
// States of a table: not begun -> forwards -> done. A table whose pages are damaged is read from its end as well
// (backwards) until the damage is met from there.
#include "import/nsys/nsys.h"
#include "import/sqlite_file.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/plural.h"

enum { SMALLEST_ROW = 4 };

// ---- statements

sqlite3_stmt *nsys_select(struct nsys *nsys, const char *format, ...) {
    sqlite3_stmt *select = NULL;
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (!sql || sqlite3_prepare_v2(nsys->in.db, sql, -1, &select, NULL) != SQLITE_OK) {
        sqlite3_finalize(select);
        select = NULL;
    }
    nsys->failed |= !sql;
    sqlite3_free(sql);
    return select;
}

// ---- tables

bool nsys_has_table(struct nsys *nsys, const char *name) {
    for (size_t i = 0; i < nsys->table_count; i++)
        if (strcmp(nsys->tables[i].name, name) == 0)
            return true;
    return false;
}

static bool add_table(struct nsys *nsys, const char *name) {
    char *copy = name ? strdup(name) : NULL;
    if (!copy || !ARRAY_RESERVE(nsys->tables, nsys->table_capacity, nsys->table_count + 1)) {
        free(copy);
        nsys->failed = true;
        return false;
    }
    nsys->tables[nsys->table_count++] = (struct nsys_table){.name = copy, .rule = nsys_find_table(name)};
    return true;
}

static bool comes_before(const struct nsys_table *a, const struct nsys_table *b) {
    return a->rule && (!b->rule || a->rule < b->rule); // all rules are of one array
}

// Known tables first, in the order of the schema; the others as they are in the file.
static void order_tables(struct nsys *nsys) {
    for (size_t i = 1; i < nsys->table_count; i++) {
        struct nsys_table table = nsys->tables[i];
        size_t at = i;
        for (; at > 0 && comes_before(&table, &nsys->tables[at - 1]); at--)
            nsys->tables[at] = nsys->tables[at - 1];
        nsys->tables[at] = table;
    }
}

static void list_tables(struct nsys *nsys) {
    for (size_t i = 0; i < nsys->in.table_count && !nsys->failed; i++)
        (void)add_table(nsys, nsys->in.tables[i]);
    order_tables(nsys);
}

static bool has_column(const char *list, const struct nsys_table *table, size_t *length) {
    *length = strcspn(list, " ");
    for (int i = 0; i < table->column_count; i++)
        if (strlen(table->columns[i].name) == *length && memcmp(table->columns[i].name, list, *length) == 0)
            return true;
    return false;
}

static void note_lacks(struct nsys *nsys, const struct nsys_table *table) {
    size_t length;
    for (const char *need = table->rule ? table->rule->needs : ""; *need;
         need += length + (need[length] == ' '))
        if (!has_column(need, table, &length))
            ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                        "table %s: has no column %.*s", table->name, (int)length, need);
}

// Learns the columns of a table.
static void learn_table(struct nsys *nsys, struct nsys_table *table) {
    for (int role = 0; role < NSYS_ROLES; role++)
        table->roles[role] = -1;
    sqlite3_stmt *select = nsys_select(nsys, "SELECT * FROM \"%w\"", table->name);
    if (!select) {
        ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                    "table %s: cannot be read: %s", table->name, sqlite_in_why(&nsys->in));
        return;
    }
    int count = sqlite3_column_count(select);
    table->columns = calloc((size_t)count, sizeof *table->columns);
    for (int i = 0; table->columns && i < count; i++) {
        struct nsys_column *column = &table->columns[i];
        const char *name = sqlite3_column_name(select, i);
        if (!name || !(column->name = strdup(name)))
            break;
        column->rule = nsys_find_column(table->name, name);
        if (column->rule->role && table->roles[column->rule->role] < 0)
            table->roles[column->rule->role] = i;
        table->column_count++;
    }
    nsys->failed |= table->column_count != count;
    sqlite3_finalize(select);
    table->has_time = table->roles[NSYS_START] >= 0;
    const char *category = table->rule ? table->rule->category : table->name;
    table->category = category ? tsmith_dictionary_intern_cstr(nsys->dictionary, category) : 0;
    note_lacks(nsys, table);
}

static const char *but_view(const struct nsys *nsys, const char *name) {
    return sqlite_in_has_view(&nsys->in, name) ? " (it is a view, and views are not read)" : "";
}

static void note_missing_tables(struct nsys *nsys) {
    const struct nsys_table_rule *rule;
    for (size_t i = 0; (rule = nsys_table_at(i)); i++)
        if (rule->flags & NSYS_CORE && !nsys_has_table(nsys, rule->name))
            ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                        "the file has no table %s%s: there are no %s events of it", rule->name,
                        but_view(nsys, rule->name), tsmith_kind_name(rule->kind));
    if (!nsys_has_table(nsys, "StringIds"))
        ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                    "the file has no table StringIds%s: names are shown as their numbers",
                    but_view(nsys, "StringIds"));
}

bool nsys_is(const struct sqlite_in *in) {
    static const char *const SIGNS[] = {"META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV",
                                        "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS",
                                        "NVTX_PAYLOAD_SCHEMAS"};
    for (size_t i = 0; i < sizeof SIGNS / sizeof *SIGNS; i++)
        if (sqlite_in_has(in, SIGNS[i]))
            return true;
    // nvprof has tables of the same names, whose rows it numbers.
    for (size_t i = 0; i < in->table_count; i++)
        if (nsys_find_table(in->tables[i]) && !sqlite_in_has_column(in, in->tables[i], "_id_"))
            return true;
    return false;
}

// ---- reading

static void begin_table(struct nsys *nsys) {
    const struct nsys_table *table = &nsys->tables[nsys->at];
    const char *order = nsys->backwards ? " ORDER BY rowid DESC" : "";
    nsys->rows = nsys_select(nsys, "SELECT rowid, * FROM \"%w\"%s", table->name, order);
    nsys->has_rowid = nsys->rows != NULL;
    if (!nsys->rows && !nsys->backwards)
        nsys->rows = nsys_select(nsys, "SELECT * FROM \"%w\"", table->name);
}

static void end_table(struct nsys *nsys) {
    nsys_note_problems(nsys, &nsys->tables[nsys->at]);
    sqlite3_finalize(nsys->rows);
    nsys->rows = NULL;
    nsys->backwards = false;
    nsys->row_count = 0;
    nsys->at++;
}

static void note_damage(struct nsys *nsys, const char *why) {
    const struct nsys_table *table = &nsys->tables[nsys->at];
    ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_CORRUPT, 0, true, "table %s: %s after %llu %s",
                table->name, why, (unsigned long long)nsys->row_count,
                plural(nsys->row_count, "row", "rows"));
    if (!nsys->damaged)
        (void)status_set_at(
            &nsys->stop, TSMITH_TRUNCATED, UINT64_MAX, nsys->row_count,
            "%s: table %s is damaged (%s); the readable part of it and all other tables were read",
            nsys->name, table->name, why);
    nsys->damaged = true;
}

// The table cannot be read on from here: once from its other end, then no more.
static void meet_damage(struct nsys *nsys, const char *why) {
    bool turn = !nsys->backwards && nsys->has_rowid;
    if (!nsys->backwards)
        note_damage(nsys, why);
    if (!turn) {
        end_table(nsys);
        return;
    }
    sqlite3_finalize(nsys->rows);
    nsys->backwards = true;
    begin_table(nsys);
    if (!nsys->rows)
        end_table(nsys);
}

// One row of the table at hand.
static void read_row(struct nsys *nsys) {
    struct nsys_table *table = &nsys->tables[nsys->at];
    int result = sqlite3_step(nsys->rows);
    if (result == SQLITE_DONE) {
        end_table(nsys);
        return;
    }
    if (result != SQLITE_ROW) {
        meet_damage(nsys, sqlite_in_why(&nsys->in));
        return;
    }
    if (nsys->row_count >= nsys->in.file.size / SMALLEST_ROW) {
        nsys->has_rowid = false;
        meet_damage(nsys, "it has more rows than fit");
        return;
    }
    int64_t rowid = nsys->has_rowid ? sqlite3_column_int64(nsys->rows, 0) : 0;
    if (nsys->backwards && rowid <= nsys->last_rowid) {
        end_table(nsys);
        return;
    }
    if (!nsys->backwards)
        nsys->last_rowid = rowid;
    nsys->row_count++;
    nsys_add_row(nsys, table, (uint32_t)nsys->at, nsys->rows, nsys->has_rowid);
}

static void run(struct nsys *nsys) {
    while (!gather_is_full(&nsys->gather) && !nsys->failed) {
        if (nsys->at == nsys->table_count) {
            gather_flush(&nsys->gather);
            nsys->failed |= !ledger_write(&nsys->ledger, nsys->dictionary, &nsys->gather);
            nsys->over = true;
            return;
        }
        if (nsys->rows) {
            read_row(nsys);
        } else if (!nsys->tables[nsys->at].has_time) {
            nsys->at++;
        } else {
            nsys->last_rowid = INT64_MIN;
            begin_table(nsys);
            if (!nsys->rows)
                end_table(nsys);
        }
    }
}

// ---- the source

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct nsys *nsys = self;
    for (;;) {
        tsmith_status status = gather_take(&nsys->gather, out);
        if (status != TSMITH_OK || nsys->failed || tsmith_dictionary_failed(nsys->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", nsys->name);
        if (*out)
            return TSMITH_OK;
        if (nsys->over) {
            if (nsys->damaged && error)
                *error = nsys->stop;
            return nsys->damaged ? TSMITH_TRUNCATED : TSMITH_END;
        }
        run(nsys);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct nsys *)self)->dictionary;
}

static void destroy(void *self) {
    struct nsys *nsys = self;
    sqlite3_finalize(nsys->rows);
    nsys_samples_finish(nsys);
    nsys_callchains_finish(nsys);
    nsys_texts_finish(&nsys->strings);
    for (size_t i = 0; i < nsys->label_count; i++)
        nsys_texts_finish(&nsys->labels[i]);
    free(nsys->labels);
    nsys_places_finish(&nsys->places);
    for (size_t i = 0; i < nsys->table_count; i++) {
        for (int k = 0; k < nsys->tables[i].column_count; k++)
            free(nsys->tables[i].columns[k].name);
        free(nsys->tables[i].columns);
        free(nsys->tables[i].name);
    }
    free(nsys->tables);
    ledger_finish(&nsys->ledger);
    gather_finish(&nsys->gather);
    tsmith_dictionary_destroy(nsys->dictionary);
    sqlite_in_close(&nsys->in);
    free(nsys->name);
    free(nsys);
}

// ---- opening

static bool is_there(const char *path, const char *ending) {
    char log_path[PATH_MAX];
    struct stat status;
    int length = snprintf(log_path, sizeof log_path, "%s%s", path, ending);
    return length > 0 && (size_t)length < sizeof log_path && stat(log_path, &status) == 0 &&
           status.st_size > 0;
}

// The file next to it is not opened; its existence may mean that rows are missing.
static void note_leftovers(struct nsys *nsys, const char *path) {
    static const char *const ENDINGS[] = {"-wal", "-journal"};
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++)
        if (is_there(path, ENDINGS[i]))
            ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_UNTRACED, 0, true,
                        "a log of changes next to the file (%s%s) was not read; open the file once with "
                        "sqlite3 to merge it",
                        path, ENDINGS[i]);
}

// A file cut short has fewer pages than its header states.
static void note_short(struct nsys *nsys) {
    uint64_t stated = sqlite_file_stated(nsys->in.file.fd);
    if (stated <= nsys->in.file.size)
        return;
    ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                "the file ends after %llu of %llu bytes", (unsigned long long)nsys->in.file.size,
                (unsigned long long)stated);
    (void)status_set_at(&nsys->stop, TSMITH_TRUNCATED, nsys->in.file.size, UINT64_MAX,
                        "%s: ends after %llu of %llu bytes; everything readable was read", nsys->name,
                        (unsigned long long)nsys->in.file.size, (unsigned long long)stated);
    nsys->damaged = true;
}

static tsmith_status prepare(struct nsys *nsys, tsmith_error *error) {
    list_tables(nsys);
    for (size_t i = 0; i < nsys->table_count; i++)
        learn_table(nsys, &nsys->tables[i]);
    note_missing_tables(nsys);
    note_leftovers(nsys, nsys->name);
    note_short(nsys);
    nsys_texts_open(nsys, &nsys->strings, "StringIds", "value");
    nsys_places_open(nsys);
    nsys_samples_open(nsys);
    nsys_callchains_open(nsys);
    nsys_describe(nsys);
    return nsys->failed ? status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", nsys->name)
                        : TSMITH_OK;
}

tsmith_status nsys_open(struct sqlite_in *in, const char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    struct nsys *nsys = calloc(1, sizeof *nsys);
    if (!nsys) {
        sqlite_in_close(in);
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    }
    nsys->in = *in;
    sqlite_in_watch(&nsys->in);
    if ((nsys->name = strdup(name)) && tsmith_dictionary_create(&nsys->dictionary) == TSMITH_OK)
        status = prepare(nsys, error);
    else
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    if (status == TSMITH_OK && tsmith_source_create(&ops, nsys, out) != TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    if (status != TSMITH_OK)
        destroy(nsys);
    return status;
}
