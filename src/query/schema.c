// SPDX-License-Identifier: Apache-2.0
// Tables and columns of events, made from the tables of tracesmith/schema.h and the fields a trace brings with it.
//
// Every event table has every field, so that no event has a value that cannot be asked for; those that events of a
// kind do not have by their nature are hidden: SELECT * leaves them out.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "query/events.h"

// ---- which fields a kind has

#define F(NAME) (UINT64_C(1) << TSMITH_FIELD_##NAME)
#define ALWAYS (F(START) | F(NAME))
#define CALLED (F(CORRELATION) | F(HOST_TRACK))
#define COMMAND                                                                                              \
    (F(DURATION) | CALLED | F(QUEUED) | F(SUBMITTED) | F(COMPLETED) | F(OPERATION) | F(WAITS) |              \
     F(CERTAINTY) | F(STACK))
#define SIZES                                                                                                \
    (F(GLOBAL_X) | F(GLOBAL_Y) | F(GLOBAL_Z) | F(LOCAL_X) | F(LOCAL_Y) | F(LOCAL_Z) | F(OFFSET_X) |          \
     F(OFFSET_Y) | F(OFFSET_Z))
#define NAMED (F(DURATION) | F(CATEGORY) | F(TEXT) | F(CORRELATION) | F(STACK))

static uint64_t fields_of_kind(tsmith_kind kind) {
    static const uint64_t fields[TSMITH_KIND_LIMIT] = {
        [TSMITH_KIND_KERNEL] = COMMAND | SIZES | F(CATEGORY) | F(PRIORITY),
        [TSMITH_KIND_MEMCPY] =
            COMMAND | F(DIRECTION) | F(BYTES) | F(SOURCE) | F(DESTINATION) | F(OBJECT) | F(BLOCKING),
        [TSMITH_KIND_MEMSET] = COMMAND | F(BYTES) | F(DESTINATION) | F(OBJECT),
        [TSMITH_KIND_ALLOC] = F(DURATION) | CALLED | F(OPERATION) | F(BYTES) | F(OBJECT) | F(PARENT) |
                              F(FLAGS) | F(LIVE_BYTES) | F(STACK),
        [TSMITH_KIND_FREE] =
            F(DURATION) | CALLED | F(OPERATION) | F(BYTES) | F(OBJECT) | F(PARENT) | F(LIVE_BYTES) | F(STACK),
        [TSMITH_KIND_API] = F(DURATION) | CALLED | F(QUEUE_TRACK) | F(OBJECT) | F(RESULT) | F(BLOCKING) |
                            F(CATEGORY) | F(STACK),
        [TSMITH_KIND_SYNC] =
            F(DURATION) | CALLED | F(OPERATION) | F(QUEUE_TRACK) | F(WAITS) | F(RESULT) | F(CERTAINTY),
        [TSMITH_KIND_EVENT_RECORD] = COMMAND | F(OBJECT),
        [TSMITH_KIND_MARKER] = NAMED,
        [TSMITH_KIND_RANGE] = NAMED | F(CERTAINTY),
        [TSMITH_KIND_COLLECTIVE] = COMMAND | F(BYTES) | F(CATEGORY),
        [TSMITH_KIND_COUNTER] = F(VALUE) | F(CATEGORY),
        [TSMITH_KIND_COMPILE] =
            F(DURATION) | CALLED | F(OPERATION) | F(OBJECT) | F(PARENT) | F(RESULT) | F(TEXT),
        [TSMITH_KIND_GRAPH_LAUNCH] = F(DURATION) | CALLED | F(QUEUE_TRACK) | F(OBJECT) | F(RESULT),
        [TSMITH_KIND_FRAME] = F(DURATION) | F(CORRELATION) | F(QUEUE_TRACK),
        [TSMITH_KIND_OVERHEAD] = F(DURATION) | F(CATEGORY) | F(TEXT),
        [TSMITH_KIND_HOST_FUNCTION] = NAMED | COMMAND,
        [TSMITH_KIND_SAMPLE] = F(STACK) | F(SAMPLER_PERIOD) | F(HOST_TRACK) | F(CATEGORY) | F(DURATION) |
                               F(COUNT) | F(ADDRESS) | F(FILE) | F(LINE) | F(OBJECT),
        [TSMITH_KIND_LOSS] = F(DURATION) | F(LOST) | F(REASON) | F(TEXT),
        [TSMITH_KIND_OBJECT] =
            CALLED | F(OPERATION) | F(OBJECT) | F(PARENT) | F(FLAGS) | F(PRIORITY) | F(QUEUE_TRACK),
        [TSMITH_KIND_PROCESS] = F(DURATION) | F(OPERATION) | F(RESULT) | F(TEXT),
        [TSMITH_KIND_FLOW] = F(CORRELATION) | F(CATEGORY) | F(OPERATION),
        [TSMITH_KIND_INSTRUCTION] = F(DURATION) | F(CORRELATION) | F(TEXT) | F(FILE) | F(LINE) | F(CATEGORY) |
                                    F(ADDRESS) | F(BYTES) | F(TAKEN),
        [TSMITH_KIND_OFF_CPU] = F(DURATION) | F(OPERATION) | F(WOKEN) | F(WAKER) | F(WAKER_TID) | F(STACK),
        [TSMITH_KIND_DRIVER] = F(DURATION) | F(OPERATION),
        [TSMITH_KIND_SUM] = F(DURATION) | F(SUMMED) | F(COUNT) | F(TOTAL) | F(SHORTEST) | F(LONGEST) |
                            F(DELAY_TOTAL) | F(DELAY_SHORTEST) | F(DELAY_LONGEST) | F(OPERATION) |
                            F(DIRECTION) | F(BYTES) | F(STACK),
        [TSMITH_KIND_INSTRUCTION_COUNT] = F(CORRELATION) | F(TEXT) | F(FILE) | F(LINE) | F(COUNT) | F(TAKEN),
    };
    return ALWAYS | fields[kind];
}
#undef F

// ---- columns

struct making {
    tsmith_query *query;
    struct event_table *table;
    tsmith_query_column *shown;
    size_t count, others, room;
    bool failed;
};

static const char *sql_type(tsmith_type type, enum aspect aspect) {
    if (aspect == ASPECT_TRACK_NAME)
        return "TEXT";
    if (aspect == ASPECT_ID)
        return "INTEGER";
    if (aspect == ASPECT_QUOTIENT)
        return "REAL";
    switch (type) {
    case TSMITH_TYPE_F64:
        return "REAL";
    case TSMITH_TYPE_STRING:
    case TSMITH_TYPE_KIND:
    case TSMITH_TYPE_OPERATION:
    case TSMITH_TYPE_DIRECTION:
    case TSMITH_TYPE_REASON:
    case TSMITH_TYPE_CERTAINTY:
    case TSMITH_TYPE_LIST:
        return "TEXT";
    default:
        return "INTEGER";
    }
}

static struct event_column *add(struct making *making, const tsmith_query_column *shown, uint32_t slot,
                                tsmith_type type, enum aspect aspect) {
    struct event_column *column = &making->table->columns[making->count];
    *column = (struct event_column){
        .slot = slot, .type = (uint8_t)type, .aspect = (uint8_t)aspect, .quantity = shown->unit[0] != '\0'};
    making->shown[making->count] = *shown;
    if (!making->shown[making->count].type)
        making->shown[making->count].type = sql_type(type, aspect);
    making->count++;
    return column;
}

static const char *join(struct making *making, const char *first, const char *second) {
    size_t length = strlen(first), more = strlen(second);
    char *text = arena_take(&making->query->arena, length + more + 1, 1);
    if (!text) {
        making->failed = true;
        return "";
    }
    memcpy(text, first, length);
    memcpy(text + length, second, more + 1);
    return text;
}

static void add_field(struct making *making, const tsmith_field_info *info) {
    tsmith_query_column shown = {.name = info->name, .unit = info->unit, .doc = info->doc};
    add(making, &shown, info->field, info->type, ASPECT_VALUE);
    if (info->type == TSMITH_TYPE_STRING) {
        shown.name = join(making, info->name, "_id");
        shown.doc = "the same as a number: strings.id";
        shown.hidden = 1;
        add(making, &shown, info->field, info->type, ASPECT_ID);
    } else if (info->type == TSMITH_TYPE_TRACK) {
        shown.name = join(making, info->name, "_name");
        shown.doc = "the track's name";
        add(making, &shown, info->field, info->type, ASPECT_TRACK_NAME);
    }
}

// What every event has comes first, then the fields in the order of the schema.
static void add_schema(struct making *making) {
    static const tsmith_query_column end = {
        .name = "end", .unit = "ns", .doc = "start + duration; an instant has none"};
    static const tsmith_query_column track = {
        .name = "track", .unit = "", .doc = "the track it is on: tracks.id"};
    static const tsmith_query_column track_name = {
        .name = "track_name", .unit = "", .doc = "the track's name"};
    add_field(making, tsmith_field_describe(TSMITH_FIELD_START));
    add_field(making, tsmith_field_describe(TSMITH_FIELD_DURATION));
    add(making, &end, TSMITH_FIELD_DURATION, TSMITH_TYPE_I64, ASPECT_END);
    add_field(making, tsmith_field_describe(TSMITH_FIELD_KIND));
    add_field(making, tsmith_field_describe(TSMITH_FIELD_NAME));
    add(making, &track, SLOT_TRACK, TSMITH_TYPE_TRACK, ASPECT_VALUE);
    add(making, &track_name, SLOT_TRACK, TSMITH_TYPE_TRACK, ASPECT_TRACK_NAME);
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++) {
        const tsmith_field_info *info = tsmith_field_describe(field);
        if (info && field != TSMITH_FIELD_START && field != TSMITH_FIELD_DURATION &&
            field != TSMITH_FIELD_KIND && field != TSMITH_FIELD_NAME)
            add_field(making, info);
    }
}

// ---- fields of the trace

// SQLite's limit is 2000 columns; what a trace has more than that is not shown, and `view -f json` has it.
enum { COLUMNS_MAX = 1900, DYNAMIC_MAX = 4000 };

// Of a value that is computed (tracesmith/import.h).
static const char QUOTIENT[] = "bytes/duration";

static enum aspect aspect_of(const tsmith_field_info *info) {
    return info->type == TSMITH_TYPE_BOOL && strcmp(info->unit, QUOTIENT) == 0 ? ASPECT_QUOTIENT
                                                                               : ASPECT_VALUE;
}

// An importer uses one name for values of several types; the unit has its place in the event, and whether the text
// is JSON or the value is computed.
static bool is_same_place(const char *a, const char *b) {
    size_t left = strcspn(a, " "), right = strcspn(b, " ");
    left = strncmp(a, "json", left) == 0 || strcmp(a, QUOTIENT) == 0 ? 0 : left;
    right = strncmp(b, "json", right) == 0 || strcmp(b, QUOTIENT) == 0 ? 0 : right;
    return left == right && memcmp(a, b, left) == 0;
}

static size_t find(const struct making *making, const char *name) {
    for (size_t i = 0; i < making->count; i++)
        if (strcasecmp(making->shown[i].name, name) == 0)
            return i;
    return SIZE_MAX;
}

// A name no column has yet; names differ in more than case.
static const char *unique(struct making *making, const char *name, const char *unit) {
    char suffix[16];
    const char *place = strncmp(unit, "event", 5) == 0 ? "_event"
                        : strncmp(unit, "end", 3) == 0 ? "_end"
                                                       : "_2";
    if (*name && find(making, name) == SIZE_MAX)
        return name;
    const char *placed = join(making, name, place);
    for (unsigned i = 2; !making->failed && find(making, placed) != SIZE_MAX; i++) {
        (void)snprintf(suffix, sizeof suffix, "_%u", i);
        placed = join(making, name, suffix);
    }
    return placed;
}

static void add_dynamic(struct making *making, uint32_t id, const tsmith_field_info *info, size_t first) {
    uint32_t slot = SLOT_DYNAMIC + id;
    struct event_column *columns = making->table->columns;
    const enum aspect aspect = aspect_of(info);
    for (size_t i = first; i < making->count; i++) {
        if (strcmp(making->shown[i].name, info->name) != 0 ||
            !is_same_place(making->shown[i].unit, info->unit))
            continue;
        struct event_column *last = &columns[i];
        while (last->other)
            last = &columns[last->other];
        uint32_t at = (uint32_t)(making->room - ++making->others);
        columns[at] =
            (struct event_column){.slot = slot, .type = (uint8_t)info->type, .aspect = (uint8_t)aspect};
        last->other = at;
        if (strcmp(making->shown[i].type, sql_type(info->type, aspect)) != 0)
            making->shown[i].type = "";
        return;
    }
    if (making->count >= COLUMNS_MAX)
        return;
    tsmith_query_column shown = {
        .name = unique(making, info->name, info->unit), .unit = info->unit, .doc = "a field of this trace"};
    // Its unit is its origin, not a measure.
    add(making, &shown, slot, info->type, aspect)->quantity = false;
}

// The table of all events. What it may ask of a trace's own fields is bounded: a hostile one has any number.
static bool make_events_table(tsmith_query *query, struct event_table *table) {
    uint32_t dynamic = tsmith_dictionary_dynamic_field_count(query->backend.dictionary);
    dynamic = dynamic > DYNAMIC_MAX ? DYNAMIC_MAX : dynamic ? dynamic : 1;
    // Some fields have two columns; end and track take three more.
    size_t room = 2 * TSMITH_FIELD_LIMIT + 3 + dynamic;
    struct making making = {.query = query, .table = table, .room = room};
    *table = (struct event_table){.base = {query, {.name = "events", .doc = "every event of every kind"}}};
    table->columns = arena_take(&query->arena, room * sizeof *table->columns, _Alignof(struct event_column));
    making.shown = arena_take(&query->arena, room * sizeof *making.shown, _Alignof(tsmith_query_column));
    if (!table->columns || !making.shown)
        return false;
    add_schema(&making);
    size_t first = making.count;
    for (uint32_t id = 1; id < dynamic && !making.failed; id++) {
        tsmith_field_info info;
        if (tsmith_dictionary_describe_field(query->backend.dictionary, TSMITH_FIELD_DYNAMIC + id, &info) &&
            tsmith_type_size(info.type))
            add_dynamic(&making, id, &info, first);
    }
    for (int i = 0; i < TSMITH_KIND_LIMIT; i++)
        table->rows += query->backend.kinds[i];
    table->base.shown.columns = making.shown;
    table->base.shown.column_count = making.count;
    return !making.failed;
}

// The same columns, with those hidden that the kind does not have.
static bool make_kind(tsmith_query *query, struct event_table *table, const char *name, const char *doc,
                      tsmith_kind kind) {
    const struct event_table *all = &query->events[0];
    size_t count = all->base.shown.column_count;
    uint64_t fields = fields_of_kind(kind);
    tsmith_query_column *shown =
        arena_take(&query->arena, count * sizeof *shown, _Alignof(tsmith_query_column));
    if (!shown)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = all->columns[i].slot;
        shown[i] = all->base.shown.columns[i];
        shown[i].hidden |= slot != SLOT_TRACK && slot < TSMITH_FIELD_LIMIT && !(fields >> slot & 1);
    }
    *table = (struct event_table){
        .base = {query, {.name = name, .doc = doc, .columns = shown, .column_count = count}},
        .kinds = TSMITH_KIND_BIT(kind),
        .rows = query->backend.kinds[kind],
        .columns = all->columns};
    return true;
}

bool schema_make_events(tsmith_query *query) {
    query->events =
        arena_take(&query->arena, TSMITH_KIND_LIMIT * sizeof *query->events, _Alignof(struct event_table));
    if (!query->events || !make_events_table(query, &query->events[0]))
        return false;
    query->event_count = 1;
#define MAKE_TABLE(NAME, number, name, doc)                                                                  \
    if (!make_kind(query, &query->events[query->event_count++], name, doc, TSMITH_KIND_##NAME))              \
        return false;
    TSMITH_KIND_TABLE(MAKE_TABLE)
#undef MAKE_TABLE
    for (size_t i = 0; i < query->event_count; i++) {
        size_t size = query->events[i].base.shown.column_count * sizeof(bool);
        if (!(query->events[i].named = arena_take(&query->arena, size, 1)))
            return false;
        memset(query->events[i].named, 0, size);
    }
    return true;
}
