// SPDX-License-Identifier: Apache-2.0
// Tables over what is in memory anyway.
#ifndef QUERY_LISTS_H
#define QUERY_LISTS_H

#include "query/query.h"

struct list_table {
    struct query_table base;
    // Makes the rows there when it is first asked; may be NULL.
    tsmith_status (*load)(tsmith_query *query, tsmith_error *error);
    uint64_t (*count)(const tsmith_query *query);
    void (*cell)(const tsmith_query *query, uint64_t row, int column, sqlite3_context *context);
    int64_t first_id; // its first column is `id`, and a row's id this plus its number; negative: it has none
};

// What is left unsaid is NULL.
static inline void list_give_text(sqlite3_context *context, tsmith_string string) {
    if (string.length)
        sqlite3_result_text64(context, string.bytes, string.length, SQLITE_STATIC, SQLITE_UTF8);
}

// What a track is called; of one that neither has a name nor a number by which to name it NULL. True where it is known.
static inline bool list_track_name(const tsmith_dictionary *dictionary, uint32_t id,
                                   char room[TSMITH_LABEL_SIZE], tsmith_string *out) {
    const tsmith_track *track = tsmith_dictionary_track(dictionary, id);
    if (!id || !track ||
        (!track->name && !(track->kind == TSMITH_TRACK_QUEUE && track->device) &&
         !(track->kind == TSMITH_TRACK_THREAD && track->tid)))
        return false;
    *out = tsmith_track_name(dictionary, id, room);
    return true;
}

static inline void list_give_track_name(sqlite3_context *context, const tsmith_dictionary *dictionary,
                                        uint32_t id) {
    char room[TSMITH_LABEL_SIZE];
    tsmith_string name;
    if (list_track_name(dictionary, id, room, &name))
        sqlite3_result_text64(context, name.bytes, name.length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline void list_give_id(sqlite3_context *context, uint64_t id) {
    if (id)
        sqlite3_result_int64(context, (int64_t)id);
}

bool lists_make(tsmith_query *query);

// states.c
tsmith_status states_load(tsmith_query *query, tsmith_error *error);
extern const struct list_table states_table, lives_table;

extern const sqlite3_module lists_module;

// One table, two outputs: X(name, "type", "unit", "doc", what gives the value to `context`).
#define LIST_SHOWN(name, type, unit, doc, give) {#name, type, unit, doc, 0},
#define LIST_CELL(name, type, unit, doc, give)                                                               \
    if (column == at++) {                                                                                    \
        give;                                                                                                \
        return;                                                                                              \
    }

#endif
