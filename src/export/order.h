// SPDX-License-Identifier: Apache-2.0
// Events of a track that wait until they can be put in order: batches of a track overlap in time.
#ifndef EXPORT_ORDER_H
#define EXPORT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct waiting {
    int64_t start, end;  // end INT64_MIN: not a slice
    uint32_t at, length; // what else it is, as its owner keeps it
};

// Room for a sort, kept from one to the next; freed by its owner.
struct waiting_scratch {
    struct waiting *items;
    size_t capacity;
};

// By start; of those that start together the one that ends last comes first, since the others are inside it. Equal
// slices keep their order. O(n) if the input is already sorted. False when memory is exhausted.
bool waiting_sort(struct waiting *items, size_t count, struct waiting_scratch *scratch);

#endif
