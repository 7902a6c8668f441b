// SPDX-License-Identifier: Apache-2.0
// Hash tables with open addressing: an array of a power of two of slots, at most half of them used. A key is in the slot of its
// hash or, if others are there, in the first free one after it.
//
// TABLE_SLOT and TABLE_ROOM are for callers with slots of their own: entries, indices or pointers. `slot` is the name of a
// pointer to a slot that the caller's expressions use. `struct table` is a table from 64-bit keys to 64-bit values.
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Mixes a key: the lower bits of the result depend on all of its bits.
static inline uint64_t table_hash(uint64_t key) {
    const uint64_t product = key * UINT64_C(0x9e3779b97f4a7c15);
    return product ^ product >> 32;
}

// The capacity of a table that is made for `count` keys.
static inline size_t table_capacity(size_t count) {
    size_t capacity = 16;
    while (capacity < 2 * count)
        capacity *= 2;
    return capacity;
}

// The first slot, beginning with that of `hash`, for which `stop` is true: it is free, or it has the key. `capacity` is a power
// of two; a slot is free. Types are made from what the pointers point to: of a pointer itself, GCC 10 would keep the qualifier.
#define TABLE_SLOT(slots, capacity, hash, slot, stop)                                                        \
    ({                                                                                                       \
        __typeof__(*(slots)) *const table_slots_ = (slots);                                                  \
        const size_t table_mask_ = (size_t)(capacity)-1;                                                     \
        size_t table_at_ = (size_t)(hash)&table_mask_;                                                       \
        __typeof__(*(slots)) *slot = &table_slots_[table_at_];                                               \
        for (; !(stop); slot = &table_slots_[table_at_])                                                     \
            table_at_ = (table_at_ + 1) & table_mask_;                                                       \
        slot;                                                                                                \
    })

// Puts the used slots of one array into another, which is empty. `used`: whether a slot has a key; `hash`: that of its key.
#define TABLE_MOVE(from, from_capacity, to, to_capacity, slot, used, hash)                                   \
    do {                                                                                                     \
        for (size_t table_i_ = 0; table_i_ < (from_capacity); table_i_++) {                                  \
            __typeof__(*(from)) *slot = &(from)[table_i_];                                                   \
            if (!(used))                                                                                     \
                continue;                                                                                    \
            size_t table_to_ = (size_t)(hash) & ((size_t)(to_capacity)-1);                                   \
            for (slot = &(to)[table_to_]; used; slot = &(to)[table_to_])                                     \
                table_to_ = (table_to_ + 1) & ((size_t)(to_capacity)-1);                                     \
            *slot = (from)[table_i_];                                                                        \
        }                                                                                                    \
    } while (0)

// Makes room for one key more than `count`: doubles `slots` (NULL at first) and `capacity` (then `first`) where half of them
// are used. A slot is free if it is all zero. False when memory is exhausted; the table is then unchanged. `slots` and
// `capacity` are evaluated more than once.
#define TABLE_ROOM(slots, capacity, count, first, slot, used, hash)                                          \
    ({                                                                                                       \
        bool table_good_ = (size_t)(count)*2 < (capacity);                                                   \
        if (__builtin_expect(!table_good_, 0) && (capacity) <= UINT32_MAX / 2) {                             \
            const size_t table_grown_ = (capacity) ? (size_t)(capacity)*2 : (first);                         \
            __typeof__(*(slots)) *const table_new_ = calloc(table_grown_, sizeof *(slots));                  \
            table_good_ = table_new_ != NULL;                                                                \
            if (table_good_) {                                                                               \
                TABLE_MOVE(slots, capacity, table_new_, table_grown_, slot, used, hash);                     \
                free(slots);                                                                                 \
                (slots) = table_new_;                                                                        \
                (capacity) = (__typeof__(capacity))table_grown_;                                             \
            }                                                                                                \
        }                                                                                                    \
        table_good_;                                                                                         \
    })

struct table {
    struct table_slot {
        uint64_t key; // 0: the slot is free
        uint64_t value;
    } * slots;
    size_t capacity; // of slots: 0 or a power of two
    size_t count;    // of keys, 0 included
    bool has_zero;   // the key 0, which has no slot
    uint64_t zero;   // its value
};

// The value of a key; NULL if the table does not have the key. Borrowed until the table changes.
uint64_t *table_find(const struct table *table, uint64_t key);
// The same; a missing key is added with the value 0, and *is_new (may be NULL) is then true. NULL when memory is
// exhausted; the table is then unchanged.
uint64_t *table_add(struct table *table, uint64_t key, bool *is_new);
// Frees what it holds and leaves it empty.
void table_finish(struct table *table);

#endif
