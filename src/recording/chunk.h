// SPDX-License-Identifier: Apache-2.0
// The content hash of a chunk: 128 bits, not safe against deliberate collisions. A reader checks every chunk against
// its hash, so a wrong one is found.
#ifndef RECORDING_CHUNK_H
#define RECORDING_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct chunk_hash {
    uint64_t low, high;
};

// Both 0 only for a chunk of nothing but zeros.
struct chunk_hash chunk_hash_of(const void *bytes, size_t length);
static inline bool chunk_hash_is_zeros(struct chunk_hash hash) {
    return (hash.low | hash.high) == 0;
}
static inline bool chunk_hash_equal(struct chunk_hash a, struct chunk_hash b) {
    return a.low == b.low && a.high == b.high;
}

// A table of hashes, each with a value: open addressing, so that 100,000 chunks are found again at once. A zeroed one is
// empty.
struct chunk_table {
    struct chunk_slot {
        struct chunk_hash hash;
        uint64_t value; // 1 and above; 0: the slot is free
    } * slots;
    size_t capacity, count;
};
// The value of a hash, 0 when it is not there.
uint64_t chunk_table_find(const struct chunk_table *table, struct chunk_hash hash);
// False when memory is exhausted. `value` is not 0.
bool chunk_table_add(struct chunk_table *table, struct chunk_hash hash, uint64_t value);
void chunk_table_finish(struct chunk_table *table);
// A number as a key of such a table.
static inline struct chunk_hash chunk_key_of(uint64_t id) {
    return (struct chunk_hash){id * 0x9e3779b97f4a7c15u, id};
}

#endif
