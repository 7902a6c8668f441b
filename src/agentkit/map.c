// SPDX-License-Identifier: Apache-2.0
// The map of handles to values. Invariants: map.h. The OpenCL and CUDA agents use it.
#include "agentkit/map.h"

#include "wire/memory.h"

enum { KEY_FILLING = 1 };

bool map_init(struct map *map, uint32_t log2_buckets) {
    map->slots = memory_take(((size_t)1 << log2_buckets) * MAP_SLOTS * sizeof(struct map_slot));
    map->shift = 64 - log2_buckets;
    return map->slots != NULL;
}

bool map_put(struct map *map, const void *key, uint64_t value) {
    _Atomic uint64_t *place = map_slot(map, key);
    if (place) {
        atomic_store_explicit(place, value, memory_order_release);
        return true;
    }
    if (!map->slots || !key)
        return false;
    struct map_slot *slot = map_bucket(map, key);
    for (uint32_t i = 0; i < MAP_SLOTS; i++) {
        uintptr_t empty = 0;
        if (atomic_load_explicit(&slot[i].key, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong(&slot[i].key, &empty, KEY_FILLING))
            continue;
        atomic_store_explicit(&slot[i].value, value, memory_order_relaxed);
        atomic_store_explicit(&slot[i].key, (uintptr_t)key, memory_order_release);
        return true;
    }
    return false;
}

// Slots of a bucket are taken in their order and stay taken, so threads that add one key meet at the same slot.
_Atomic uint64_t *map_add(struct map *map, const void *key) {
    struct map_slot *slot = map->slots && key ? map_bucket(map, key) : NULL;
    for (uint32_t i = 0; slot && i < MAP_SLOTS; i++) {
        uintptr_t there = 0;
        if (atomic_compare_exchange_strong(&slot[i].key, &there, (uintptr_t)key) || there == (uintptr_t)key)
            return &slot[i].value;
    }
    return NULL;
}

void map_remove(struct map *map, const void *key) {
    if (!map->slots || !key)
        return;
    struct map_slot *slot = map_bucket(map, key);
    for (uint32_t i = 0; i < MAP_SLOTS; i++) {
        if (atomic_load_explicit(&slot[i].key, memory_order_relaxed) == (uintptr_t)key) {
            atomic_store_explicit(&slot[i].key, 0, memory_order_release);
            return;
        }
    }
}

void map_clear(struct map *map) {
    const size_t count = map->slots ? ((size_t)1 << (64 - map->shift)) * MAP_SLOTS : 0;
    for (size_t i = 0; i < count; i++) {
        uintptr_t key = atomic_load_explicit(&map->slots[i].key, memory_order_relaxed);
        if (key > KEY_FILLING)
            atomic_compare_exchange_strong(&map->slots[i].key, &key, 0);
    }
}
