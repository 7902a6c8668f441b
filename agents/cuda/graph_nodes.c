// SPDX-License-Identifier: Apache-2.0
// Keeps the call stacks of graph nodes for records of their commands. Rules: agent.h. A map by the node's id, which
// CUPTI gives once in a process: it only grows. Instantiating a graph copies its nodes, and CUPTI reports each copy: it
// gets the stack of its original.
#include "graph_nodes.h"

#include "agent.h"
#include "agentkit/map.h"
#include "agentkit/stacks.h"
#include "library.h"
#include "throttling.h"

static struct map stacks; // by key_of(id); memory only where stacks are wanted

void graph_nodes_init(void) {
    enum { LOG2_BUCKETS = 17 };
    if (stacks_on && cupti.GetGraphNodeId && !map_init(&stacks, LOG2_BUCKETS))
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
}

// The map keeps 0 and 1 for itself, and no id is 0.
static const void *key_of(uint64_t id) {
    return (const void *)(uintptr_t)(id + 1); // NOLINT: an id, not an address
}

static void add_stack(uint64_t id, uint32_t stack) {
    if (!map_put(&stacks, key_of(id), stack))
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

static uint32_t find_stack(uint64_t id) {
    return (uint32_t)map_get(&stacks, key_of(id));
}

static uint64_t id_of(void *node) {
    uint64_t id = 0;
    return node && cupti.GetGraphNodeId(node, &id) == CUPTI_OK ? id : 0;
}

void graph_nodes_made(const struct cupti_graph_data *data) {
    const uint64_t id = stacks.slots && data ? id_of(data->node) : 0;
    if (!id)
        return;
    if (agent_overhead_level() >= THROTTLING_STACKS) {
        throttling_no_stack();
        return;
    }
    const uint32_t stack = stacks_capture();
    if (stack)
        add_stack(id, stack);
}

void graph_nodes_cloned(const struct cupti_graph_data *data) {
    const uint64_t id = stacks.slots && data ? id_of(data->node) : 0;
    const uint64_t original = id ? id_of(data->original_node) : 0;
    const uint32_t stack = original ? find_stack(original) : 0;
    if (stack)
        add_stack(id, stack);
}

void graph_nodes_look_up(uint64_t node, struct launch *launch) {
    const uint32_t stack = node ? find_stack(node) : 0;
    if (stack)
        launch->stack = stack;
}
