// SPDX-License-Identifier: Apache-2.0
// The inside of a simulation (tracesmith/simulate.h).
//
// Points are the starts (2 * node) and ends (2 * node + 1) of the graph's nodes; links join them, each with a lag: the
// target comes no earlier than the source and the lag. An end also comes no earlier than its own start and `own`.
// Commands on a resource (something the device does one at a time, or a pool that they share) start when it lets them.
//
//   model.c    a graph -> points, links, lags           the model; never changed afterwards
//   pool.c     what the trace shows of devices: exclusive, shared, and how much kernels slow each other
//   change.c   works on `links` and `own`, copies of the model's
//   streams.c  the same: commands spread over other queues
//   run.c      time goes by
//   bounds.c   what the trace leaves open about a change: the interval of an answer
//   held_out.c the second half of the trace predicted from the first
//   simulate.c          the public API, and the path that decides the end
#ifndef SIMULATE_SIMULATE_H
#define SIMULATE_SIMULATE_H

#include <stdbool.h>

#include "state/graph.h"
#include "tracesmith/simulate.h"

#define SIM_NONE UINT32_MAX

struct sim_link {
    uint32_t from, to; // points
    int64_t lag;
    uint32_t kind; // tsmith_edge_kind
    uint8_t dead;  // changed away
    uint8_t binds; // decided in the recording when its point came
    uint8_t open;  // of PROGRAM_ORDER: before a call whose cost the trace does not show; may take no time
    uint8_t reserved;
};

// Why a point came when it came: the number of a link, or
enum { SIM_WHY_NOTHING = 0xffffffffu, SIM_WHY_OWN = 0xfffffffeu, SIM_WHY_RESOURCE = 0xfffffffdu };

// A device, or a copy engine.
struct sim_resource {
    bool exclusive; // runs one command at a time; otherwise commands share it
    int64_t gap;    // exclusive: from the end of one to the choice of the next, ns
    double
        demand; // shared: what part of the device a kernel needs; n of them run at min(1, 1 / (n * demand))
};

struct sim_model {
    struct sim_link *links;
    size_t link_count, link_capacity;
    int64_t *own;          // by node: ns from start to end if no link determines it; of pooled commands: work
    uint32_t *resource_of; // by command: SIM_NONE when it needs none
    int64_t *gap; // by command: how long after the one before it has left an exclusive resource it starts
    int64_t *unexplained; // by point: the part of its lag that no figure explains
    uint32_t *order;      // by command: place in the order of recorded starts
    bool *decides;        // by thread: it does more than ask
    struct sim_resource *resources;
    uint32_t resource_count;
    // By class of lags (sim_lag_class), the lags that a tenth of its commands were below and above; of a class that never
    // decided anything, 0 and the longest mean launch.
    struct sim_range *ranges;
};

struct sim_range {
    int64_t low, high;
};

// What `own` of a node can be at least and at most, with the changes.
struct sim_doubt {
    uint32_t node;
    int64_t least, most;
};

struct tsmith_simulation {
    const tsmith_timeline *timeline;
    const tsmith_graph *graph;
    const tsmith_dictionary *dictionary;
    uint32_t command_count, node_count;
    int64_t origin; // the first moment
    struct sim_model model;
    tsmith_simulation_model figures;

    // with the changes; until there are any, the model's
    bool changed;
    struct sim_link *links;
    size_t link_count, link_capacity;
    int64_t *own;
    uint32_t *resource_of; // by command; NULL: the model's
    double *share;         // by command: of its shared resource; NULL: the resource's demand
    struct sim_doubt *doubts;
    size_t doubt_count, doubt_capacity;
    uint64_t unknown_launches; // calls whose streaming cost the trace does not show
    uint64_t untimed;          // scaled commands without times
    bool shares_more;          // commands may run at once that did not

    // of the last run
    int64_t *time;      // by point
    uint32_t *why;      // by point
    uint32_t *freed_by; // by command that waited for a resource: the command it waited for
    uint64_t choices, circular;
    tsmith_simulated_part *parts;
    size_t part_count, part_capacity, part_limit;
};

// Sums of a hostile trace's times stay within 64 bits.
static inline int64_t sim_add(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN / 2 : INT64_MAX / 2) : sum;
}

static inline int64_t sim_between(int64_t from, int64_t to) {
    int64_t difference;
    return __builtin_sub_overflow(to, from, &difference) ? INT64_MAX / 4 : difference;
}

static inline int64_t sim_recorded(const tsmith_simulation *simulation, uint32_t point) {
    return graph_time(simulation->graph, point / 2, point & 1);
}

static inline const tsmith_command *sim_command(const tsmith_simulation *simulation, uint32_t node) {
    return &simulation->timeline->commands[node];
}

static inline const tsmith_call *sim_call(const tsmith_simulation *simulation, uint32_t node) {
    return &simulation->timeline->calls[node - simulation->command_count];
}

static inline bool sim_is_command(const tsmith_simulation *simulation, uint32_t node) {
    return node < simulation->command_count;
}

// Fills simulation->model and the figures, except for those that only a run gives. NO_MEMORY or OK.
tsmith_status sim_model_make(tsmith_simulation *simulation);
void sim_model_finish(struct sim_model *model);
// Finds the resources of all commands and the work of those that share one.
tsmith_status sim_pool_make(tsmith_simulation *simulation);

static inline uint32_t sim_resource_of(const tsmith_simulation *simulation, uint32_t node) {
    return simulation->resource_of ? simulation->resource_of[node] : simulation->model.resource_of[node];
}

// STREAMS, on copies of links that are there.
tsmith_status sim_streams(tsmith_simulation *simulation, const tsmith_change *change, uint64_t *affected);
bool sim_add_link(tsmith_simulation *simulation, struct sim_link link);
// The links and own times as the model has them.
void sim_links_reset(tsmith_simulation *simulation);
tsmith_status sim_change(tsmith_simulation *simulation, const tsmith_change *change, uint64_t *affected);

// The class of the lag of a link to the start of a command: by device, whether it is a copy, and the link's kind.
static inline size_t sim_lag_class(const tsmith_simulation *simulation, const tsmith_command *command,
                                   uint32_t kind) {
    const uint32_t device = simulation->timeline->rows[command->row].device;
    const bool is_copy = command->work == TSMITH_WORK_COPY;
    return ((size_t)device * 2 + is_copy) * TSMITH_EDGE_LIMIT + kind;
}

// Copies of the model's links and own times, to be changed.
bool sim_links_copy(tsmith_simulation *simulation);

// `own` of a node is between two times. False: memory is exhausted.
bool sim_doubt(tsmith_simulation *simulation, uint32_t node, int64_t least, int64_t most);
// The doubts about commands (scaled[node]) whose `own` was scaled by `factor`.
bool sim_doubt_scaled(tsmith_simulation *simulation, const uint8_t *scaled, double factor);
// Calls that no longer follow a wait, since links are dead, cost what calls behind a launch cost. `strings`: of the
// dictionary.
bool sim_regimes(tsmith_simulation *simulation, size_t strings);
// What the last run's makespan can be, with all doubts.
tsmith_status sim_interval(tsmith_simulation *simulation, const tsmith_simulation_options *options,
                           tsmith_bounds *out);
// Sets the figures of the held-out half. Needs the figures of the first run.
tsmith_status sim_held_out(tsmith_simulation *simulation);
// From the first moment to the last end, of the last run.
int64_t sim_makespan(const tsmith_simulation *simulation);

// Sets time, why and freed_by of all points.
tsmith_status sim_run(tsmith_simulation *simulation, const tsmith_simulation_options *options);

#endif
