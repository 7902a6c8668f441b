// SPDX-License-Identifier: Apache-2.0
// SQLite databases that `nsys export` writes.
//
// nsys.c opens the file and goes from table to table; schema.c is the one table of the meaning of tables and
// columns; row.c turns a row into an event by it; places.c finds its process, thread, queue or
// counter; texts.c resolves string and enumeration ids; nvtx.c takes names apart; samples.c
// reads stacks of samples and callchains.c those of calls; about.c reads facts about the file as a whole
// and writes the ledger. sqlite_in.c opens the database.
#ifndef IMPORT_NSYS_NSYS_H
#define IMPORT_NSYS_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/torch_name.h"
#include "event/gather.h"
#include "event/ledger.h"
#include "import/sqlite_in.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/stream.h"

// ---- what tables and columns mean (schema.c)

// Columns of time or place, or that are used together: a row has each at most once.
enum nsys_role {
    NSYS_NO_ROLE,
    NSYS_START,
    NSYS_END,
    NSYS_TID, // globalTid
    NSYS_PID, // globalPid
    NSYS_DEVICE,
    NSYS_CONTEXT,
    NSYS_STREAM,
    NSYS_METRIC_SOURCE,
    NSYS_METRIC,
    NSYS_GRID_X,
    NSYS_GRID_Y,
    NSYS_GRID_Z,
    NSYS_BLOCK_X,
    NSYS_BLOCK_Y,
    NSYS_BLOCK_Z,
    NSYS_COPY_KIND,
    NSYS_SOURCE_KIND,
    NSYS_TARGET_KIND,
    NSYS_EVENT_TYPE,
    NSYS_MEMORY_OPERATION,
    NSYS_DOMAIN,
    NSYS_CATEGORY,
    NSYS_EVENT_SYNC,
    NSYS_SYNC_TYPE,
    NSYS_SAMPLE,
    NSYS_CALLCHAIN,
    NSYS_ROLES
};

// How the value of a column is kept.
enum nsys_form {
    NSYS_AS_IS,   // dynamic field of the column's name
    NSYS_PLACE,   // time or place: not a value of its own, unless it differs from the track's
    NSYS_FIELD,   // field of the vocabulary
    NSYS_NUMBER,  // the same; 0 means none
    NSYS_TEXT_ID, // id of StringIds: dynamic field with the text
    NSYS_NAME_ID, // the same, and a candidate for the event's name
    NSYS_NAME,    // text that is a candidate for the event's name
    NSYS_LABEL,   // value of an enumeration: dynamic field with its label
    NSYS_CLASS    // the same, and the event's category
};

struct nsys_column_rule {
    const char *name;
    const char *table; // where it means this; NULL: everywhere
    enum nsys_form form;
    enum nsys_role role;
    uint32_t field;     // of the vocabulary
    uint8_t name_rank;  // of candidates for the event's name the lowest wins
    const char *labels; // table with an enumeration's labels
    const char *as;     // name of the dynamic field; NULL: the column's
};

enum {
    NSYS_ON_QUEUE = 1 << 0,     // happened on a stream
    NSYS_ZERO_IS_NONE = 1 << 1, // a time of 0 is none
    NSYS_CORE = 1 << 2,         // without it an event has little meaning: its absence is reported
    NSYS_ON_COUNTER = 1 << 3
};

struct nsys_table_rule {
    const char *name;
    tsmith_kind kind;
    unsigned flags;
    const char *category; // of its events, NULL: none or in a column
    const char *needs;    // columns that every version has, one space between them
};

// By name; NULL when nothing is known of it.
const struct nsys_table_rule *nsys_find_table(const char *name);
// Never NULL.
const struct nsys_column_rule *nsys_find_column(const char *table, const char *name);
// The rule at an index, NULL past the last.
const struct nsys_table_rule *nsys_table_at(size_t index);

// ---- texts (texts.c)

// Ids of one table to strings of the dictionary, looked up when they are first needed.
struct nsys_texts {
    const char *table;
    sqlite3_stmt *select;
    uint32_t *known; // by id: string id + 1; 0: not looked up
    size_t known_capacity;
};

struct nsys;

// Whether the table has the id; its text in *out.
bool nsys_text(struct nsys *nsys, struct nsys_texts *texts, int64_t id, uint32_t *out);
// Opens the look-up of a table of ids and values; `select` stays NULL when there is none.
void nsys_texts_open(struct nsys *nsys, struct nsys_texts *texts, const char *table, const char *column);
void nsys_texts_finish(struct nsys_texts *texts);
// The labels of an enumeration; NULL when memory is exhausted.
struct nsys_texts *nsys_labels(struct nsys *nsys, const char *table);

// ---- places (places.c)

struct nsys_place {
    int64_t key[5]; // what kind of place, and its numbers
    uint32_t track; // or process; 0: the slot is free
    int64_t device; // of a context: its number in the file
};

struct nsys_pair {
    int64_t a, b, c;
    uint32_t id; // string, or device
    uint32_t second;
};

// A list that is filled first and then searched by (a, b, c).
struct nsys_pairs {
    struct nsys_pair *items;
    size_t count, capacity;
};

struct nsys_places {
    struct nsys_place *slots;
    size_t slot_count, used;
    struct nsys_pairs thread_names;  // globalTid
    struct nsys_pairs process_names; // globalPid
    struct nsys_pairs gpus;          // number of the GPU: device
    struct nsys_pairs cuda_devices;  // pid, CUDA's number: number of the GPU
    struct nsys_pairs metrics;       // typeId, metricId
    struct nsys_pairs domains;       // pid, domain
    struct nsys_pairs categories;    // pid, domain, category
    struct nsys_pairs event_records; // globalPid, eventSyncId: correlation and stream of the record
    uint32_t driver, host;           // strings
    uint32_t other;                  // track of what has no place
};

// Where an event happened, by its row. `has` has a bit per role.
struct nsys_where {
    uint64_t has;
    int64_t tid, pid, device, context, stream, metric_source, metric;
};

// Reads the tables that name things.
void nsys_places_open(struct nsys *nsys);
void nsys_places_finish(struct nsys_places *places);
const struct nsys_pair *nsys_find_pair(const struct nsys_pairs *pairs, int64_t a, int64_t b, int64_t c);
// The track of a row, 0 when there are too many (or memory is exhausted, which the dictionary records). *told has a
// bit per role that the track covers, so that the row need not.
uint32_t nsys_track(struct nsys *nsys, const struct nsys_table_rule *rule, const char *table,
                    const struct nsys_where *where, uint64_t *told);

// ---- rows (row.c)

enum { NSYS_FORMS = 4 }; // integer, real, text, blob

struct nsys_column {
    const struct nsys_column_rule *rule;
    char *name;
    struct nsys_texts *labels;
    uint32_t fields[NSYS_FORMS]; // dynamic fields, 0: none yet
    uint32_t label_field;
    bool seen_dangling;
};

// X(NAME, lost, reason, "text"): what can be wrong with rows of a table. lost: 1 when the event is missing.
#define NSYS_PROBLEM_TABLE(X)                                                                                \
    X(NO_TIME, 1, TSMITH_REASON_CORRUPT, "rows without a valid time")                                        \
    X(NOT_TIMED, 1, TSMITH_REASON_NO_TIMING, "rows whose time was not collected")                            \
    X(TOO_MANY, 1, TSMITH_REASON_TABLE_FULL, "rows of more threads and streams than can be distinguished")   \
    X(NO_END, 0, TSMITH_REASON_UNMATCHED, "rows without an end")                                             \
    X(BACKWARDS, 0, TSMITH_REASON_NO_TIMING, "rows that end before they start")                              \
    X(DANGLING, 0, TSMITH_REASON_CORRUPT, "ids of strings that the file does not have, kept as numbers")

enum nsys_problem {
#define NSYS_PROBLEM_ENUM(NAME, lost, reason, text) NSYS_PROBLEM_##NAME,
    NSYS_PROBLEM_TABLE(NSYS_PROBLEM_ENUM)
#undef NSYS_PROBLEM_ENUM
        NSYS_PROBLEM_COUNT
};

struct nsys_table {
    char *name;
    const struct nsys_table_rule *rule; // NULL: a table we do not know
    bool has_time;
    uint32_t category;
    uint32_t category_field; // of the names of NVTX categories
    struct nsys_column *columns;
    int column_count;
    int roles[NSYS_ROLES]; // index of the column, -1: none
    uint64_t problems[NSYS_PROBLEM_COUNT];
};

// Adds the row that `select` is at; its columns are those of the table from `first` on.
void nsys_add_row(struct nsys *nsys, struct nsys_table *table, uint32_t lane, sqlite3_stmt *select,
                  int first);

// ---- stacks (samples.c)

struct nsys_samples {
    sqlite3_stmt *frames; // of all samples; NULL: none
    bool has_row;         // it stands at one that was not taken yet
};

struct nsys_stack {
    uint32_t leaf, symbols, modules; // strings; of the frames, the outermost first, with ; between them
    uint32_t stack;                  // of the dictionary
};

void nsys_samples_open(struct nsys *nsys);
void nsys_samples_finish(struct nsys *nsys);
// The stack of a sample; samples are asked for in ascending order. False when it has none.
bool nsys_stack(struct nsys *nsys, int64_t id, struct nsys_stack *out);

// ---- stacks of calls (callchains.c)

enum nsys_callchain_table { NSYS_CUDA_CALLCHAINS, NSYS_OSRT_CALLCHAINS, NSYS_CALLCHAIN_TABLES };

struct nsys_callchain {
    int64_t id;
    uint32_t stack; // of the dictionary
};

struct nsys_callchains {
    struct nsys_callchain *items; // by id
    size_t count, capacity;
};

void nsys_callchains_open(struct nsys *nsys);
void nsys_callchains_finish(struct nsys *nsys);
// The stack of this number, 0 when there is none.
uint32_t nsys_callchain(const struct nsys *nsys, enum nsys_callchain_table table, int64_t id);
// The stack of a function that was called from `parent` (0: from nowhere). `symbol` and `path` (of the module) are strings;
// `address` is 0 when it is not known.
uint32_t nsys_add_frame(struct nsys *nsys, uint32_t parent, uint32_t symbol, uint32_t path, uint64_t address);

// ---- about the file (about.c)

void nsys_note_problems(struct nsys *nsys, struct nsys_table *table);
// nsys's facts about system, session and itself, and tables without times: attributes.
void nsys_describe(struct nsys *nsys);

// ---- the file (nsys.c)

struct nsys {
    tsmith_dictionary *dictionary;
    char *name; // for messages
    struct sqlite_in in;
    struct gather gather;
    struct nsys_texts strings;
    struct nsys_texts *labels; // of enumerations
    size_t label_count;
    struct nsys_places places;
    uint32_t name_fields[TORCH_NAME_PARTS]; // dynamic fields of the parts of a name
    uint32_t wait_fields[2];                // and of what a wait waits for
    struct nsys_samples samples;
    struct nsys_callchains callchains[NSYS_CALLCHAIN_TABLES];
    uint32_t *frame_names; // strings, by frame of the dictionary
    size_t frame_name_capacity;
    uint32_t modules_field;
    struct ledger ledger;

    struct nsys_table *tables; // known ones first, in the order of the schema
    size_t table_count, table_capacity, at;
    sqlite3_stmt *rows; // of the table at `at`; NULL: not begun
    bool has_rowid, backwards;
    int64_t last_rowid;
    uint64_t row_count;
    bool damaged, over, failed; // failed: out of memory
    tsmith_error stop;
};

// A statement, NULL when the file lacks what it asks for. The format is SQLite's: %Q for a value, %w for a name.
sqlite3_stmt *nsys_select(struct nsys *nsys, const char *format, ...);
bool nsys_has_table(struct nsys *nsys, const char *name);

// Whether the tables are those of an export.
bool nsys_is(const struct sqlite_in *in);
// Takes over the database.
tsmith_status nsys_open(struct sqlite_in *in, const char *name, tsmith_source **out, tsmith_error *error);

#endif
