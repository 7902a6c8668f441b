// SPDX-License-Identifier: Apache-2.0
// Time goes by.
//
// A point is ready when the sources of all its links have their times; its time is then known, except for the start
// of a command that needs a resource, which the resource decides. Such commands and their successors are handled in
// the order of time (ends before starts, then by number); an exclusive resource is assigned after all starts of that
// time, so that it is never assigned before an earlier request. When no command of the trace needs one, nothing
// depends on who goes first, and there is no heap.
//
// States of a point: waiting (pending > 0) -> ready (in the heap or on the stack) -> settled (its time is final).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "simulate/simulate.h"

#define NO_TIME INT64_MIN

// In the tie of a moment: ends come before starts, then it is the node's number, then the turn of a shared resource at
// which an end was foreseen (it counts only if nothing has changed since).
#define MOMENT_START (UINT64_C(1) << 63)
// From here on, backwards by its number: the moment at which it is chosen who gets a resource. Nodes are fewer.
#define MOMENT_CHOICE (MOMENT_START | UINT64_C(0x7fffffff) << 32)

struct resource_state {
    // exclusive
    uint32_t running; // the command, or SIM_NONE
    uint32_t last;    // the command that left it last, or SIM_NONE
    int64_t freed;
    bool choosing;                  // the moment of the next choice is set
    struct heap waiting;            // by priority and recorded order; or, when queues take turns:
    uint32_t turn_first, turn_last; // rows with commands that wait, a list
    // shared: a clock that goes at the speed at which each command on it advances
    double clock, speed;
    int64_t clock_time;
    struct heap places; // by the clock at which they are done
    double wanted;      // by those on it, where each takes its own share
    uint32_t turn;
};

// For a row, when queues take turns.
struct row_state {
    uint32_t first, last; // commands that wait
    uint32_t next;        // row in the resource's list
    bool listed;
};

struct run {
    tsmith_simulation *simulation;
    const tsmith_simulation_options *options;
    uint32_t *first;   // by point: of its links in `out`
    uint32_t *out;     // numbers of links, by source
    uint32_t *pending; // by point: links not come yet, and the start before its end
    bool in_order;     // of time: a command needs a resource
    uint32_t *stack;   // otherwise
    size_t stack_count;
    struct heap moments;
    struct resource_state *resources;
    struct row_state *rows;
    uint32_t *next_waiting; // by command
    int64_t now;
    bool failed;
};

static bool needs_resource(const struct run *run, uint32_t node) {
    return sim_is_command(run->simulation, node) && sim_resource_of(run->simulation, node) != SIM_NONE;
}

static void push_moment(struct run *run, int64_t time, uint32_t point, uint32_t turn) {
    uint64_t tie = (uint64_t)(point / 2) << 32 | turn | (point & 1 ? 0 : MOMENT_START);
    run->failed |= !heap_push(&run->moments, time, tie);
}

// ---- points

static void become_ready(struct run *run, uint32_t point) {
    tsmith_simulation *simulation = run->simulation;
    if (simulation->time[point] == NO_TIME) // nothing in the trace precedes it
        simulation->time[point] = sim_recorded(simulation, point);
    if (run->in_order)
        push_moment(run, simulation->time[point], point, 0);
    else
        run->stack[run->stack_count++] = point;
}

static void arrive(struct run *run, uint32_t point, int64_t time, uint32_t why) {
    tsmith_simulation *simulation = run->simulation;
    if (!run->pending[point])
        return; // a circle was broken here: it has gone
    if (time > simulation->time[point] || simulation->why[point] == SIM_WHY_NOTHING) {
        simulation->time[point] = time;
        simulation->why[point] = why;
    }
    if (--run->pending[point] == 0)
        become_ready(run, point);
}

// The point has its time: notifies the points that wait for it.
static void settle_point(struct run *run, uint32_t point) {
    const tsmith_simulation *simulation = run->simulation;
    const int64_t time = simulation->time[point];
    for (uint32_t i = run->first[point]; i < run->first[point + 1]; i++) {
        const struct sim_link *link = &simulation->links[run->out[i]];
        arrive(run, link->to, sim_add(time, link->lag), run->out[i]);
    }
    if (!(point & 1) && !needs_resource(run, point / 2))
        arrive(run, point + 1, sim_add(time, simulation->own[point / 2]), SIM_WHY_OWN);
}

// ---- exclusive resources

static void wait_for(struct run *run, struct resource_state *state, uint32_t node) {
    const tsmith_simulation *simulation = run->simulation;
    const uint32_t row = sim_command(simulation, node)->row;
    if (run->options->policy != TSMITH_POLICY_ROUND_ROBIN) {
        const bool by_priority = run->options->policy == TSMITH_POLICY_PRIORITY && run->options->priorities;
        const int64_t key = by_priority ? -(int64_t)run->options->priorities[row] : 0;
        run->failed |= !heap_push(&state->waiting, key, (uint64_t)simulation->model.order[node] << 32 | node);
        return;
    }
    struct row_state *queue = &run->rows[row];
    run->next_waiting[node] = SIM_NONE;
    if (queue->first == SIM_NONE)
        queue->first = node;
    else
        run->next_waiting[queue->last] = node;
    queue->last = node;
    if (queue->listed)
        return;
    queue->listed = true;
    queue->next = SIM_NONE;
    if (state->turn_first == SIM_NONE)
        state->turn_first = row;
    else
        run->rows[state->turn_last].next = row;
    state->turn_last = row;
}

// The command that goes next, or SIM_NONE.
static uint32_t take_waiting(struct run *run, struct resource_state *state) {
    if (run->options->policy != TSMITH_POLICY_ROUND_ROBIN) {
        run->simulation->choices += state->waiting.count > 1;
        return state->waiting.count ? (uint32_t)heap_pop(&state->waiting).tie : SIM_NONE;
    }
    const uint32_t row = state->turn_first;
    if (row == SIM_NONE)
        return SIM_NONE;
    struct row_state *queue = &run->rows[row];
    run->simulation->choices += queue->next != SIM_NONE;
    const uint32_t node = queue->first;
    queue->first = run->next_waiting[node];
    state->turn_first = queue->next;
    queue->listed = false;
    if (queue->first == SIM_NONE)
        return node;
    queue->listed = true; // its turn comes again after the others'
    queue->next = SIM_NONE;
    if (state->turn_first == SIM_NONE)
        state->turn_first = row;
    else
        run->rows[state->turn_last].next = row;
    state->turn_last = row;
    return node;
}

static void set_choice(struct run *run, struct resource_state *state, uint32_t number) {
    const struct sim_resource *resource = &run->simulation->model.resources[number];
    if (state->choosing || state->running != SIM_NONE)
        return;
    const int64_t ready = state->last == SIM_NONE ? run->now : sim_add(state->freed, resource->gap);
    state->choosing = true;
    run->failed |= !heap_push(&run->moments, ready > run->now ? ready : run->now, MOMENT_CHOICE + number);
}

static void ask_exclusive(struct run *run, struct resource_state *state, uint32_t number, uint32_t node) {
    wait_for(run, state, node);
    set_choice(run, state, number);
}

static void choose(struct run *run, struct resource_state *state) {
    tsmith_simulation *simulation = run->simulation;
    const uint32_t node = take_waiting(run, state);
    state->choosing = false;
    if (node == SIM_NONE)
        return;
    int64_t *start = &simulation->time[2 * (size_t)node];
    int64_t from = run->now;
    if (state->last != SIM_NONE && simulation->model.unexplained[2 * (size_t)node]) {
        const int64_t late = sim_add(state->freed, simulation->model.gap[node]);
        from = late > from ? late : from;
    }
    if (from > *start && state->last != SIM_NONE) {
        *start = from;
        simulation->why[2 * (size_t)node] = SIM_WHY_RESOURCE;
        simulation->freed_by[node] = state->last;
    }
    state->running = node;
    settle_point(run, 2 * node);
    arrive(run, 2 * node + 1, sim_add(*start, simulation->own[node]), SIM_WHY_OWN);
}

static void end_exclusive(struct run *run, struct resource_state *state, uint32_t number, uint32_t node) {
    if (state->running != node)
        return;
    state->running = SIM_NONE;
    state->last = node;
    state->freed = run->now;
    set_choice(run, state, number);
}

// ---- shared resources

// The clock up to now, and from here on at the speed of as many as are on it.
static void clock_set(struct run *run, struct resource_state *state, double demand) {
    state->clock += state->speed * (double)sim_between(state->clock_time, run->now);
    state->clock_time = run->now;
    const double wanted = run->simulation->share ? state->wanted : (double)state->places.count * demand;
    state->speed = wanted > 1 ? 1 / wanted : 1;
    state->turn++;
    if (!state->places.count)
        return;
    double finish;
    memcpy(&finish, &state->places.items[0].key, sizeof finish);
    const double left = (finish - state->clock) / state->speed;
    const int64_t end = sim_add(run->now, left > 0 ? llround(left) : 0);
    push_moment(run, end, 2 * (uint32_t)state->places.items[0].tie + 1, state->turn);
}

static void begin_shared(struct run *run, struct resource_state *state, double demand, uint32_t node) {
    const double now = state->clock + state->speed * (double)sim_between(state->clock_time, run->now);
    const double finish = now + (double)run->simulation->own[node];
    int64_t key; // of doubles that are not negative, the bits are in the same order
    memcpy(&key, &finish, sizeof key);
    run->failed |= !heap_push(&state->places, key, node);
    state->wanted += run->simulation->share ? run->simulation->share[node] : 0;
    settle_point(run, 2 * node);
    clock_set(run, state, demand);
}

// An end that was foreseen; false when something has changed since.
static bool end_shared(struct run *run, struct resource_state *state, double demand, uint32_t node,
                       uint32_t turn) {
    if (turn != state->turn || !state->places.count || (uint32_t)state->places.items[0].tie != node)
        return false;
    heap_pop(&state->places);
    state->wanted -= run->simulation->share ? run->simulation->share[node] : 0;
    state->wanted = state->places.count ? state->wanted : 0; // what rounding leaves
    clock_set(run, state, demand);
    run->pending[2 * (size_t)node + 1] = 0;
    run->simulation->time[2 * (size_t)node + 1] = run->now;
    run->simulation->why[2 * (size_t)node + 1] = SIM_WHY_OWN;
    settle_point(run, 2 * node + 1);
    return true;
}

// ---- the order of time

static void handle_moment(struct run *run, struct heap_item moment) {
    tsmith_simulation *simulation = run->simulation;
    if (moment.tie >= MOMENT_CHOICE) {
        run->now = moment.key;
        choose(run, &run->resources[moment.tie - MOMENT_CHOICE]);
        return;
    }
    const bool end = !(moment.tie & MOMENT_START);
    const uint32_t node = (uint32_t)(moment.tie >> 32) & 0x7fffffffu, turn = (uint32_t)moment.tie;
    run->now = moment.key > run->now ? moment.key : run->now;
    if (!needs_resource(run, node)) {
        settle_point(run, 2 * node + end);
        return;
    }
    const uint32_t number = sim_resource_of(simulation, node);
    const struct sim_resource *resource = &simulation->model.resources[number];
    struct resource_state *state = &run->resources[number];
    if (resource->exclusive && end) {
        settle_point(run, 2 * node + 1);
        end_exclusive(run, state, number, node);
    } else if (resource->exclusive) {
        ask_exclusive(run, state, number, node);
    } else if (end) {
        end_shared(run, state, resource->demand, node, turn);
    } else {
        begin_shared(run, state, resource->demand, node);
    }
}

static void drain(struct run *run) {
    while (run->stack_count)
        settle_point(run, run->stack[--run->stack_count]);
    while (run->moments.count && !run->failed)
        handle_moment(run, heap_pop(&run->moments));
}

// Points that wait for each other: damaged or rounded times. The one recorded first goes, until all have gone.
static void break_circles(struct run *run) {
    tsmith_simulation *simulation = run->simulation;
    const size_t points = 2 * (size_t)simulation->node_count;
    struct heap left = {0};
    for (size_t point = 0; point < points && !run->failed; point++)
        if (run->pending[point])
            run->failed |= !heap_push(&left, sim_recorded(simulation, (uint32_t)point), point);
    while (left.count && !run->failed) {
        const uint32_t point = (uint32_t)heap_pop(&left).tie;
        if (!run->pending[point])
            continue;
        simulation->circular++;
        run->pending[point] = 0;
        become_ready(run, point);
        drain(run);
    }
    heap_finish(&left);
}

// ---- set-up

static bool sort_links(struct run *run) {
    const tsmith_simulation *simulation = run->simulation;
    const size_t points = 2 * (size_t)simulation->node_count;
    run->first = calloc(points + 2, sizeof *run->first);
    run->out = malloc((simulation->link_count + 1) * sizeof *run->out);
    run->pending = calloc(points + 1, sizeof *run->pending);
    if (!run->first || !run->out || !run->pending)
        return false;
    for (size_t point = 1; point < points; point += 2)
        run->pending[point] = 1; // its start
    for (size_t i = 0; i < simulation->link_count; i++) {
        if (simulation->links[i].dead)
            continue;
        run->first[simulation->links[i].from + 1]++;
        run->pending[simulation->links[i].to]++;
    }
    for (size_t point = 0; point < points; point++)
        run->first[point + 1] += run->first[point];
    for (size_t i = simulation->link_count; i-- > 0;)
        if (!simulation->links[i].dead)
            run->out[--run->first[simulation->links[i].from + 1]] = (uint32_t)i;
    memmove(run->first, run->first + 1, points * sizeof *run->first);
    size_t live = 0;
    for (size_t i = 0; i < simulation->link_count; i++)
        live += !simulation->links[i].dead;
    run->first[points] = (uint32_t)live;
    return true;
}

static bool prepare(struct run *run) {
    tsmith_simulation *simulation = run->simulation;
    const size_t points = 2 * (size_t)simulation->node_count, rows = simulation->timeline->row_count;
    if (!sort_links(run))
        return false;
    for (uint32_t i = 0; i < simulation->command_count && !run->in_order; i++)
        run->in_order = sim_resource_of(simulation, i) != SIM_NONE;
    run->stack = malloc((run->in_order ? 1 : points + 1) * sizeof *run->stack);
    run->resources = calloc((size_t)simulation->model.resource_count + 1, sizeof *run->resources);
    run->rows = calloc(rows + 1, sizeof *run->rows);
    run->next_waiting = malloc(((size_t)simulation->command_count + 1) * sizeof *run->next_waiting);
    if (!run->stack || !run->resources || !run->rows || !run->next_waiting)
        return false;
    for (uint32_t i = 0; i < simulation->model.resource_count; i++)
        run->resources[i] = (struct resource_state){.running = SIM_NONE,
                                                    .last = SIM_NONE,
                                                    .turn_first = SIM_NONE,
                                                    .speed = 1,
                                                    .clock_time = simulation->origin};
    for (size_t i = 0; i < rows; i++)
        run->rows[i] = (struct row_state){.first = SIM_NONE, .last = SIM_NONE, .next = SIM_NONE};
    for (size_t point = 0; point < points; point++) {
        simulation->time[point] = NO_TIME;
        simulation->why[point] = SIM_WHY_NOTHING;
    }
    simulation->choices = simulation->circular = 0;
    run->now = simulation->origin;
    return true;
}

static void run_finish(struct run *run) {
    for (uint32_t i = 0; run->resources && i < run->simulation->model.resource_count; i++) {
        heap_finish(&run->resources[i].waiting);
        heap_finish(&run->resources[i].places);
    }
    heap_finish(&run->moments);
    free(run->first);
    free(run->out);
    free(run->pending);
    free(run->stack);
    free(run->resources);
    free(run->rows);
    free(run->next_waiting);
}

tsmith_status sim_run(tsmith_simulation *simulation, const tsmith_simulation_options *options) {
    struct run run = {.simulation = simulation, .options = options};
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (!prepare(&run))
        goto done;
    // Starts that wait for nothing; there is no end that waits for nothing.
    for (uint32_t node = 0; node < simulation->node_count && !run.failed; node++)
        if (!run.pending[2 * (size_t)node])
            become_ready(&run, 2 * node);
    drain(&run);
    break_circles(&run);
    if (!run.failed)
        status = TSMITH_OK;
done:
    run_finish(&run);
    return status;
}
