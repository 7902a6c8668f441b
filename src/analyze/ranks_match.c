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

int ranks_compare_members(const void *left, const void *right) {
    const struct rank_member *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

// ---- the collectives of all ranks

// Where the members of a key are. A slot is a number of a key; where the numbers are far apart, all numbers of the key share one.
struct key_slots {
    size_t count, first; // members, slot
    uint32_t most;       // the largest number
    bool is_sparse;
};

struct placing {
    struct key_slots *keys; // by index in names
    size_t *slots;          // where the next member of each goes
    struct rank_collective *items, *spare;
};

static void count_keys(const struct rank_matching *matching, struct placing *placing) {
    const tsmith_ranks *ranks = matching->ranks;
    for (size_t i = 0; i < ranks->count; i++)
        for (size_t k = 0; k < ranks->items[i].collective_count; k++) {
            const struct rank_collective *one = &ranks->items[i].collectives[k];
            struct key_slots *key = &placing->keys[matching->order[one->key]];
            key->count++;
            key->most = one->number > key->most ? one->number : key->most;
        }
}

static size_t *slot_of(const struct placing *placing, uint32_t key, uint32_t number) {
    const struct key_slots *slots = &placing->keys[key];
    return &placing->slots[slots->first + (slots->is_sparse ? 0 : number)];
}

// The slots, each with the place of its first member. False when memory is exhausted.
static bool make_slots(const struct rank_matching *matching, struct placing *placing, size_t keys) {
    const tsmith_ranks *ranks = matching->ranks;
    size_t slots = 0, place = 0;
    for (size_t i = 0; i < keys; i++) {
        struct key_slots *key = &placing->keys[i];
        key->first = slots;
        key->is_sparse = key->most / 4 > key->count;
        slots += !key->count ? 0 : key->is_sparse ? 1 : (size_t)key->most + 1;
    }
    placing->slots = calloc(slots + 1, sizeof *placing->slots);
    if (!placing->slots)
        return false;
    for (size_t i = 0; i < ranks->count; i++)
        for (size_t k = 0; k < ranks->items[i].collective_count; k++) {
            const struct rank_collective *one = &ranks->items[i].collectives[k];
            ++*slot_of(placing, matching->order[one->key], one->number);
        }
    for (size_t i = 0; i < slots; i++) {
        const size_t members = placing->slots[i];
        placing->slots[i] = place;
        place += members;
    }
    return true;
}

static void place_rank(struct rank_matching *matching, const struct placing *placing, uint32_t number) {
    const struct rank *rank = &matching->ranks->items[number];
    const size_t count = rank->collective_count;
    int64_t end = 0;
    for (size_t k = 0; k < count; k++) {
        placing->items[k] = rank->collectives[k];
        placing->items[k].key = matching->order[rank->collectives[k].key];
    }
    const struct rank_collective *sorted = ranks_sort_by_time(placing->items, placing->spare, count);
    for (size_t k = 0; k < count; k++) {
        const struct rank_collective *one = &sorted[k];
        struct rank_member *member = &matching->members[(*slot_of(placing, one->key, one->number))++];
        *member = (struct rank_member){.key = one->key,
                                       .number = one->number,
                                       .rank = number,
                                       .first = k == 0,
                                       .start = one->start,
                                       .end = one->end};
        if (k && __builtin_sub_overflow(one->start, end, &member->before))
            member->first = true;
        end = k == 0 || one->end > end ? one->end : end;
    }
}

// By key, number and rank: the ranks are placed one after the other, so those of one number are in their order.
static bool place_members(struct rank_matching *matching, struct placing *placing) {
    const tsmith_ranks *ranks = matching->ranks;
    const uint32_t keys = tsmith_dictionary_string_count(ranks->keys);
    size_t most = 0, place = 0;
    for (size_t i = 0; i < ranks->count; i++)
        most = ranks->items[i].collective_count > most ? ranks->items[i].collective_count : most;
    placing->keys = calloc((size_t)keys + 1, sizeof *placing->keys);
    placing->items = malloc((most + 1) * sizeof *placing->items);
    placing->spare = malloc((most + 1) * sizeof *placing->spare);
    if (!placing->keys || !placing->items || !placing->spare)
        return false;
    count_keys(matching, placing);
    if (!make_slots(matching, placing, keys))
        return false;
    for (uint32_t i = 0; i < ranks->count; i++)
        place_rank(matching, placing, i);
    for (size_t i = 0; i < keys; place += placing->keys[i++].count)
        if (placing->keys[i].is_sparse)
            qsort(&matching->members[place], placing->keys[i].count, sizeof *matching->members,
                  ranks_compare_members);
    return true;
}

bool ranks_match(struct rank_matching *matching) {
    const tsmith_ranks *ranks = matching->ranks;
    struct placing placing = {0};
    matching->first_of = calloc(ranks->count + 1, sizeof *matching->first_of);
    matching->of_rank = calloc(ranks->count, sizeof *matching->of_rank);
    matching->last_of = calloc(ranks->count, sizeof *matching->last_of);
    matching->touched = calloc(ranks->count, sizeof *matching->touched);
    for (size_t i = 0; matching->first_of && i < ranks->count; i++)
        matching->first_of[i + 1] = matching->first_of[i] + ranks->items[i].collective_count;
    matching->count = matching->first_of ? matching->first_of[ranks->count] : 0;
    matching->members = malloc((matching->count + 1) * sizeof *matching->members);
    const bool done = matching->first_of && matching->members && matching->of_rank && matching->last_of &&
                      matching->touched && order_names(matching) && place_members(matching, &placing);
    free(placing.keys);
    free(placing.slots);
    free(placing.items);
    free(placing.spare);
    return done;
}

void ranks_matching_finish(struct rank_matching *matching) {
    free(matching->names);
    free(matching->order);
    free(matching->first_of);
    free(matching->members);
    free(matching->of_rank);
    free(matching->last_of);
    free(matching->touched);
    host_clocks_destroy(matching->clocks);
}

// ---- the matched collectives

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

// ---- numbers

static int ascending(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// Moves those below `limit` to the front, without a branch that depends on them; how many they are.
static size_t move_smaller(int64_t *values, size_t count, int64_t limit) {
    size_t smaller = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t value = values[i];
        values[i] = values[smaller];
        values[smaller] = value;
        smaller += value < limit;
    }
    return smaller;
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c) {
    const int64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

static void sort_few(int64_t *values, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const int64_t value = values[i];
        size_t at = i;
        for (; at && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

int64_t ranks_select(int64_t *values, size_t count, size_t place) {
    enum { FEW = 8, ROUNDS_MOST = 64 }; // no values make it take more than so many passes
    for (int round = 0; count > FEW && round < ROUNDS_MOST; round++) {
        const int64_t pivot = middle_of(values[0], values[count / 2], values[count - 1]);
        size_t smaller = move_smaller(values, count, pivot);
        if (place >= smaller) { // the pivot itself is among the others: they become fewer each time
            values += smaller;
            place -= smaller;
            count -= smaller;
            smaller = pivot < INT64_MAX ? move_smaller(values, count, pivot + 1) : count;
            if (place < smaller)
                return pivot;
            values += smaller;
            place -= smaller;
            count -= smaller;
        } else {
            count = smaller;
        }
    }
    if (count > FEW)
        qsort(values, count, sizeof *values, ascending);
    else
        sort_few(values, count);
    return values[place];
}

int64_t ranks_median(int64_t *values, size_t count) {
    if (!count)
        return 0;
    const int64_t high = ranks_select(values, count, count / 2);
    int64_t low = count % 2 ? high : INT64_MIN;
    for (size_t i = 0; count % 2 == 0 && i < count / 2; i++) // all of them are at most `high`
        low = values[i] > low ? values[i] : low;
    return low / 2 + high / 2 + (low % 2 + high % 2) / 2;
}

static double log_factorial(uint64_t n) {
    int sign;
    return lgamma_r((double)n + 1, &sign);
}

double ranks_coin_tail(uint64_t heads, uint64_t count) {
    if (!heads)
        return 1;
    if (heads <= count / 2) // so that the first term is the largest one
        return 1 - ranks_coin_tail(count - heads + 1, count);
    double chance = exp(log_factorial(count) - log_factorial(heads) - log_factorial(count - heads) -
                        (double)count * log(2)),
           tail = 0;
    for (uint64_t k = heads; k <= count && chance > tail * 1e-18; k++) {
        tail += chance;
        chance *= (double)(count - k) / (double)(k + 1);
    }
    return tail < 1 ? tail : 1;
}
