// SPDX-License-Identifier: Apache-2.0
// A hash table from 64-bit keys to 64-bit values. Labels, plans, the OTF2 exporter, Arrow streams and tiles use it.
#include "base/table.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static uint64_t hash_of(uint64_t key) {
    // The upper half of the product depends on every bit of the key below it; folded, so that all bits of the key count.
    return ((key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
}

static struct table_slot *slot_of(const struct table *table, uint64_t key) {
    return TABLE_SLOT(table->slots, table->capacity, hash_of(key), slot, !slot->key || slot->key == key);
}

uint64_t *table_find(const struct table *table, uint64_t key) {
    if (key == 0)
        return table->has_zero ? (uint64_t *)(uintptr_t)&table->zero : NULL;
    if (!table->capacity)
        return NULL;
    struct table_slot *slot = slot_of(table, key);
    return slot->key ? &slot->value : NULL;
}

uint64_t *table_add(struct table *table, uint64_t key, bool *is_new) {
    bool added = false;
    uint64_t *value = table_find(table, key);
    if (!value && key == 0) {
        table->has_zero = added = true;
        table->zero = 0;
        value = &table->zero;
    } else if (!value) {
        if (!TABLE_ROOM(table->slots, table->capacity, table->count, FIRST_CAPACITY, slot, slot->key,
                        hash_of(slot->key)))
            return NULL;
        struct table_slot *slot = slot_of(table, key);
        *slot = (struct table_slot){.key = key};
        added = true;
        value = &slot->value;
    }
    table->count += added;
    if (is_new)
        *is_new = added;
    return value;
}

void table_finish(struct table *table) {
    free(table->slots);
    *table = (struct table){0};
}
