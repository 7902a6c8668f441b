// SPDX-License-Identifier: Apache-2.0
// The simulation's public side, and the path that decides when it ends.
#include "simulate/simulate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/names.h"
#include "base/sized.h"
#include "base/status.h"
#include "state/critical_path.h"
#include "state/sweep.h"

// ---- when it ends

static bool is_decided(const tsmith_simulation *simulation, uint32_t node) {
    return sim_is_command(simulation, node) || simulation->model.decides[sim_call(simulation, node)->thread];
}

// The node that ends last, in virtual time or as recorded.
static uint32_t last_node(const tsmith_simulation *simulation, bool recorded) {
    uint32_t last = 0;
    int64_t latest = INT64_MIN;
    for (uint32_t node = 0; node < simulation->node_count; node++) {
        const uint32_t point = 2 * node + 1;
        const int64_t end = recorded ? sim_recorded(simulation, point) : simulation->time[point];
        if (end > latest && is_decided(simulation, node)) {
            latest = end;
            last = node;
        }
    }
    return last;
}

int64_t sim_makespan(const tsmith_simulation *simulation) {
    return sim_between(simulation->origin, simulation->time[2 * (size_t)last_node(simulation, false) + 1]);
}

// ---- the path

enum { PARTS_LEAST = 1024 }; // collected before equal ones are added up

static const char *work_of(const tsmith_simulation *simulation, uint32_t node) {
    return sim_is_command(simulation, node) ? path_command_name(sim_command(simulation, node))
                                            : path_call_name(sim_call(simulation, node));
}

static uint32_t name_of(const tsmith_simulation *simulation, uint32_t node) {
    return sim_is_command(simulation, node) ? sim_command(simulation, node)->name
                                            : sim_call(simulation, node)->name;
}

static int order_parts(const void *left, const void *right) {
    const tsmith_simulated_part *a = left, *b = right;
    const int what = a->what == b->what ? 0 : strcmp(a->what, b->what);
    return what ? what : a->name < b->name ? -1 : a->name > b->name;
}

static int order_by_time(const void *left, const void *right) {
    const tsmith_simulated_part *a = left, *b = right;
    return a->time != b->time ? (a->time > b->time ? -1 : 1) : order_parts(left, right);
}

// Adds up what is the same.
static void merge_parts(tsmith_simulation *simulation) {
    tsmith_simulated_part *parts = simulation->parts;
    size_t kept = 0;
    if (!simulation->part_count)
        return;
    qsort(parts, simulation->part_count, sizeof *parts, order_parts);
    for (size_t i = 1; i < simulation->part_count; i++) {
        if (order_parts(&parts[kept], &parts[i]) == 0) {
            parts[kept].count += parts[i].count;
            parts[kept].time = sim_add(parts[kept].time, parts[i].time);
        } else {
            parts[++kept] = parts[i];
        }
    }
    simulation->part_count = kept + 1;
}

static bool add_part(tsmith_simulation *simulation, const char *what, uint32_t node, int64_t time) {
    if (time <= 0)
        return true;
    if (simulation->part_count == simulation->part_limit) {
        merge_parts(simulation);
        simulation->part_limit = 2 * simulation->part_count + PARTS_LEAST;
    }
    if (!ARRAY_RESERVE(simulation->parts, simulation->part_capacity, simulation->part_count + 1))
        return false;
    simulation->parts[simulation->part_count++] =
        (tsmith_simulated_part){.what = what, .name = name_of(simulation, node), .count = 1, .time = time};
    return true;
}

// The distance between a point and the one that determined it.
static bool attribute(tsmith_simulation *simulation, uint32_t point, uint32_t from, uint32_t kind) {
    const int64_t *time = simulation->time;
    const int64_t length = sim_between(time[from], time[point]);
    switch (kind) {
    case TSMITH_EDGE_CALLED:
        return add_part(simulation, work_of(simulation, from / 2), from / 2, length);
    case TSMITH_EDGE_RETURNED:
    case TSMITH_EDGE_COLLECTIVE:
        return add_part(simulation, work_of(simulation, point / 2), point / 2, length);
    case TSMITH_EDGE_LAUNCH: { // the call, then the way to the device
        const int64_t call = sim_between(time[from], time[from + 1]);
        const int64_t host = call < length ? call : length;
        return add_part(simulation, work_of(simulation, from / 2), from / 2, host) &&
               add_part(simulation, path_edge_name(kind), point / 2, length - host);
    }
    default:
        return add_part(simulation, path_edge_name(kind), point / 2, length);
    }
}

// What was seen on the way.
struct walked {
    int64_t unexplained; // what no figure explains
    uint64_t inferred;   // dependencies that are inferred
    int64_t rests;       // ns before the last of these
};

static void note_inferred(const tsmith_simulation *simulation, struct walked *walked, uint32_t point,
                          uint32_t kind) {
    if (tsmith_edge_kind_inferred((tsmith_edge_kind)kind) && !walked->inferred++)
        walked->rests = sim_between(simulation->origin, simulation->time[point]);
}

// From the last end back to the first moment.
static bool walk_path(tsmith_simulation *simulation, struct walked *walked) {
    uint32_t point = 2 * last_node(simulation, false) + 1;
    simulation->part_count = 0;
    simulation->part_limit = PARTS_LEAST;
    *walked = (struct walked){0};
    for (size_t steps = 0; steps < 2 * (size_t)simulation->node_count; steps++) {
        const uint32_t why = simulation->why[point];
        uint32_t from;
        bool done;
        if (why == SIM_WHY_NOTHING) {
            // Nothing is known to come before it, for example before the first call of a thread. The time is kept as recorded.
            const int64_t before = sim_between(simulation->origin, simulation->time[point]);
            walked->unexplained = sim_add(walked->unexplained, before);
            return add_part(simulation, "before it began", point / 2, before);
        }
        if (why == SIM_WHY_OWN) {
            from = point - 1;
            done = add_part(simulation, work_of(simulation, point / 2), point / 2,
                            sim_between(simulation->time[from], simulation->time[point]));
        } else if (why == SIM_WHY_RESOURCE) {
            from = 2 * simulation->freed_by[point / 2] + 1;
            done = attribute(simulation, point, from, TSMITH_EDGE_RESOURCE);
            note_inferred(simulation, walked, point, TSMITH_EDGE_RESOURCE);
            walked->unexplained = sim_add(walked->unexplained, simulation->model.unexplained[point]);
        } else {
            from = simulation->links[why].from;
            done = attribute(simulation, point, from, simulation->links[why].kind);
            note_inferred(simulation, walked, point, simulation->links[why].kind);
            walked->unexplained = sim_add(walked->unexplained, simulation->model.unexplained[point]);
        }
        if (!done)
            return false;
        point = from;
    }
    return true;
}

// ---- figures

// ns in which at least one command of a device ran, in virtual time.
static bool device_busy(const tsmith_simulation *simulation, const tsmith_row *device, int64_t *busy) {
    const size_t room = (size_t)device->command_count + 1;
    int64_t *starts = malloc(room * sizeof *starts), *ends = malloc(room * sizeof *ends);
    int64_t *scratch = malloc(room * sizeof *scratch);
    const bool done = starts && ends && scratch;
    size_t count = 0;
    for (uint32_t i = device->first_command; i < device->first_command + device->command_count && done; i++) {
        if (!timeline_runs(sim_command(simulation, i)))
            continue;
        starts[count] = simulation->time[2 * (size_t)i];
        ends[count++] = simulation->time[2 * (size_t)i + 1];
    }
    if (done) {
        sweep_sort(starts, scratch, count);
        sweep_sort(ends, scratch, count);
        for (size_t i = 0, from = 0; i < count; i++) { // a stretch ends where as many have ended as begun
            if (i + 1 < count && starts[i + 1] <= ends[i])
                continue;
            *busy = sim_add(*busy, sim_between(starts[from], ends[i]));
            from = i + 1;
        }
    }
    free(starts);
    free(ends);
    free(scratch);
    return done;
}

static bool find_errors(tsmith_simulation *simulation) {
    tsmith_simulation_model *figures = &simulation->figures;
    const size_t count = simulation->command_count;
    int64_t *off = malloc((count + 1) * sizeof *off), *scratch = malloc((count + 1) * sizeof *scratch);
    const bool done = off && scratch;
    for (size_t i = 0; i < count && done; i++) {
        const int64_t by = sim_between(sim_recorded(simulation, (uint32_t)(2 * i)), simulation->time[2 * i]);
        off[i] = by < 0 ? -by : by;
    }
    const double recorded = figures->recorded > 0 ? (double)figures->recorded : 1;
    figures->error = fabs((double)figures->simulated - (double)figures->recorded) / recorded;
    if (done) {
        sweep_sort(off, scratch, count);
        figures->median_start_error = (double)off[count / 2] / recorded;
    }
    free(off);
    free(scratch);
    return done;
}

// ---- the public side

static tsmith_status no_memory(const tsmith_simulation *simulation, tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY,
                      "out of memory while simulating %" PRIu32 " commands and %" PRIu32 " calls.",
                      simulation->command_count, simulation->node_count - simulation->command_count);
}

static tsmith_status first_run(tsmith_simulation *simulation, tsmith_error *error) {
    tsmith_simulation_model *figures = &simulation->figures;
    tsmith_simulated unmodified = {.size = sizeof unmodified};
    const uint32_t last = last_node(simulation, true);
    figures->recorded = sim_between(simulation->origin, sim_recorded(simulation, 2 * last + 1));
    tsmith_status status = tsmith_simulation_run(simulation, NULL, &unmodified, error);
    if (status != TSMITH_OK)
        return status;
    figures->simulated = unmodified.makespan;
    figures->circular = simulation->circular;
    struct walked walked;
    if (!walk_path(simulation, &walked) || !find_errors(simulation))
        return no_memory(simulation, error);
    figures->unexplained = walked.unexplained;
    figures->inferred = walked.inferred;
    figures->rests = walked.rests;
    return sim_held_out(simulation) == TSMITH_OK ? TSMITH_OK : no_memory(simulation, error);
}

static bool any_runs(const tsmith_timeline *timeline) {
    for (size_t i = 0; i < timeline->command_count; i++)
        if (timeline_runs(&timeline->commands[i]))
            return true;
    return false;
}

tsmith_status tsmith_simulation_create(const tsmith_timeline *timeline, const tsmith_graph *graph,
                                       const tsmith_dictionary *dictionary, tsmith_simulation **out,
                                       tsmith_error *error) {
    if (!any_runs(timeline))
        return status_set(error, TSMITH_ERROR_NOT_FOUND,
                          "The trace has no command that ran on a device: there is nothing to simulate.");
    if (graph->node_count >= INT32_MAX)
        return status_set(error, TSMITH_ERROR_LIMIT,
                          "A simulation holds at most 2147483646 commands and calls.");
    tsmith_simulation *simulation = calloc(1, sizeof *simulation);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!simulation)
        return status_set(error, status, "out of memory while creating a simulation");
    simulation->timeline = timeline;
    simulation->graph = graph;
    simulation->dictionary = dictionary;
    simulation->command_count = graph->command_count;
    simulation->node_count = graph->node_count;
    simulation->origin = INT64_MAX;
    for (uint32_t node = 0; node < graph->node_count; node++)
        if (sim_recorded(simulation, 2 * node) < simulation->origin)
            simulation->origin = sim_recorded(simulation, 2 * node);
    const size_t nodes = simulation->node_count;
    simulation->time = calloc(2 * nodes + 1, sizeof *simulation->time);
    simulation->why = calloc(2 * nodes + 1, sizeof *simulation->why);
    simulation->freed_by = calloc((size_t)simulation->command_count + 1, sizeof *simulation->freed_by);
    if (simulation->time && simulation->why && simulation->freed_by)
        status = sim_model_make(simulation);
    sim_links_reset(simulation);
    status = status == TSMITH_OK ? first_run(simulation, error) : no_memory(simulation, error);
    if (status != TSMITH_OK) {
        tsmith_simulation_destroy(simulation);
        return status;
    }
    *out = simulation;
    return TSMITH_OK;
}

void tsmith_simulation_destroy(tsmith_simulation *simulation) {
    if (!simulation)
        return;
    sim_links_reset(simulation);
    sim_model_finish(&simulation->model);
    free(simulation->time);
    free(simulation->why);
    free(simulation->freed_by);
    free(simulation->parts);
    free(simulation->doubts);
    free(simulation);
}

enum { STREAMS_MOST = 4096 };

const tsmith_simulation_model *tsmith_simulation_get_model(const tsmith_simulation *simulation) {
    return &simulation->figures;
}

tsmith_status tsmith_simulation_change(tsmith_simulation *simulation, const tsmith_change *given,
                                       uint64_t *affected, tsmith_error *error) {
    uint64_t count = 0;
    tsmith_change taken;
    const tsmith_change *change = &taken;
    const tsmith_status status = sized_take(tsmith_change, given, &taken, error);
    if (status != TSMITH_OK)
        return status;
    if ((unsigned)change->kind >= TSMITH_CHANGE_LIMIT || !(change->factor >= 0) || change->time < 0 ||
        (change->kind == TSMITH_CHANGE_FUSE && change->name_count < 2))
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT,
                          "A change needs a factor and a time of 0 or more, and fusing two names or more.");
    if (change->kind == TSMITH_CHANGE_STREAMS &&
        (!change->streams || change->streams > STREAMS_MOST || !change->shares || simulation->resource_of))
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "Commands can be spread only once, over 1 to %d queues, and need their dependencies.",
            STREAMS_MOST);
    if (sim_change(simulation, change, &count) != TSMITH_OK)
        return no_memory(simulation, error);
    if (affected)
        *affected = count;
    return TSMITH_OK;
}

void tsmith_simulation_reset(tsmith_simulation *simulation) {
    sim_links_reset(simulation);
}

tsmith_status tsmith_simulation_run(tsmith_simulation *simulation, const tsmith_simulation_options *given,
                                    tsmith_simulated *filled, tsmith_error *error) {
    tsmith_simulated full = {.size = sizeof full}, *const out = &full;
    tsmith_simulation_options options;
    const tsmith_status status = sized_take(tsmith_simulation_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    const tsmith_timeline *timeline = simulation->timeline;
    struct walked walked;
    bool done = sim_run(simulation, &options) == TSMITH_OK && walk_path(simulation, &walked);
    if (done) {
        merge_parts(simulation);
        if (simulation->part_count)
            qsort(simulation->parts, simulation->part_count, sizeof *simulation->parts, order_by_time);
    }
    for (size_t i = 0; i < timeline->device_count && done; i++)
        done = device_busy(simulation, &timeline->devices[i], &out->device_busy);
    if (!done)
        return no_memory(simulation, error);
    out->makespan = sim_makespan(simulation);
    out->unexplained = walked.unexplained;
    out->least = out->makespan - walked.unexplained > 0 ? out->makespan - walked.unexplained : 0;
    out->choices = simulation->choices;
    out->parts = simulation->parts;
    out->part_count = simulation->part_count;
    sized_give(tsmith_simulated, out, filled);
    return TSMITH_OK;
}

tsmith_status tsmith_simulation_bounds(tsmith_simulation *simulation, const tsmith_simulation_options *given,
                                       tsmith_bounds *out, tsmith_error *error) {
    tsmith_simulation_options options;
    const tsmith_status status = sized_take(tsmith_simulation_options, given, &options, error);
    if (status != TSMITH_OK)
        return status;
    tsmith_bounds bounds = {.size = sizeof bounds,
                            .unknown_launches = simulation->unknown_launches,
                            .untimed = simulation->untimed};
    if (sim_interval(simulation, &options, &bounds) != TSMITH_OK)
        return no_memory(simulation, error);
    sized_give(tsmith_bounds, &bounds, out);
    return TSMITH_OK;
}

tsmith_interval tsmith_simulation_command(const tsmith_simulation *simulation, uint32_t command) {
    const int64_t *times = &simulation->time[2 * (size_t)command];
    return command < simulation->command_count ? (tsmith_interval){times[0], times[1]}
                                               : (tsmith_interval){0, 0};
}

NAMES_CHECK_LIMIT(TSMITH_POLICY_TABLE, TSMITH_POLICY_LIMIT);
NAMES_CHECK_LIMIT(TSMITH_CHANGE_TABLE, TSMITH_CHANGE_LIMIT);

NAMES_DEFINE(tsmith_policy_name, tsmith_policy, TSMITH_POLICY_TABLE, NAMES_NAME, "?")
NAMES_DEFINE(tsmith_policy_doc, tsmith_policy, TSMITH_POLICY_TABLE, NAMES_DOC, "?")
