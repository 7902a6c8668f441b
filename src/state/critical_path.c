// SPDX-License-Identifier: Apache-2.0
// Computes the critical path and the slack of a dependency graph. src/analyze/critical_path.c calls it.
#include "state/critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

// A point: 2 * node is the start, 2 * node + 1 the end.
static int64_t point_time(const tsmith_graph *graph, size_t point) {
    return graph_time(graph, (uint32_t)(point / 2), point & 1);
}

static size_t edge_point(const tsmith_edge *edge) {
    return 2 * (size_t)edge->from + graph_from_end[edge->kind];
}

// Whether an edge leads to this end of its node.
static bool leads_to(const tsmith_edge *edge, bool end) {
    return graph_to_end[edge->kind] == end;
}

// ---- the chain

struct walk {
    const tsmith_graph *graph;
    struct critical_path *path;
    tsmith_interval window;
    uint8_t *visited; // by point: what is on the chain already; equal times could lead in circles
    bool inferred[TSMITH_EDGE_LIMIT];
    bool failed;
};

// Prepends, cut to the window (steps are collected backwards and turned around in the end).
static void add_step(struct walk *walk, int64_t from, int64_t to, uint32_t node, uint32_t kind) {
    struct critical_path *path = walk->path;
    from = from > walk->window.from ? from : walk->window.from;
    if (from >= to || walk->failed)
        return;
    if (!ARRAY_RESERVE(path->steps, path->capacity, path->count + 1)) {
        walk->failed = true;
        return;
    }
    path->steps[path->count++] = (struct path_step){from, to, node, kind};
}

struct reason {
    size_t point; // SIZE_MAX: none
    int64_t time;
    uint32_t kind;
};

static struct reason last_reason(const struct walk *walk, size_t point) {
    const tsmith_graph *graph = walk->graph;
    uint32_t node = (uint32_t)(point / 2);
    struct reason last = {SIZE_MAX, INT64_MIN, PATH_RUN};
    if (point & 1)
        last = (struct reason){point - 1, point_time(graph, point - 1), PATH_RUN};
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        const tsmith_edge *edge = &graph->edges[i];
        size_t from = edge_point(edge);
        if (!leads_to(edge, point & 1) || walk->visited[from])
            continue;
        int64_t time = point_time(graph, from);
        if (time > last.time || last.point == SIZE_MAX)
            last = (struct reason){from, time, edge->kind};
    }
    return last;
}

// A command that starts later than this after the last of what is known to have held it up waited for something else.
enum { LATENCY_MOST = 100000 };

// Whether a call that launched `node` waited, and what it launched began so late that this is what it waited for.
static bool held_up(const struct walk *walk, uint32_t call, int64_t called, int64_t now) {
    const tsmith_graph *graph = walk->graph;
    return call >= graph->command_count && now - called > LATENCY_MOST &&
           graph_time(graph, call, true) > now &&
           graph_waited_until(graph, call - graph->command_count) != TSMITH_TIME_UNKNOWN;
}

// The time between a point and the last point that it waited for.
static void attribute(struct walk *walk, size_t point, const struct reason *reason) {
    const tsmith_graph *graph = walk->graph;
    uint32_t node = (uint32_t)(point / 2), from = (uint32_t)(reason->point / 2);
    int64_t now = point_time(graph, point);
    switch (reason->kind) {
    case PATH_RUN:
    case TSMITH_EDGE_RETURNED: // the caller's own time after the call inside it
        add_step(walk, reason->time, now, node, PATH_RUN);
        break;
    case TSMITH_EDGE_COLLECTIVE: // all are there: now it communicates
        add_step(walk, reason->time, now, node, PATH_RUN);
        break;
    case TSMITH_EDGE_CALLED:
        add_step(walk, reason->time, now, from, PATH_RUN);
        break;
    case TSMITH_EDGE_LAUNCH: { // the call, and then the way to the device
        int64_t returned = graph_time(graph, from, true);
        returned = held_up(walk, from, reason->time, now) ? reason->time : returned < now ? returned : now;
        add_step(walk, returned, now, node,
                 now - returned > LATENCY_MOST ? (uint32_t)PATH_UNEXPLAINED : TSMITH_EDGE_LAUNCH);
        add_step(walk, reason->time, returned, from, PATH_RUN);
        break;
    }
    default:
        add_step(walk, reason->time, now, node,
                 node < graph->command_count && !(point & 1) && now - reason->time > LATENCY_MOST
                     ? (uint32_t)PATH_UNEXPLAINED
                     : reason->kind);
    }
}

static void note_inferred(struct walk *walk, size_t point, const struct reason *reason) {
    if (reason->kind >= TSMITH_EDGE_LIMIT || !walk->inferred[reason->kind])
        return;
    if (!walk->path->inferred++)
        walk->path->inferred_until = point_time(walk->graph, point);
}

// The node that ends last, SIZE_MAX when there is none. A thread that only asks (a watchdog that queries events) decides
// nothing: its calls count only when there is nothing else.
static size_t find_last(const tsmith_graph *graph, int64_t until) {
    const tsmith_timeline *timeline = graph->timeline;
    size_t last[2] = {SIZE_MAX, SIZE_MAX};
    int64_t latest[2] = {INT64_MIN, INT64_MIN};
    bool asks = true;
    for (uint32_t node = graph->node_count; node-- > 0;) { // backwards, so that a thread is seen from its end
        size_t call = node - graph->command_count;
        if (node < graph->command_count) {
            asks = false;
        } else if (call + 1 == timeline->call_count ||
                   timeline->calls[call].thread != timeline->calls[call + 1].thread) {
            const tsmith_thread *thread = &timeline->threads[timeline->calls[call].thread];
            asks = true;
            for (uint32_t i = 0; i < thread->call_count && asks; i++)
                asks = timeline->calls[thread->first_call + i].role == TSMITH_CALL_OTHER;
        }
        int64_t end = graph_time(graph, node, true);
        if (end >= latest[asks] && end <= until) {
            latest[asks] = end;
            last[asks] = node;
        }
    }
    return last[0] != SIZE_MAX ? last[0] : last[1];
}

// `last` is the node that ends last of all.
static void walk_back(struct walk *walk, size_t last) {
    const tsmith_graph *graph = walk->graph;
    size_t at = last;
    if (last != SIZE_MAX && graph_time(graph, (uint32_t)last, true) > walk->window.to)
        at = find_last(graph, walk->window.to);
    at = at == SIZE_MAX ? at : 2 * at + 1;
    while (at != SIZE_MAX && !walk->failed && point_time(graph, at) > walk->window.from) {
        walk->visited[at] = 1;
        struct reason reason = last_reason(walk, at);
        if (reason.point != SIZE_MAX) {
            attribute(walk, at, &reason);
            note_inferred(walk, at, &reason);
        }
        at = reason.point;
    }
}

// ---- slack

struct backward {
    const tsmith_graph *graph;
    int64_t *latest;   // by point
    uint32_t *waiting; // by point: successors not done yet
    uint32_t *ready;   // points whose successors are done: a stack, so that one follows the chains
    size_t ready_count;
};

// When a point could have been at the earliest: the last of what it waited for. The work of a node that ends with
// a wait takes no time of its own; `work` is then 0.
static int64_t earliest(const tsmith_graph *graph, size_t point, int64_t *work) {
    uint32_t node = (uint32_t)(point / 2);
    int64_t last = INT64_MIN, start = point_time(graph, point & ~(size_t)1);
    bool waits = false;
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        if (!leads_to(&graph->edges[i], point & 1))
            continue;
        int64_t time = point_time(graph, edge_point(&graph->edges[i]));
        last = time > last ? time : last;
        waits = true;
    }
    *work = waits || !(point & 1) ? 0 : point_time(graph, point) - start;
    return point & 1 && start + *work > last ? start + *work : last;
}

static void relax_point(struct backward *backward, size_t point, int64_t latest) {
    if (latest < backward->latest[point])
        backward->latest[point] = latest;
    if (--backward->waiting[point] == 0)
        backward->ready[backward->ready_count++] = (uint32_t)point;
}

static void go_back(struct backward *backward, size_t point) {
    const tsmith_graph *graph = backward->graph;
    uint32_t node = (uint32_t)(point / 2);
    int64_t work, last = earliest(graph, point, &work);
    int64_t latest = backward->latest[point] - (last == INT64_MIN ? 0 : point_time(graph, point) - last);
    if (point & 1)
        relax_point(backward, point - 1, latest - work);
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
        if (leads_to(&graph->edges[i], point & 1))
            relax_point(backward, edge_point(&graph->edges[i]), latest);
}

static tsmith_status find_slack(struct critical_path *path, const tsmith_graph *graph, size_t last) {
    size_t points = 2 * (size_t)graph->node_count;
    if (points > UINT32_MAX)
        return TSMITH_ERROR_LIMIT;
    struct backward backward = {.graph = graph,
                                .latest = malloc((points + 1) * sizeof(int64_t)),
                                .waiting = calloc(points + 1, sizeof(uint32_t)),
                                .ready = malloc((points + 1) * sizeof(uint32_t))};
    int64_t end = INT64_MIN;
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!backward.latest || !backward.waiting || !backward.ready)
        goto done;
    status = TSMITH_OK;
    if (last != SIZE_MAX)
        end = graph_time(graph, (uint32_t)last, true);
    for (uint32_t node = 0; node < graph->node_count; node++) {
        backward.waiting[2 * (size_t)node]++;
        for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
            backward.waiting[edge_point(&graph->edges[i])]++;
    }
    for (size_t point = 0; point < points; point++) {
        backward.latest[point] = point_time(graph, point) > end ? point_time(graph, point) : end;
        if (!backward.waiting[point])
            backward.ready[backward.ready_count++] = (uint32_t)point;
    }
    while (backward.ready_count)
        go_back(&backward, backward.ready[--backward.ready_count]);
    for (uint32_t node = 0; node < graph->node_count; node++)
        path->slack[node] = backward.latest[2 * (size_t)node + 1] - graph_time(graph, node, true);
done:
    free(backward.latest);
    free(backward.waiting);
    free(backward.ready);
    return status;
}

tsmith_status critical_path_make(struct critical_path *path, const tsmith_graph *graph,
                                 tsmith_interval window) {
    struct walk walk = {.graph = graph, .path = path, .window = window};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    *path = (struct critical_path){.slack = calloc((size_t)graph->node_count + 1, sizeof(int64_t))};
    walk.visited = calloc(2 * (size_t)graph->node_count + 1, 1);
    if (!path->slack || !walk.visited)
        goto done;
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        walk.inferred[kind] = tsmith_edge_kind_inferred((tsmith_edge_kind)kind);
    size_t last = find_last(graph, INT64_MAX);
    walk_back(&walk, last);
    if (walk.failed)
        goto done;
    for (size_t i = 0; i < path->count / 2; i++) {
        struct path_step held = path->steps[i];
        path->steps[i] = path->steps[path->count - 1 - i];
        path->steps[path->count - 1 - i] = held;
    }
    status = find_slack(path, graph, last);
done:
    free(walk.visited);
    if (status != TSMITH_OK)
        critical_path_finish(path);
    return status;
}

void critical_path_finish(struct critical_path *path) {
    free(path->steps);
    free(path->slack);
    *path = (struct critical_path){0};
}
