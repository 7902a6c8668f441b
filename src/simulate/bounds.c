// SPDX-License-Identifier: Apache-2.0
// What a trace leaves open about a change, as an interval of the makespan.
//
// A change moves commands and calls where the trace may never have seen them. Each such time is a doubt: a least and a
// most that it can be. The interval is what the simulation gives with all of them at their least, and at their most,
// widened by a margin for what differs from run to run: the error of the held-out half of the trace, and no less than
// MARGIN_LEAST.
//
// Doubts are about
//   launches  A call has two costs: synchronous (the first launch of a thread after it waited, and what the thread calls
//             before that) and streaming (launches behind a launch). Where dropping a wait turns the one into the other,
//             the streaming cost is the mean of the calls of that name that the trace shows; where it shows too few, it
//             is anything from 0 to the synchronous cost. The same goes for what the host does before such a call.
//   scaling   A part of each command does not shrink or grow with its work: no more than the shortest command of its
//             device, nor than FIXED_MOST.
//   gaps      Where a command starts behind something else than in the recording, the gap is between those that a tenth of
//             such gaps in the trace were below and above, and no more than the recording itself shows between the two. A
//             kind of gap that never decided anything in the trace is between 0 and the longest mean launch.
//   sharing   Commands that the change lets run at once may slow each other until nothing is gained, unless the trace
//             shows how much they do.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "simulate/simulate.h"

enum { STREAMING_LEAST = 8, FIXED_MOST = 10000 /* ns */ };
static const double MARGIN_LEAST = 0.08;

bool sim_doubt(tsmith_simulation *simulation, uint32_t node, int64_t least, int64_t most) {
    if (!ARRAY_RESERVE(simulation->doubts, simulation->doubt_capacity, simulation->doubt_count + 1))
        return false;
    simulation->doubts[simulation->doubt_count++] = (struct sim_doubt){node, least, most};
    return true;
}

// ---- scaling

// The shortest command that ran, by device of the timeline: the fixed part of a command is no longer than that.
static int64_t *find_shortest(const tsmith_simulation *simulation) {
    const tsmith_timeline *timeline = simulation->timeline;
    int64_t *shortest = malloc((timeline->device_count + 1) * sizeof *shortest);
    for (size_t i = 0; shortest && i <= timeline->device_count; i++)
        shortest[i] = FIXED_MOST;
    for (uint32_t i = 0; shortest && i < simulation->command_count; i++) {
        const tsmith_command *command = sim_command(simulation, i);
        const uint32_t device = timeline->rows[command->row].device;
        const int64_t length = sim_between(command->start, command->end);
        if (timeline_runs(command) && length < shortest[device])
            shortest[device] = length < 0 ? 0 : length;
    }
    return shortest;
}

bool sim_doubt_scaled(tsmith_simulation *simulation, const uint8_t *scaled, double factor) {
    int64_t *shortest = find_shortest(simulation);
    bool done = shortest;
    for (uint32_t node = 0; node < simulation->command_count && done; node++) {
        const uint32_t device = simulation->timeline->rows[sim_command(simulation, node)->row].device;
        const int64_t time = simulation->own[node];
        if (!scaled[node] || time <= 0 || factor == 0)
            continue;
        const int64_t by = (int64_t)(fabs(1 - factor) * (double)shortest[device]);
        done = factor < 1 ? sim_doubt(simulation, node, time, sim_add(time, by))
                          : sim_doubt(simulation, node, time > by ? time - by : 0, time);
    }
    free(shortest);
    return done;
}

// ---- launches

// For the calls of one name: the time that they took themselves in each regime.
struct regimes {
    double synchronous, streaming;
    uint64_t synchronous_count, streaming_count;
};

// Sets bit `bit` of of[i] for each call that is made in the streaming regime, with the links that are not dead, or with all.
static void find_streaming(const tsmith_simulation *simulation, const bool *waits, uint8_t bit, uint8_t *of) {
    const tsmith_timeline *timeline = simulation->timeline;
    uint64_t launches = 0; // of the thread since it waited
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (!i || call->thread != timeline->calls[i - 1].thread)
            launches = 0;
        launches += call->role == TSMITH_CALL_LAUNCH && call->command_count;
        if (launches > 1)
            of[i] |= bit;
        if (waits[i] || call->blocking)
            launches = 0;
    }
}

static void find_waits(const tsmith_simulation *simulation, bool *before, bool *after) {
    for (size_t i = 0; i < simulation->link_count; i++) {
        const struct sim_link *link = &simulation->links[i];
        if (!graph_is_wait(link->kind))
            continue;
        before[link->to / 2 - simulation->command_count] = true;
        if (!link->dead)
            after[link->to / 2 - simulation->command_count] = true;
    }
}

enum { WAS_STREAMING = 1, IS_STREAMING = 2 };

static bool apply_regimes(tsmith_simulation *simulation, const uint8_t *streaming, const bool *waits,
                          struct regimes *of_name, bool *unknown) {
    const tsmith_timeline *timeline = simulation->timeline;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        struct regimes *regimes = &of_name[timeline->calls[i].name];
        const double own = (double)simulation->model.own[simulation->command_count + i];
        if (waits[i])
            continue;
        if (streaming[i] & WAS_STREAMING) {
            regimes->streaming += own;
            regimes->streaming_count++;
        } else {
            regimes->synchronous += own;
            regimes->synchronous_count++;
        }
    }
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const struct regimes *regimes = &of_name[timeline->calls[i].name];
        const uint32_t node = simulation->command_count + i;
        const int64_t own = simulation->own[node];
        if (waits[i] || (streaming[i] & (WAS_STREAMING | IS_STREAMING)) != IS_STREAMING || own <= 0)
            continue;
        if (regimes->streaming_count < STREAMING_LEAST) {
            if (!sim_doubt(simulation, node, 0, own))
                return false;
            simulation->unknown_launches++;
            unknown[i] = true;
            continue;
        }
        const double mean = regimes->synchronous / (double)regimes->synchronous_count;
        const double factor = mean > 0 ? regimes->streaming / (double)regimes->streaming_count / mean : 1;
        simulation->own[node] = (int64_t)((double)own * factor);
    }
    return true;
}

bool sim_regimes(tsmith_simulation *simulation, size_t strings) {
    const size_t calls = simulation->timeline->call_count + 1;
    bool *before = calloc(calls, sizeof *before), *after = calloc(calls, sizeof *after);
    bool *unknown = calloc(calls, sizeof *unknown);
    uint8_t *streaming = calloc(calls, sizeof *streaming);
    struct regimes *of_name = calloc(strings + 1, sizeof *of_name);
    bool done = before && after && unknown && streaming && of_name;
    if (done) {
        find_waits(simulation, before, after);
        find_streaming(simulation, before, WAS_STREAMING, streaming);
        find_streaming(simulation, after, IS_STREAMING, streaming);
        done = apply_regimes(simulation, streaming, before, of_name, unknown);
    }
    for (size_t i = 0; i < simulation->link_count && done; i++) {
        struct sim_link *link = &simulation->links[i];
        if (link->kind == TSMITH_EDGE_PROGRAM_ORDER && unknown[link->to / 2 - simulation->command_count])
            link->open = 1;
    }
    free(unknown);
    free(before);
    free(after);
    free(streaming);
    free(of_name);
    return done;
}

// ---- the interval

static void move_gap(const tsmith_simulation *simulation, struct sim_link *link, bool most) {
    const uint32_t node = link->to / 2;
    if (link->kind == TSMITH_EDGE_PROGRAM_ORDER && link->open && !most)
        link->lag = 0;
    if (link->to & 1 || !sim_is_command(simulation, node) || link->binds)
        return;
    const struct sim_range *range =
        &simulation->model.ranges[sim_lag_class(simulation, sim_command(simulation, node), link->kind)];
    const int64_t recorded =
        sim_between(sim_recorded(simulation, link->from), sim_recorded(simulation, link->to));
    const int64_t high = range->high < recorded ? range->high : recorded;
    if (most && link->lag < high)
        link->lag = high;
    if (!most && link->lag > range->low)
        link->lag = range->low;
}

// With all doubts at their least or their most. The times of the last run stay as they are.
static tsmith_status run_extreme(tsmith_simulation *simulation, const tsmith_simulation_options *options,
                                 bool most, int64_t *makespan) {
    struct sim_link *links = simulation->links;
    int64_t *own = simulation->own;
    const size_t own_bytes = simulation->node_count * sizeof *own;
    const size_t link_bytes = simulation->link_count * sizeof *links;
    simulation->own = malloc(own_bytes + 1);
    simulation->links = malloc(link_bytes + 1);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (simulation->own && simulation->links) {
        memcpy(simulation->own, own, own_bytes);
        memcpy(simulation->links, links, link_bytes);
        for (size_t i = 0; i < simulation->doubt_count; i++)
            simulation->own[simulation->doubts[i].node] =
                most ? simulation->doubts[i].most : simulation->doubts[i].least;
        for (size_t i = 0; i < simulation->link_count; i++)
            move_gap(simulation, &simulation->links[i], most);
        status = sim_run(simulation, options);
        *makespan = sim_makespan(simulation);
    }
    free(simulation->own);
    free(simulation->links);
    simulation->own = own;
    simulation->links = links;
    return status;
}

// The held-out half was off by some time; the whole trace by twice that, as a share of it.
static double margin_of(const tsmith_simulation_model *figures) {
    const double off = figures->held_out_error * (double)figures->held_out_recorded;
    const double margin = figures->recorded > 0 ? 2 * off / (double)figures->recorded : 0;
    return margin > MARGIN_LEAST ? margin : MARGIN_LEAST;
}

tsmith_status sim_interval(tsmith_simulation *simulation, const tsmith_simulation_options *options,
                           tsmith_bounds *out) {
    const size_t points = 2 * (size_t)simulation->node_count + 1;
    int64_t *time = simulation->time;
    uint32_t *why = simulation->why, *freed_by = simulation->freed_by;
    const uint64_t choices = simulation->choices, circular = simulation->circular;
    const int64_t nominal = sim_makespan(simulation);
    int64_t least = nominal, most = nominal;
    simulation->time = calloc(points, sizeof *time);
    simulation->why = calloc(points, sizeof *why);
    simulation->freed_by = calloc((size_t)simulation->command_count + 1, sizeof *freed_by);
    tsmith_status status =
        simulation->time && simulation->why && simulation->freed_by ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK && simulation->changed)
        status = run_extreme(simulation, options, false, &least);
    if (status == TSMITH_OK && simulation->changed)
        status = run_extreme(simulation, options, true, &most);
    free(simulation->time);
    free(simulation->why);
    free(simulation->freed_by);
    simulation->time = time;
    simulation->why = why;
    simulation->freed_by = freed_by;
    simulation->choices = choices;
    simulation->circular = circular;
    if (status != TSMITH_OK)
        return status;
    if (simulation->shares_more && !simulation->figures.contended && most < simulation->figures.simulated)
        most = simulation->figures.simulated;
    least = least < nominal ? least : nominal;
    most = most > nominal ? most : nominal;
    const double margin = margin_of(&simulation->figures);
    out->open = (tsmith_interval){least, most};
    out->makespan = (tsmith_interval){(int64_t)((double)least * (margin < 1 ? 1 - margin : 0)),
                                      (int64_t)fmin((double)most * (1 + margin), (double)(INT64_MAX / 4))};
    return TSMITH_OK;
}
