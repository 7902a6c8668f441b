// SPDX-License-Identifier: Apache-2.0
// Launches and other calls by a number that a driver's tool interface counts up: what is noted where they are made joins the record that
// comes later. It is also how the ledger knows of kernels that were launched and never heard of again, even when the process is killed.
// For agents of CUPTI and rocprofiler-sdk.
//
//     place: --note--> KNOWN          with LAUNCH_OPEN: --note--> OPEN --close--> KNOWN
//
// Direct-mapped: a place is used again only half a million numbers later. A launch that is still open then is given up for lost. Any
// thread; no lock. Of a number, 32 bits are kept.
#ifndef AGENTKIT_LAUNCH_TABLE_H
#define AGENTKIT_LAUNCH_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentkit/agent.h"
#include "agentkit/stacks.h"

enum {
    LAUNCH_TABLE_PLACES = 1 << 19,
    LAUNCH_TABLE_LIST = INT32_MAX // of channel_begun: launches of all threads
};

// Of the value of a note, while a record of the device is to come for it. The other bits are the agent's.
#define LAUNCH_OPEN (UINT32_C(1) << 31)

struct launch_table {
    _Atomic uint64_t *words; // number << 32 | value; time and stack are of that number while the word is
    _Atomic int64_t *times;
    _Atomic uint32_t *stacks;      // only where stacks are wanted
    _Atomic uint64_t begun, ended; // launches
};

struct launch_note {
    uint32_t value;
    uint32_t stack; // 0: none
    int64_t time;   // trace clock, when the call began
};

// Memory is taken as it is written to. False: there is none.
bool launch_table_init(struct launch_table *table);
// The launch in a place that is used again: no record has come for it.
void launch_table_give_up(struct launch_table *table, uint64_t number);

static inline void launch_table_note(struct launch_table *table, uint64_t number,
                                     const struct launch_note *note) {
    const uint64_t at = number % LAUNCH_TABLE_PLACES;
    if (atomic_load_explicit(&table->words[at], memory_order_relaxed) & LAUNCH_OPEN)
        launch_table_give_up(table, number);
    if (note->value & LAUNCH_OPEN) {
        atomic_fetch_add_explicit(&table->begun, 1, memory_order_relaxed);
        channel_begun(agent.channel, LAUNCH_TABLE_LIST, 1);
    }
    atomic_store_explicit(&table->times[at], note->time, memory_order_relaxed);
    if (stacks_on)
        atomic_store_explicit(&table->stacks[at], note->stack, memory_order_relaxed);
    atomic_store_explicit(&table->words[at], number << 32 | note->value, memory_order_release);
}

// Its value is without LAUNCH_OPEN. False: nothing is known of this number; *out is zeros then.
static inline bool launch_table_find(const struct launch_table *table, uint64_t number,
                                     struct launch_note *out) {
    const uint64_t at = number % LAUNCH_TABLE_PLACES;
    const uint64_t word = atomic_load_explicit(&table->words[at], memory_order_acquire);
    *out = (struct launch_note){.value = 0};
    if (!number || word >> 32 != (uint32_t)number)
        return false;
    out->value = (uint32_t)word & ~LAUNCH_OPEN;
    out->time = atomic_load_explicit(&table->times[at], memory_order_relaxed);
    if (stacks_on)
        out->stack = atomic_load_explicit(&table->stacks[at], memory_order_relaxed);
    return true;
}

// A record of the device has come for it: whether it was open. The caller then counts it (channel_ended of LAUNCH_TABLE_LIST), right
// after its record: of a process that dies nothing is both in the trace and missing.
bool launch_table_close(struct launch_table *table, uint64_t number);

// How many were opened, and not closed or given up.
static inline uint64_t launch_table_open(const struct launch_table *table) {
    const uint64_t ended = atomic_load_explicit(&table->ended, memory_order_relaxed);
    const uint64_t begun = atomic_load_explicit(&table->begun, memory_order_relaxed);
    return begun > ended ? begun - ended : 0;
}

#endif
