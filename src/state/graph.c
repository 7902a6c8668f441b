// SPDX-License-Identifier: Apache-2.0
// Builds the dependency graph of a trace and answers queries on it. The analyses, the simulation and the states call
// it.
#include "state/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/names.h"
#include "base/status.h"

const bool graph_from_end[TSMITH_EDGE_LIMIT] = {
#define FROM_END(NAME, number, name, from_end, to_end, doc) [number] = from_end,
    TSMITH_EDGE_TABLE(FROM_END)
#undef FROM_END
};
const bool graph_to_end[TSMITH_EDGE_LIMIT] = {
#define TO_END(NAME, number, name, from_end, to_end, doc) [number] = to_end,
    TSMITH_EDGE_TABLE(TO_END)
#undef TO_END
};

void graph_add(struct graph_builder *builder, tsmith_edge_kind kind, uint32_t from, uint32_t to) {
    tsmith_graph *graph = builder->graph;
    if (from == to)
        return;
    if (graph_time(graph, from, graph_from_end[kind]) > graph_time(graph, to, graph_to_end[kind])) {
        graph->contradicted[kind]++;
        return;
    }
    if (builder->failed || !ARRAY_RESERVE(builder->edges, builder->edge_capacity, builder->edge_count + 1)) {
        builder->failed = true;
        return;
    }
    builder->edges[builder->edge_count++] = (struct graph_raw_edge){from, to, (uint32_t)kind};
    graph->counts[kind]++;
}

static int order_edges(const void *left, const void *right) {
    const tsmith_edge *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

// From a list to rows by target.
static tsmith_status compress(struct graph_builder *builder) {
    tsmith_graph *graph = builder->graph;
    if (builder->failed || builder->edge_count > UINT32_MAX)
        return builder->failed ? TSMITH_ERROR_NO_MEMORY : TSMITH_ERROR_LIMIT;
    graph->edges = malloc((builder->edge_count + 1) * sizeof *graph->edges);
    graph->first = calloc((size_t)graph->node_count + 2, sizeof *graph->first);
    if (!graph->edges || !graph->first)
        return TSMITH_ERROR_NO_MEMORY;
    uint32_t *at = graph->first + 1; // while filling: where the node's next edge goes
    for (size_t i = 0; i < builder->edge_count; i++)
        at[builder->edges[i].to + 1]++;
    for (uint32_t i = 1; i <= graph->node_count; i++)
        at[i] += at[i - 1];
    for (size_t i = 0; i < builder->edge_count; i++) {
        const struct graph_raw_edge *edge = &builder->edges[i];
        graph->edges[at[edge->to]++] = (tsmith_edge){edge->from, edge->kind};
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        uint32_t count = graph->first[i + 1] - graph->first[i];
        if (count > 1)
            qsort(graph->edges + graph->first[i], count, sizeof *graph->edges, order_edges);
    }
    return TSMITH_OK;
}

tsmith_status tsmith_graph_create(const tsmith_timeline *timeline, const tsmith_dictionary *dictionary,
                                  tsmith_graph **out, tsmith_error *error) {
    if (!timeline->finished)
        return status_set(error, TSMITH_ERROR_STATE, "A graph needs a finished timeline.");
    if (timeline->command_count + timeline->call_count >= UINT32_MAX)
        return status_set(error, TSMITH_ERROR_LIMIT, "A graph holds at most 4294967294 commands and calls.");
    tsmith_graph *graph = calloc(1, sizeof *graph);
    struct graph_builder builder = {.graph = graph, .timeline = timeline, .dictionary = dictionary};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!graph || (status = launch_order_make(&builder.order, timeline)) != TSMITH_OK)
        goto done;
    graph->timeline = timeline;
    graph->command_count = (uint32_t)timeline->command_count;
    graph->node_count = (uint32_t)(timeline->command_count + timeline->call_count);
    graph->clocks = clocks_make(timeline, &builder.order, &graph->placed);
    if (!graph->clocks) {
        status = TSMITH_ERROR_NO_MEMORY;
        goto done;
    }
    graph_add_host(&builder);
    graph_add_queues(&builder);
    graph_add_devices(&builder);
    graph_infer_waits(&builder);
    graph_infer_queues(&builder);
    graph_infer_threads(&builder);
    status = compress(&builder);
done:
    launch_order_finish(&builder.order);
    free(builder.edges);
    if (status != TSMITH_OK) {
        tsmith_graph_destroy(graph);
        return status_set(error, status,
                          "out of memory while building the graph of %zu commands and %zu calls",
                          timeline->command_count, timeline->call_count);
    }
    *out = graph;
    return TSMITH_OK;
}

void tsmith_graph_destroy(tsmith_graph *graph) {
    if (!graph)
        return;
    free(graph->edges);
    free(graph->first);
    free(graph->clocks);
    free(graph);
}

uint32_t tsmith_graph_node_count(const tsmith_graph *graph) {
    return graph->node_count;
}

const tsmith_edge *tsmith_graph_predecessors(const tsmith_graph *graph, uint32_t node, uint32_t *count) {
    *count = node < graph->node_count ? graph->first[node + 1] - graph->first[node] : 0;
    return graph->edges + (*count ? graph->first[node] : 0);
}

uint64_t tsmith_graph_edge_count(const tsmith_graph *graph, tsmith_edge_kind kind) {
    return (unsigned)kind < TSMITH_EDGE_LIMIT ? graph->counts[kind] : 0;
}

uint64_t tsmith_graph_contradicted(const tsmith_graph *graph, tsmith_edge_kind kind) {
    return (unsigned)kind < TSMITH_EDGE_LIMIT ? graph->contradicted[kind] : 0;
}

int64_t graph_waited_until(const tsmith_graph *graph, uint32_t call) {
    uint32_t node = graph_call_node(graph, call);
    int64_t latest = TSMITH_TIME_UNKNOWN;
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        if (!graph_is_wait(graph->edges[i].kind))
            continue;
        int64_t end = graph_time(graph, graph->edges[i].from, true);
        latest = end > latest ? end : latest;
    }
    return latest;
}

bool graph_waited_for_untimed(const tsmith_graph *graph, uint32_t call) {
    const uint32_t node = graph_call_node(graph, call);
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        const uint32_t from = graph->edges[i].from;
        if (graph_is_wait(graph->edges[i].kind) && from < graph->command_count &&
            graph->timeline->commands[from].untimed)
            return true;
    }
    return false;
}

const tsmith_device_clock *tsmith_graph_clocks(const tsmith_graph *graph, size_t *count) {
    *count = graph->timeline->device_count;
    return graph->clocks;
}

NAMES_CHECK_LIMIT(TSMITH_EDGE_TABLE, TSMITH_EDGE_LIMIT);

NAMES_DEFINE(tsmith_edge_kind_name, tsmith_edge_kind, TSMITH_EDGE_TABLE, NAMES_NAME, "?")

int tsmith_edge_kind_inferred(tsmith_edge_kind kind) {
    return strncmp(tsmith_edge_kind_doc(kind), "inferred", strlen("inferred")) == 0;
}

const char *tsmith_edge_kind_doc(tsmith_edge_kind kind) {
    static const char *const DOCS[] = {
#define EDGE_DOC(NAME, number, name, from_end, to_end, doc) [number] = doc,
        TSMITH_EDGE_TABLE(EDGE_DOC)
#undef EDGE_DOC
    };
    return (unsigned)kind < TSMITH_EDGE_LIMIT ? DOCS[kind] : "?";
}
