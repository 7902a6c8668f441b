// SPDX-License-Identifier: Apache-2.0
// Counting sort of the rows of a table by one column. store.c calls it for GROUP BY and ORDER BY.
#include "query/rank.h"
#include "query/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/text.h"

// A value that occurs. NULL sorts before numbers, numbers before text, text by its bytes.
struct value {
    uint32_t code;
    bool is_null;
    tsmith_string text; // NULL bytes: a number, or `made_up`
    char made_up[48];   // a track's name where it has none of its own; "": it is not
};

// NULL bytes: it is a number.
static tsmith_string text_of(const struct value *value) {
    return value->made_up[0] ? (tsmith_string){value->made_up, strlen(value->made_up)} : value->text;
}

static struct value value_of(const tsmith_dictionary *dictionary, const struct event_column *column,
                             uint32_t code) {
    struct value value = {.code = code};
    if (column->type == TSMITH_TYPE_STRING) {
        value.text = tsmith_dictionary_string(dictionary, code);
    } else if (column->type == TSMITH_TYPE_TRACK && column->aspect == ASPECT_TRACK_NAME) {
        char room[TSMITH_LABEL_SIZE];
        value.is_null = !list_track_name(dictionary, code, room, &value.text);
        if (!value.is_null && value.text.bytes == room) {
            (void)snprintf(value.made_up, sizeof value.made_up, "%.47s", room);
            value.text = (tsmith_string){NULL, 0};
        }
    } else {
        const char *name = tsmith_value_name(column->type, code);
        if (name)
            value.text = (tsmith_string){name, strlen(name)};
    }
    return value;
}

static int compare(const struct value *a, const struct value *b) {
    const tsmith_string left = text_of(a), right = text_of(b);
    if (a->is_null != b->is_null)
        return a->is_null ? -1 : 1;
    if (!left.bytes != !right.bytes)
        return left.bytes ? 1 : -1;
    if (a->is_null)
        return 0;
    if (!left.bytes)
        return a->code < b->code ? -1 : a->code > b->code;
    return text_compare(left, right);
}

static int by_value(const void *a, const void *b) {
    return compare(a, b);
}

static uint32_t limit_of(const tsmith_dictionary *dictionary, tsmith_type type) {
    return type == TSMITH_TYPE_STRING  ? tsmith_dictionary_string_count(dictionary)
           : type == TSMITH_TYPE_TRACK ? tsmith_dictionary_track_count(dictionary)
                                       : UINT8_MAX + 1;
}

bool ranks_init(struct ranks *ranks, const tsmith_dictionary *dictionary, const struct event_column *column) {
    *ranks = (struct ranks){
        .dictionary = dictionary, .column = column, .limit = limit_of(dictionary, (tsmith_type)column->type)};
    ranks->by_code = calloc((size_t)ranks->limit + 1, sizeof *ranks->by_code);
    return ranks->by_code != NULL;
}

void ranks_finish(struct ranks *ranks) {
    free(ranks->by_code);
    free(ranks->next);
    *ranks = (struct ranks){0};
}

static inline uint32_t code_at(const struct ranks *ranks, const struct codes *codes, uint64_t i) {
    uint64_t row = codes->rows ? codes->rows[i] : i;
    if (!has_value(&codes->view, row))
        return ranks->limit;
    uint64_t code = tsmith_view_known(&codes->view, (uint32_t)row);
    return code < ranks->limit ? (uint32_t)code : ranks->limit;
}

// The case that matters: every row has a string.
static bool are_plain(const struct ranks *ranks, const struct codes *codes) {
    return !codes->constant && !codes->rows && codes->view.values && !codes->view.valid &&
           ranks->column->type == TSMITH_TYPE_STRING;
}

void ranks_count(struct ranks *ranks, const struct codes *codes, uint64_t count) {
    const uint32_t *plain = are_plain(ranks, codes) ? codes->view.values : NULL;
    if (codes->constant) {
        ranks->by_code[codes->code < ranks->limit ? codes->code : ranks->limit] += (uint32_t)count;
        return;
    }
    for (uint64_t i = 0; plain && i < count; i++)
        ranks->by_code[plain[i] < ranks->limit ? plain[i] : ranks->limit]++;
    for (uint64_t i = 0; !plain && i < count; i++)
        ranks->by_code[code_at(ranks, codes, i)]++;
}

bool ranks_settle(struct ranks *ranks, bool descending) {
    size_t count = 0, at = 0;
    for (size_t code = 0; code <= ranks->limit; code++)
        count += ranks->by_code[code] != 0;
    struct value *values = malloc(count * sizeof *values + 1);
    ranks->next = calloc(count + 1, sizeof *ranks->next);
    if (!values || !ranks->next) {
        free(values);
        return false;
    }
    for (uint32_t code = 0; at < count; code++) {
        if (!ranks->by_code[code])
            continue;
        values[at] = code < ranks->limit ? value_of(ranks->dictionary, ranks->column, code)
                                         : (struct value){.code = code, .is_null = true};
        at++;
    }
    qsort(values, count, sizeof *values, by_value);
    uint32_t rank = 0, place = 0;
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &values[descending ? count - 1 - i : i];
        if (i > 0 && compare(value, &values[descending ? count - i : i - 1]) != 0)
            ranks->next[++rank] = place;
        place += ranks->by_code[value->code];
        ranks->by_code[value->code] = rank;
    }
    free(values);
    return true;
}

void ranks_place(struct ranks *ranks, const struct codes *codes, uint64_t count, uint32_t *places) {
    const uint32_t *plain = are_plain(ranks, codes) ? codes->view.values : NULL;
    uint32_t *next = ranks->next;
    const uint32_t *rank = ranks->by_code;
    if (codes->constant) {
        uint32_t *first = &next[rank[codes->code < ranks->limit ? codes->code : ranks->limit]];
        for (uint64_t i = 0; i < count; i++)
            places[i] = (*first)++;
        return;
    }
    for (uint64_t i = 0; plain && i < count; i++)
        places[i] = next[rank[plain[i] < ranks->limit ? plain[i] : ranks->limit]]++;
    for (uint64_t i = 0; !plain && i < count; i++)
        places[i] = next[rank[code_at(ranks, codes, i)]]++;
}
