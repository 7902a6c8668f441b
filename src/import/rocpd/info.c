// SPDX-License-Identifier: Apache-2.0
// What the rows of a rocpd database refer to.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "import/rocpd/rocpd.h"

enum { ABOUT_ROWS_MAX = 1 << 16, PAIRS_PER_CALL = 40, INFOS_MAX = 1 << 24 };

uint32_t rocpd_text(struct rocpd *rocpd, sqlite3_stmt *select, int column) {
    const void *bytes = sqlite3_column_blob(select, column);
    int length = sqlite3_column_bytes(select, column);
    return bytes && length > 0 ? tsmith_dictionary_intern(rocpd->dictionary, bytes, (size_t)length) : 0;
}

// ---- lists by the number of the row

static int compare_infos(const void *left, const void *right) {
    int64_t a = ((const struct rocpd_info *)left)->id, b = ((const struct rocpd_info *)right)->id;
    return (a > b) - (a < b);
}

struct rocpd_info *rocpd_find(const struct rocpd_infos *infos, int64_t id) {
    // Rows are numbered from 1 without gaps, nearly always.
    if (id > 0 && (uint64_t)id <= infos->count && infos->items[id - 1].id == id)
        return &infos->items[id - 1];
    struct rocpd_info key = {.id = id};
    return infos->count ? bsearch(&key, infos->items, infos->count, sizeof key, compare_infos) : NULL;
}

static void add_info(struct rocpd *rocpd, struct rocpd_infos *infos, struct rocpd_info info) {
    if (infos->count == INFOS_MAX)
        return; // what refers to it is counted
    if (!ARRAY_RESERVE(infos->items, infos->capacity, infos->count + 1)) {
        rocpd->failed = true;
        return;
    }
    infos->items[infos->count++] = info;
}

// Of each row: its number, a name, two numbers.
static void read_list(struct rocpd *rocpd, struct rocpd_infos *infos, const char *columns,
                      const char *table) {
    sqlite3_stmt *select =
        rocpd_select(rocpd, "SELECT %s FROM \"%w%w\"", columns, table, rocpd_part(rocpd)->suffix);
    int result = SQLITE_DONE;
    bool sorted = true;
    while (select && !rocpd->failed && (result = sqlite3_step(select)) == SQLITE_ROW) {
        struct rocpd_info info = {.id = sqlite3_column_int64(select, 0),
                                  .name = rocpd_text(rocpd, select, 1),
                                  .a = sqlite3_column_int64(select, 2),
                                  .b = sqlite3_column_int64(select, 3)};
        sorted &= infos->count == 0 || infos->items[infos->count - 1].id < info.id;
        add_info(rocpd, infos, info);
    }
    if (!select || result != SQLITE_DONE)
        ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_CORRUPT, 0, false,
                    "table %s%s: cannot be read: %s", table, rocpd_part(rocpd)->suffix,
                    sqlite_in_why(&rocpd->in));
    sqlite3_finalize(select);
    if (!sorted)
        qsort(infos->items, infos->count, sizeof *infos->items, compare_infos);
}

static void add_processes(struct rocpd *rocpd, struct rocpd_part *part) {
    read_list(rocpd, &part->nodes, "id, hostname, 0, 0", "rocpd_info_node");
    read_list(rocpd, &part->processes, "id, command, pid, nid", "rocpd_info_process");
    for (size_t i = 0; i < part->processes.count; i++) {
        struct rocpd_info *info = &part->processes.items[i];
        const struct rocpd_info *node = rocpd_find(&part->nodes, info->b);
        tsmith_process process = {
            .pid = (uint64_t)info->a, .name = info->name, .host = node ? node->name : 0};
        info->entry = tsmith_dictionary_add_process(rocpd->dictionary, &process);
    }
}

static void add_agents(struct rocpd *rocpd, struct rocpd_part *part) {
    sqlite3_stmt *select = rocpd_select(
        rocpd,
        "SELECT id, coalesce(nullif(product_name, ''), nullif(model_name, ''), name), vendor_name, type, "
        "absolute_index FROM \"rocpd_info_agent%w\" ORDER BY id",
        part->suffix);
    int result = SQLITE_DONE;
    while (select && !rocpd->failed && (result = sqlite3_step(select)) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(select, 3);
        struct rocpd_info info = {.id = sqlite3_column_int64(select, 0),
                                  .name = rocpd_text(rocpd, select, 1),
                                  .a = sqlite3_column_int64(select, 4),
                                  .gpu = type && strcmp(type, "GPU") == 0};
        if (info.gpu) {
            tsmith_device device = {.name = info.name,
                                    .vendor = rocpd_text(rocpd, select, 2),
                                    .api = tsmith_dictionary_intern_cstr(rocpd->dictionary, "hip"),
                                    .type = tsmith_dictionary_intern_cstr(rocpd->dictionary, "gpu")};
            info.entry = tsmith_dictionary_add_device(rocpd->dictionary, &device);
        }
        add_info(rocpd, &part->agents, info);
    }
    if (!select || result != SQLITE_DONE)
        ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_CORRUPT, 0, false,
                    "table rocpd_info_agent%s: cannot be read: %s", part->suffix, sqlite_in_why(&rocpd->in));
    sqlite3_finalize(select);
}

// ---- arguments and counter values

static int compare_attributes(const void *left, const void *right) {
    int64_t a = ((const struct rocpd_attribute *)left)->event,
            b = ((const struct rocpd_attribute *)right)->event;
    return (a > b) - (a < b);
}

struct rocpd_attribute *rocpd_attributes_of(const struct rocpd_part *part, int64_t event) {
    const size_t at = SORTED_FIND(i, 0, part->attribute_count, part->attributes[i].event < event);
    return at < part->attribute_count && part->attributes[at].event == event ? &part->attributes[at] : NULL;
}

static void add_attribute(struct rocpd *rocpd, struct rocpd_part *part, struct rocpd_attribute attribute) {
    if (part->attribute_count == ROCPD_ATTRIBUTES_MAX) {
        rocpd->problems[ROCPD_PROBLEM_ATTRIBUTES]++;
        return;
    }
    if (!ARRAY_RESERVE(part->attributes, part->attribute_capacity, part->attribute_count + 1)) {
        rocpd->failed = true;
        return;
    }
    part->attributes[part->attribute_count++] = attribute;
}

static void read_arguments(struct rocpd *rocpd, struct rocpd_part *part) {
    sqlite3_stmt *select =
        rocpd_select(rocpd, "SELECT event_id, name, value, type FROM \"rocpd_arg%w\"", part->suffix);
    while (select && !rocpd->failed && sqlite3_step(select) == SQLITE_ROW)
        add_attribute(rocpd, part,
                      (struct rocpd_attribute){.event = sqlite3_column_int64(select, 0),
                                               .name = rocpd_text(rocpd, select, 1),
                                               .value = rocpd_text(rocpd, select, 2),
                                               .type = rocpd_text(rocpd, select, 3)});
    sqlite3_finalize(select);
}

static void read_values(struct rocpd *rocpd, struct rocpd_part *part) {
    sqlite3_stmt *select =
        rocpd_select(rocpd, "SELECT event_id, pmc_id, value FROM \"rocpd_pmc_event%w\"", part->suffix);
    while (select && !rocpd->failed && sqlite3_step(select) == SQLITE_ROW) {
        const struct rocpd_info *counter = rocpd_find(&part->counters, sqlite3_column_int64(select, 1));
        rocpd->problems[ROCPD_PROBLEM_DANGLING] += !counter;
        char name[40];
        (void)snprintf(name, sizeof name, "counter %lld", (long long)sqlite3_column_int64(select, 1));
        add_attribute(
            rocpd, part,
            (struct rocpd_attribute){.event = sqlite3_column_int64(select, 0),
                                     .name = counter ? counter->name
                                                     : tsmith_dictionary_intern_cstr(rocpd->dictionary, name),
                                     .counter = 1,
                                     .number = sqlite3_column_double(select, 2)});
    }
    sqlite3_finalize(select);
}

void rocpd_read_infos(struct rocpd *rocpd) {
    struct rocpd_part *part = rocpd_part(rocpd);
    bool sorted = true;
    read_list(rocpd, &part->strings, "id, string, 0, 0", "rocpd_string");
    add_processes(rocpd, part);
    read_list(rocpd, &part->threads, "id, name, tid, pid", "rocpd_info_thread");
    add_agents(rocpd, part);
    read_list(rocpd, &part->queues, "id, name, 0, 0", "rocpd_info_queue");
    read_list(rocpd, &part->streams, "id, name, 0, 0", "rocpd_info_stream");
    read_list(rocpd, &part->kernels, "id, coalesce(nullif(display_name, ''), kernel_name), 0, 0",
              "rocpd_info_kernel_symbol");
    read_list(rocpd, &part->counters, "id, coalesce(nullif(symbol, ''), name), 0, 0", "rocpd_info_pmc");
    char *tracks = sqlite3_mprintf(
        "id, (SELECT string FROM \"rocpd_string%w\" s WHERE s.id = name_id), pid, tid", part->suffix);
    rocpd->failed |= !tracks;
    if (tracks)
        read_list(rocpd, &part->tracks, tracks, "rocpd_track");
    sqlite3_free(tracks);
    read_arguments(rocpd, part);
    read_values(rocpd, part);
    for (size_t i = 1; i < part->attribute_count && sorted; i++)
        sorted = part->attributes[i - 1].event <= part->attributes[i].event;
    if (!sorted)
        qsort(part->attributes, part->attribute_count, sizeof *part->attributes, compare_attributes);
}

void rocpd_finish_infos(struct rocpd_part *part) {
    struct rocpd_infos *all[] = {&part->processes, &part->threads, &part->agents,   &part->queues,
                                 &part->streams,   &part->kernels, &part->counters, &part->tracks,
                                 &part->nodes,     &part->strings};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->items);
        *all[i] = (struct rocpd_infos){.count = 0};
    }
    free(part->attributes);
    part->attributes = NULL;
    part->attribute_count = part->attribute_capacity = 0;
}

// ---- tables that describe

bool rocpd_is_read(const char *table) {
    static const char *const names[] = {
        "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_memory_allocate", "rocpd_region", "rocpd_sample",
        "rocpd_event",           "rocpd_arg",         "rocpd_pmc_event",       "rocpd_string"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        // A suffix begins with what is no letter: rocpd_event is not rocpd_event_operation.
        if (strncmp(table, names[i], length) == 0 && strncmp(table + length, "_operation", 10) != 0)
            return true;
    }
    return false;
}

static void describe_table(struct rocpd *rocpd, const char *table) {
    sqlite3_stmt *select = rocpd_select(rocpd, "SELECT * FROM \"%w\"", table);
    sqlite3_str *sql = sqlite3_str_new(NULL);
    int count = select ? sqlite3_column_count(select) : 0;
    sqlite3_str_appendall(sql, "SELECT json_group_array(json_object(");
    for (int i = 0; i < count && i < PAIRS_PER_CALL; i++) {
        const char *name = sqlite3_column_name(select, i);
        sqlite3_str_appendf(sql, "%s%Q, CASE typeof(\"%w\") WHEN 'blob' THEN hex(\"%w\") ELSE \"%w\" END",
                            i ? ", " : "", name, name, name, name);
    }
    sqlite3_str_appendf(sql, ")), count(*) FROM (SELECT * FROM \"%w\" LIMIT %d)", table, ABOUT_ROWS_MAX);
    char *text = sqlite3_str_finish(sql), key[160];
    sqlite3_finalize(select);
    select = text ? rocpd_select(rocpd, "%s", text) : NULL;
    if (select && sqlite3_step(select) == SQLITE_ROW) {
        (void)snprintf(key, sizeof key, "trace.%s", table);
        tsmith_attribute attribute = {tsmith_dictionary_intern_cstr(rocpd->dictionary, key),
                                      rocpd_text(rocpd, select, 0)};
        (void)tsmith_dictionary_add_attribute(rocpd->dictionary, &attribute);
        if (sqlite3_column_int(select, 1) == ABOUT_ROWS_MAX || count > PAIRS_PER_CALL)
            ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_TABLE_FULL, 0, false,
                        "table %s: only its first %d rows and %d columns are described", table,
                        ABOUT_ROWS_MAX, PAIRS_PER_CALL);
    } else {
        ledger_note(&rocpd->ledger, rocpd->dictionary, TSMITH_REASON_CORRUPT, 0, false,
                    "table %s: cannot be read: %s", table, sqlite_in_why(&rocpd->in));
    }
    sqlite3_finalize(select);
    sqlite3_free(text);
}

void rocpd_describe(struct rocpd *rocpd) {
    for (size_t i = 0; i < rocpd->in.table_count && !rocpd->failed; i++)
        if (!rocpd_is_read(rocpd->in.tables[i]))
            describe_table(rocpd, rocpd->in.tables[i]);
}
