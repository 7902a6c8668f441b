// SPDX-License-Identifier: Apache-2.0
// A binary heap of pairs of numbers. The replay plan and the simulation use it as a queue by time.
#include "base/heap.h"

#include <stdlib.h>

#include "base/array.h"

static bool before(const struct heap_item *a, const struct heap_item *b) {
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

bool heap_push(struct heap *heap, int64_t key, uint64_t tie) {
    void *items = heap->items;
    if (!array_reserve(&items, &heap->capacity, heap->count + 1, sizeof *heap->items))
        return false;
    heap->items = items;
    const struct heap_item item = {key, tie};
    size_t at = heap->count++;
    for (; at && before(&item, &heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
    return true;
}

struct heap_item heap_pop(struct heap *heap) {
    struct heap_item *items = heap->items;
    const struct heap_item top = items[0], item = items[--heap->count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        child += child + 1 < heap->count && before(&items[child + 1], &items[child]);
        if (!before(&items[child], &item))
            break;
        items[at] = items[child];
    }
    items[at] = item;
    return top;
}

void heap_finish(struct heap *heap) {
    free(heap->items);
    *heap = (struct heap){0};
}
