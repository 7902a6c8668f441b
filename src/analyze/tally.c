// SPDX-License-Identifier: Apache-2.0
// A hash table that numbers keys in the order of first use. The analyses that group by a key call it.
#include "analyze/tally.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/table.h"

uint32_t tally_number(struct tally *tally, uint64_t key) {
    if (!TABLE_ROOM(tally->slots, tally->slot_count, tally->count, 64, slot, *slot,
                    table_hash(tally->keys[*slot - 1])))
        return UINT32_MAX;
    uint32_t *found = TABLE_SLOT(tally->slots, tally->slot_count, table_hash(key), slot,
                                 !*slot || tally->keys[*slot - 1] == key);
    if (*found)
        return *found - 1;
    if (tally->count >= UINT32_MAX - 1 || !ARRAY_RESERVE(tally->keys, tally->capacity, tally->count + 1))
        return UINT32_MAX;
    tally->keys[tally->count] = key;
    *found = (uint32_t)++tally->count;
    return (uint32_t)tally->count - 1;
}

void tally_finish(struct tally *tally) {
    free(tally->keys);
    free(tally->slots);
}
