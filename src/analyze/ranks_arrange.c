// SPDX-License-Identifier: Apache-2.0
// Puts the ranks of a run into an order that depends on them alone, and decides their numbers. ranks.c calls it before the
// report, ranks_partial.c uses the order of labels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "base/array.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Compares two runs of digits as numbers of any length, and moves behind them.
static int compare_digits(const char **left, const char **right) {
    const char *a = *left + strspn(*left, "0"), *b = *right + strspn(*right, "0");
    const size_t a_length = strspn(a, "0123456789"), b_length = strspn(b, "0123456789");
    *left = a + a_length;
    *right = b + b_length;
    if (a_length != b_length)
        return a_length < b_length ? -1 : 1;
    return memcmp(a, b, a_length);
}

int ranks_compare_labels(const char *left, const char *right) {
    const char *a = left, *b = right;
    while (*a && *b) {
        if (is_digit(*a) && is_digit(*b)) {
            const int order = compare_digits(&a, &b);
            if (order)
                return order;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    if (*a != *b)
        return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    return strcmp(left, right); // 07 and 7
}

static int compare_numbers(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_collectives(const struct rank *a, const struct rank *b) {
    int order = compare_numbers((int64_t)a->collective_count, (int64_t)b->collective_count);
    for (size_t i = 0; !order && i < a->collective_count; i++) {
        const struct rank_collective *x = &a->collectives[i], *y = &b->collectives[i];
        order = compare_numbers(x->start, y->start);
        order = order ? order : compare_numbers(x->end, y->end);
    }
    return order;
}

// Those that were read first, then by number, then by label; two of one label by their contents.
static int compare_ranks(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    int order = compare_numbers(a->reason != NULL, b->reason != NULL);
    order = order ? order : compare_numbers(a->number, b->number);
    order = order ? order : ranks_compare_labels(a->label, b->label);
    order = order || !a->reason ? order : strcmp(a->reason, b->reason);
    order = order ? order : compare_numbers(a->window, b->window);
    order = order ? order : compare_numbers(a->compute, b->compute);
    return order ? order : compare_collectives(a, b);
}

// One trace that came by two ways, as itself or in partials, counts once.
static void remove_repeated(tsmith_ranks *ranks) {
    size_t kept = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        if (kept && compare_ranks(&ranks->items[kept - 1], &ranks->items[i]) == 0)
            rank_finish(&ranks->items[i]);
        else
            ranks->items[kept++] = ranks->items[i];
    }
    ranks->count = kept;
}

// The trace is not compared: it says the number of the one before it.
static bool reject_rank(struct rank *rank, const struct rank *first) {
    static const char FORMAT[] = "states rank %lld, as %s does";
    const int length = snprintf(NULL, 0, FORMAT, (long long)rank->number, first->label);
    rank->reason = length < 0 ? NULL : malloc((size_t)length + 1);
    if (rank->reason)
        (void)snprintf(rank->reason, (size_t)length + 1, FORMAT, (long long)rank->number, first->label);
    return rank->reason;
}

// The ranks are sorted, those that were read first. If all state one number, or one states none, the numbers say nothing.
static bool number(tsmith_ranks *ranks, size_t read) {
    size_t distinct = 1;
    for (size_t i = 1; i < read; i++)
        distinct += ranks->items[i].number != ranks->items[i - 1].number;
    ranks->ordered = ranks->items[0].number < 0 || (distinct == 1 && read > 1);
    if (ranks->ordered) {
        for (size_t i = 0; i < read; i++)
            ranks->items[i].number = (int64_t)i;
        return true;
    }
    size_t first = 0;
    for (size_t i = 1; i < read; i++) {
        if (ranks->items[i].number != ranks->items[first].number)
            first = i;
        else if (!reject_rank(&ranks->items[i], &ranks->items[first]))
            return false;
    }
    return true;
}

static void find_world(tsmith_ranks *ranks) {
    ranks->world = ranks->items[0].world;
    for (size_t i = 1; i < ranks->count; i++) {
        ranks->worlds_differ |= ranks->items[i].world != ranks->items[0].world;
        ranks->world = ranks->worlds_differ ? -1 : ranks->world;
    }
}

bool ranks_arrange(tsmith_ranks *ranks) {
    size_t read = 0;
    qsort(ranks->items, ranks->count, sizeof *ranks->items, compare_ranks);
    remove_repeated(ranks);
    while (read < ranks->count && !ranks->items[read].reason)
        read++;
    // Without numbers, the labels alone decide.
    bool stated = read > 0;
    for (size_t i = 0; i < read; i++)
        stated = stated && ranks->items[i].number >= 0;
    if (!stated) {
        for (size_t i = 0; i < read; i++)
            ranks->items[i].number = -1;
        qsort(ranks->items, ranks->count, sizeof *ranks->items, compare_ranks);
    }
    if (!number(ranks, read))
        return false;
    qsort(ranks->items, ranks->count, sizeof *ranks->items, compare_ranks);
    const size_t total = ranks->count;
    for (ranks->count = 0; ranks->count < total && !ranks->items[ranks->count].reason; ranks->count++)
        ;
    ranks->absent = total - ranks->count;
    find_world(ranks);
    return true;
}
