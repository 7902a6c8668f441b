// SPDX-License-Identifier: Apache-2.0
// A binary heap of pairs of numbers, the smallest first. The caller's own data is in the second number, which also
// decides between equal keys, so that equal input gives equal order.
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_item {
    int64_t key;
    uint64_t tie;
};

// A zeroed struct is a valid, empty heap.
struct heap {
    struct heap_item *items;
    size_t count, capacity;
};

// False when memory is exhausted.
bool heap_push(struct heap *heap, int64_t key, uint64_t tie);
// The heap must not be empty.
struct heap_item heap_pop(struct heap *heap);
void heap_finish(struct heap *heap);

#endif
