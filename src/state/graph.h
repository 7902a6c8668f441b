// SPDX-License-Identifier: Apache-2.0
// The inside of a graph (tracesmith/graph.h).
//
// While it is built, edges are a list in the order the rules find them; in the end they lie by target
// (compressed rows). A rule adds an edge with graph_add, which alone decides whether the times allow it.
#ifndef STATE_GRAPH_H
#define STATE_GRAPH_H

#include <stdbool.h>

#include "state/launch_order.h"
#include "state/timeline.h"
#include "tracesmith/graph.h"

struct tsmith_graph {
    const tsmith_timeline *timeline;
    uint32_t command_count, node_count;
    tsmith_edge *edges;
    uint32_t *first; // by node: of its edges; node_count + 1 of them
    uint64_t counts[TSMITH_EDGE_LIMIT];
    uint64_t contradicted[TSMITH_EDGE_LIMIT];
};

struct graph_raw_edge {
    uint32_t from, to, kind;
};

struct graph_builder {
    tsmith_graph *graph;
    const tsmith_timeline *timeline;
    const tsmith_dictionary *dictionary;
    struct launch_order order;
    struct graph_raw_edge *edges;
    size_t edge_count, edge_capacity;
    bool failed; // memory is exhausted
};

extern const bool graph_from_end[TSMITH_EDGE_LIMIT], graph_to_end[TSMITH_EDGE_LIMIT];

static inline int64_t graph_time(const tsmith_graph *graph, uint32_t node, bool end) {
    const tsmith_timeline *timeline = graph->timeline;
    if (node < graph->command_count)
        return end ? timeline->commands[node].end : timeline->commands[node].start;
    const tsmith_call *call = &timeline->calls[node - graph->command_count];
    return end ? call->end : call->start;
}

static inline uint32_t graph_call_node(const tsmith_graph *graph, uint32_t call) {
    return graph->command_count + call;
}

void graph_add(struct graph_builder *builder, tsmith_edge_kind kind, uint32_t from, uint32_t to);

// The rules. Host: threads and what they wait for. Queue: within a row. Device: between rows.
void graph_add_host(struct graph_builder *builder);
void graph_add_queues(struct graph_builder *builder);
void graph_add_devices(struct graph_builder *builder);

#endif
