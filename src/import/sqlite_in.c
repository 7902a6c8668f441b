// SPDX-License-Identifier: Apache-2.0
// Opens an untrusted SQLite database with restrictions and finds its format. The nsys and rocpd importers call it.
#include "import/sqlite_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/nsys/nsys.h"
#include "import/rocpd/rocpd.h"
#include "import/sqlite_file.h"

enum {
    TABLES_MAX = 4096,
    VALUE_MAX = 32 << 20,
    CACHE_KIB = 8192,
    // More than SQLite needs at once for a row within these limits.
    MEMORY_PROBE = 3 * VALUE_MAX,
    // In instructions of SQLite's machine; a row takes one per column and some more, and is read a few times at most.
    WORK_STEP = 100000,
    WORK_LEAST = 10000000,
    WORK_PER_BYTE = 100
};

bool sqlite_in_is(const void *bytes, size_t length) {
    static const char magic[16] = "SQLite format 3";
    return length >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

// What a schema can make SQLite do beyond reading: nothing.
static int authorize(void *context, int action, const char *one, const char *two, const char *database,
                     const char *trigger) {
    static const char *const FUNCTIONS[] = {"json_object", "json_group_array", "json", "trim",  "count",
                                            "coalesce",    "typeof",           "hex",  "nullif"};
    (void)context, (void)database, (void)trigger;
    if (action == SQLITE_SELECT || action == SQLITE_READ)
        return SQLITE_OK;
    if (action == SQLITE_PRAGMA)
        return strcmp(one, "table_info") == 0 ? SQLITE_OK : SQLITE_DENY;
    for (size_t i = 0; action == SQLITE_FUNCTION && i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
        if (strcmp(two, FUNCTIONS[i]) == 0)
            return SQLITE_OK;
    return SQLITE_DENY;
}

// A damaged tree can have the same pages in many places, and more rows than could ever be read. No honest file needs
// this much work.
static int count_work(void *context) {
    struct sqlite_in *in = context;
    in->work += WORK_STEP;
    return in->work > WORK_LEAST + in->file.size * WORK_PER_BYTE;
}

static bool configure(struct sqlite_in *in) {
    static const struct {
        int id, value;
    } limits[] = {{SQLITE_LIMIT_LENGTH, VALUE_MAX}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
                  {SQLITE_LIMIT_EXPR_DEPTH, 100},   {SQLITE_LIMIT_COMPOUND_SELECT, 2},
                  {SQLITE_LIMIT_ATTACHED, 0},       {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                  {SQLITE_LIMIT_WORKER_THREADS, 0}};
    static const int off[] = {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_DQS_DML};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        (void)sqlite3_limit(in->db, limits[i].id, limits[i].value);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        (void)sqlite3_db_config(in->db, off[i], 0, (int *)NULL);
    (void)sqlite3_db_config(in->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    char pragmas[160];
    (void)snprintf(pragmas, sizeof pragmas,
                   "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; "
                   "PRAGMA cache_size = -%d",
                   CACHE_KIB);
    return sqlite3_exec(in->db, pragmas, NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_set_authorizer(in->db, authorize, NULL) == SQLITE_OK;
}

void sqlite_in_watch(struct sqlite_in *in) {
    sqlite3_progress_handler(in->db, WORK_STEP, count_work, in);
}

// ---- tables

static bool add_table(struct sqlite_in *in, const char *name) {
    char *copy = name ? strdup(name) : NULL;
    if (!copy || !ARRAY_RESERVE(in->tables, in->table_capacity, in->table_count + 1)) {
        free(copy);
        return false;
    }
    in->tables[in->table_count++] = copy;
    return true;
}

// A damaged size makes SQLite ask for memory that no machine has. If there is memory for any row of an undamaged file,
// the size was the reason.
static bool is_exhausted(void) {
    void *probe = sqlite3_malloc(MEMORY_PROBE);
    sqlite3_free(probe);
    return !probe;
}

const char *sqlite_in_why(const struct sqlite_in *in) {
    switch (in->db ? sqlite3_errcode(in->db) : SQLITE_NOMEM) {
    case SQLITE_NOMEM:
        return is_exhausted() ? "out of memory" : "the size of a row or value in it is damaged";
    case SQLITE_TOOBIG:
        return "a value in it has more than 32 MiB";
    case SQLITE_INTERRUPT:
        return "its pages hold more rows than a file of this size can have";
    case SQLITE_AUTH:
        return "it is defined by SQL that does more than reading";
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return "a value in it cannot be read";
    default:
        return sqlite3_errmsg(in->db);
    }
}

static tsmith_status explain_open(const struct sqlite_in *in, const char *name, tsmith_error *error) {
    if ((!in->db || sqlite3_errcode(in->db) == SQLITE_NOMEM) && is_exhausted())
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", name);
    return status_set(
        error, TSMITH_ERROR_FORMAT,
        "%s: is a damaged SQLite database: its list of tables (sqlite_schema) cannot be read: %s; write it "
        "again with the tool that made it, or import what this recovers: sqlite3 FILE .recover | sqlite3 "
        "NEW",
        name, sqlite_in_why(in));
}

static tsmith_status list_tables(struct sqlite_in *in, const char *name, tsmith_error *error) {
    sqlite3_stmt *select = NULL;
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 "
                              "AND typeof(name) = 'text' AND substr(name, 1, 7) <> 'sqlite_'";
    // Before the authorizer is set: this reads the schema, whose damage is the file's.
    int result = sqlite3_prepare_v2(in->db, sql, -1, &select, NULL);
    bool added = true;
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(select);
        if (result != SQLITE_ROW || in->table_count == TABLES_MAX)
            break;
        // No name that is a text is NULL, unless it cannot be read.
        added = add_table(in, (const char *)sqlite3_column_text(select, 0));
        if (!added)
            break;
    }
    tsmith_status status = TSMITH_OK;
    if (!added || (result != SQLITE_DONE && result != SQLITE_ROW))
        status = explain_open(in, name, error);
    sqlite3_finalize(select);
    return status;
}

bool sqlite_in_has(const struct sqlite_in *in, const char *table) {
    for (size_t i = 0; i < in->table_count; i++)
        if (strcmp(in->tables[i], table) == 0)
            return true;
    return false;
}

bool sqlite_in_has_view(const struct sqlite_in *in, const char *name) {
    sqlite3_stmt *select = NULL;
    bool has = sqlite3_prepare_v2(in->db, "SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = ?", -1,
                                  &select, NULL) == SQLITE_OK &&
               sqlite3_bind_text(select, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
               sqlite3_step(select) == SQLITE_ROW;
    sqlite3_finalize(select);
    return has;
}

bool sqlite_in_has_column(const struct sqlite_in *in, const char *table, const char *column) {
    // A name in double quotes is a column and nothing else (SQLITE_DBCONFIG_DQS_DML).
    char *sql = sqlite3_mprintf("SELECT \"%w\" FROM \"%w\"", column, table);
    sqlite3_stmt *select = NULL;
    bool has = sql && sqlite3_prepare_v2(in->db, sql, -1, &select, NULL) == SQLITE_OK;
    sqlite3_finalize(select);
    sqlite3_free(sql);
    return has;
}

tsmith_status sqlite_in_open(struct sqlite_in *in, struct seekable *file, const char *name,
                             tsmith_error *error) {
    *in = (struct sqlite_in){.file = *file};
    tsmith_status status = TSMITH_OK;
    if (sqlite_file_open(file->fd, &in->db) != SQLITE_OK)
        status = explain_open(in, name, error);
    if (status == TSMITH_OK)
        status = list_tables(in, name, error);
    if (status == TSMITH_OK && !configure(in))
        status = explain_open(in, name, error);
    if (status != TSMITH_OK)
        sqlite_in_close(in);
    return status;
}

void sqlite_in_close(struct sqlite_in *in) {
    (void)sqlite3_close(in->db);
    for (size_t i = 0; i < in->table_count; i++)
        free(in->tables[i]);
    free(in->tables);
    seekable_close(&in->file);
    *in = (struct sqlite_in){.file = {.fd = -1}};
}

// ---- whose it is

// What other tools keep in SQLite: what it is, and what to do with it.
static const char *other_tool(const struct sqlite_in *in) {
    if (sqlite_in_has(in, "StringTable") || sqlite_in_has_column(in, "CUPTI_ACTIVITY_KIND_RUNTIME", "_id_"))
        return "a database of nvprof (NVIDIA Visual Profiler), which TraceSmith does not read; profile the "
               "program again with tracesmith profile or with nsys, or list its contents with: nvprof -i "
               "FILE --print-gpu-trace";
    if (sqlite_in_has(in, "rocpd_api") || sqlite_in_has(in, "rocpd_kernelapi"))
        return "a database of rocmProfileData (.rpd), which TraceSmith does not read; make JSON of it with "
               "its "
               "rpd2tracing.py FILE trace.json, and import that";
    if (sqlite_in_has(in, "CANN_API") || sqlite_in_has(in, "STRING_IDS"))
        return "a database of msprof (Ascend), which TraceSmith does not read; import the trace_view.json or "
               "msprof_*.json that msprof writes next to it";
    return "an SQLite database, but neither an export of nsys nor a trace of rocprofv3 (rocpd): it has none "
           "of their "
           "tables (views are not read)";
}

tsmith_status sqlite_in_source(struct seekable *file, const char *name, tsmith_source **out,
                               tsmith_error *error) {
    struct sqlite_in in;
    tsmith_status status = sqlite_in_open(&in, file, name, error);
    if (status != TSMITH_OK)
        return status;
    bool nsys = nsys_is(&in), rocpd = rocpd_is(&in);
    if (nsys && !rocpd)
        return nsys_open(&in, name, out, error);
    if (rocpd && !nsys)
        return rocpd_open(&in, name, out, error);
    if (nsys)
        status = status_set(
            error, TSMITH_ERROR_FORMAT,
            "%s: has tables of an nsys export and of rocprofv3 (rocpd): it is not read as either", name);
    else
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s: is %s", name, other_tool(&in));
    sqlite_in_close(&in);
    return status;
}
