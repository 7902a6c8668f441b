// SPDX-License-Identifier: Apache-2.0
// A merge sort over the ascending runs that are there: the batches as they came.
#include "export/order.h"

#include <string.h>

#include "base/array.h"

static bool before(const struct waiting *a, const struct waiting *b) {
    return a->start < b->start || (a->start == b->start && a->end > b->end);
}

static void merge(const struct waiting *from, size_t left, size_t middle, size_t right,
                  struct waiting *into) {
    size_t a = left, b = middle;
    for (size_t at = left; at < right; at++)
        into[at] = b == right || (a < middle && !before(&from[b], &from[a])) ? from[a++] : from[b++];
}

// Where the ascending run from `at` on ends.
static size_t run_end(const struct waiting *items, size_t at, size_t count) {
    for (at++; at < count && !before(&items[at], &items[at - 1]); at++)
        ;
    return at < count ? at : count;
}

bool waiting_sort(struct waiting *items, size_t count, struct waiting_scratch *scratch) {
    while (run_end(items, 0, count) < count) {
        if (!ARRAY_RESERVE(scratch->items, scratch->capacity, count))
            return false;
        for (size_t left = 0; left < count;) {
            size_t middle = run_end(items, left, count);
            size_t right = middle < count ? run_end(items, middle, count) : count;
            merge(items, left, middle, right, scratch->items);
            left = right;
        }
        memcpy(items, scratch->items, count * sizeof *items);
    }
    return true;
}
