// SPDX-License-Identifier: Apache-2.0
// From a graph to points, links and lags.
//
// What decides when a command starts is the last of what it waits for (its binding link). How long after that it does
// start is a property of the kind of link and the device, calibrated as the mean over all commands bound by such
// links; a lag beyond eight times their median counts as an accident and is kept with its command. Links that do not
// bind get the same lag, or less if the trace shows less. A kind that never decided anything is taken as 0: the
// answer is then a bound, and is marked as one.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event/sort.h"
#include "simulate/simulate.h"

// ---- kinds of lag

// A histogram over durations, eight steps to a power of two: its median is right within 9 %.
enum { STEPS = 8, BUCKETS = 62 * STEPS, OUTLIER = 8, LEAST_OUTLIER = 1000 };
static const double RANGE_LOW = 0.1, RANGE_HIGH = 0.9;

struct lag_class {
    uint64_t count;
    uint32_t last; // bucket; what is beyond it is an outlier
    int64_t lag;   // the mean of what is not
    uint32_t buckets[BUCKETS];
    double sums[BUCKETS];
};

// Classes of commands: by device, whether it is a copy, and the link's kind. Of calls: what returning from a wait costs,
// and what a call to wait costs that had nothing to wait for, by role.
struct classes {
    struct lag_class *items;
    uint32_t first_sync, first_ready, count;
};

static uint32_t bucket_of(int64_t value) {
    if (value < 2 * STEPS)
        return value < 0 ? 0 : (uint32_t)value / 2;
    uint32_t power = 63 - (uint32_t)__builtin_clzll((uint64_t)value);
    return (power - 3) * STEPS + (uint32_t)((uint64_t)value >> (power - 3) & (STEPS - 1));
}

static int64_t bucket_middle(uint32_t bucket) {
    if (bucket < STEPS)
        return 2 * (int64_t)bucket + 1;
    uint32_t power = bucket / STEPS + 3;
    return (int64_t)((2 * (uint64_t)(STEPS + bucket % STEPS) + 1) << (power - 3) >> 1);
}

static void class_add(struct lag_class *class, int64_t value) {
    const uint32_t bucket = bucket_of(value);
    class->count++;
    class->buckets[bucket]++;
    class->sums[bucket] += (double)value;
}

static void class_finish(struct lag_class *class) {
    uint64_t seen = 0, within = 0;
    uint32_t median = 0;
    double sum = 0;
    if (!class->count)
        return;
    while ((seen += class->buckets[median]) * 2 < class->count)
        median++;
    int64_t limit = bucket_middle(median);
    limit = limit > INT64_MAX / OUTLIER ? INT64_MAX : limit * OUTLIER;
    class->last = bucket_of(limit < LEAST_OUTLIER ? LEAST_OUTLIER : limit);
    for (uint32_t i = 0; i <= class->last; i++) {
        within += class->buckets[i];
        sum += class->sums[i];
    }
    class->lag = (int64_t)(sum / (double)within);
}

static struct lag_class *command_class(const tsmith_simulation *simulation, const struct classes *classes,
                                       const tsmith_command *command, uint32_t kind) {
    return &classes->items[sim_lag_class(simulation, command, kind)];
}

static bool classes_make(struct classes *classes, const tsmith_timeline *timeline) {
    classes->first_sync = (uint32_t)timeline->device_count * 2 * TSMITH_EDGE_LIMIT;
    classes->first_ready = classes->first_sync + TSMITH_CALL_LIMIT;
    classes->count = classes->first_ready + TSMITH_CALL_LIMIT;
    classes->items = calloc(classes->count, sizeof *classes->items);
    return classes->items;
}

// ---- what decides when a point comes

// The incoming edges of one point.
struct incoming {
    const tsmith_edge *edges;
    uint32_t count;
    bool end;
    const tsmith_edge *binding; // NULL: none
    int64_t from;               // when the binding one's source came
};

static int64_t edge_time(const tsmith_graph *graph, const tsmith_edge *edge) {
    return graph_time(graph, edge->from, graph_from_end[edge->kind]);
}

static uint32_t edge_point(const tsmith_edge *edge) {
    return 2 * edge->from + graph_from_end[edge->kind];
}

// Whether an edge is about this end of its node.
static bool takes_part(const struct incoming *in, const tsmith_edge *edge) {
    return graph_to_end[edge->kind] == in->end;
}

static struct incoming incoming(const tsmith_graph *graph, uint32_t node, bool end) {
    struct incoming in = {.end = end, .from = INT64_MIN};
    in.edges = tsmith_graph_predecessors(graph, node, &in.count);
    for (uint32_t i = 0; i < in.count; i++) {
        if (!takes_part(&in, &in.edges[i]))
            continue;
        int64_t time = edge_time(graph, &in.edges[i]);
        if (!in.binding || time > in.from) {
            in.binding = &in.edges[i];
            in.from = time;
        }
    }
    return in;
}

// Whether a call that ends with a wait did wait: what it waited for was not done when it could have returned at once.
static bool did_wait(const struct incoming *in, const tsmith_call *call) {
    return in->binding && graph_is_wait(in->binding->kind) && in->from > call->start;
}

// ---- calibration

static void calibrate_command(const tsmith_simulation *simulation, const struct classes *classes,
                              uint32_t node) {
    const tsmith_command *command = sim_command(simulation, node);
    const struct incoming in = incoming(simulation->graph, node, false);
    // A compilation happens within the call; its distance from there is no launch latency.
    if (in.binding && command->kind != TSMITH_KIND_COMPILE)
        class_add(command_class(simulation, classes, command, in.binding->kind),
                  sim_between(in.from, graph_time(simulation->graph, node, false)));
}

static void calibrate_call(const tsmith_simulation *simulation, const struct classes *classes,
                           uint32_t node) {
    const tsmith_call *call = sim_call(simulation, node);
    const struct incoming in = incoming(simulation->graph, node, true);
    if (did_wait(&in, call)) {
        class_add(&classes->items[classes->first_sync + call->role], sim_between(in.from, call->end));
        return;
    }
    for (uint32_t i = 0; i < in.count; i++) {
        if (!graph_is_wait(in.edges[i].kind))
            continue;
        class_add(&classes->items[classes->first_ready + call->role], sim_between(call->start, call->end));
        return;
    }
}

static void calibrate(const tsmith_simulation *simulation, const struct classes *classes) {
    for (uint32_t node = 0; node < simulation->node_count; node++) {
        if (sim_is_command(simulation, node))
            calibrate_command(simulation, classes, node);
        else
            calibrate_call(simulation, classes, node);
    }
    for (uint32_t i = 0; i < classes->count; i++)
        class_finish(&classes->items[i]);
}

// The value below which `share` of a class's lags are.
static int64_t class_quantile(const struct lag_class *class, double share) {
    uint64_t seen = 0;
    uint32_t bucket = 0;
    while ((double)(seen += class->buckets[bucket]) < share * (double)class->count)
        bucket++;
    return bucket_middle(bucket);
}

static bool make_ranges(struct sim_model *model, const struct classes *classes) {
    int64_t longest = 0;
    model->ranges = calloc((size_t)classes->first_sync + 1, sizeof *model->ranges);
    for (uint32_t i = TSMITH_EDGE_LAUNCH; i < classes->first_sync; i += TSMITH_EDGE_LIMIT)
        if (classes->items[i].lag > longest)
            longest = classes->items[i].lag;
    for (uint32_t i = 0; i < classes->first_sync && model->ranges; i++) {
        const struct lag_class *class = &classes->items[i];
        model->ranges[i] = class->count ? (struct sim_range){class_quantile(class, RANGE_LOW),
                                                             class_quantile(class, RANGE_HIGH)}
                                        : (struct sim_range){0, longest};
    }
    return model->ranges;
}

// ---- links

static bool add_link(tsmith_simulation *simulation, uint32_t from, uint32_t to, int64_t lag, uint32_t kind) {
    struct sim_model *model = &simulation->model;
    if (!ARRAY_RESERVE(model->links, model->link_capacity, model->link_count + 1))
        return false;
    model->links[model->link_count++] = (struct sim_link){.from = from, .to = to, .lag = lag, .kind = kind};
    return true;
}

// The lag of a point behind what bound it: the class's, or its own when that is an accident.
static int64_t binding_lag(tsmith_simulation *simulation, const struct lag_class *class, uint32_t point,
                           int64_t lag) {
    if (bucket_of(lag) <= class->last)
        return class->lag;
    simulation->model.unexplained[point] = lag - class->lag;
    simulation->figures.unexplained_count++;
    return lag;
}

static bool link_command_start(tsmith_simulation *simulation, const struct classes *classes, uint32_t node) {
    const tsmith_command *command = sim_command(simulation, node);
    const int64_t start = graph_time(simulation->graph, node, false);
    struct incoming in = incoming(simulation->graph, node, false);
    for (uint32_t i = 0; i < in.count; i++) {
        const tsmith_edge *edge = &in.edges[i];
        if (!takes_part(&in, edge))
            continue;
        const struct lag_class *class = command_class(simulation, classes, command, edge->kind);
        int64_t recorded = sim_between(edge_time(simulation->graph, edge), start), lag = recorded;
        if (edge == in.binding && command->kind != TSMITH_KIND_COMPILE)
            lag = binding_lag(simulation, class, 2 * node, recorded);
        else if (edge != in.binding && class->lag < recorded)
            lag = class->lag;
        if (!class->count && command->kind != TSMITH_KIND_COMPILE)
            simulation->figures.uncalibrated |= 1u << edge->kind;
        if (edge->kind == TSMITH_EDGE_RESOURCE) {
            simulation->model.gap[node] = lag;
            continue;
        }
        if (!add_link(simulation, edge_point(edge), 2 * node, lag, edge->kind))
            return false;
        simulation->model.links[simulation->model.link_count - 1].binds = edge == in.binding;
    }
    simulation->figures.anchored += !in.binding;
    return true;
}

static bool link_command_end(tsmith_simulation *simulation, uint32_t node) {
    struct incoming in = incoming(simulation->graph, node, true);
    const tsmith_command *command = sim_command(simulation, node);
    simulation->model.own[node] = in.binding ? 0 : sim_between(command->start, command->end);
    for (uint32_t i = 0; i < in.count; i++)
        if (takes_part(&in, &in.edges[i]) && !add_link(simulation, edge_point(&in.edges[i]), 2 * node + 1,
                                                       sim_between(edge_time(simulation->graph, &in.edges[i]),
                                                                   graph_time(simulation->graph, node, true)),
                                                       in.edges[i].kind))
            return false;
    return true;
}

// Between its calls a host takes the time it took; where it waited for another thread, none.
static bool link_call_start(tsmith_simulation *simulation, uint32_t node) {
    struct incoming in = incoming(simulation->graph, node, false);
    const bool joined = in.binding && in.binding->kind == TSMITH_EDGE_THREAD_INFERRED;
    simulation->figures.anchored += !in.binding;
    for (uint32_t i = 0; i < in.count; i++)
        if (takes_part(&in, &in.edges[i]) &&
            !add_link(simulation, edge_point(&in.edges[i]), 2 * node,
                      joined && in.edges[i].kind != TSMITH_EDGE_THREAD_INFERRED
                          ? 0
                          : sim_between(edge_time(simulation->graph, &in.edges[i]),
                                        graph_time(simulation->graph, node, false)),
                      in.edges[i].kind))
            return false;
    return true;
}

static bool link_call_end(tsmith_simulation *simulation, const struct classes *classes, uint32_t node) {
    const tsmith_call *call = sim_call(simulation, node);
    struct incoming in = incoming(simulation->graph, node, true);
    const struct lag_class *sync = &classes->items[classes->first_sync + call->role];
    const struct lag_class *ready = &classes->items[classes->first_ready + call->role];
    bool waited = did_wait(&in, call), inner = false;
    int64_t own = sim_between(call->start, call->end);
    for (uint32_t i = 0; i < in.count; i++) {
        const tsmith_edge *edge = &in.edges[i];
        if (!takes_part(&in, edge))
            continue;
        int64_t recorded = sim_between(edge_time(simulation->graph, edge), call->end), lag = recorded;
        inner |= edge->kind == TSMITH_EDGE_RETURNED;
        if (graph_is_wait(edge->kind)) {
            lag = sync->lag < recorded ? sync->lag : recorded;
            if (waited && edge == in.binding)
                lag = binding_lag(simulation, sync, 2 * node + 1, recorded);
        }
        if (!add_link(simulation, edge_point(edge), 2 * node + 1, lag, edge->kind))
            return false;
    }
    if (waited)
        own = ready->lag < own ? ready->lag : own;
    simulation->model.own[node] = inner ? 0 : own;
    return true;
}

static bool add_links(tsmith_simulation *simulation, const struct classes *classes) {
    struct sim_model *model = &simulation->model;
    uint64_t edges = simulation->command_count; // and at most one more for each command
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        edges += tsmith_graph_edge_count(simulation->graph, (tsmith_edge_kind)kind);
    bool done = ARRAY_RESERVE(model->links, model->link_capacity, edges + 1);
    for (uint32_t node = 0; node < simulation->node_count && done; node++)
        done = sim_is_command(simulation, node)
                   ? link_command_start(simulation, classes, node) && link_command_end(simulation, node)
                   : link_call_start(simulation, node) && link_call_end(simulation, classes, node);
    return done;
}

// ---- all of it

// A thread that only asks whether something is done, like a watchdog, does not decide when it all ends.
static void find_deciding(tsmith_simulation *simulation) {
    const tsmith_timeline *timeline = simulation->timeline;
    for (size_t i = 0; i < timeline->call_count; i++)
        if (timeline->calls[i].role != TSMITH_CALL_OTHER)
            simulation->model.decides[timeline->calls[i].thread] = true;
}

static tsmith_status find_order(tsmith_simulation *simulation) {
    const uint32_t count = simulation->command_count;
    int64_t *times = malloc(((size_t)count + 1) * sizeof *times);
    uint32_t *sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    uint32_t *room = malloc(((size_t)count + 1) * sizeof *room);
    const bool done = times && sorted && room;
    if (done) {
        for (uint32_t i = 0; i < count; i++)
            times[i] = sim_command(simulation, i)->start;
        sort_order_by_time(times, count, sorted, room);
        for (uint32_t i = 0; i < count; i++)
            simulation->model.order[sorted[i]] = i;
    }
    free(times);
    free(sorted);
    free(room);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

tsmith_status sim_model_make(tsmith_simulation *simulation) {
    const size_t nodes = (size_t)simulation->node_count + 1, commands = (size_t)simulation->command_count + 1;
    struct sim_model *model = &simulation->model;
    struct classes classes = {0};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    model->own = calloc(nodes, sizeof *model->own);
    model->unexplained = calloc(2 * nodes, sizeof *model->unexplained);
    model->gap = calloc(commands, sizeof *model->gap);
    model->order = calloc(commands, sizeof *model->order);
    model->resource_of = malloc(commands * sizeof *model->resource_of);
    model->decides = calloc(simulation->timeline->thread_count + 1, sizeof *model->decides);
    if (!model->own || !model->unexplained || !model->gap || !model->order || !model->resource_of ||
        !model->decides || !classes_make(&classes, simulation->timeline))
        goto done;
    calibrate(simulation, &classes);
    if (!make_ranges(model, &classes))
        goto done;
    if (!add_links(simulation, &classes))
        goto done;
    find_deciding(simulation);
    status = find_order(simulation);
    if (status == TSMITH_OK)
        status = sim_pool_make(simulation);
done:
    free(classes.items);
    return status;
}

void sim_model_finish(struct sim_model *model) {
    free(model->links);
    free(model->own);
    free(model->unexplained);
    free(model->gap);
    free(model->order);
    free(model->resource_of);
    free(model->decides);
    free(model->resources);
    free(model->ranges);
    *model = (struct sim_model){0};
}
