// SPDX-License-Identifier: Apache-2.0
// The rules, and what they share.
#include <stdlib.h>
#include <string.h>

#include "api/join.h"
#include "base/array.h"
#include "base/hash.h"

bool join_begin(struct join *join, const char *format) {
    static const struct join_rule *const rules[] = {&join_launches, &join_operators};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i]->format, format) == 0)
            join->rule = rules[i];
    if (join->rule)
        join->rule->read(join);
    return join->rule != NULL;
}

bool join_look(struct join *join, const tsmith_batch *batch, uint64_t ordinal) {
    join->rule->look(join, batch, ordinal);
    return !join->failed;
}

static int by_ordinal(const void *left, const void *right) {
    const struct join_hit *a = left, *b = right;
    return a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

// An event that several records would belong to belongs to none.
static void drop_doubles(struct join *join) {
    size_t kept = 0;
    for (size_t from = 0, to; from < join->hit_count; from = to) {
        for (to = from + 1; to < join->hit_count && join->hits[to].ordinal == join->hits[from].ordinal;)
            to++;
        if (to == from + 1)
            join->hits[kept++] = join->hits[from];
        else
            join->ambiguous += to - from;
    }
    join->hit_count = kept;
}

bool join_match(struct join *join) {
    join->rule->match(join);
    if (join->hit_count)
        qsort(join->hits, join->hit_count, sizeof *join->hits, by_ordinal);
    drop_doubles(join);
    return !join->failed;
}

void join_finish(struct join *join) {
    for (size_t i = 0; i < join->batch_count; i++)
        tsmith_batch_release(join->batches[i]);
    free(join->batches);
    free(join->records);
    free(join->events);
    free(join->hits);
}

void join_add_hit(struct join *join, const struct join_event *event, size_t record) {
    struct join_hit *hit = ARRAY_PUSH(join->hits, join->hit_count, join->hit_capacity);
    if (hit)
        *hit = (struct join_hit){event->ordinal, (uint32_t)record};
    else
        join->failed = true;
}

struct join_event *join_add_event(struct join *join) {
    struct join_event *event = ARRAY_PUSH(join->events, join->event_count, join->event_capacity);
    if (event)
        *event = (struct join_event){0};
    else
        join->failed = true;
    return event;
}

uint64_t join_name(const tsmith_dictionary *dictionary, uint32_t string) {
    const tsmith_string text = tsmith_dictionary_string(dictionary, string);
    return hash_bytes(text.bytes ? text.bytes : "", text.length);
}

uint32_t join_field(const tsmith_dictionary *dictionary, const char *name) {
    for (uint32_t id = 1; id < tsmith_dictionary_dynamic_field_count(dictionary); id++) {
        const tsmith_dynamic_field *field = tsmith_dictionary_dynamic_field(dictionary, id);
        if ((field->type == TSMITH_TYPE_I64 || field->type == TSMITH_TYPE_U64) &&
            strcmp(tsmith_dictionary_string(dictionary, field->name).bytes, name) == 0)
            return TSMITH_FIELD_DYNAMIC + id;
    }
    return 0;
}
