// SPDX-License-Identifier: Apache-2.0
#include "query/rank.h"

#include <stdlib.h>
#include <string.h>

// A value that occurs. NULL sorts before numbers, numbers before text, text by its bytes.
struct value {
    uint32_t code;
    bool is_null;
    tsmith_string text; // NULL bytes: a number
};

static struct value value_of(const tsmith_dictionary *dictionary, const struct event_column *column,
                             uint32_t code) {
    struct value value = {.code = code};
    if (column->type == TSMITH_TYPE_STRING) {
        value.text = tsmith_dictionary_string(dictionary, code);
    } else if (column->type == TSMITH_TYPE_TRACK && column->aspect == ASPECT_TRACK_NAME) {
        const tsmith_track *track = tsmith_dictionary_track(dictionary, code);
        value.is_null = !track || !track->name;
        if (!value.is_null)
            value.text = tsmith_dictionary_string(dictionary, track->name);
    } else {
        const char *name = events_enum_name(column->type, code);
        if (name)
            value.text = (tsmith_string){name, strlen(name)};
    }
    return value;
}

static int compare(const struct value *a, const struct value *b) {
    if (a->is_null != b->is_null)
        return a->is_null ? -1 : 1;
    if (!a->text.bytes != !b->text.bytes)
        return a->text.bytes ? 1 : -1;
    if (a->is_null)
        return 0;
    if (!a->text.bytes)
        return a->code < b->code ? -1 : a->code > b->code;
    size_t common = a->text.length < b->text.length ? a->text.length : b->text.length;
    int order = common ? memcmp(a->text.bytes, b->text.bytes, common) : 0;
    return order ? order : a->text.length < b->text.length ? -1 : a->text.length > b->text.length;
}

static int by_value(const void *a, const void *b) {
    return compare(a, b);
}

static uint32_t limit_of(const tsmith_dictionary *dictionary, tsmith_type type) {
    return type == TSMITH_TYPE_STRING  ? tsmith_dictionary_string_count(dictionary)
           : type == TSMITH_TYPE_TRACK ? tsmith_dictionary_track_count(dictionary)
                                       : UINT8_MAX + 1;
}

// Marks the numbers that occur with 1; how many they are.
static uint32_t mark(struct ranks *ranks, const struct view *view, uint64_t rows) {
    uint32_t marked = 0;
    for (uint64_t row = 0; row < rows; row++) {
        if (!view_has(view, row))
            continue;
        uint64_t code = view_bits(view, ranks->type, row);
        if (code < ranks->limit && !ranks->ranks[code]) {
            ranks->ranks[code] = 1;
            marked++;
        }
    }
    return marked;
}

bool ranks_init(struct ranks *ranks, const tsmith_dictionary *dictionary, const struct event_column *column,
                const struct view *view, uint64_t rows) {
    *ranks = (struct ranks){.type = (tsmith_type)column->type,
                            .limit = limit_of(dictionary, (tsmith_type)column->type),
                            .count = 1};
    ranks->ranks = calloc((size_t)ranks->limit + 1, sizeof *ranks->ranks);
    if (!ranks->ranks)
        return false;
    uint32_t marked = mark(ranks, view, rows), at = 0;
    struct value *values = malloc(marked * sizeof *values + 1);
    if (!values) {
        ranks_finish(ranks);
        return false;
    }
    for (uint32_t code = 0; code < ranks->limit; code++)
        if (ranks->ranks[code])
            values[at++] = value_of(dictionary, column, code);
    qsort(values, marked, sizeof *values, by_value);
    for (uint32_t i = 0; i < marked; i++) {
        if (!values[i].is_null && (i == 0 || compare(&values[i - 1], &values[i]) != 0))
            ranks->count++;
        ranks->ranks[values[i].code] = values[i].is_null ? 0 : ranks->count - 1;
    }
    free(values);
    return true;
}

void ranks_finish(struct ranks *ranks) {
    free(ranks->ranks);
    ranks->ranks = NULL;
}

static uint32_t rank_of(const struct ranks *ranks, const struct view *view, uint64_t row) {
    if (!view_has(view, row))
        return 0;
    uint64_t code = view_bits(view, ranks->type, row);
    return code < ranks->limit ? ranks->ranks[code] : 0;
}

bool ranks_places(const struct ranks *ranks, const struct view *view, uint64_t rows, bool descending,
                  uint32_t *places) {
    uint32_t *next = calloc((size_t)ranks->count + 1, sizeof *next);
    if (!next)
        return false;
    for (uint64_t row = 0; row < rows; row++) {
        uint32_t rank = rank_of(ranks, view, row);
        places[row] = descending ? ranks->count - 1 - rank : rank;
        next[places[row] + 1]++;
    }
    for (uint32_t i = 0; i < ranks->count; i++)
        next[i + 1] += next[i];
    for (uint64_t row = 0; row < rows; row++)
        places[row] = next[places[row]]++;
    free(next);
    return true;
}
