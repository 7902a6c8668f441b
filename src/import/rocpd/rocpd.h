// SPDX-License-Identifier: Apache-2.0
// rocpd: the SQLite database that rocprofv3 and rocprof-sys write (schema 3).
//
// Each process that was profiled has tables of its own, whose names end in one suffix; a merged file has several. rocpd.c is
// the source and goes from table to table; info.c reads what rows refer to (processes, threads, agents, queues,
// kernels, names, arguments, counter values); row.c turns a row into events. The views of the file are not used.
#ifndef IMPORT_ROCPD_ROCPD_H
#define IMPORT_ROCPD_ROCPD_H

#include "event/gather.h"
#include "event/ledger.h"
#include "import/sqlite_in.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

enum { ROCPD_TRACKS_MAX = 1 << 18, ROCPD_FIELDS_MAX = 2048, ROCPD_ATTRIBUTES_MAX = 1 << 24 };

// X(NAME, lost, reason, "text"): what can be wrong. lost: 1 when an event is missing for each.
#define ROCPD_PROBLEM_TABLE(X)                                                                               \
    X(NO_TIME, 1, TSMITH_REASON_CORRUPT, "rows without a valid time")                                        \
    X(TOO_MANY, 1, TSMITH_REASON_TABLE_FULL, "rows of more threads and queues than can be distinguished")    \
    X(BACKWARDS, 0, TSMITH_REASON_NO_TIMING, "rows that end before they start")                              \
    X(DANGLING, 0, TSMITH_REASON_CORRUPT, "numbers of rows that the file does not have, kept as numbers")    \
    X(UNUSED, 0, TSMITH_REASON_UNTRACED, "arguments and counter values of events that are on no row")        \
    X(ATTRIBUTES, 0, TSMITH_REASON_TABLE_FULL, "arguments and counter values, more than can be kept")        \
    X(TWICE, 0, TSMITH_REASON_TABLE_FULL, "arguments that a row has twice; the last one is kept")            \
    X(FIELDS, 0, TSMITH_REASON_TABLE_FULL, "values with more names than can be kept")

enum rocpd_problem {
#define ROCPD_PROBLEM_ENUM(NAME, lost, reason, text) ROCPD_PROBLEM_##NAME,
    ROCPD_PROBLEM_TABLE(ROCPD_PROBLEM_ENUM)
#undef ROCPD_PROBLEM_ENUM
        ROCPD_PROBLEM_COUNT
};

// What rows refer to, by the number of its row. Not every list uses everything.
struct rocpd_info {
    int64_t id;
    uint32_t name;  // string
    uint32_t entry; // process or device of the dictionary
    int64_t a, b;   // process and thread rows; system's number
    bool gpu;
};

struct rocpd_infos {
    struct rocpd_info *items; // by id
    size_t count, capacity;
};

// An argument or a counter value of an event.
struct rocpd_attribute {
    int64_t event;
    uint32_t name, value, type; // strings; a counter value has its bits
    uint32_t used : 1, counter : 1;
    double number;
};

struct rocpd_part {
    const char *suffix;
    struct rocpd_infos processes, threads, agents, queues, streams, kernels, counters, tracks, nodes;
    struct rocpd_infos strings;
    struct rocpd_attribute *attributes; // by event
    size_t attribute_count, attribute_capacity;
};

enum rocpd_table {
    ROCPD_KERNELS,
    ROCPD_COPIES,
    ROCPD_ALLOCATIONS,
    ROCPD_REGIONS,
    ROCPD_SAMPLES,
    ROCPD_TABLES
};

enum rocpd_role {
    ROCPD_AS_IS,
    ROCPD_NEEDLESS, // numbers of the row itself, and what a track says
    ROCPD_START,
    ROCPD_END,
    ROCPD_PID,
    ROCPD_TID,
    ROCPD_AGENT,
    ROCPD_QUEUE,
    ROCPD_STREAM,
    ROCPD_KERNEL,
    ROCPD_NAME,
    ROCPD_REGION_NAME,
    ROCPD_EVENT,
    ROCPD_TRACK,
    ROCPD_GRID_X,
    ROCPD_GRID_Y,
    ROCPD_GRID_Z,
    ROCPD_GROUP_X,
    ROCPD_GROUP_Y,
    ROCPD_GROUP_Z,
    ROCPD_SIZE,
    ROCPD_TYPE,
    ROCPD_ADDRESS,
    ROCPD_TO_AGENT,
    ROCPD_FROM_AGENT,
    ROCPD_CATEGORY,
    ROCPD_CORRELATION,
    ROCPD_DOCUMENT, // JSON; {} when there is nothing
    ROCPD_ROLES
};

struct rocpd_column {
    char *name;
    enum rocpd_role role;
    uint32_t fields[4]; // dynamic fields: integer, real, text, blob
};

struct rocpd_place {
    int64_t key[5];
    uint32_t track; // 0: the slot is free
};

struct rocpd {
    tsmith_dictionary *dictionary;
    char *name;
    struct sqlite_in in;
    struct rocpd_part *parts;
    size_t part_count, part_at;
    enum rocpd_table table;
    sqlite3_stmt *rows; // of the table; NULL: not begun
    struct rocpd_column *columns;
    int column_count, roles[ROCPD_ROLES];
    uint64_t row_count;
    struct rocpd_place *places;
    size_t place_slots, place_count;
    uint32_t field_count;
    struct gather gather;
    struct ledger ledger;
    uint64_t problems[ROCPD_PROBLEM_COUNT];
    bool over, failed, damaged;
    tsmith_error stop;
};

static inline struct rocpd_part *rocpd_part(struct rocpd *rocpd) {
    return &rocpd->parts[rocpd->part_at];
}

// ---- rocpd.c

bool rocpd_is(const struct sqlite_in *in);
// Takes over the database.
tsmith_status rocpd_open(struct sqlite_in *in, const char *name, tsmith_source **out, tsmith_error *error);
// A statement, NULL when the file lacks what it asks for. The format is SQLite's.
sqlite3_stmt *rocpd_select(struct rocpd *rocpd, const char *format, ...);

// ---- info.c

// Whether the table (without its suffix) has rows whose times are read elsewhere.
bool rocpd_is_read(const char *table);
void rocpd_read_infos(struct rocpd *rocpd);
void rocpd_finish_infos(struct rocpd_part *part);
// NULL when the file does not have it.
struct rocpd_info *rocpd_find(const struct rocpd_infos *infos, int64_t id);
// The first argument or value of an event, the others behind it; NULL when there is none.
struct rocpd_attribute *rocpd_attributes_of(const struct rocpd_part *part, int64_t event);
uint32_t rocpd_text(struct rocpd *rocpd, sqlite3_stmt *select, int column);
// Tables that describe: an attribute each.
void rocpd_describe(struct rocpd *rocpd);

// ---- row.c

enum rocpd_role rocpd_role(const char *column);
void rocpd_add_row(struct rocpd *rocpd);

#endif
