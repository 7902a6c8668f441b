// SPDX-License-Identifier: Apache-2.0
// Rules about one queue: stream order, barriers, wait lists, compilation.
#include <stdlib.h>

#include "event/sort.h"
#include "state/graph.h"

enum { COMPILES = 8 }; // compilations remembered until their kernel comes

// Arrays as long as the longest row.
struct scratch {
    int64_t *times;
    uint32_t *by_end, *room;
};

static bool scratch_make(struct scratch *scratch, const tsmith_timeline *timeline) {
    size_t longest = 1;
    for (size_t i = 0; i < timeline->row_count; i++)
        longest = timeline->rows[i].command_count > longest ? timeline->rows[i].command_count : longest;
    *scratch = (struct scratch){malloc(longest * sizeof(int64_t)), malloc(longest * sizeof(uint32_t)),
                                malloc(longest * sizeof(uint32_t))};
    return scratch->times && scratch->by_end && scratch->room;
}

static void scratch_finish(struct scratch *scratch) {
    free(scratch->times);
    free(scratch->by_end);
    free(scratch->room);
}

// Each command comes after the one that ended last before it began, of those that began before it. Commands of
// an in-order queue may overlap all the same (dependent launch, branches of a graph).
static void add_stream_order(struct graph_builder *builder, const tsmith_row *row,
                             const struct scratch *scratch) {
    const tsmith_timeline *timeline = builder->timeline;
    const tsmith_command *commands = timeline_row_commands(timeline, row);
    uint32_t ended = 0, before = TSMITH_INDEX_NONE;
    for (uint32_t i = 0; i < row->command_count; i++)
        scratch->times[i] = commands[i].end;
    sort_order_by_time(scratch->times, row->command_count, scratch->by_end, scratch->room);
    for (uint32_t i = 0; i < row->command_count; i++) {
        for (; ended < row->command_count; ended++) {
            uint32_t next = scratch->by_end[ended];
            if (next >= i || commands[next].end > commands[i].start)
                break;
            if (commands[next].kind != TSMITH_KIND_COMPILE)
                before = next;
        }
        if (before == TSMITH_INDEX_NONE || commands[i].kind == TSMITH_KIND_COMPILE)
            continue;
        uint32_t call = commands[i].call;
        bool graph = call != TSMITH_INDEX_NONE && call == commands[before].call;
        graph_add(builder, graph ? TSMITH_EDGE_GRAPH_NODE : TSMITH_EDGE_STREAM_ORDER,
                  row->first_command + before, row->first_command + i);
    }
}

// Out of order: a barrier, and a marker, without a wait list comes after all that was enqueued before it; what is
// enqueued after a barrier comes after the barrier.
static void add_barriers(struct graph_builder *builder, const tsmith_row *row) {
    const tsmith_timeline *timeline = builder->timeline;
    uint32_t barrier = TSMITH_INDEX_NONE;
    for (uint32_t i = 0; i < row->command_count; i++) {
        uint32_t at = builder->order.command[row->first_command + i];
        const tsmith_command *command = &timeline->commands[at];
        bool is_barrier = command->operation == TSMITH_OPERATION_BARRIER;
        if (barrier != TSMITH_INDEX_NONE)
            graph_add(builder, TSMITH_EDGE_BARRIER, barrier, at);
        if (i && !timeline_command_details(timeline, command).wait_count &&
            (is_barrier || command->operation == TSMITH_OPERATION_MARKER))
            graph_add(builder, TSMITH_EDGE_BARRIER, builder->order.latest[row->first_command + i - 1], at);
        if (is_barrier)
            barrier = at;
    }
}

static void add_compiles(struct graph_builder *builder, const tsmith_row *row) {
    const tsmith_command *commands = timeline_row_commands(builder->timeline, row);
    uint32_t compiles[COMPILES], count = 0;
    for (uint32_t i = 0; i < row->command_count; i++) {
        if (commands[i].kind == TSMITH_KIND_COMPILE) {
            compiles[count++ % COMPILES] = i;
            continue;
        }
        for (uint32_t k = 0; k < count && k < COMPILES; k++)
            if (commands[i].correlation && commands[compiles[k]].correlation == commands[i].correlation)
                graph_add(builder, TSMITH_EDGE_COMPILE, row->first_command + compiles[k],
                          row->first_command + i);
    }
}

void graph_add_queues(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    struct scratch scratch;
    builder->failed |= !scratch_make(&scratch, timeline);
    for (size_t i = 0; i < timeline->row_count && !builder->failed; i++) {
        const tsmith_row *row = &timeline->rows[i];
        if (row->in_order)
            add_stream_order(builder, row, &scratch);
        else
            add_barriers(builder, row);
        add_compiles(builder, row);
    }
    scratch_finish(&scratch);
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const struct command_details details = timeline_command_details(timeline, &timeline->commands[i]);
        for (uint32_t k = 0; k < details.wait_count; k++)
            graph_add(builder, TSMITH_EDGE_EVENT_WAIT, timeline->waits[details.wait_first + k], i);
    }
}
