// SPDX-License-Identifier: Apache-2.0
// The batch source of rocpd databases: walks the tables of each process. sqlite_in.c opens it.
#include "import/rocpd/rocpd.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plural.h"
#include "import/sqlite_file.h"

enum { ROWS_PER_RUN = 4096, PARTS_MAX = 4096 };

static const char process_table[] = "rocpd_info_process";

static const char *const tables[ROCPD_TABLES] = {[ROCPD_KERNELS] = "rocpd_kernel_dispatch",
                                                 [ROCPD_COPIES] = "rocpd_memory_copy",
                                                 [ROCPD_ALLOCATIONS] = "rocpd_memory_allocate",
                                                 [ROCPD_REGIONS] = "rocpd_region",
                                                 [ROCPD_SAMPLES] = "rocpd_sample"};

// What comes behind the name that is meant; NULL for another table.
static const char *suffix_of(const char *table, const char *name) {
    size_t length = strlen(name);
    return strncmp(table, name, length) == 0 ? table + length : NULL;
}

bool rocpd_is(const struct sqlite_in *in) {
    bool processes = false, strings = false, events = false;
    for (size_t i = 0; i < in->table_count; i++) {
        processes |= suffix_of(in->tables[i], process_table) != NULL;
        strings |= suffix_of(in->tables[i], "rocpd_string") != NULL;
        events |= suffix_of(in->tables[i], "rocpd_event") != NULL;
    }
    return processes && strings && events;
}

sqlite3_stmt *rocpd_select(struct rocpd *rocpd, const char *format, ...) {
    sqlite3_stmt *select = NULL;
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (!sql || sqlite3_prepare_v2(rocpd->in.db, sql, -1, &select, NULL) != SQLITE_OK) {
        sqlite3_finalize(select);
        select = NULL;
    }
    rocpd->failed |= !sql;
    sqlite3_free(sql);
    return select;
}

// ---- a table

static void forget_columns(struct rocpd *rocpd) {
    for (int i = 0; i < rocpd->column_count; i++)
        free(rocpd->columns[i].name);
    free(rocpd->columns);
    rocpd->columns = NULL;
    rocpd->column_count = 0;
}

static void damage(struct rocpd *rocpd, const char *why) {
    ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                "table %s%s: %s after %llu %s", tables[rocpd->table], rocpd_part(rocpd)->suffix, why,
                (unsigned long long)rocpd->row_count, plural(rocpd->row_count, "row", "rows"));
    if (!rocpd->damaged)
        (void)status_set_at(&rocpd->stop, TSMITH_TRUNCATED, UINT64_MAX, rocpd->row_count,
                            "%s: table %s%s is damaged (%s, after %llu %s); everything readable was read",
                            rocpd->name, tables[rocpd->table], rocpd_part(rocpd)->suffix, why,
                            (unsigned long long)rocpd->row_count, plural(rocpd->row_count, "row", "rows"));
    rocpd->damaged = true;
}

static void end_table(struct rocpd *rocpd) {
    sqlite3_finalize(rocpd->rows);
    rocpd->rows = NULL;
    rocpd->row_count = 0;
    forget_columns(rocpd);
    if (++rocpd->table < ROCPD_TABLES)
        return;
    rocpd->table = 0;
    struct rocpd_part *part = rocpd_part(rocpd);
    for (size_t i = 0; i < part->attribute_count; i++)
        rocpd->problems[ROCPD_PROBLEM_UNUSED] += !part->attributes[i].used;
    rocpd_finish_infos(part);
    rocpd->part_at++;
}

// The row and what its event says; versions differ in the columns of events.
static sqlite3_stmt *select_rows(struct rocpd *rocpd, const char *table) {
    static const char *const columns[][2] = {{"category_id", "event category"},
                                             {"stack_id", "stack_id"},
                                             {"parent_stack_id", "parent_stack_id"},
                                             {"correlation_id", "correlation_id"},
                                             {"call_stack", "call_stack"},
                                             {"line_info", "line_info"},
                                             {"extdata", "event_extdata"}};
    const char *suffix = rocpd_part(rocpd)->suffix;
    char *event = sqlite3_mprintf("rocpd_event%s", suffix);
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT t.*");
    bool joined = event && sqlite_in_has(&rocpd->in, event);
    for (size_t i = 0; joined && i < sizeof columns / sizeof *columns; i++)
        if (sqlite_in_has_column(&rocpd->in, event, columns[i][0]))
            sqlite3_str_appendf(sql, ", e.\"%w\" AS \"%w\"", columns[i][0], columns[i][1]);
    sqlite3_str_appendf(sql, " FROM \"%w%w\" t", table, suffix);
    if (joined)
        sqlite3_str_appendf(sql, " LEFT JOIN \"%w\" e ON e.id = t.event_id", event);
    char *text = sqlite3_str_finish(sql);
    sqlite3_stmt *select = text ? rocpd_select(rocpd, "%s", text) : NULL;
    rocpd->failed |= !text || !event;
    sqlite3_free(text);
    sqlite3_free(event);
    return select;
}

static void begin_table(struct rocpd *rocpd) {
    const char *suffix = rocpd_part(rocpd)->suffix;
    char *table = sqlite3_mprintf("%s%s", tables[rocpd->table], suffix);
    bool there = table && sqlite_in_has(&rocpd->in, table);
    sqlite3_free(table);
    rocpd->rows = there ? select_rows(rocpd, tables[rocpd->table]) : NULL;
    if (!rocpd->rows) {
        if (there)
            damage(rocpd, sqlite_in_why(&rocpd->in));
        end_table(rocpd);
        return;
    }
    for (int role = 0; role < ROCPD_ROLES; role++)
        rocpd->roles[role] = -1;
    int count = sqlite3_column_count(rocpd->rows);
    rocpd->columns = calloc((size_t)count, sizeof *rocpd->columns);
    for (int i = 0; rocpd->columns && i < count; i++) {
        struct rocpd_column *column = &rocpd->columns[i];
        const char *name = sqlite3_column_name(rocpd->rows, i);
        if (!name || !(column->name = strdup(name)))
            break;
        column->role = rocpd_role(name);
        if (rocpd->roles[column->role] < 0)
            rocpd->roles[column->role] = i;
        rocpd->column_count++;
    }
    rocpd->failed |= rocpd->column_count != count;
}

static void read_row(struct rocpd *rocpd) {
    int result = sqlite3_step(rocpd->rows);
    if (result == SQLITE_ROW) {
        rocpd->row_count++;
        rocpd_add_row(rocpd);
        return;
    }
    if (result != SQLITE_DONE)
        damage(rocpd, sqlite_in_why(&rocpd->in));
    end_table(rocpd);
}

// ---- the source

static void end(struct rocpd *rocpd) {
    static const struct {
        const char *text;
        tsmith_reason reason;
        bool lost;
    } rows[ROCPD_PROBLEM_COUNT] = {
#define ROW(NAME, lost, reason, text) [ROCPD_PROBLEM_##NAME] = {text, reason, lost},
        ROCPD_PROBLEM_TABLE(ROW)
#undef ROW
    };
    for (int i = 0; i < ROCPD_PROBLEM_COUNT; i++)
        if (rocpd->problems[i])
            ledger_note(&rocpd->ledger, rocpd->dictionary, rows[i].reason,
                        rows[i].lost ? rocpd->problems[i] : 0, rows[i].lost, "%llu %s",
                        (unsigned long long)rocpd->problems[i], rows[i].text);
    gather_flush(&rocpd->gather);
    rocpd->failed |= !ledger_write(&rocpd->ledger, rocpd->dictionary, &rocpd->gather);
    rocpd->over = true;
}

static void run(struct rocpd *rocpd) {
    for (int i = 0; i < ROWS_PER_RUN && !rocpd->over && !rocpd->failed && !gather_is_full(&rocpd->gather);
         i++) {
        if (rocpd->part_at == rocpd->part_count) {
            end(rocpd);
        } else if (rocpd->rows) {
            read_row(rocpd);
        } else {
            if (rocpd->table == 0)
                rocpd_read_infos(rocpd);
            begin_table(rocpd);
        }
    }
}

static tsmith_status next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rocpd *rocpd = self;
    for (;;) {
        tsmith_status status = gather_take(&rocpd->gather, out);
        if (status != TSMITH_OK || rocpd->failed || tsmith_dictionary_failed(rocpd->dictionary))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", rocpd->name);
        if (*out)
            return TSMITH_OK;
        if (rocpd->over) {
            if (rocpd->damaged && error)
                *error = rocpd->stop;
            return rocpd->damaged ? TSMITH_TRUNCATED : TSMITH_END;
        }
        run(rocpd);
    }
}

static const tsmith_dictionary *dictionary(void *self) {
    return ((struct rocpd *)self)->dictionary;
}

static void destroy(void *self) {
    struct rocpd *rocpd = self;
    sqlite3_finalize(rocpd->rows);
    forget_columns(rocpd);
    for (size_t i = 0; i < rocpd->part_count; i++)
        rocpd_finish_infos(&rocpd->parts[i]);
    free(rocpd->parts);
    free(rocpd->places);
    ledger_finish(&rocpd->ledger);
    gather_finish(&rocpd->gather);
    sqlite_in_close(&rocpd->in);
    tsmith_dictionary_destroy(rocpd->dictionary);
    free(rocpd->name);
    free(rocpd);
}

static void find_parts(struct rocpd *rocpd) {
    rocpd->parts = calloc(rocpd->in.table_count ? rocpd->in.table_count : 1, sizeof *rocpd->parts);
    rocpd->failed |= !rocpd->parts;
    for (size_t i = 0; rocpd->parts && i < rocpd->in.table_count && rocpd->part_count < PARTS_MAX; i++) {
        const char *suffix = suffix_of(rocpd->in.tables[i], process_table);
        if (suffix)
            rocpd->parts[rocpd->part_count++].suffix = suffix; // stays with the list of tables
    }
}

static void note_short(struct rocpd *rocpd) {
    uint64_t stated = sqlite_file_stated(rocpd->in.file.fd);
    if (stated <= rocpd->in.file.size)
        return;
    ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_CORRUPT, 0, true,
                "the file ends after %llu of %llu bytes", (unsigned long long)rocpd->in.file.size,
                (unsigned long long)stated);
    (void)status_set_at(&rocpd->stop, TSMITH_TRUNCATED, rocpd->in.file.size, UINT64_MAX,
                        "%s: ends after %llu of %llu bytes; everything readable was read", rocpd->name,
                        (unsigned long long)rocpd->in.file.size, (unsigned long long)stated);
    rocpd->damaged = true;
}

tsmith_status rocpd_open(struct sqlite_in *in, const char *name, tsmith_source **out, tsmith_error *error) {
    static const tsmith_source_ops ops = {next, dictionary, destroy};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    struct rocpd *rocpd = calloc(1, sizeof *rocpd);
    if (!rocpd) {
        sqlite_in_close(in);
        return status_set(error, status, "%s: out of memory", name);
    }
    rocpd->in = *in;
    sqlite_in_watch(&rocpd->in);
    if ((rocpd->name = strdup(name)) && tsmith_dictionary_create(&rocpd->dictionary) == TSMITH_OK) {
        tsmith_dictionary_set_attribute(rocpd->dictionary, "import.format", "rocpd");
        find_parts(rocpd);
        note_short(rocpd);
        rocpd_describe(rocpd);
        if (!rocpd->failed)
            status = tsmith_source_create(&ops, rocpd, out);
    }
    if (status != TSMITH_OK) {
        (void)status_set(error, status, "%s: out of memory", name);
        destroy(rocpd);
    }
    return status;
}
