// SPDX-License-Identifier: Apache-2.0
// Tracks by what a record says of them: a stream of a device, a thread, what else a device has. For agents that read records of a
// driver's tool interface. A track is made when a record needs it first, under a lock, and found without one. Any thread.
#ifndef AGENTKIT_TRACK_TABLE_H
#define AGENTKIT_TRACK_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// The agent's own meaning; members that it does not use are 0.
struct track_key {
    uint64_t device, number;
    uint32_t more, kind;
};

// Makes the track of a key in the agent's channel, under the lock; 0: there is none to be had.
typedef uint32_t track_maker(const struct track_key *key);

enum { TRACK_TABLE_LOG2 = 14 };

struct track_place {
    struct track_key key;   // written before the track
    _Atomic uint32_t track; // 0: the place is empty
};
extern struct track_place track_places[1 << TRACK_TABLE_LOG2] __attribute__((visibility("hidden")));

uint32_t track_table_search(const struct track_key *key, uint32_t first, track_maker *make);

static inline bool track_key_same(const struct track_key *a, const struct track_key *b) {
    return a->number == b->number && a->device == b->device && a->more == b->more && a->kind == b->kind;
}

// The key's track; 0: it cannot be made, which is counted. `make` NULL: it is not made, 0 if it is not there.
static inline uint32_t track_table_get(const struct track_key *key, track_maker *make) {
    uint64_t hash = (key->device * UINT64_C(0x9e3779b97f4a7c15) + key->number) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = ((hash ^ hash >> 29) + ((uint64_t)key->more << 8 | key->kind)) * UINT64_C(0x94d049bb133111eb);
    const uint32_t first = (uint32_t)(hash >> (64 - TRACK_TABLE_LOG2));
    const uint32_t track = atomic_load_explicit(&track_places[first].track, memory_order_acquire);
    return __builtin_expect(track && track_key_same(&track_places[first].key, key), 1)
               ? track
               : track_table_search(key, first, make);
}

// The track of a thread of this process; 0 for 0. Keys of the agent's own have kinds below TRACK_KIND_THREAD.
enum { TRACK_KIND_THREAD = UINT16_MAX };
uint32_t track_table_thread(uint32_t tid);

#endif
