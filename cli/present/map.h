// SPDX-License-Identifier: Apache-2.0
// Numbers any 64-bit key in the order of first sight: 0, 1, 2, ... What belongs to a key is kept in arrays by
// number.
#ifndef CLI_MAP_H
#define CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A zeroed struct is empty.
struct map {
    uint64_t *keys;
    uint32_t *numbers; // UINT32_MAX: an empty slot
    size_t slots;      // a power of two
    uint32_t count;
};

// The number of a key, new when *is_new; UINT32_MAX when memory is exhausted.
uint32_t map_number(struct map *map, uint64_t key, bool *is_new);
void map_finish(struct map *map);

// Makes room for element `count` in an array that grows by doubling; false when memory is exhausted.
bool map_array_reserve(void **items, size_t *capacity, size_t count, size_t element);

#endif
