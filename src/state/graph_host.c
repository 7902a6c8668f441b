// SPDX-License-Identifier: Apache-2.0
// Rules about host threads: the order of calls, what they launch, what they wait for.
#include <stdlib.h>

#include "base/array.h"
#include "state/graph.h"

// ---- the calls of a thread

// Calls that are open while the thread is walked through, outermost first. `last` is the last call that ended
// inside it.
struct open_call {
    uint32_t call;
    uint32_t last;
};

struct open_calls {
    struct open_call *items;
    size_t count, capacity;
};

static void close_call(struct graph_builder *builder, struct open_calls *open, uint32_t *last_outside) {
    const tsmith_graph *graph = builder->graph;
    struct open_call ended = open->items[--open->count];
    if (ended.last != TSMITH_INDEX_NONE)
        graph_add(builder, TSMITH_EDGE_RETURNED, graph_call_node(graph, ended.last),
                  graph_call_node(graph, ended.call));
    if (open->count)
        open->items[open->count - 1].last = ended.call;
    else
        *last_outside = ended.call;
}

static void add_thread(struct graph_builder *builder, const tsmith_thread *thread, struct open_calls *open) {
    const tsmith_timeline *timeline = builder->timeline;
    uint32_t last_outside = TSMITH_INDEX_NONE;
    for (uint32_t i = thread->first_call; i < thread->first_call + thread->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        // A call that is still open and ends before this one is no caller of it: damaged, or rounded times.
        while (open->count) {
            const tsmith_call *top = &timeline->calls[open->items[open->count - 1].call];
            if (top->end >= call->end && (top->end > call->start || call->end == call->start))
                break;
            close_call(builder, open, &last_outside);
        }
        struct open_call *around = open->count ? &open->items[open->count - 1] : NULL;
        uint32_t last = around ? around->last : last_outside;
        uint32_t from = last != TSMITH_INDEX_NONE ? last : around ? around->call : TSMITH_INDEX_NONE;
        bool after = last != TSMITH_INDEX_NONE && timeline->calls[last].end <= call->start;
        if (from != TSMITH_INDEX_NONE)
            graph_add(builder, after ? TSMITH_EDGE_PROGRAM_ORDER : TSMITH_EDGE_CALLED,
                      graph_call_node(builder->graph, from), graph_call_node(builder->graph, i));
        if (!ARRAY_RESERVE(open->items, open->capacity, open->count + 1)) {
            builder->failed = true;
            return;
        }
        open->items[open->count++] = (struct open_call){i, TSMITH_INDEX_NONE};
    }
    while (open->count)
        close_call(builder, open, &last_outside);
}

// ---- launches and waits

static void add_launches(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (command->call == TSMITH_INDEX_NONE)
            continue;
        graph_add(builder, TSMITH_EDGE_LAUNCH, graph_call_node(builder->graph, command->call), i);
        if (timeline->calls[command->call].blocking && command->kind != TSMITH_KIND_COMPILE)
            graph_add(builder, TSMITH_EDGE_SYNC_RETURN, i, graph_call_node(builder->graph, command->call));
    }
    for (size_t i = 0; i < timeline->setting_count; i++)
        graph_add(builder, TSMITH_EDGE_LAUNCH, graph_call_node(builder->graph, timeline->settings[i].call),
                  timeline->settings[i].command);
}

// The last command of all queues of the call's process: what a wait for the device waits for.
static uint32_t last_of_process(const struct graph_builder *builder, const tsmith_call *call) {
    const tsmith_timeline *timeline = builder->timeline;
    uint32_t process = timeline->threads[call->thread].process, latest = TSMITH_INDEX_NONE;
    for (uint32_t row = 0; row < timeline->row_count; row++) {
        if (timeline->rows[row].process != process)
            continue;
        uint32_t last = graph_last_before(builder, row, call->start);
        // A command that ends after the call is of another device.
        if (last != TSMITH_INDEX_NONE && graph_command_time(builder->graph, last, true) <= call->end &&
            (latest == TSMITH_INDEX_NONE || graph_command_time(builder->graph, last, true) >
                                                graph_command_time(builder->graph, latest, true)))
            latest = last;
    }
    return latest;
}

static void add_wait(struct graph_builder *builder, uint32_t index) {
    const tsmith_timeline *timeline = builder->timeline;
    const tsmith_call *call = &timeline->calls[index];
    uint32_t node = graph_call_node(builder->graph, index), last = TSMITH_INDEX_NONE;
    const struct call_details details = timeline_call_details(timeline, call);
    for (uint32_t i = 0; i < details.wait_count; i++)
        graph_add(builder, TSMITH_EDGE_SYNC_RETURN, timeline->waits[details.wait_first + i], node);
    if (call->role == TSMITH_CALL_SYNC_QUEUE && call->row != TSMITH_INDEX_NONE)
        last = graph_last_before(builder, call->row, call->start);
    else if (call->role == TSMITH_CALL_SYNC_DEVICE)
        last = last_of_process(builder, call);
    else if (call->role == TSMITH_CALL_SYNC_EVENT && details.record != TSMITH_INDEX_NONE &&
             timeline->calls[details.record].row != TSMITH_INDEX_NONE)
        last = graph_last_before(builder, timeline->calls[details.record].row,
                                 timeline->calls[details.record].start);
    if (last != TSMITH_INDEX_NONE)
        graph_add(builder, call->row_inferred ? TSMITH_EDGE_SYNC_INFERRED : TSMITH_EDGE_SYNC_RETURN, last,
                  node);
}

// A queue was made to wait for an event: what was in the other queue when the event was recorded comes before
// what was enqueued here after the wait.
static void add_queue_wait(struct graph_builder *builder, const tsmith_call *call) {
    const tsmith_timeline *timeline = builder->timeline;
    const uint32_t recorded = tsmith_call_record(timeline, call);
    if (recorded == TSMITH_INDEX_NONE || call->row == TSMITH_INDEX_NONE)
        return;
    const tsmith_call *record = &timeline->calls[recorded];
    if (record->row == TSMITH_INDEX_NONE || record->row == call->row)
        return;
    const tsmith_row *row = &timeline->rows[call->row];
    uint32_t from = graph_last_before(builder, record->row, record->start);
    uint32_t before = launch_order_before(&builder->order, row, call->start);
    if (from != TSMITH_INDEX_NONE && before < row->command_count)
        graph_add(builder, TSMITH_EDGE_EVENT_WAIT, from, builder->order.command[row->first_command + before]);
}

void graph_add_host(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    struct open_calls open = {0};
    for (size_t i = 0; i < timeline->thread_count; i++)
        add_thread(builder, &timeline->threads[i], &open);
    free(open.items);
    add_launches(builder);
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->role == TSMITH_CALL_WAIT_EVENT)
            add_queue_wait(builder, call);
        else if (timeline_call_details(timeline, call).wait_count ||
                 (call->role >= TSMITH_CALL_SYNC_QUEUE && call->role <= TSMITH_CALL_SYNC_EVENT))
            add_wait(builder, i);
    }
}
