// SPDX-License-Identifier: Apache-2.0
// Matches the collectives of all ranks: by name and group, the n-th of one rank with the n-th of the others.
// ranks_report.c calls it before it writes.
#include "analyze/ranks_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_bytes(const void *left, const void *right) {
    const tsmith_string *a = left, *b = right;
    const size_t shorter = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->bytes, b->bytes, shorter);
    return order ? order : a->length < b->length ? -1 : a->length > b->length;
}

// Ids of strings depend on the order in which the ranks came; the order of their bytes does not.
static bool order_names(struct rank_matching *matching) {
    const tsmith_dictionary *keys = matching->ranks->keys;
    const uint32_t count = tsmith_dictionary_string_count(keys);
    matching->names = malloc((count + 1) * sizeof *matching->names);
    matching->order = malloc((count + 1) * sizeof *matching->order);
    if (!matching->names || !matching->order)
        return false;
    for (uint32_t id = 0; id < count; id++)
        matching->names[id] = tsmith_dictionary_string(keys, id);
    qsort(matching->names, count, sizeof *matching->names, by_bytes);
    for (uint32_t id = 0; id < count; id++) {
        const tsmith_string name = tsmith_dictionary_string(keys, id),
                            *found = bsearch(&name, matching->names, count, sizeof name, by_bytes);
        matching->order[id] = found ? (uint32_t)(found - matching->names) : 0;
    }
    return true;
}

static int by_time(const void *left, const void *right) {
    const struct rank_member *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static void measure_time_before(struct rank_member *members, size_t count) {
    int64_t end = 0;
    qsort(members, count, sizeof *members, by_time);
    for (size_t i = 0; i < count; i++) {
        members[i].first = i == 0;
        if (i && __builtin_sub_overflow(members[i].start, end, &members[i].before))
            members[i].first = true;
        end = i == 0 || members[i].end > end ? members[i].end : end;
    }
}

int ranks_compare_members(const void *left, const void *right) {
    const struct rank_member *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

bool ranks_match(struct rank_matching *matching) {
    const tsmith_ranks *ranks = matching->ranks;
    size_t total = 0;
    for (size_t i = 0; i < ranks->count; i++)
        total += ranks->items[i].collective_count;
    matching->members = malloc((total + 1) * sizeof *matching->members);
    matching->of_rank = calloc(ranks->count, sizeof *matching->of_rank);
    matching->last_of = calloc(ranks->count, sizeof *matching->last_of);
    if (!matching->members || !matching->of_rank || !matching->last_of || !order_names(matching))
        return false;
    for (uint32_t i = 0; i < ranks->count; i++) {
        const size_t first = matching->count;
        for (size_t k = 0; k < ranks->items[i].collective_count; k++) {
            const struct rank_collective *one = &ranks->items[i].collectives[k];
            matching->members[matching->count++] = (struct rank_member){.key = matching->order[one->key],
                                                                        .number = one->number,
                                                                        .rank = i,
                                                                        .start = one->start,
                                                                        .end = one->end};
        }
        measure_time_before(&matching->members[first], matching->count - first);
    }
    qsort(matching->members, matching->count, sizeof *matching->members, ranks_compare_members);
    return true;
}

void ranks_matching_finish(struct rank_matching *matching) {
    free(matching->names);
    free(matching->order);
    free(matching->members);
    free(matching->of_rank);
    free(matching->last_of);
    host_clocks_destroy(matching->clocks);
}

static size_t group_end(const struct rank_matching *matching, size_t from, bool same_number) {
    size_t to = from + 1;
    while (to < matching->count && matching->members[to].key == matching->members[from].key &&
           (!same_number || matching->members[to].number == matching->members[from].number))
        to++;
    return to;
}

size_t ranks_key_end(const struct rank_matching *matching, size_t from) {
    return group_end(matching, from, false);
}

size_t ranks_collective_end(const struct rank_matching *matching, size_t from) {
    return group_end(matching, from, true);
}

void ranks_write_key(struct report *report, struct report_table *table, tsmith_string key) {
    const size_t name = strnlen(key.bytes, key.length);
    report_text(report, table, (tsmith_string){key.bytes, name});
    if (key.length > name + 1)
        report_text(
            report, table,
            (tsmith_string){key.bytes + name + 1, strnlen(key.bytes + name + 1, key.length - name - 1)});
    else
        report_unknown(report, table);
}

static int ascending(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

int64_t ranks_median(int64_t *values, size_t count) {
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, ascending);
    const int64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low / 2 + high / 2 + (low % 2 + high % 2) / 2;
}

static double log_factorial(uint64_t n) {
    int sign;
    return lgamma_r((double)n + 1, &sign);
}

double ranks_coin_tail(uint64_t heads, uint64_t count) {
    double tail = 0;
    for (uint64_t k = heads; k <= count; k++) {
        const double chance =
            exp(log_factorial(count) - log_factorial(k) - log_factorial(count - k) - (double)count * log(2));
        tail += chance;
        if (chance < 1e-18 && 2 * k > count)
            break;
    }
    return tail < 1 ? tail : 1;
}
