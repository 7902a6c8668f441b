// SPDX-License-Identifier: Apache-2.0
// How well the second half of a trace is predicted from its first: the model's error where it has to predict.
//
// The trace is cut where half of its commands have been launched. In the second half every command takes what commands of
// its name and bytes took on average in the first, every call what calls of its name took, and the host between two calls
// what it took between calls of these names. Unexplained delays are left out. Commands and calls without a counterpart in
// the first half stay as recorded, and their share is reported: if that is most of the time, there is no held-out error.
//
// Gaps and launch latencies are one figure for each kind and device, of the whole trace.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "simulate/simulate.h"

static const double COVERED_LEAST = 0.5;
enum { COMMANDS_LEAST = 20 };

enum sample_kind { SAMPLE_COMMAND, SAMPLE_CALL, SAMPLE_BETWEEN };

// A time of the model, and what it is a time of.
struct sample {
    uint64_t first, second; // the key: kind and name; bytes, or the name of the call before
    uint32_t at;            // node, or link
    uint32_t held_out;
    int64_t time;
};

struct samples {
    struct sample *items;
    size_t count, capacity;
    int64_t cut;
};

static bool add_sample(struct samples *samples, enum sample_kind kind, uint64_t name, uint64_t second,
                       uint32_t at, int64_t start, int64_t time) {
    if (!ARRAY_RESERVE(samples->items, samples->capacity, samples->count + 1))
        return false;
    samples->items[samples->count++] =
        (struct sample){(uint64_t)kind << 32 | name, second, at, start >= samples->cut, time};
    return true;
}

static int compare_samples(const void *left, const void *right) {
    const struct sample *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->second != b->second)
        return a->second < b->second ? -1 : 1;
    if (a->held_out != b->held_out)
        return a->held_out < b->held_out ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

// When the command in the middle was launched.
static int64_t find_cut(const tsmith_simulation *simulation, uint32_t *node) {
    *node = SIM_NONE;
    for (uint32_t i = 0; i < simulation->command_count; i++)
        if (simulation->model.order[i] == simulation->command_count / 2)
            *node = i;
    if (*node == SIM_NONE)
        return INT64_MAX;
    const uint32_t call = sim_command(simulation, *node)->call;
    if (call != TSMITH_INDEX_NONE)
        *node = simulation->command_count + call;
    return sim_recorded(simulation, 2 * *node);
}

static bool collect(const tsmith_simulation *simulation, struct samples *samples) {
    bool done = true;
    for (uint32_t node = 0; node < simulation->node_count && done; node++) {
        const bool command = sim_is_command(simulation, node);
        const int64_t own = simulation->model.own[node];
        if (own > 0)
            done = add_sample(
                samples, command ? SAMPLE_COMMAND : SAMPLE_CALL,
                command ? sim_command(simulation, node)->name : sim_call(simulation, node)->name,
                command ? tsmith_command_bytes(simulation->timeline, sim_command(simulation, node)) : 0, node,
                sim_recorded(simulation, 2 * node), own);
    }
    for (size_t i = 0; i < simulation->model.link_count && done; i++) {
        const struct sim_link *link = &simulation->model.links[i];
        if (link->kind == TSMITH_EDGE_PROGRAM_ORDER && link->lag > 0)
            done = add_sample(samples, SAMPLE_BETWEEN, sim_call(simulation, link->to / 2)->name,
                              sim_call(simulation, link->from / 2)->name, (uint32_t)i,
                              sim_recorded(simulation, link->from), link->lag);
    }
    return done;
}

// Gives the second half the means of the first. The share of its time that has a counterpart.
static double predict(tsmith_simulation *simulation, struct samples *samples) {
    double covered = 0, all = 0;
    if (samples->count)
        qsort(samples->items, samples->count, sizeof *samples->items, compare_samples);
    for (size_t from = 0, to; from < samples->count; from = to) {
        double sum = 0;
        uint64_t known = 0;
        for (to = from; to < samples->count && samples->items[to].first == samples->items[from].first &&
                        samples->items[to].second == samples->items[from].second;
             to++) {
            struct sample *sample = &samples->items[to];
            if (!sample->held_out) {
                sum += (double)sample->time;
                known++;
                continue;
            }
            all += (double)sample->time;
            if (!known)
                continue;
            covered += (double)sample->time;
            const int64_t mean = (int64_t)(sum / (double)known);
            if (sample->first >> 32 == SAMPLE_BETWEEN)
                simulation->links[sample->at].lag = mean;
            else
                simulation->own[sample->at] = mean;
        }
    }
    for (size_t i = 0; i < simulation->link_count; i++) {
        struct sim_link *link = &simulation->links[i];
        const int64_t unexplained = simulation->model.unexplained[link->to];
        if (unexplained && sim_recorded(simulation, link->to) >= samples->cut && link->lag >= unexplained)
            link->lag -= unexplained;
    }
    return all > 0 ? covered / all : 0;
}

tsmith_status sim_held_out(tsmith_simulation *simulation) {
    static const tsmith_simulation_options AS_RECORDED = {.size = sizeof AS_RECORDED};
    tsmith_simulation_model *figures = &simulation->figures;
    struct samples samples = {0};
    uint32_t node;
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    figures->held_out_error = -1;
    samples.cut = find_cut(simulation, &node);
    if (simulation->command_count < COMMANDS_LEAST || node == SIM_NONE)
        return TSMITH_OK;
    const int64_t end = sim_add(simulation->origin, figures->recorded);
    figures->held_out_recorded = sim_between(samples.cut, end);
    if (collect(simulation, &samples) && sim_links_copy(simulation)) {
        figures->held_out_covered = predict(simulation, &samples);
        status = sim_run(simulation, &AS_RECORDED);
    }
    free(samples.items);
    if (status == TSMITH_OK) {
        figures->held_out_predicted = sim_between(simulation->time[2 * (size_t)node],
                                                  sim_add(simulation->origin, sim_makespan(simulation)));
        if (figures->held_out_covered >= COVERED_LEAST && figures->held_out_recorded > 0)
            figures->held_out_error =
                fabs((double)figures->held_out_predicted - (double)figures->held_out_recorded) /
                (double)figures->held_out_recorded;
    }
    sim_links_reset(simulation);
    return status;
}
