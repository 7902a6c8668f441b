// SPDX-License-Identifier: Apache-2.0
// The hash: four lanes take 32 bytes a step, each step a bijection of its lane for given input (so no difference that
// entered a lane is lost in it), and two different mixes of all lanes give the two halves.
#include "recording/chunk.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/table.h"

enum { LANES = 4, STEP = LANES * 8 };

static const uint64_t ODD_1 = 0x9e6c63d0676a9a99u, ODD_2 = 0xd6e8feb86659fd93u, ODD_3 = 0xa0761d6478bd642fu;

static inline uint64_t rotate(uint64_t value, unsigned by) {
    return value << by | value >> (64 - by);
}

static inline uint64_t mix_word(uint64_t lane, uint64_t word) {
    return rotate(lane ^ word * ODD_1, 29) * ODD_2;
}

static uint64_t avalanche(uint64_t value) {
    value = (value ^ value >> 32) * ODD_1;
    value = (value ^ value >> 29) * ODD_3;
    return value ^ value >> 32;
}

static bool all_zeros(const uint8_t *at, size_t length) {
    return length == 0 || (at[0] == 0 && memcmp(at, at + 1, length - 1) == 0);
}

struct chunk_hash chunk_hash_of(const void *bytes, size_t length) {
    const uint8_t *at = bytes;
    uint64_t lanes[LANES] = {ODD_1 ^ length, ODD_2, ODD_3, ~(uint64_t)length};
    uint8_t rest[STEP] = {0};
    if (all_zeros(at, length))
        return (struct chunk_hash){0, 0};
    size_t left = length;
    for (; left >= STEP; at += STEP, left -= STEP)
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = mix_word(lanes[i], bytes_get_u64(at + 8 * i));
    memcpy(rest, at, left);
    for (unsigned i = 0; left && i < LANES; i++)
        lanes[i] = mix_word(lanes[i], bytes_get_u64(rest + 8 * i));
    struct chunk_hash hash = {length, rotate(length, 32) ^ ODD_3};
    for (unsigned i = 0; i < LANES; i++) {
        hash.low = avalanche(hash.low + lanes[i]);
        hash.high = avalanche(rotate(hash.high, 17) ^ lanes[LANES - 1 - i] * ODD_3);
    }
    hash.low |= !(hash.low | hash.high); // 0 is taken
    return hash;
}

static struct chunk_slot *slot_of(const struct chunk_table *table, struct chunk_hash hash) {
    return TABLE_SLOT(table->slots, table->capacity, hash.low, slot,
                      !slot->value || chunk_hash_equal(slot->hash, hash));
}

uint64_t chunk_table_find(const struct chunk_table *table, struct chunk_hash hash) {
    return table->capacity ? slot_of(table, hash)->value : 0;
}

bool chunk_table_add(struct chunk_table *table, struct chunk_hash hash, uint64_t value) {
    enum { FIRST = 256 };
    if (!TABLE_ROOM(table->slots, table->capacity, table->count, FIRST, slot, slot->value, slot->hash.low))
        return false;
    struct chunk_slot *slot = slot_of(table, hash);
    table->count += slot->value == 0;
    *slot = (struct chunk_slot){hash, value};
    return true;
}

void chunk_table_finish(struct chunk_table *table) {
    free(table->slots);
    *table = (struct chunk_table){0};
}
