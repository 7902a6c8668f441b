// SPDX-License-Identifier: Apache-2.0
// A hash table from 64-bit keys to 64-bit values. The dictionary and the OTF2 exporter use it.
#include "base/table.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static struct table_slot *slot_of(struct table_slot *slots, size_t capacity, uint64_t key) {
    // The upper half of the product depends on every bit of the key below it; folded, so that all bits of the key count.
    uint64_t hash = (key ^ key >> 32) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (capacity - 1);
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct table *table) {
    if (table->capacity > SIZE_MAX / 4)
        return false;
    size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
    struct table_slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->slots[i].key)
            *slot_of(slots, capacity, table->slots[i].key) = table->slots[i];
    free(table->slots);
    table->slots = slots;
    table->capacity = capacity;
    return true;
}

uint64_t *table_find(const struct table *table, uint64_t key) {
    if (key == 0)
        return table->has_zero ? (uint64_t *)(uintptr_t)&table->zero : NULL;
    if (!table->capacity)
        return NULL;
    struct table_slot *slot = slot_of(table->slots, table->capacity, key);
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
        if (table->count * 2 >= table->capacity && !grow(table))
            return NULL;
        struct table_slot *slot = slot_of(table->slots, table->capacity, key);
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
