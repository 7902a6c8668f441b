// SPDX-License-Identifier: Apache-2.0
// What follows from the constraints of a statement for the rows of the file. It may let too much pass, since SQLite
// compares every row again by its own rules; it never leaves out a row that SQL's rules for comparing values of
// different types would keep.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/events.h"
#include "query/lists.h"

// ---- from constraints

// An integer bound for rows: the value as an integer rounded toward keeping more. False: it bounds nothing.
static bool bound_of(sqlite3_value *value, bool upper, int64_t *out) {
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        *out = sqlite3_value_int64(value);
        return true;
    }
    if (sqlite3_value_type(value) != SQLITE_FLOAT)
        return false;
    double real = upper ? ceil(sqlite3_value_double(value)) : floor(sqlite3_value_double(value));
    if (!(fabs(real) < 9e18))
        return false;
    *out = (int64_t)real;
    return true;
}

static void add_bounds(bool *has, int64_t *from, int64_t *to, uint8_t op, sqlite3_value *value) {
    int64_t bound;
    bool lower = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
                 op == SQLITE_INDEX_CONSTRAINT_GE;
    bool upper = op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_LT ||
                 op == SQLITE_INDEX_CONSTRAINT_LE;
    if (lower && bound_of(value, false, &bound)) {
        *from = bound > *from ? bound : *from;
        *has = true;
    }
    if (upper && bound_of(value, true, &bound)) {
        *to = bound < *to ? bound : *to;
        *has = true;
    }
}

static bool text_equals(tsmith_string string, sqlite3_value *value) {
    return string.length == (size_t)sqlite3_value_bytes(value) &&
           memcmp(string.bytes, sqlite3_value_text(value), string.length) == 0;
}

static void add_equal(struct filter *filter, uint32_t slot, tsmith_type type, uint64_t bits) {
    filter->equals[filter->equal_count++] = (struct filter_equal){slot, (uint8_t)type, bits};
}

static void add_string(struct filter *filter, const tsmith_dictionary *dictionary,
                       const struct event_column *column, sqlite3_value *value) {
    uint32_t found = UINT32_MAX, count = tsmith_dictionary_string_count(dictionary);
    if (!sqlite3_value_text(value)) // out of memory: SQLite compares alone
        return;
    for (uint32_t id = 0; id < count; id++) {
        if (!text_equals(tsmith_dictionary_string(dictionary, id), value))
            continue;
        if (found != UINT32_MAX) // a file that has a string twice
            return;
        found = id;
    }
    if (found == UINT32_MAX)
        filter->never = true;
    else
        add_equal(filter, column->slot, TSMITH_TYPE_STRING, found);
}

static bool add_tracks(struct filter *filter, const tsmith_dictionary *dictionary,
                       const struct event_column *column, sqlite3_value *value) {
    uint32_t count = tsmith_dictionary_track_count(dictionary);
    bool by_name = column->aspect == ASPECT_TRACK_NAME;
    if (filter->tracks || (by_name && !sqlite3_value_text(value)))
        return true;
    filter->tracks = malloc((count + 1) * sizeof *filter->tracks);
    if (!filter->tracks)
        return false;
    for (uint32_t id = 1; id < count; id++) {
        char room[TSMITH_LABEL_SIZE];
        tsmith_string name;
        if (by_name ? list_track_name(dictionary, id, room, &name) && text_equals(name, value)
                    : (int64_t)id == sqlite3_value_int64(value))
            filter->tracks[filter->track_count++] = id;
    }
    filter->never |= filter->track_count == 0;
    return true;
}

static bool add_equality(struct filter *filter, const tsmith_dictionary *dictionary,
                         const struct event_column *column, sqlite3_value *value) {
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT,
         is_integer = sqlite3_value_type(value) == SQLITE_INTEGER;
    if (column->type == TSMITH_TYPE_TRACK && column->aspect == ASPECT_TRACK_NAME)
        return column->slot == SLOT_TRACK && is_text ? add_tracks(filter, dictionary, column, value) : true;
    if (column->slot == SLOT_TRACK)
        return is_integer ? add_tracks(filter, dictionary, column, value) : true;
    if (column->type == TSMITH_TYPE_KIND) {
        const char *name = is_text ? (const char *)sqlite3_value_text(value) : NULL;
        uint32_t kind = name ? tsmith_value_find(TSMITH_TYPE_KIND, name) : 0;
        if (kind && filter->kinds && !tsmith_kinds_have(filter->kinds, kind))
            filter->never = true;
        else if (kind)
            filter->kinds = TSMITH_KIND_BIT(kind);
    } else if (column->type == TSMITH_TYPE_STRING && column->aspect == ASPECT_VALUE) {
        if (is_text)
            add_string(filter, dictionary, column, value);
    } else if (is_integer) {
        add_equal(filter, column->slot, (tsmith_type)column->type, (uint64_t)sqlite3_value_int64(value));
    }
    return true;
}

bool filter_init(struct filter *filter, const struct event_table *table, const struct plan *plan,
                 sqlite3_value **values) {
    *filter = (struct filter){.kinds = table->kinds,
                              .start_from = INT64_MIN,
                              .start_to = INT64_MAX,
                              .end_from = INT64_MIN,
                              .end_to = INT64_MAX};
    for (uint32_t i = 0; i < plan->constraint_count; i++) {
        const struct event_column *column = &table->columns[plan->constraints[i].column];
        uint8_t op = plan->constraints[i].op;
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) // nothing compares to NULL
            filter->never = true;
        else if (column->aspect == ASPECT_END)
            add_bounds(&filter->has_end, &filter->end_from, &filter->end_to, op, values[i]);
        else if (column->slot == TSMITH_FIELD_START)
            add_bounds(&filter->has_start, &filter->start_from, &filter->start_to, op, values[i]);
        else if (!add_equality(filter, table->base.query->backend.dictionary, column, values[i]))
            return false;
    }
    return true;
}

void filter_finish(struct filter *filter) {
    free(filter->tracks);
    filter->tracks = NULL;
}

void filter_scan(const struct filter *filter, const struct plan *plan, tsmith_scan *scan) {
    *scan =
        (tsmith_scan){.size = sizeof *scan,
                      .has_window = filter->has_start || filter->has_end,
                      .from = filter->start_from > filter->end_from ? filter->start_from : filter->end_from,
                      .to = filter->start_to,
                      .tracks = filter->tracks,
                      .track_count = filter->track_count,
                      .fields = plan->fields,
                      .field_count = plan->field_count,
                      .kinds = filter->kinds};
}

// ---- to rows

// Keeps of `rows` (`count` of them; all of the batch's as long as `whole`) those that `TEST` of the row `r`.
#define KEEP(TEST)                                                                                           \
    do {                                                                                                     \
        uint32_t kept = 0;                                                                                   \
        for (uint32_t i = 0; i < count; i++) {                                                               \
            uint32_t r = whole ? i : rows[i];                                                                \
            rows[kept] = r;                                                                                  \
            kept += (TEST);                                                                                  \
        }                                                                                                    \
        count = kept;                                                                                        \
        whole = whole && kept == tsmith_batch_count(batch);                                                  \
    } while (0)

static bool ends_within(const struct filter *filter, int64_t start, int64_t duration) {
    int64_t end;
    return !__builtin_add_overflow(start, duration, &end) && end >= filter->end_from && end <= filter->end_to;
}

uint32_t filter_select(const struct filter *filter, const tsmith_batch *batch, uint32_t *rows) {
    uint32_t count = tsmith_batch_count(batch);
    bool whole = true;
    tsmith_spans spans;
    if (!tsmith_view_spans(batch, &spans))
        return 0;
    const int64_t *starts = spans.starts;
    const uint8_t *kinds = spans.kinds;
    // Most batches are all of one kind.
    bool alike = count > 0 && memcmp(kinds, kinds + 1, count - 1) == 0;
    if (filter->kinds && alike && !tsmith_kinds_have(filter->kinds, kinds[0]))
        return 0;
    if (filter->kinds && !alike)
        KEEP(tsmith_kinds_have(filter->kinds, kinds[r]) != 0);
    if (filter->has_start)
        KEEP(starts[r] >= filter->start_from && starts[r] <= filter->start_to);
    if (filter->has_end) {
        int64_t duration = 0;
        if (!tsmith_view_exists(&spans.durations))
            return 0;
        KEEP(tsmith_view_i64(&spans.durations, r, &duration) && ends_within(filter, starts[r], duration));
    }
    for (size_t e = 0; e < filter->equal_count; e++) {
        const struct filter_equal *equal = &filter->equals[e];
        const uint32_t field = slot_field(equal->slot);
        tsmith_view view;
        uint64_t bits = 0;
        tsmith_view_batch(batch, &field, 1, &view);
        if (!tsmith_view_exists(&view))
            return 0;
        if (view.type != (tsmith_type)equal->type)
            continue;
        KEEP(tsmith_view_bits(&view, r, &bits) && bits == equal->bits);
    }
    return count;
}
