// SPDX-License-Identifier: Apache-2.0
// The shared table of interned stacks. The agents add stacks and the collector reads them.
#include "wire/stack_table.h"

#include <string.h>

// Then come `slots` slots, then the words that stacks are made of: a head, then the frames. A slot is small, because
// most lookups reach one that is in no cache: the position of a stack, and above that a byte of its hash.
struct stack_table {
    uint64_t slots; // a power of two
    uint64_t words; // in all, from the beginning of the table
    _Atomic uint64_t next;
    uint64_t reserved;
    _Atomic uint32_t slot[];
};

#define PLACE_MASK ((UINT32_C(1) << PLACE_BITS) - 1)
enum { COUNT_BITS = 16, FLAGS_BITS = 16, PROBES_MAX = 64, PREFETCHED = 4, PLACE_BITS = 24 };
_Static_assert(STACK_TABLE_BYTES_MAX / 8 == 1 << PLACE_BITS, "a slot can say where a stack lies");

static _Atomic uint64_t *words_of(struct stack_table *table) {
    return (_Atomic uint64_t *)table;
}

static uint64_t first_word(const struct stack_table *table) {
    return (sizeof *table + table->slots * sizeof table->slot[0]) / 8;
}

struct stack_table *stack_table_init(void *memory, size_t bytes) {
    struct stack_table *table = memory;
    if (bytes < STACK_TABLE_BYTES_MIN || bytes > STACK_TABLE_BYTES_MAX || (uintptr_t)memory % 8)
        return NULL;
    table->slots = 1;
    while (table->slots * 2 <= bytes / 8 / 4)
        table->slots *= 2;
    table->words = bytes / 8;
    atomic_store_explicit(&table->next, first_word(table), memory_order_relaxed);
    return table;
}

static uint64_t mix_frame(uint64_t state, uint64_t frame) {
    state = (state ^ frame) * 0xff51afd7ed558ccdu;
    return state ^ state >> 32;
}

uint64_t stack_table_hash(const uint64_t *frames, uint32_t count, uint32_t flags) {
    uint64_t a = 0x9e3779b97f4a7c15u ^ count, b = 0xc2b2ae3d27d4eb4fu ^ flags, c = 0x165667b19e3779f9u,
             d = 0x27d4eb2f165667c5u;
    uint32_t i = 0;
    // Four chains of multiplications run side by side.
    for (; i + 4 <= count; i += 4) {
        a = mix_frame(a, frames[i]);
        b = mix_frame(b, frames[i + 1]);
        c = mix_frame(c, frames[i + 2]);
        d = mix_frame(d, frames[i + 3]);
    }
    for (; i < count; i++)
        a = mix_frame(a, frames[i]);
    uint64_t hash = (mix_frame(a, b << 23 | b >> 41) ^ mix_frame(c, d << 31 | d >> 33)) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

void stack_table_prefetch(struct stack_table *table, uint64_t hash) {
    const _Atomic uint32_t *slot = &table->slot[hash & (table->slots - 1)];
    __builtin_prefetch((const void *)(uintptr_t)slot);
}

static bool is_same(struct stack_table *table, uint32_t id, uint64_t head, const uint64_t *frames,
                    uint32_t count) {
    _Atomic uint64_t *at = words_of(table) + id;
    if (atomic_load_explicit(at, memory_order_relaxed) != head)
        return false;
    uint64_t different = 0;
    for (uint32_t i = 0; i < count; i++)
        different |= atomic_load_explicit(&at[1 + i], memory_order_relaxed) ^ frames[i];
    return !different;
}

// Writes a stack where no other thread writes; 0: no room.
static uint32_t append(struct stack_table *table, uint64_t head, const uint64_t *frames, uint32_t count) {
    // The cursor stays near the end once it is there, however often a full table is asked.
    if (atomic_load_explicit(&table->next, memory_order_relaxed) + 1 + count > table->words)
        return 0;
    uint64_t at = atomic_fetch_add_explicit(&table->next, 1 + count, memory_order_relaxed);
    if (at + 1 + count > table->words)
        return 0;
    _Atomic uint64_t *words = words_of(table) + at;
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&words[1 + i], frames[i], memory_order_relaxed);
    atomic_store_explicit(words, head, memory_order_release);
    // The next one will be there: by then its lines are this processor's.
    for (uint32_t i = 0; i < PREFETCHED; i++)
        __builtin_prefetch((const void *)(uintptr_t)(words + 1 + count + i * 8), 1);
    return (uint32_t)at;
}

static uint32_t look_up(struct stack_table *table, uint64_t hash, const uint64_t *frames, uint32_t count,
                        uint32_t flags, bool may_add) {
    if (!count || count > STACK_TABLE_FRAMES_MAX)
        return 0;
    uint64_t mask = table->slots - 1;
    // What of the hash does not choose the slot is kept with the stack, and some of it in the slot: most comparisons end there.
    const uint64_t head = (hash & 0xffffffff00000000u) | (uint64_t)flags << COUNT_BITS | count;
    const uint32_t tag = (uint32_t)(hash >> 32) & ~PLACE_MASK;
    uint32_t mine = 0;
    for (uint64_t probe = 0; probe < PROBES_MAX; probe++) {
        _Atomic uint32_t *slot = &table->slot[(hash + probe) & mask];
        uint32_t found = atomic_load_explicit(slot, memory_order_acquire);
        if (!found) {
            if (!mine && may_add)
                mine = append(table, head, frames, count);
            if (!mine)
                return 0;
            if (atomic_compare_exchange_strong_explicit(slot, &found, tag | mine, memory_order_acq_rel,
                                                        memory_order_acquire))
                return mine;
        }
        if ((found & ~PLACE_MASK) == tag && is_same(table, found & PLACE_MASK, head, frames, count))
            return found & PLACE_MASK;
    }
    return 0;
}

uint32_t stack_table_add(struct stack_table *table, uint64_t hash, const uint64_t *frames, uint32_t count,
                         uint32_t flags) {
    return look_up(table, hash, frames, count, flags, true);
}

uint32_t stack_table_find(struct stack_table *table, uint64_t hash, const uint64_t *frames, uint32_t count,
                          uint32_t flags) {
    return look_up(table, hash, frames, count, flags, false);
}

bool stack_table_is_half_full(const struct stack_table *table) {
    uint64_t first = first_word(table);
    return atomic_load_explicit(&table->next, memory_order_relaxed) - first > (table->words - first) / 2;
}

bool stack_table_head(uint64_t word, uint32_t *count, uint32_t *flags) {
    *count = word & ((1u << COUNT_BITS) - 1);
    *flags = word >> COUNT_BITS & ((1u << FLAGS_BITS) - 1);
    return *count && *count <= STACK_TABLE_FRAMES_MAX;
}

bool stack_table_get(const struct stack_table *table, size_t bytes, uint32_t id, struct stack_view *stack) {
    uint64_t words = bytes / 8;
    if (id < sizeof *table / 8 || id >= words)
        return false;
    const _Atomic uint64_t *at = (const _Atomic uint64_t *)table + id;
    uint64_t head = atomic_load_explicit(at, memory_order_acquire);
    stack->frames = (const uint64_t *)(uintptr_t)(at + 1);
    return stack_table_head(head, &stack->count, &stack->flags) && stack->count <= words - id - 1;
}
