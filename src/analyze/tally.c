// SPDX-License-Identifier: Apache-2.0
// A hash table that numbers keys in the order of first use. The analyses that group by a key call it.
#include "analyze/tally.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

static size_t slot_of(const struct tally *tally, uint64_t key) {
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    size_t at = (hash ^ hash >> 32) & (tally->slot_count - 1);
    while (tally->slots[at] && tally->keys[tally->slots[at] - 1] != key)
        at = (at + 1) & (tally->slot_count - 1);
    return at;
}

static bool grow(struct tally *tally) {
    size_t grown = tally->slot_count ? 2 * tally->slot_count : 64;
    uint32_t *slots = calloc(grown, sizeof *slots);
    if (!slots)
        return false;
    free(tally->slots);
    tally->slots = slots;
    tally->slot_count = grown;
    for (size_t i = 0; i < tally->count; i++)
        tally->slots[slot_of(tally, tally->keys[i])] = (uint32_t)i + 1;
    return true;
}

uint32_t tally_number(struct tally *tally, uint64_t key) {
    if (2 * tally->count >= tally->slot_count && !grow(tally))
        return UINT32_MAX;
    size_t at = slot_of(tally, key);
    if (tally->slots[at])
        return tally->slots[at] - 1;
    if (tally->count >= UINT32_MAX - 1 || !ARRAY_RESERVE(tally->keys, tally->capacity, tally->count + 1))
        return UINT32_MAX;
    tally->keys[tally->count] = key;
    tally->slots[at] = (uint32_t)++tally->count;
    return (uint32_t)tally->count - 1;
}

void tally_finish(struct tally *tally) {
    free(tally->keys);
    free(tally->slots);
}
