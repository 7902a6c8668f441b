// SPDX-License-Identifier: Apache-2.0
// Texts as string ids, without a lock for known texts: NCCL repeats the same few texts. A place is
// taken once and never changes after it is READY. Rules: agent.h.
#include <string.h>

#include "agent.h"
#include "base/hash.h"

enum { PLACES = 256, PROBES = 16, KEPT = 56 };
enum { EMPTY, WRITING, READY };

static struct {
    _Atomic uint32_t state;
    uint32_t id;
    char bytes[KEPT]; // with its NUL
} kept[PLACES];

uint32_t text_id(const char *text) {
    if (!text || !*text)
        return 0;
    const size_t length = strlen(text);
    const uint64_t hash = hash_bytes(text, length);
    for (uint32_t i = 0; i < PROBES && length < KEPT; i++) {
        const size_t at = (hash + i) % PLACES;
        uint32_t state = atomic_load_explicit(&kept[at].state, memory_order_acquire);
        if (state == READY && strcmp(kept[at].bytes, text) == 0)
            return kept[at].id;
        if (state == EMPTY && atomic_compare_exchange_strong(&kept[at].state, &state, WRITING)) {
            kept[at].id = channel_string(agent.channel, text, length);
            memcpy(kept[at].bytes, text, length + 1);
            atomic_store_explicit(&kept[at].state, READY, memory_order_release);
            return kept[at].id;
        }
    }
    return channel_string(agent.channel, text, length);
}
