// SPDX-License-Identifier: Apache-2.0
// A hash table that numbers 64-bit keys in the order of first use. stats.c and view_events.c call it.
#include "map.h"

#include <stdlib.h>
#include <string.h>

void map_finish(struct map *map) {
    free(map->keys);
    free(map->numbers);
    *map = (struct map){0};
}

static size_t slot_of(const struct map *map, uint64_t key) {
    uint64_t hash = key;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    size_t slot = (size_t)hash & (map->slots - 1);
    while (map->numbers[slot] != UINT32_MAX && map->keys[slot] != key)
        slot = (slot + 1) & (map->slots - 1);
    return slot;
}

static bool grow(struct map *map) {
    struct map larger = {.slots = map->slots ? map->slots * 2 : 64, .count = map->count};
    larger.keys = malloc(larger.slots * sizeof *larger.keys);
    larger.numbers = malloc(larger.slots * sizeof *larger.numbers);
    if (!larger.keys || !larger.numbers) {
        map_finish(&larger);
        return false;
    }
    memset(larger.numbers, 0xff, larger.slots * sizeof *larger.numbers);
    for (size_t i = 0; i < map->slots; i++) {
        if (map->numbers[i] == UINT32_MAX)
            continue;
        size_t slot = slot_of(&larger, map->keys[i]);
        larger.keys[slot] = map->keys[i];
        larger.numbers[slot] = map->numbers[i];
    }
    map_finish(map);
    *map = larger;
    return true;
}

uint32_t map_number(struct map *map, uint64_t key, bool *is_new) {
    *is_new = false;
    if (map->count + 1 > map->slots / 2 && !grow(map))
        return UINT32_MAX;
    size_t slot = slot_of(map, key);
    if (map->numbers[slot] == UINT32_MAX) {
        map->keys[slot] = key;
        map->numbers[slot] = map->count++;
        *is_new = true;
    }
    return map->numbers[slot];
}

bool map_array_reserve(void **items, size_t *capacity, size_t count, size_t element) {
    if (count < *capacity)
        return true;
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *moved = realloc(*items, larger * element);
    if (!moved)
        return false;
    *items = moved;
    *capacity = larger;
    return true;
}
