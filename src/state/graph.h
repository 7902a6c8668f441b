// SPDX-License-Identifier: Apache-2.0
// The inside of a graph (tracesmith/graph.h).
//
// While it is built, edges are a list in the order the rules find them; in the end they are sorted by target
// (compressed rows). A rule adds an edge with graph_add, which alone decides whether the times allow it.
#ifndef STATE_GRAPH_H
#define STATE_GRAPH_H

#include <stdbool.h>

#include "state/clocks.h"
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
    tsmith_device_clock *clocks; // by device
    bool placed;                 // one of them moves its device's times
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

// A device's time on the hosts' clock, and a host's time on the clock of a device.
static inline int64_t graph_placed(const tsmith_graph *graph, uint32_t device, int64_t time) {
    return graph->placed ? time + clocks_offset(&graph->clocks[device], time) : time;
}

static inline int64_t graph_on_device(const tsmith_graph *graph, uint32_t device, int64_t time) {
    return graph->placed ? time - clocks_offset(&graph->clocks[device], time) : time;
}

// When a command starts or ends, on the hosts' clock.
static inline int64_t graph_command_time(const tsmith_graph *graph, uint32_t index, bool end) {
    const tsmith_command *command = &graph->timeline->commands[index];
    const int64_t time = end ? command->end : command->start;
    return graph->placed ? graph_placed(graph, graph->timeline->rows[command->row].device, time) : time;
}

static inline int64_t graph_time(const tsmith_graph *graph, uint32_t node, bool end) {
    if (node < graph->command_count)
        return graph_command_time(graph, node, end);
    const tsmith_call *call = &graph->timeline->calls[node - graph->command_count];
    return end ? call->end : call->start;
}

static inline uint32_t graph_call_node(const tsmith_graph *graph, uint32_t call) {
    return graph->command_count + call;
}

void graph_add(struct graph_builder *builder, tsmith_edge_kind kind, uint32_t from, uint32_t to);

// Edges from what a call waited for to its end.
static inline bool graph_is_wait(uint32_t kind) {
    return kind == TSMITH_EDGE_SYNC_RETURN || kind == TSMITH_EDGE_SYNC_INFERRED;
}

// The time when the commands that a call waited for had ended, on the hosts' clock; TSMITH_TIME_UNKNOWN if it is not
// known to have waited.
int64_t graph_waited_until(const tsmith_graph *graph, uint32_t call);
// Whether a command it waited for has no times: then graph_waited_until is the time when that was enqueued, not its end.
bool graph_waited_for_untimed(const tsmith_graph *graph, uint32_t call);

// The command that ends last of those enqueued in a row before `time`, or TSMITH_INDEX_NONE.
static inline uint32_t graph_last_before(const struct graph_builder *builder, uint32_t row, int64_t time) {
    const tsmith_row *entry = &builder->timeline->rows[row];
    uint32_t before = launch_order_before(&builder->order, entry, time);
    return before ? builder->order.latest[entry->first_command + before - 1] : TSMITH_INDEX_NONE;
}

// Whether what is seen `times` times, where chance would give `expected`, is more than chance (1 in 1,000 at most).
bool graph_is_no_chance(double times, double expected);

// The rules. Host: threads and what they wait for. Queue: within a row. Device: between rows.
void graph_add_host(struct graph_builder *builder);
void graph_add_queues(struct graph_builder *builder);
void graph_add_devices(struct graph_builder *builder);
// Calls that waited by their times alone; after the others.
void graph_infer_waits(struct graph_builder *builder);
// Queues and threads that wait for each other by their times alone.
void graph_infer_queues(struct graph_builder *builder);
void graph_infer_threads(struct graph_builder *builder);

#endif
