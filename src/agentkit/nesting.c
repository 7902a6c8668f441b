// SPDX-License-Identifier: Apache-2.0
// The stack of what a thread has begun: nesting.h. The agents of OpenMP, OpenACC, SYCL and ROCm (roctx) call it.
#include "agentkit/nesting.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "agentkit/agent.h"
#include "agentkit/stacks.h"
#include "wire/memory.h"

enum {
    DEPTH_MAX = 64, // of one thread
    LISTS = 31,     // of channel_begun: one for each of so many threads
    LISTS_NONE = UINT32_MAX
};

static __thread struct {
    struct nesting
        *at; // not in here: what a library has for each thread must be small, or it cannot be loaded late
    uint32_t depth, beyond;
    uint32_t generation; // of the process: a forked child has none of these
    uint32_t list;       // 0: not chosen yet; else 1 + its number
} here;

static _Atomic uint32_t lists_used;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static bool has_thread_end; // else the number is that of a key of the program

static void free_room(void *at) {
    here.at = NULL;
    here.depth = 0;
    munmap(at, DEPTH_MAX * sizeof *here.at);
}

static void make_key(void) {
    has_thread_end = pthread_key_create(&thread_end, free_room) == 0;
}

// At the thread's first.
static bool make_room(void) {
    pthread_once(&thread_end_once, make_key);
    here.at = memory_take(DEPTH_MAX * sizeof *here.at);
    if (here.at && has_thread_end)
        pthread_setspecific(thread_end, here.at);
    return here.at;
}

static uint32_t own_list(void) {
    if (!here.list)
        here.list = 1 + atomic_fetch_add_explicit(&lists_used, 1, memory_order_relaxed);
    return here.list - 1 < LISTS ? here.list - 1 : LISTS_NONE;
}

static void count_ended(const struct nesting *entry) {
    if (entry->start && own_list() != LISTS_NONE)
        channel_ended(agent.channel, own_list(), 1);
}

void nesting_begin(uint32_t kind, uint64_t id, int64_t value) {
    const uint32_t generation = atomic_load_explicit(&agent.generation, memory_order_relaxed);
    if (here.generation != generation) {
        here.depth = here.beyond = 0;
        here.generation = generation;
    }
    if (here.depth == DEPTH_MAX || (!here.at && !make_room())) {
        here.beyond++;
        if (agent_recording()) // there may be calls before the agent attaches, which may fail
            channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    struct nesting *entry = &here.at[here.depth++];
    *entry = (struct nesting){.kind = kind, .id = id, .value = value};
    if (!agent_recording() || !agent_on())
        return;
    if (own_list() != LISTS_NONE)
        channel_begun(agent.channel, own_list(), 1);
    entry->stack = stacks_capture();
    entry->start = agent_tick();
}

struct nesting nesting_end(uint32_t kind, uint64_t id) {
    const struct nesting none = {0};
    if (here.beyond) {
        here.beyond--;
        return none;
    }
    if (here.generation != atomic_load_explicit(&agent.generation, memory_order_relaxed))
        return none; // begun in the parent
    uint32_t at = here.depth;
    while (at && (here.at[at - 1].kind != kind || here.at[at - 1].id != id))
        at--;
    if (!at)
        return none; // begun before the recording
    for (uint32_t i = at; i < here.depth; i++) {
        count_ended(&here.at[i]);
        if (here.at[i].start)
            channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, 1);
    }
    here.depth = at - 1;
    count_ended(&here.at[here.depth]);
    return here.at[here.depth];
}

int64_t nesting_value(int64_t otherwise) {
    return here.depth ? here.at[here.depth - 1].value : otherwise;
}
