// SPDX-License-Identifier: Apache-2.0
// Notes launches and finds them again: launch_table.h. The agents of CUDA and ROCm call it.
#include "agentkit/launch_table.h"

#include "wire/memory.h"

bool launch_table_init(struct launch_table *table) {
    table->words = memory_take(LAUNCH_TABLE_PLACES * sizeof *table->words);
    table->times = memory_take(LAUNCH_TABLE_PLACES * sizeof *table->times);
    table->stacks = memory_take(LAUNCH_TABLE_PLACES * sizeof *table->stacks);
    return table->words && table->times && table->stacks;
}

// False: it is not open, or another thread closed it.
static bool close_word(struct launch_table *table, _Atomic uint64_t *place, uint64_t word) {
    if (!(word & LAUNCH_OPEN) ||
        !atomic_compare_exchange_strong_explicit(place, &word, word & ~(uint64_t)LAUNCH_OPEN,
                                                 memory_order_relaxed, memory_order_relaxed))
        return false;
    atomic_fetch_add_explicit(&table->ended, 1, memory_order_relaxed);
    return true;
}

void launch_table_give_up(struct launch_table *table, uint64_t number) {
    _Atomic uint64_t *place = &table->words[number % LAUNCH_TABLE_PLACES];
    if (!close_word(table, place, atomic_load_explicit(place, memory_order_relaxed)))
        return;
    channel_ended(agent.channel, LAUNCH_TABLE_LIST, 1);
    channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, 1);
}

bool launch_table_close(struct launch_table *table, uint64_t number) {
    _Atomic uint64_t *place = &table->words[number % LAUNCH_TABLE_PLACES];
    const uint64_t word = atomic_load_explicit(place, memory_order_relaxed);
    return word >> 32 == (uint32_t)number && close_word(table, place, word);
}
