// SPDX-License-Identifier: Apache-2.0
// The tracks that readers of records need: track_table.h. The agents of CUDA, ROCm and CANN call it.
#include "agentkit/track_table.h"

#include <pthread.h>

#include "agentkit/agent.h"

enum {
    PLACES = 1 << TRACK_TABLE_LOG2,
    USED_MOST = PLACES / 4 * 3
}; // one nearly full would be slow to search

struct track_place track_places[PLACES];
static uint32_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The key's place, or the empty one where it would be: some always are.
static struct track_place *place_of(const struct track_key *key, uint32_t first) {
    for (uint32_t at = first;; at = (at + 1) % PLACES)
        if (!atomic_load_explicit(&track_places[at].track, memory_order_acquire) ||
            track_key_same(&track_places[at].key, key))
            return &track_places[at];
}

uint32_t track_table_search(const struct track_key *key, uint32_t first, track_maker *make) {
    struct track_place *place = place_of(key, first);
    uint32_t track = atomic_load_explicit(&place->track, memory_order_relaxed);
    if (track || !make)
        return track;
    pthread_mutex_lock(&lock);
    place = place_of(key, first);
    track = atomic_load_explicit(&place->track, memory_order_relaxed);
    if (!track && used < USED_MOST && (track = make(key)) != 0) {
        used++;
        place->key = *key;
        atomic_store_explicit(&place->track, track, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (!track)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return track;
}

static uint32_t make_thread(const struct track_key *key) {
    return channel_thread(agent.channel, (uint32_t)key->number);
}

uint32_t track_table_thread(uint32_t tid) {
    const struct track_key key = {.number = tid, .kind = TRACK_KIND_THREAD};
    return tid ? track_table_get(&key, make_thread) : 0;
}
