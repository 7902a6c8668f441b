// SPDX-License-Identifier: Apache-2.0
// A table from 64-bit keys to 64-bit values: open addressing, at most half full. A zeroed one is empty.
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

// The value of a key, NULL when it is not there. Borrowed until the table changes.
uint64_t *table_find(const struct table *table, uint64_t key);
// The same; a missing key is added with the value 0, and *is_new (may be NULL) is then true. NULL when memory is
// exhausted; the table is then unchanged.
uint64_t *table_add(struct table *table, uint64_t key, bool *is_new);
// Frees what it holds and leaves it empty.
void table_finish(struct table *table);

#endif
