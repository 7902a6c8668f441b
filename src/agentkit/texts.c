// SPDX-License-Identifier: Apache-2.0
// The texts that were seen: texts.h. Called by agents on the program's threads.
//
// One entry for each hash. An entry never changes once it is published (release; partner: the acquire in texts_id), and the first
// text of a place keeps it: another one of the same place takes the lock of the channel each time.
//
// Callers mostly give the same few pointers (literals, names that a runtime keeps), so the entry that a pointer was last found to be is
// kept by the pointer, and compared with the text: the memory may hold another one now. This spares the length and the hash.
#include "agentkit/texts.h"

#include <stdatomic.h>
#include <string.h>

#include "agentkit/agent.h"
#include "base/hash.h"
#include "wire/memory.h"

enum { PLACES = 4096, POINTERS_LOG2 = 10, LENGTH_MAX = 256, ARENA_BYTES = 1 << 20, ALIGNED = 16 };

struct text {
    uint64_t hash;
    uint32_t length, id;
    char bytes[]; // ended by 0
};
static struct text *_Atomic places[PLACES], *_Atomic pointers[1 << POINTERS_LOG2];
static char *_Atomic arena;
static _Atomic size_t arena_used;

static char *arena_take(size_t bytes) {
    char *none = NULL, *made = atomic_load_explicit(&arena, memory_order_acquire);
    if (!made) { // of two threads that are first at once, one leaves its memory
        made = memory_take(ARENA_BYTES);
        if (!made || !atomic_compare_exchange_strong(&arena, &none, made))
            return NULL;
    }
    const size_t at = atomic_fetch_add_explicit(&arena_used, bytes, memory_order_relaxed);
    return at + bytes <= ARENA_BYTES ? made + at : NULL;
}

static void add_text(const char *bytes, size_t length, uint64_t hash, uint32_t id) {
    struct text *_Atomic *place = &places[hash % PLACES];
    struct text *none = NULL;
    if (!id || length > LENGTH_MAX || atomic_load_explicit(place, memory_order_relaxed) ||
        atomic_load_explicit(&arena_used, memory_order_relaxed) >= ARENA_BYTES)
        return;
    struct text *text =
        (struct text *)(void *)arena_take((sizeof *text + length + ALIGNED) & ~(size_t)(ALIGNED - 1));
    if (!text)
        return;
    *text = (struct text){.hash = hash, .length = (uint32_t)length, .id = id};
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = 0;
    atomic_compare_exchange_strong_explicit(place, &none, text, memory_order_release, memory_order_relaxed);
}

// The text is not where its pointer was found before: kept out of the function that is called for each record.
static __attribute__((noinline)) uint32_t search_text(const char *bytes, struct text *_Atomic *pointer) {
    const size_t length = strlen(bytes);
    const uint64_t hash = hash_bytes(bytes, length);
    struct text *text = atomic_load_explicit(&places[hash % PLACES], memory_order_acquire);
    if (text && text->hash == hash && text->length == length && memcmp(text->bytes, bytes, length) == 0) {
        atomic_store_explicit(pointer, text, memory_order_release);
        return text->id;
    }
    const uint32_t id = channel_string(agent.channel, bytes, length);
    add_text(bytes, length, hash, id);
    return id;
}

uint32_t texts_id(const char *bytes) {
    if (!bytes)
        return 0;
    struct text *_Atomic *pointer =
        &pointers[((uint64_t)(uintptr_t)bytes * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - POINTERS_LOG2)];
    const struct text *text = atomic_load_explicit(pointer, memory_order_acquire);
    return text && strcmp(text->bytes, bytes) == 0 ? text->id : search_text(bytes, pointer);
}
