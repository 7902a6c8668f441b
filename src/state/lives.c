// SPDX-License-Identifier: Apache-2.0
// The life of each command: from its call, its own times, the edges into it, and the waits that cover it.
#include <stdlib.h>

#include "state/states.h"

static int64_t clamp(int64_t time, int64_t low, int64_t high) {
    return time < low ? low : time > high ? high : time;
}

static tsmith_block block_of(uint32_t edge_kind) {
    switch (edge_kind) {
    case TSMITH_EDGE_STREAM_ORDER:
    case TSMITH_EDGE_GRAPH_NODE:
    case TSMITH_EDGE_BARRIER:
    case TSMITH_EDGE_DEFAULT_STREAM:
        return TSMITH_BLOCK_STREAM_ORDER;
    case TSMITH_EDGE_EVENT_WAIT:
    case TSMITH_EDGE_QUEUE_INFERRED:
        return TSMITH_BLOCK_EVENT;
    case TSMITH_EDGE_RESOURCE:
        return TSMITH_BLOCK_RESOURCE;
    case TSMITH_EDGE_COMPILE:
        return TSMITH_BLOCK_COMPILE;
    default:
        return TSMITH_BLOCK_NONE;
    }
}

// The call of that node set an event that the command waited for.
static void find_setting(const tsmith_states *states, uint32_t index, uint32_t node, tsmith_life *life) {
    const tsmith_timeline *timeline = states->timeline;
    const tsmith_command *command = &timeline->commands[index];
    const tsmith_call *call = &timeline->calls[node - states->graph->command_count];
    const int64_t time =
        clamp(graph_on_device(states->graph, timeline->rows[command->row].device, call->start), INT64_MIN + 1,
              command->start);
    if (time > life->unblocked) {
        life->unblocked = time;
        life->block = TSMITH_BLOCK_HOST;
        life->blocker = TSMITH_INDEX_NONE;
    }
}

// What held the command up last, if that was after it had been queued. A runtime may hold back what is blocked, so being
// submitted later does not matter.
static void find_blocker(const tsmith_states *states, uint32_t index, tsmith_life *life) {
    const tsmith_graph *graph = states->graph;
    const tsmith_command *command = &states->timeline->commands[index];
    life->unblocked = life->queued;
    life->blocker = TSMITH_INDEX_NONE;
    for (uint32_t i = graph->first[index]; i < graph->first[index + 1]; i++) {
        const tsmith_edge *edge = &graph->edges[i];
        if (edge->kind == TSMITH_EDGE_LAUNCH && edge->from != graph_call_node(graph, command->call)) {
            find_setting(states, index, edge->from, life);
            continue;
        }
        tsmith_block block = block_of(edge->kind);
        if (block == TSMITH_BLOCK_NONE)
            continue;
        int64_t end = states->timeline->commands[edge->from].end;
        if (end > life->unblocked) {
            life->unblocked = end;
            life->block = block;
            life->blocker = edge->from;
        }
    }
}

static tsmith_life make_life(const tsmith_states *states, uint32_t index) {
    const tsmith_timeline *timeline = states->timeline;
    const tsmith_command *command = &timeline->commands[index];
    const tsmith_command_times times = timeline_times(timeline, command);
    tsmith_life life = {.enqueued = TSMITH_TIME_UNKNOWN,
                        .queued = TSMITH_TIME_UNKNOWN,
                        .submitted = TSMITH_TIME_UNKNOWN,
                        .unblocked = TSMITH_TIME_UNKNOWN,
                        .completed = clamp(times.completed, command->end, INT64_MAX),
                        .observed = TSMITH_TIME_UNKNOWN,
                        .blocker = TSMITH_INDEX_NONE};
    int64_t enqueued = timeline_enqueued(timeline, command), handed = enqueued;
    if (enqueued == TSMITH_TIME_UNKNOWN)
        return life;
    if (command->call != TSMITH_INDEX_NONE) {
        const uint32_t device = timeline->rows[command->row].device;
        enqueued = graph_on_device(states->graph, device, enqueued);
        handed = graph_on_device(states->graph, device, timeline->calls[command->call].end);
    }
    life.enqueued = clamp(enqueued, INT64_MIN + 1, command->start);
    life.queued =
        clamp(times.queued == TSMITH_TIME_UNKNOWN ? handed : times.queued, life.enqueued, command->start);
    life.submitted = clamp(times.submitted, life.queued, command->start); // unknown is below everything
    find_blocker(states, index, &life);
    return life;
}

// ---- observed

// By place in the launch order: when a wait returned that covers the place and all before it in its row; when one
// returned that covers that command alone. INT64_MAX: none.
struct coverage {
    const tsmith_graph *graph;
    struct launch_order order;
    uint32_t *place; // by command
    int64_t *up_to, *alone;
};

static void lower_time(int64_t *time, int64_t to) {
    if (to < *time)
        *time = to;
}

// A wait that returned at `call->end` covers what was enqueued in the row before `time`.
static void cover_row(struct coverage *coverage, const tsmith_row *row, int64_t time,
                      const tsmith_call *call) {
    uint32_t before = launch_order_before(&coverage->order, row, time);
    if (!before)
        return;
    uint32_t place = row->first_command + before - 1;
    if (graph_command_time(coverage->graph, coverage->order.latest[place], true) <= call->end)
        lower_time(&coverage->up_to[place], call->end);
}

static void cover_command(const tsmith_timeline *timeline, struct coverage *coverage, uint32_t command,
                          const tsmith_call *call) {
    uint32_t place = coverage->place[command];
    bool in_order = timeline->rows[timeline->commands[command].row].in_order != 0;
    if (graph_command_time(coverage->graph, command, true) > call->end)
        return;
    lower_time(&coverage->alone[place], call->end);
    if (in_order && graph_command_time(coverage->graph, coverage->order.latest[place], true) <= call->end)
        lower_time(&coverage->up_to[place], call->end);
}

static void cover_call(const tsmith_timeline *timeline, struct coverage *coverage, const tsmith_call *call) {
    const struct call_details details = timeline_call_details(timeline, call);
    for (uint32_t i = 0; i < details.wait_count; i++)
        cover_command(timeline, coverage, timeline->waits[details.wait_first + i], call);
    if (call->role == TSMITH_CALL_SYNC_QUEUE && call->row != TSMITH_INDEX_NONE)
        cover_row(coverage, &timeline->rows[call->row], call->start, call);
    for (size_t i = 0; call->role == TSMITH_CALL_SYNC_DEVICE && i < timeline->row_count; i++)
        if (timeline->rows[i].process == timeline->threads[call->thread].process)
            cover_row(coverage, &timeline->rows[i], call->start, call);
    if (call->role == TSMITH_CALL_SYNC_EVENT && details.record != TSMITH_INDEX_NONE) {
        const tsmith_call *record = &timeline->calls[details.record];
        if (record->row != TSMITH_INDEX_NONE)
            cover_row(coverage, &timeline->rows[record->row], record->start, call);
    }
}

static void observe_row(tsmith_states *states, const struct coverage *coverage, const tsmith_row *row) {
    int64_t since = INT64_MAX;
    for (uint32_t place = row->first_command + row->command_count; place-- > row->first_command;) {
        lower_time(&since, coverage->up_to[place]);
        int64_t observed = coverage->alone[place] < since ? coverage->alone[place] : since;
        if (observed == INT64_MAX)
            continue;
        uint32_t command = coverage->order.command[place];
        observed = graph_on_device(states->graph, row->device, observed);
        states->lives[command].observed = clamp(observed, states->timeline->commands[command].end, INT64_MAX);
    }
}

static tsmith_status observe_lives(tsmith_states *states) {
    const tsmith_timeline *timeline = states->timeline;
    size_t count = timeline->command_count + 1;
    struct coverage coverage = {.graph = states->graph,
                                .place = malloc(count * sizeof(uint32_t)),
                                .up_to = malloc(count * sizeof(int64_t)),
                                .alone = malloc(count * sizeof(int64_t))};
    tsmith_status status = launch_order_make(&coverage.order, timeline);
    if (status == TSMITH_OK && (!coverage.place || !coverage.up_to || !coverage.alone))
        status = TSMITH_ERROR_NO_MEMORY;
    if (status != TSMITH_OK)
        goto done;
    for (size_t i = 0; i < timeline->command_count; i++) {
        coverage.place[coverage.order.command[i]] = (uint32_t)i;
        coverage.up_to[i] = coverage.alone[i] = INT64_MAX;
    }
    for (size_t i = 0; i < timeline->call_count; i++)
        cover_call(timeline, &coverage, &timeline->calls[i]);
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        uint32_t call = timeline->commands[i].call;
        if (call != TSMITH_INDEX_NONE && timeline->calls[call].blocking)
            cover_command(timeline, &coverage, i, &timeline->calls[call]);
    }
    const tsmith_graph *graph = states->graph;
    for (uint32_t i = 0; graph->counts[TSMITH_EDGE_SYNC_INFERRED] && i < timeline->call_count; i++) {
        const uint32_t node = graph_call_node(graph, i);
        for (uint32_t k = graph->first[node]; k < graph->first[node + 1]; k++)
            if (graph->edges[k].kind == TSMITH_EDGE_SYNC_INFERRED)
                cover_command(timeline, &coverage, graph->edges[k].from, &timeline->calls[i]);
    }
    for (size_t i = 0; i < timeline->row_count; i++)
        observe_row(states, &coverage, &timeline->rows[i]);
done:
    launch_order_finish(&coverage.order);
    free(coverage.place);
    free(coverage.up_to);
    free(coverage.alone);
    return status;
}

tsmith_status states_make_lives(tsmith_states *states) {
    size_t count = states->timeline->command_count;
    states->lives = malloc((count + 1) * sizeof *states->lives);
    if (!states->lives)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        timeline_fetch_call(states->timeline, (uint32_t)i, (uint32_t)count);
        states->lives[i] = make_life(states, (uint32_t)i);
    }
    return observe_lives(states);
}
