// SPDX-License-Identifier: Apache-2.0
// The free entries of a table of fixed size, by their numbers from 1: a stack without a lock. For agents (Level Zero, MPI, NVTX); any
// thread. The top has a count of changes, so that a thread that was interrupted between reading the top and replacing it cannot
// mistake a later state for the one that it has read.
//
// Entries may be taken and given back several at once, as a chain: each has the number of the next, the last has 0.
#ifndef AGENTKIT_FREE_LIST_H
#define AGENTKIT_FREE_LIST_H

#include <stdatomic.h>
#include <stdint.h>

struct free_list {
    _Atomic uint64_t top;  // changes << 32 | number; number 0: none is free
    _Atomic uint32_t used; // entries up to this number were ever taken
};

// Where an entry of the caller's table has the number of the next one. Another thread may read it while the entry is in use.
typedef uint32_t *free_list_link(uint32_t number);

static inline uint64_t free_list_top(uint64_t before, uint32_t number) {
    return ((before >> 32) + 1) << 32 | number;
}

// A chain of up to `limit`, the most recent first; 0: none is free.
static inline uint32_t free_list_take(struct free_list *list, uint32_t limit, free_list_link *link) {
    uint64_t top = atomic_load_explicit(&list->top, memory_order_acquire);
    while ((uint32_t)top) {
        uint32_t last = (uint32_t)top, next = __atomic_load_n(link(last), __ATOMIC_RELAXED);
        for (uint32_t i = 1; i < limit && next; i++) {
            last = next;
            next = __atomic_load_n(link(last), __ATOMIC_RELAXED);
        }
        const uint32_t first = (uint32_t)top;
        if (atomic_compare_exchange_weak_explicit(&list->top, &top, free_list_top(top, next),
                                                  memory_order_acquire, memory_order_acquire)) {
            __atomic_store_n(link(last), 0, __ATOMIC_RELAXED);
            return first;
        }
    }
    return 0;
}

// Gives back the chain from `first` to `last`.
static inline void free_list_give(struct free_list *list, uint32_t first, uint32_t last,
                                  free_list_link *link) {
    uint64_t top = atomic_load_explicit(&list->top, memory_order_relaxed);
    do
        __atomic_store_n(link(last), (uint32_t)top, __ATOMIC_RELAXED);
    while (!atomic_compare_exchange_weak_explicit(&list->top, &top, free_list_top(top, first),
                                                  memory_order_release, memory_order_relaxed));
}

// The first of `count` entries that were never taken, and are no chain yet; 0: a table of `capacity` has no more.
static inline uint32_t free_list_extend(struct free_list *list, uint32_t count, uint32_t capacity) {
    uint32_t used = atomic_load_explicit(&list->used, memory_order_relaxed);
    while (used + count <= capacity)
        if (atomic_compare_exchange_weak_explicit(&list->used, &used, used + count, memory_order_relaxed,
                                                  memory_order_relaxed))
            return used + 1;
    return 0;
}

#endif
