// SPDX-License-Identifier: Apache-2.0
// A map from a handle of the API to 64 bits: found and changed without a lock by any number of threads, of a fixed size, in
// memory of its own. A handle is a pointer or an id, but not 0 or 1. For agents.
//
// A key lives in the one bucket its hash names. A slot is empty (key 0), being filled (key 1), or holds key and value. The
// thread that fills it stores the value first and publishes it with the key (release; partner: the acquire in map_slot). A
// key is put by one thread at a time: handles of live objects are given out once.
#ifndef AGENTKIT_MAP_H
#define AGENTKIT_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_SLOTS 8u // of a bucket: two cache lines

struct map_slot {
    _Atomic uintptr_t key;
    _Atomic uint64_t value;
};

struct map {
    struct map_slot *slots;
    uint32_t shift; // 64 - log2(buckets)
};

// False when there is no memory; every lookup then finds nothing and every put fails.
bool map_init(struct map *map, uint32_t log2_buckets);
bool map_put(struct map *map, const void *key, uint64_t value); // replaces; false: the bucket is full
void map_remove(struct map *map, const void *key);
void map_clear(struct map *map); // removes all keys but those that are being put
// The value's place; a key that is not there is added with the value 0, by any number of threads. For maps whose keys are
// only added in this way, and never removed. NULL: the bucket is full.
_Atomic uint64_t *map_add(struct map *map, const void *key);

static inline struct map_slot *map_bucket(const struct map *map, const void *key) {
    return map->slots + (((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> map->shift) * MAP_SLOTS;
}

// The value's place, until the key is removed; NULL when the key is not there.
static inline _Atomic uint64_t *map_slot(const struct map *map, const void *key) {
    if (!map->slots || !key)
        return NULL;
    struct map_slot *slot = map_bucket(map, key);
    for (uint32_t i = 0; i < MAP_SLOTS; i++)
        if (atomic_load_explicit(&slot[i].key, memory_order_acquire) == (uintptr_t)key)
            return &slot[i].value;
    return NULL;
}

static inline uint64_t map_get(const struct map *map, const void *key) {
    _Atomic uint64_t *value = map_slot(map, key);
    return value ? atomic_load_explicit(value, memory_order_acquire) : 0;
}

#endif
