// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. A table by the node's id, which CUPTI gives once in a process: it only grows, and is read and added to
// without a lock. Instantiating a graph copies its nodes, and CUPTI tells of each copy: it has the stack of its original.
#include "graph_nodes.h"

#include <sys/mman.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "library.h"
#include "thinning.h"

enum { PLACES = 1 << 18, LOOKS = 64 };

static _Atomic uint64_t *ids;    // 0: the place is empty
static _Atomic uint32_t *stacks; // 0: not written yet

void graph_nodes_init(void) {
    if (!stacks_on || !cupti.GetGraphNodeId)
        return;
    uint8_t *at = mmap(NULL, PLACES * (sizeof *ids + sizeof *stacks), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)at == MAP_FAILED) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return;
    }
    ids = (void *)at;
    stacks = (void *)(at + PLACES * sizeof *ids);
}

static size_t first_place(uint64_t id) {
    uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    return (size_t)(hash % PLACES);
}

static void add(uint64_t id, uint32_t stack) {
    for (size_t look = 0; look < LOOKS; look++) {
        const size_t at = (first_place(id) + look) % PLACES;
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&ids[at], &there, id) || there == id) {
            atomic_store_explicit(&stacks[at], stack, memory_order_release);
            return;
        }
    }
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

static uint32_t find(uint64_t id) {
    for (size_t look = 0; look < LOOKS; look++) {
        const size_t at = (first_place(id) + look) % PLACES;
        const uint64_t there = atomic_load_explicit(&ids[at], memory_order_relaxed);
        if (there == id)
            return atomic_load_explicit(&stacks[at], memory_order_acquire);
        if (!there)
            return 0;
    }
    return 0;
}

static uint64_t id_of(void *node) {
    uint64_t id = 0;
    return node && cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

void graph_nodes_made(const struct cupti_graph_data *data) {
    const uint64_t id = ids && data ? id_of(data->node) : 0;
    if (!id)
        return;
    if (agent_overhead_level() >= THINNING_STACKS) {
        thinning_no_stack();
        return;
    }
    const uint32_t stack = stacks_capture();
    if (stack)
        add(id, stack);
}

void graph_nodes_cloned(const struct cupti_graph_data *data) {
    const uint64_t id = ids && data ? id_of(data->node) : 0;
    const uint64_t original = id ? id_of(data->original_node) : 0;
    const uint32_t stack = original ? find(original) : 0;
    if (stack)
        add(id, stack);
}

void graph_nodes_look_up(uint64_t node, struct launch *launch) {
    const uint32_t stack = ids && node ? find(node) : 0;
    if (stack)
        launch->stack = stack;
}
