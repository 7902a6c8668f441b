// SPDX-License-Identifier: Apache-2.0
// Facts of the file about itself, and the ledger of its
// losses.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/nsys/nsys.h"

enum { ABOUT_ROWS_MAX = 1 << 16, PAIRS_PER_CALL = 40 };

// ---- the ledger

void nsys_note_problems(struct nsys *nsys, struct nsys_table *table) {
    static const struct {
        bool lost;
        tsmith_reason reason;
        const char *text;
    } problems[NSYS_PROBLEM_COUNT] = {
#define ROW(NAME, lost, reason, text) [NSYS_PROBLEM_##NAME] = {lost, reason, text},
        NSYS_PROBLEM_TABLE(ROW)
#undef ROW
    };
    for (int i = 0; i < NSYS_PROBLEM_COUNT; i++) {
        uint64_t count = table->problems[i];
        if (count)
            ledger_note(&nsys->ledger, nsys->dictionary, problems[i].reason, problems[i].lost ? count : 0,
                        problems[i].lost && i != NSYS_PROBLEM_NOT_TIMED, "table %s: %llu %s", table->name,
                        (unsigned long long)count, problems[i].text);
    }
}

// ---- tables without times

// One object for the columns of a table: "json_object('a', "a", 'b', (SELECT ..))". A function takes a limited number of
// arguments, so there may be several, which are joined as text. NULL: no memory.
static char *object_of(struct nsys *nsys, const struct nsys_table *table) {
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i].name;
        const char *before = i % PAIRS_PER_CALL ? ", " : "";
        // Within its braces an object ends with a number, null or a quote, so that trimming takes its own braces alone.
        if (i % PAIRS_PER_CALL == 0)
            sqlite3_str_appendf(text, "%s || trim(json_object(", i ? "), '{}') || ','" : "json('{'");
        // What only this table refers to would be lost with StringIds.
        bool id = nsys_has_table(nsys, "StringIds") &&
                  (strcmp(name, "nameId") == 0 || strcmp(name, "contentId") == 0 ||
                   strcmp(name, "filenameId") == 0);
        if (id)
            sqlite3_str_appendf(
                text, "%s%Q, coalesce((SELECT value FROM StringIds s WHERE s.id = t.\"%w\"), \"%w\")", before,
                name, name, name);
        else
            sqlite3_str_appendf(text,
                                "%s%Q, CASE typeof(\"%w\") WHEN 'blob' THEN hex(\"%w\") ELSE \"%w\" END",
                                before, name, name, name, name);
    }
    sqlite3_str_appendall(text, table->column_count ? "), '{}') || '}')" : "json_object()");
    return sqlite3_str_finish(text);
}

static bool has_many(struct nsys *nsys, const char *table) {
    sqlite3_stmt *select =
        nsys_select(nsys, "SELECT count(*) FROM (SELECT 1 FROM \"%w\" LIMIT %d)", table, ABOUT_ROWS_MAX + 1);
    bool many =
        select && sqlite3_step(select) == SQLITE_ROW && sqlite3_column_int(select, 0) > ABOUT_ROWS_MAX;
    sqlite3_finalize(select);
    return many;
}

// The whole table as one attribute: an array of objects.
static void describe_table(struct nsys *nsys, const struct nsys_table *table) {
    char key[128];
    if (has_many(nsys, table->name)) {
        ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_UNTRACED, 0, false,
                    "table %s: not read; its rows have no time of their own and there are more than %d",
                    table->name, ABOUT_ROWS_MAX);
        return;
    }
    char *object = object_of(nsys, table);
    sqlite3_stmt *select =
        object ? nsys_select(nsys, "SELECT json_group_array(%s) FROM \"%w\" t", object, table->name) : NULL;
    if (select && sqlite3_step(select) == SQLITE_ROW && sqlite3_column_bytes(select, 0) > 0) {
        (void)snprintf(key, sizeof key, "trace.%s", table->name);
        tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(nsys->dictionary, key),
                                      tsmith_dictionary_intern(nsys->dictionary,
                                                               (const char *)sqlite3_column_text(select, 0),
                                                               (size_t)sqlite3_column_bytes(select, 0))};
        (void)tsmith_dictionary_add_attribute(nsys->dictionary, &attribute);
    } else {
        ledger_note(&nsys->ledger, nsys->dictionary, TSMITH_REASON_CORRUPT, 0, false,
                    "table %s: cannot be read: %s", table->name, sqlite_in_why(&nsys->in));
    }
    sqlite3_finalize(select);
    sqlite3_free(object);
}

static bool is_needless(const char *name) {
    // Labels are in the events already, strings where they are used, stacks with the samples and calls.
    return strncmp(name, "ENUM_", 5) == 0 || strcmp(name, "StringIds") == 0 ||
           strcmp(name, "SAMPLING_CALLCHAINS") == 0 || strcmp(name, "CUDA_CALLCHAINS") == 0 ||
           strcmp(name, "OSRT_CALLCHAINS") == 0;
}

void nsys_describe(struct nsys *nsys) {
    tsmith_dictionary_set_attribute(nsys->dictionary, "import.format", "nsys-sqlite");
    sqlite3_stmt *select = nsys_select(
        nsys,
        "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION' AND typeof(value) = 'text'");
    if (select && sqlite3_step(select) == SQLITE_ROW)
        tsmith_dictionary_set_attribute(nsys->dictionary, "import.schema_version",
                                        (const char *)sqlite3_column_text(select, 0));
    sqlite3_finalize(select);
    for (size_t i = 0; i < nsys->table_count; i++)
        if (!nsys->tables[i].has_time && !is_needless(nsys->tables[i].name))
            describe_table(nsys, &nsys->tables[i]);
}
