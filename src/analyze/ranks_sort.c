// SPDX-License-Identifier: Apache-2.0
// Sorts collectives of one rank. ranks.c and ranks_match.c call it.
//
// A partial has them by key and time, a trace by time, so what is to be sorted consists of few runs that are sorted. Two runs that follow
// each other are merged until one is left: with k runs that takes log2(k) passes over the collectives.
#include "analyze/ranks.h"

typedef bool is_after_function(const struct rank_collective *a, const struct rank_collective *b);

static bool is_later(const struct rank_collective *a, const struct rank_collective *b) {
    if (a->start != b->start)
        return a->start > b->start;
    if (a->end != b->end)
        return a->end > b->end;
    return a->key != b->key ? a->key > b->key : a->number > b->number;
}

static bool is_after_by_key(const struct rank_collective *a, const struct rank_collective *b) {
    if (a->key != b->key)
        return a->key > b->key;
    if (a->start != b->start)
        return a->start > b->start;
    return a->end != b->end ? a->end > b->end : a->number > b->number;
}

__attribute__((always_inline)) static inline size_t run_end(const struct rank_collective *items, size_t count,
                                                            size_t from, is_after_function *is_after) {
    size_t to = from + (from < count);
    while (to < count && !is_after(&items[to - 1], &items[to]))
        to++;
    return to;
}

// Merges each two runs that follow each other; how many runs are left.
__attribute__((always_inline)) static inline size_t merge_pairs(const struct rank_collective *items,
                                                                struct rank_collective *out, size_t count,
                                                                is_after_function *is_after) {
    size_t runs = 0;
    for (size_t from = 0, to; from < count; from = to, runs++) {
        const size_t middle = run_end(items, count, from, is_after);
        size_t left = from, right = middle;
        to = run_end(items, count, middle, is_after);
        for (size_t at = from; at < to; at++) {
            const bool is_right = left == middle || (right < to && is_after(&items[left], &items[right]));
            out[at] = items[is_right ? right++ : left++];
        }
    }
    return runs;
}

__attribute__((always_inline)) static inline struct rank_collective *sort(struct rank_collective *items,
                                                                          struct rank_collective *spare,
                                                                          size_t count,
                                                                          is_after_function *is_after) {
    size_t runs = run_end(items, count, 0, is_after) < count ? 2 : 1; // or more
    while (runs > 1) {
        struct rank_collective *const sorted = spare;
        runs = merge_pairs(items, spare, count, is_after);
        spare = items;
        items = sorted;
    }
    return items;
}

struct rank_collective *ranks_sort_by_time(struct rank_collective *items, struct rank_collective *spare,
                                           size_t count) {
    return sort(items, spare, count, is_later);
}

struct rank_collective *ranks_sort_by_key(struct rank_collective *items, struct rank_collective *spare,
                                          size_t count) {
    return sort(items, spare, count, is_after_by_key);
}
