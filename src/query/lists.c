// SPDX-License-Identifier: Apache-2.0
// SQL tables of what is in memory: tracks, strings, processes, devices, stacks and totals. query.c registers them.
#include "query/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static tsmith_string string_of(const tsmith_query *query, uint32_t id) {
    return tsmith_dictionary_string(query->backend.dictionary, id);
}

// ---- tracks

#define SAY_NAME(NAME, number, name, ...) " " name

#define TRACK_COLUMNS(X)                                                                                     \
    X(id, "INTEGER", "", "id; events.track refers to it", list_give_id(context, id))                         \
    X(name, "TEXT", "", "name", list_give_track_name(context, query->backend.dictionary, id))                \
    X(kind, "TEXT", "", "one of" TSMITH_TRACK_KIND_TABLE(SAY_NAME),                                          \
      sqlite3_result_text(context, tsmith_track_kind_name((tsmith_track_kind)track->kind), -1,               \
                          SQLITE_STATIC))                                                                    \
    X(process, "INTEGER", "", "its process: processes.id", list_give_id(context, track->process))            \
    X(device, "INTEGER", "", "queue: its device, devices.id", list_give_id(context, track->device))          \
    X(parent, "INTEGER", "", "the track it is shown under: tracks.id", list_give_id(context, track->parent)) \
    X(tid, "INTEGER", "", "host thread: the system's thread id",                                             \
      list_give_id(context, is_thread ? track->tid : 0))                                                     \
    X(context, "INTEGER", "", "queue: the API's context",                                                    \
      list_give_id(context, is_queue ? track->context : 0))                                                  \
    X(queue, "INTEGER", "", "queue: the API's number, if the source has one",                                \
      if (is_queue && !(track->flags & TSMITH_TRACK_UNNUMBERED))                                             \
          sqlite3_result_int64(context, (int64_t)track->queue))                                              \
    X(out_of_order, "INTEGER", "", "1: commands of this queue may run concurrently and in any order",        \
      sqlite3_result_int(context, (track->flags & TSMITH_TRACK_OUT_OF_ORDER) != 0))                          \
    X(program_profiled, "INTEGER", "", "1: the program itself enabled profiling of this queue",              \
      sqlite3_result_int(context, (track->flags & TSMITH_TRACK_PROGRAM_PROFILED) != 0))                      \
    X(simulated, "INTEGER", "", "1: its events come from a mock library",                                    \
      sqlite3_result_int(context, (track->flags & TSMITH_TRACK_SIMULATED) != 0))                             \
    X(label, "TEXT", "", "name, with device, pid or tid where names are equal",                              \
      give_label(context, query, id))

static void give_label(sqlite3_context *context, const tsmith_query *query, uint32_t id) {
    char room[TSMITH_LABEL_SIZE], distinction[TSMITH_LABEL_SIZE];
    const tsmith_string name = tsmith_track_name(query->backend.dictionary, id, room);
    (void)tsmith_track_distinction(query->backend.dictionary, id, 0, distinction);
    char *label = sqlite3_mprintf("%.*s%s", (int)name.length, name.bytes, distinction);
    if (label)
        sqlite3_result_text(context, label, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(context);
}

static void track_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_track *track = tsmith_dictionary_track(query->backend.dictionary, id);
    bool is_thread = track->kind == TSMITH_TRACK_THREAD, is_queue = track->kind == TSMITH_TRACK_QUEUE;
    int at = 0;
    TRACK_COLUMNS(LIST_CELL)
}

// ---- strings

#define STRING_COLUMNS(X)                                                                                    \
    X(id, "INTEGER", "", "id; name_id, category_id and text_id of events refer to it",                       \
      sqlite3_result_int64(context, (int64_t)row))                                                           \
    X(value, "TEXT", "", "the text",                                                                         \
      sqlite3_result_text64(context, text.bytes, text.length, SQLITE_STATIC, SQLITE_UTF8))

static void string_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    tsmith_string text = string_of(query, (uint32_t)row);
    int at = 0;
    STRING_COLUMNS(LIST_CELL)
}

// ---- processes

// An importer writes the attribute for a pid that is not a number of the system: a text, a fraction, none at all.
static void give_pid(sqlite3_context *context, const tsmith_query *query, uint32_t id,
                     const tsmith_process *process) {
    char key[48];
    (void)snprintf(key, sizeof key, "import.process.%u.pid", id);
    if (process->pid || !tsmith_dictionary_find_attribute(query->backend.dictionary, key).bytes)
        sqlite3_result_int64(context, (int64_t)process->pid);
}

#define PROCESS_COLUMNS(X)                                                                                   \
    X(id, "INTEGER", "", "id; tracks.process refers to it", list_give_id(context, id))                       \
    X(pid, "INTEGER", "", "the system's process id", give_pid(context, query, id, process))                  \
    X(parent_pid, "INTEGER", "", "pid of the parent process", list_give_id(context, process->parent_pid))    \
    X(name, "TEXT", "", "executable", list_give_text(context, string_of(query, process->name)))              \
    X(command_line, "TEXT", "", "command line",                                                              \
      list_give_text(context, string_of(query, process->command_line)))                                      \
    X(host, "TEXT", "", "name of the machine", list_give_text(context, string_of(query, process->host)))     \
    X(start, "INTEGER", "ns", "when it was first seen", list_give_id(context, (uint64_t)process->start))     \
    X(rank, "INTEGER", "", "its rank, by the launcher of the run", give_less_one(context, rank->rank))       \
    X(world_size, "INTEGER", "", "number of ranks of the run", list_give_id(context, rank->world))           \
    X(local_rank, "INTEGER", "", "its rank among those of its host",                                         \
      give_less_one(context, rank->local_rank))                                                              \
    X(node, "INTEGER", "", "number of its host", give_less_one(context, rank->node))                         \
    X(launcher, "TEXT", "", "torchrun, openmpi, slurm...",                                                   \
      list_give_text(context, string_of(query, rank->launcher)))                                             \
    X(job, "TEXT", "", "the launcher's name of the run",                                                     \
      list_give_text(context, string_of(query, rank->job)))                                                  \
    X(part, "INTEGER", "", "merged trace: the trace it is of, parts.id", give_part(context, query, id))

static void give_part(sqlite3_context *context, const tsmith_query *query, uint32_t process) {
    for (uint32_t id = 1; id < tsmith_dictionary_part_count(query->backend.dictionary); id++) {
        const tsmith_part *part = tsmith_dictionary_part(query->backend.dictionary, id);
        if (process >= part->first_process && process - part->first_process < part->process_count)
            sqlite3_result_int64(context, id);
    }
}

static void give_less_one(sqlite3_context *context, uint32_t number) {
    if (number)
        sqlite3_result_int64(context, (int64_t)number - 1);
}

static void process_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_process *process = tsmith_dictionary_process(query->backend.dictionary, id);
    const tsmith_rank stated = tsmith_dictionary_find_rank(query->backend.dictionary, id), *rank = &stated;
    int at = 0;
    PROCESS_COLUMNS(LIST_CELL)
}

// ---- parts

static const char *relation_name(uint32_t relation) {
    return relation == TSMITH_RELATION_SAME_CLOCK   ? "same clock"
           : relation == TSMITH_RELATION_WALL_CLOCK ? "wall clock"
           : relation == TSMITH_RELATION_COMPARED   ? "compared"
                                                    : NULL;
}

#define PART_COLUMNS(X)                                                                                      \
    X(id, "INTEGER", "", "id; processes.part refers to it", list_give_id(context, id))                       \
    X(name, "TEXT", "", "the file", list_give_text(context, string_of(query, part->name)))                   \
    X(host, "TEXT", "", "name of its machine", list_give_text(context, string_of(query, part->host)))        \
    X(relation, "TEXT", "", "of its clock and that of part 1: same clock, compared, wall clock",             \
      sqlite3_result_text(context, relation_name(part->relation), -1, SQLITE_STATIC))                        \
    X(clock_offset, "INTEGER", "ns", "its times + clock_offset are times of part 1",                         \
      if (relation_name(part->relation)) sqlite3_result_int64(context, part->offset))                        \
    X(clock_error, "INTEGER", "ns", "the bound of that, if one is known",                                    \
      if (part->error >= 0) sqlite3_result_int64(context, part->error))

static void part_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_part *part = tsmith_dictionary_part(query->backend.dictionary, id);
    int at = 0;
    PART_COLUMNS(LIST_CELL)
}

// ---- devices

#define DEVICE_COLUMNS(X)                                                                                    \
    X(id, "INTEGER", "", "id; tracks.device refers to it", list_give_id(context, id))                        \
    X(name, "TEXT", "", "name", list_give_text(context, string_of(query, device->name)))                     \
    X(vendor, "TEXT", "", "vendor", list_give_text(context, string_of(query, device->vendor)))               \
    X(driver, "TEXT", "", "driver or platform and its version",                                              \
      list_give_text(context, string_of(query, device->driver)))                                             \
    X(api, "TEXT", "", "opencl, cuda...", list_give_text(context, string_of(query, device->api)))            \
    X(type, "TEXT", "", "cpu, gpu, accelerator", list_give_text(context, string_of(query, device->type)))    \
    X(process, "INTEGER", "", "device without identity: the process that reported it, processes.id",         \
      list_give_id(context, device->process))                                                                \
    X(memory_bytes, "INTEGER", "bytes", "its memory", list_give_id(context, device->memory_bytes))           \
    X(compute_units, "INTEGER", "", "its compute units", list_give_id(context, device->compute_units))       \
    X(clock_mhz, "INTEGER", "MHz", "maximum clock frequency", list_give_id(context, device->clock_mhz))      \
    X(number, "INTEGER", "", "the API's device number",                                                      \
      if (device->number) sqlite3_result_int64(context, (int64_t)device->number - 1))                        \
    X(identity, "TEXT", "", "device identity: UUID, PCI address, or platform/name/number",                   \
      list_give_text(context, string_of(query, device->identity)))

static void device_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_device *device = tsmith_dictionary_device(query->backend.dictionary, id);
    int at = 0;
    DEVICE_COLUMNS(LIST_CELL)
}

// ---- attributes

#define ATTRIBUTE_COLUMNS(X)                                                                                 \
    X(key, "TEXT", "", "name of the fact", list_give_text(context, string_of(query, attribute->key)))        \
    X(value, "TEXT", "", "the text", list_give_text(context, string_of(query, attribute->value)))

static void attribute_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    const tsmith_attribute *attribute =
        tsmith_dictionary_attribute(query->backend.dictionary, (uint32_t)row + 1);
    int at = 0;
    ATTRIBUTE_COLUMNS(LIST_CELL)
}

// ---- call stacks

#define MODULE_COLUMNS(X)                                                                                    \
    X(id, "INTEGER", "", "id; frames.module refers to it", list_give_id(context, id))                        \
    X(path, "TEXT", "", "file it was loaded from", list_give_text(context, string_of(query, module->path)))  \
    X(build_id, "TEXT", "", "build id of the file, lower-case hexadecimal",                                  \
      list_give_text(context, string_of(query, module->build_id)))                                           \
    X(process, "INTEGER", "", "its process: processes.id", list_give_id(context, module->process))           \
    X(generated, "INTEGER", "", "1: code generated while the program ran",                                   \
      sqlite3_result_int(context, (module->flags & TSMITH_MODULE_GENERATED) != 0))                           \
    X(kernel, "INTEGER", "", "1: code of the operating system's kernel",                                     \
      sqlite3_result_int(context, (module->flags & TSMITH_MODULE_KERNEL) != 0))

static void module_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_module *module = tsmith_dictionary_module(query->backend.dictionary, id);
    int at = 0;
    MODULE_COLUMNS(LIST_CELL)
}

static void give_line_text(sqlite3_context *context, const tsmith_query *query,
                           const tsmith_stack_line *line) {
    char text[4096];
    size_t length = tsmith_stack_line_text(query->backend.dictionary, line, text, sizeof text);
    sqlite3_result_text64(context, text, length < sizeof text ? length : sizeof text - 1, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
}

#define FRAME_COLUMNS(X)                                                                                     \
    X(id, "INTEGER", "", "id; stacks.frame refers to it", list_give_id(context, id))                         \
    X(module, "INTEGER", "", "the module it is in: modules.id", list_give_id(context, frame->module))        \
    X(address, "INTEGER", "", "address in the module; of a caller, an address inside the call instruction",  \
      if (!python) sqlite3_result_int64(context, (int64_t)frame->address))                                   \
    X(function, "TEXT", "", "name of the innermost function there, or module[+offset]",                      \
      give_line_text(context, query, &lines[0]))                                                             \
    X(file, "TEXT", "", "source file", list_give_text(context, string_of(query, lines[0].file)))             \
    X(line, "INTEGER", "", "line of the source file", list_give_id(context, lines[0].line))                  \
    X(inlined, "INTEGER", "", "number of functions inlined there", sqlite3_result_int64(context, count))     \
    X(outermost, "TEXT", "", "the function that contains the inlined ones, or the same",                     \
      give_line_text(context, query, &lines[count]))                                                         \
    X(python, "INTEGER", "", "1: of a Python function", sqlite3_result_int(context, python))                 \
    X(guessed, "INTEGER", "", "1: found by a frame pointer; callers inside it may be missing",               \
      sqlite3_result_int(context, (frame->flags & TSMITH_FRAME_GUESSED) != 0))                               \
    X(truncated, "INTEGER", "", "1: its callers are unknown",                                                \
      sqlite3_result_int(context, (frame->flags & TSMITH_FRAME_TRUNCATED) != 0))

enum { INLINED_MAX = 64 };

static void frame_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    tsmith_stack_line lines[INLINED_MAX];
    uint32_t id = (uint32_t)row + 1;
    const tsmith_frame *frame = tsmith_dictionary_frame(query->backend.dictionary, id);
    size_t functions = tsmith_frame_lines(query->stack_names, id, lines, INLINED_MAX);
    int64_t count = (int64_t)(functions < INLINED_MAX ? functions : INLINED_MAX) - 1;
    int python = (frame->flags & TSMITH_FRAME_PYTHON) != 0;
    int at = 0;
    FRAME_COLUMNS(LIST_CELL)
}

static void give_path(sqlite3_context *context, const tsmith_query *query, uint32_t id) {
    size_t length = tsmith_stack_path(query->stack_names, id, NULL, 0);
    char *path = sqlite3_malloc64(length + 1);
    if (!path) {
        sqlite3_result_error_nomem(context);
        return;
    }
    (void)tsmith_stack_path(query->stack_names, id, path, length + 1);
    sqlite3_result_text64(context, path, length, sqlite3_free, SQLITE_UTF8);
}

static int64_t depth_of(const tsmith_query *query, uint32_t id) {
    int64_t depth = 0;
    const tsmith_stack *stack;
    for (; (stack = tsmith_dictionary_stack(query->backend.dictionary, id)); id = stack->parent)
        depth++;
    return depth;
}

#define STACK_COLUMNS(X)                                                                                     \
    X(id, "INTEGER", "", "id; the stack of an event refers to it", list_give_id(context, id))                \
    X(parent, "INTEGER", "", "the call path of its caller: stacks.id; none for the outermost",               \
      list_give_id(context, stack->parent))                                                                  \
    X(frame, "INTEGER", "", "its innermost frame: frames.id", list_give_id(context, stack->frame))           \
    X(depth, "INTEGER", "frames", "number of frames", sqlite3_result_int64(context, depth_of(query, id)))    \
    X(path, "TEXT", "", "names of its functions, outermost first, separated by semicolons",                  \
      give_path(context, query, id))

static void stack_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    uint32_t id = (uint32_t)row + 1;
    const tsmith_stack *stack = tsmith_dictionary_stack(query->backend.dictionary, id);
    int at = 0;
    STACK_COLUMNS(LIST_CELL)
}

static tsmith_status load_names(tsmith_query *query, tsmith_error *error) {
    if (query->stack_names)
        return TSMITH_OK;
    tsmith_status status = tsmith_stack_names_create(query->backend.dictionary, &query->stack_names);
    return status == TSMITH_OK
               ? status
               : status_set(error, status, "out of memory while reading the names of call stacks");
}

// ---- aggregates

#define AGGREGATE_COLUMNS(X)                                                                                 \
    X(kind, "TEXT", "", "kind of event",                                                                     \
      sqlite3_result_text(context, tsmith_kind_name((tsmith_kind)total->kind), -1, SQLITE_STATIC))           \
    X(name, "TEXT", "", "their name", list_give_text(context, string_of(query, total->name)))                \
    X(name_id, "INTEGER", "", "the same as a number: strings.id", list_give_id(context, total->name))        \
    X(count, "INTEGER", "", "number of events", sqlite3_result_int64(context, (int64_t)total->count))        \
    X(total, "INTEGER", "ns", "sum of their durations; none if no event has one, or all are 0",              \
      give_time(context, total, total->total))                                                               \
    X(min, "INTEGER", "ns", "shortest duration", give_time(context, total, total->min))                      \
    X(max, "INTEGER", "ns", "longest duration", give_time(context, total, total->max))

// The file does not distinguish events of duration 0 from events without a duration.
static void give_time(sqlite3_context *context, const tsmith_aggregate *total, uint64_t time) {
    if (total->max)
        sqlite3_result_int64(context, (int64_t)time);
}

static void aggregate_cell(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context) {
    const tsmith_aggregate *total = &query->aggregates[row];
    int at = 0;
    AGGREGATE_COLUMNS(LIST_CELL)
}

static tsmith_status load_aggregates(tsmith_query *query, tsmith_error *error) {
    if (query->aggregates)
        return TSMITH_OK;
    return query->backend.aggregates(query->backend.context, &query->aggregates, &query->aggregate_count,
                                     error);
}

static uint64_t count_aggregates(const tsmith_query *query) {
    return query->aggregate_count;
}

// ---- all of them

#define COUNT(name, least)                                                                                   \
    static uint64_t count_##name##s(const tsmith_query *query) {                                             \
        return tsmith_dictionary_##name##_count(query->backend.dictionary) - (least);                        \
    }
COUNT(track, 1)
COUNT(string, 0)
COUNT(process, 1)
COUNT(part, 1)
COUNT(device, 1)
COUNT(attribute, 1)
COUNT(module, 1)
COUNT(frame, 1)
COUNT(stack, 1)
#undef COUNT

#define SHOWN(NAME, COLUMNS) static const tsmith_query_column NAME##_shown[] = {COLUMNS(LIST_SHOWN)};
SHOWN(track, TRACK_COLUMNS)
SHOWN(string, STRING_COLUMNS)
SHOWN(process, PROCESS_COLUMNS)
SHOWN(part, PART_COLUMNS)
SHOWN(device, DEVICE_COLUMNS)
SHOWN(attribute, ATTRIBUTE_COLUMNS)
SHOWN(aggregate, AGGREGATE_COLUMNS)
SHOWN(module, MODULE_COLUMNS)
SHOWN(frame, FRAME_COLUMNS)
SHOWN(stack, STACK_COLUMNS)
#undef SHOWN

#define TABLE(NAME, name, doc, load, count, first_id)                                                        \
    {                                                                                                        \
        {NULL, {name, doc, NAME##_shown, sizeof NAME##_shown / sizeof NAME##_shown[0]}}, load, count,        \
            NAME##_cell, first_id                                                                            \
    }
static const struct list_table lists[] = {
    TABLE(track, "tracks", "the rows of the timeline: threads, queues, counters", NULL, count_tracks, 1),
    TABLE(process, "processes", "the processes that were recorded", NULL, count_processs, 1),
    TABLE(part, "parts", "the traces of which a merged trace was made", NULL, count_parts, 1),
    TABLE(device, "devices", "the devices of the trace", NULL, count_devices, 1),
    TABLE(string, "strings", "every text that events refer to", NULL, count_strings, 0),
    TABLE(attribute, "attributes", "facts about the whole trace", NULL, count_attributes, -1),
    TABLE(stack, "stacks", "the call paths that events have", load_names, count_stacks, 1),
    TABLE(frame, "frames", "the code locations that call paths consist of", load_names, count_frames, 1),
    TABLE(module, "modules", "the files this code was loaded from", NULL, count_modules, 1),
    TABLE(aggregate, "aggregates", "totals by kind and name, stored in the file", load_aggregates,
          count_aggregates, -1),
};
#undef TABLE

bool lists_make(tsmith_query *query) {
    size_t count = sizeof lists / sizeof lists[0];
    query->lists = arena_take(&query->arena, (count + 2) * sizeof *query->lists, _Alignof(struct list_table));
    if (!query->lists)
        return false;
    memcpy(query->lists, lists, sizeof lists);
    query->lists[count++] = states_table;
    query->lists[count++] = lives_table;
    query->list_count = count;
    for (size_t i = 0; i < count; i++)
        query->lists[i].base.query = query;
    return true;
}

// ---- the virtual table

struct list_cursor {
    sqlite3_vtab_cursor base;
    uint64_t row, end;
};

// Rows are found by their id, and else gone through.
static int list_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const struct list_table *table = (struct list_table *)query_table_of(vtab);
    info->idxNum = 0;
    info->estimatedRows = 10000;
    info->estimatedCost = 10000;
    for (int i = 0; i < info->nConstraint && !info->idxNum; i++) {
        if (!info->aConstraint[i].usable || info->aConstraint[i].iColumn != 0 ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ || table->first_id < 0)
            continue;
        info->idxNum = 1;
        info->aConstraintUsage[i].argvIndex = 1;
        info->estimatedRows = 1;
        info->estimatedCost = 2;
    }
    return SQLITE_OK;
}

static int list_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out) {
    (void)vtab;
    struct list_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return SQLITE_NOMEM;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int list_close(sqlite3_vtab_cursor *base) {
    free(base);
    return SQLITE_OK;
}

static int list_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                       sqlite3_value **values) {
    struct list_cursor *cursor = (struct list_cursor *)base;
    const struct list_table *table = (struct list_table *)query_table_of(base->pVtab);
    tsmith_error error = {.message = ""};
    (void)text, (void)argc;
    tsmith_status status = table->load ? table->load(table->base.query, &error) : TSMITH_OK;
    if (status != TSMITH_OK)
        return query_fail(table->base.query, status, &error);
    cursor->row = 0;
    cursor->end = table->count(table->base.query);
    if (number != 1 || sqlite3_value_type(values[0]) != SQLITE_INTEGER)
        return SQLITE_OK; // all; SQLite compares
    int64_t id = sqlite3_value_int64(values[0]);
    bool is_there = id >= table->first_id && (uint64_t)(id - table->first_id) < cursor->end;
    cursor->row = is_there ? (uint64_t)(id - table->first_id) : cursor->end;
    cursor->end = is_there ? cursor->row + 1 : cursor->end;
    return SQLITE_OK;
}

static int list_next(sqlite3_vtab_cursor *base) {
    ((struct list_cursor *)base)->row++;
    return SQLITE_OK;
}

static int list_eof(sqlite3_vtab_cursor *base) {
    const struct list_cursor *cursor = (const struct list_cursor *)base;
    return cursor->row >= cursor->end;
}

static int list_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    const struct list_table *table = (struct list_table *)query_table_of(base->pVtab);
    table->cell(table->base.query, ((struct list_cursor *)base)->row, column, context);
    return SQLITE_OK;
}

static int list_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = (sqlite3_int64)((struct list_cursor *)base)->row;
    return SQLITE_OK;
}

const sqlite3_module lists_module = {
    .iVersion = 1,
    .xConnect = query_connect,
    .xBestIndex = list_best_index,
    .xDisconnect = query_disconnect,
    .xOpen = list_open,
    .xClose = list_close,
    .xFilter = list_filter,
    .xNext = list_next,
    .xEof = list_eof,
    .xColumn = list_column,
    .xRowid = list_rowid,
};
