// SPDX-License-Identifier: Apache-2.0
// Chrome trace JSON, the parts behind import.c: the reader takes the text apart into events, the rows put them
// into batches.
#ifndef IMPORT_CHROME_CHROME_H
#define IMPORT_CHROME_CHROME_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/input.h"
#include "import/problems.h"
#include "import/texts.h"
#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"

// What a value is held as. Every form of a key is a field of its own, so that 1 and 1.0 and "1" come back as
// they were.
enum form {
    FORM_I64,
    FORM_U64,
    FORM_F64,
    FORM_BOOL,
    FORM_STRING,
    FORM_JSON,
    FORM_COUNT,
    FORM_NONE = FORM_COUNT
};

enum place { PLACE_EVENT, PLACE_ARGUMENT, PLACE_END, PLACE_COUNT };

// Keys that mean something to us.
// X(NAME, place, "key")
#define ROLE_TABLE(X)                                                                                        \
    X(PH, PLACE_EVENT, "ph")                                                                                 \
    X(CATEGORY, PLACE_EVENT, "cat")                                                                          \
    X(NAME, PLACE_EVENT, "name")                                                                             \
    X(PID, PLACE_EVENT, "pid")                                                                               \
    X(TID, PLACE_EVENT, "tid")                                                                               \
    X(TIME, PLACE_EVENT, "ts")                                                                               \
    X(DURATION, PLACE_EVENT, "dur")                                                                          \
    X(ID, PLACE_EVENT, "id")                                                                                 \
    X(ARGS, PLACE_EVENT, "args")                                                                             \
    X(CORRELATION, PLACE_ARGUMENT, "correlation")                                                            \
    X(SIZE, PLACE_ARGUMENT, "size")                                                                          \
    X(DIRECTION, PLACE_ARGUMENT, "direction")                                                                \
    X(BYTES, PLACE_ARGUMENT, "bytes")                                                                        \
    X(GRID, PLACE_ARGUMENT, "grid")                                                                          \
    X(BLOCK, PLACE_ARGUMENT, "block")                                                                        \
    X(BANDWIDTH, PLACE_ARGUMENT, "memory bandwidth (GB/s)")                                                  \
    X(CO_ID, PLACE_ARGUMENT, "co_id")                                                                        \
    X(QUEUE_TS, PLACE_ARGUMENT, "queue_ts")                                                                  \
    X(SUBMIT_TS, PLACE_ARGUMENT, "submit_ts")                                                                \
    X(COMPLETE_TS, PLACE_ARGUMENT, "complete_ts")                                                            \
    X(DEVICE_ID, PLACE_ARGUMENT, "device_id")                                                                \
    X(STACK_FRAME, PLACE_EVENT, "sf")                                                                        \
    X(KIND, PLACE_ARGUMENT, "kind")                                                                          \
    X(DEVICE, PLACE_ARGUMENT, "device")                                                                      \
    X(STREAM, PLACE_ARGUMENT, "stream")                                                                      \
    X(PRIORITY, PLACE_ARGUMENT, "priority")                                                                  \
    X(STREAM_PRIORITY, PLACE_ARGUMENT, "stream_priority")

enum role {
    ROLE_NONE,
#define ROLE_ENUM(NAME, place, key) ROLE_##NAME,
    ROLE_TABLE(ROLE_ENUM)
#undef ROLE_ENUM
        ROLE_COUNT
};
_Static_assert(ROLE_COUNT <= 32, "struct event has a bit per role");

enum { KEY_SUCCESSORS = 6, KEY_PHRASES = 4, KEY_MEMO = 56, KEYS_MAX = 4096 };

// A string value of a key.
struct key_memo {
    uint32_t id;
    uint8_t length;
    char raw[KEY_MEMO]; // up to and with its closing quote
};

// A key as it occurs in one place. The first part changes with each event and is the reader's alone; the rows, which may be in
// another thread (pipeline.c), have the second one, in cache lines of its own.
struct key {
    uint32_t text; // string id, in the reader's dictionary
    uint8_t successor_count;
    uint8_t last;                        // of the memos
    uint8_t phrase_count, phrases_made;  // in use, and that have a transition
    uint16_t successors[KEY_SUCCESSORS]; // transitions out of it, the likeliest first
    uint16_t phrases[KEY_PHRASES];       // those with values in their text, the likeliest first
    struct key_memo memos[2];            // the last two string values

    alignas(64) uint32_t name; // string id, in the trace's dictionary; 0: not asked yet
    uint32_t own_field;        // of the vocabulary, in a file that we wrote; 0: none
    uint8_t place, role;       // both sides read these
    bool is_unread;            // an argument that the caller does not need of slices
    uint32_t fields[PLACE_COUNT - 1]
                   [FORM_COUNT]; // dynamic fields: as itself, and as part of the end of a pair
};

struct value {
    uint32_t key; // index
    uint8_t form, role;
    uint64_t bits;
};

// A pid, tid or id: any JSON value.
struct ident {
    uint32_t form; // FORM_NONE: there is none
    uint64_t bits;
};

static inline bool ident_same(struct ident a, struct ident b) {
    return a.form == b.form && a.bits == b.bits;
}

// A time of the file in ns. What int64 ns cannot express is stored separately.
struct moment {
    int64_t ns;
    int64_t rest;  // 10^-6 ns
    uint32_t text; // string id of the JSON text when `odd`
    bool there, odd;
    bool bad; // what stands there is no number: the time is not known
};

struct event {
    uint64_t offset; // in the file
    struct ident pid, tid, id;
    struct moment start, duration;
    uint32_t name, category; // string ids
    bool has_name, has_category, empty_args, too_large;
    char ph;           // 0: none
    uint8_t direction; // of a copy, if an argument has it; 0: unknown
    uint32_t roles;    // those of its values: bit 1 << role
    struct value *values;
    size_t count;
};

// The first value of this role; NULL when there is none.
static inline const struct value *event_value(const struct event *event, uint8_t role) {
    if (event->roles >> role & 1)
        for (size_t i = 0; i < event->count; i++)
            if (event->values[i].role == role)
                return &event->values[i];
    return NULL;
}

struct chrome {
    tsmith_dictionary *dictionary;
    const char *name; // of the file, for messages
    int fd;           // of the file, as long as the input is open
    struct input input;
    struct problems problems;
    struct texts texts;
    struct reader *reader;
    struct key *keys; // the reader's
    struct rows *rows;
    bool has_unit, in_ns;         // of times (times.c)
    bool has_writer, by_mctracer; // it is known who wrote the file: mcTracer (kinds.c)
    bool by_us;                   // TraceSmith (own.c)
    bool one_thread;              // no other is to be started
    const char *const *arguments; // those that are needed; NULL: all, and call stacks
    size_t argument_count;
    int (*needs_event)(tsmith_kind kind, const char *name); // NULL: all are needed
    uint64_t no_time_at;                                    // byte of the first event whose time is no number
};

// ---- reader

tsmith_status reader_create(struct chrome *chrome);
void reader_destroy(struct reader *reader);
// Looks at the first bytes: ERROR_FORMAT when they cannot be a trace.
tsmith_status reader_begin(struct chrome *chrome, tsmith_error *error);
// Reads events into the reader's block until that is full (OK) or the file ends (END, TRUNCATED).
tsmith_status reader_run(struct chrome *chrome, tsmith_error *error);
// Behind the end of the trace: reads the rest of the file, so that the checksums of compressed data are compared. END, or
// TRUNCATED when the data is damaged; `events` were read.
tsmith_status reader_finish(struct chrome *chrome, uint64_t events, tsmith_error *error);

// ---- rows

tsmith_status rows_create(struct chrome *chrome, size_t hold_bytes);
void rows_destroy(struct rows *rows);
// Takes an event; its text in the file is text[0 .. length). False when the rows are full: nothing more until
// rows_take has been called.
bool rows_add(struct chrome *chrome, struct event *event, const char *text, size_t length);
// A top-level key of the file other than its events.
void rows_add_top(struct chrome *chrome, const char *key, size_t key_length, const char *text, size_t length);
// No more events come: what was lost becomes events.
void rows_end(struct chrome *chrome);
// Adds what was counted as attributes: after the last batch has been taken, for taking them counts too.
void rows_count_problems(struct chrome *chrome);
// The next batch, with all it refers to in the dictionary; NULL when the reader should run on (or after rows_end
// when there is none left). The one before it is given back.
tsmith_status rows_take(struct chrome *chrome, const tsmith_batch **out);
bool rows_failed(const struct rows *rows);

#endif
