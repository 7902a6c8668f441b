// SPDX-License-Identifier: Apache-2.0
// Queues that wait for each other without a record of it: gaps of one that repeatedly end with a command of
// another.
//
// A gap is a stretch of more than SOON before a command of an in-order queue in which the command before it had ended,
// its own call had returned, and no edge explains the wait. It is explained by another queue of the device where a
// command of that ended within the gap and at most SOON before its end. By chance that happens with the probability
// that a moment of the gap comes so shortly after an end of the other queue; the sum over all gaps is the number
// expected by chance. Edges are added where it happened TIMES_LEAST times or more, and more often than by chance.
#include <stdlib.h>

#include "base/array.h"
#include "base/sorted.h"
#include "event/sort.h"
#include "state/graph.h"

enum { SOON = 30000, TIMES_LEAST = 3, ROWS_MOST = 64 };

struct gap {
    int64_t from, to; // on the device's clock
    uint32_t command; // that starts at `to`
    bool explained;
};

struct gaps {
    struct gap *items; // by command
    size_t count, capacity;
};

// The commands of a row that run, by when they end.
struct ends {
    int64_t *times;
    uint32_t *commands, *order, *scratch;
    uint32_t count;
};

static bool add_gap(struct gaps *gaps, int64_t from, int64_t to, uint32_t command) {
    if (!ARRAY_RESERVE(gaps->items, gaps->capacity, gaps->count + 1))
        return false;
    gaps->items[gaps->count++] = (struct gap){from, to, command, false};
    return true;
}

static bool find_gaps(const struct graph_builder *builder, const tsmith_row *row, struct gaps *gaps) {
    const tsmith_timeline *timeline = builder->timeline;
    int64_t ended = TSMITH_TIME_UNKNOWN;
    for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!timeline_runs(command))
            continue;
        const int64_t before = ended;
        ended = command->end > ended ? command->end : ended;
        if (before == TSMITH_TIME_UNKNOWN || command->start - before <= SOON ||
            command->call == TSMITH_INDEX_NONE)
            continue;
        const int64_t handed =
            graph_on_device(builder->graph, row->device, timeline->calls[command->call].end);
        const int64_t from = handed > before ? handed : before;
        if (command->start - from > SOON && !add_gap(gaps, from, command->start, i))
            return false;
    }
    return true;
}

static struct gap *gap_of(const struct gaps *gaps, uint32_t command) {
    const size_t at = SORTED_FIND(i, 0, gaps->count, gaps->items[i].command < command);
    return at < gaps->count && gaps->items[at].command == command ? &gaps->items[at] : NULL;
}

// Those that an edge from another queue ends need no other.
static void drop_explained(const struct graph_builder *builder, struct gaps *gaps) {
    for (size_t i = 0; i < builder->edge_count && gaps->count; i++) {
        const struct graph_raw_edge *edge = &builder->edges[i];
        if (edge->kind == TSMITH_EDGE_STREAM_ORDER || edge->kind == TSMITH_EDGE_LAUNCH ||
            edge->to >= builder->graph->command_count || graph_to_end[edge->kind] ||
            !graph_from_end[edge->kind])
            continue;
        struct gap *gap = gap_of(gaps, edge->to);
        if (gap && builder->timeline->commands[edge->from].end > gap->to - SOON)
            gap->explained = true;
    }
    size_t kept = 0;
    for (size_t i = 0; i < gaps->count; i++)
        if (!gaps->items[i].explained)
            gaps->items[kept++] = gaps->items[i];
    gaps->count = kept;
}

static void ends_finish(struct ends *ends) {
    free(ends->times);
    free(ends->commands);
    free(ends->order);
    free(ends->scratch);
}

static bool ends_make(struct ends *ends, const tsmith_timeline *timeline, const tsmith_row *row) {
    const size_t room = (size_t)row->command_count + 1;
    *ends = (struct ends){malloc(room * sizeof(int64_t)), malloc(room * sizeof(uint32_t)),
                          malloc(room * sizeof(uint32_t)), malloc(room * sizeof(uint32_t)), 0};
    if (!ends->times || !ends->commands || !ends->order || !ends->scratch) {
        ends_finish(ends);
        return false;
    }
    for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
        if (!timeline_runs(&timeline->commands[i]))
            continue;
        ends->commands[ends->count] = i;
        ends->times[ends->count++] = timeline->commands[i].end;
    }
    sort_order_by_time(ends->times, ends->count, ends->order, ends->scratch);
    return true;
}

static int64_t end_at(const struct ends *ends, uint32_t place) {
    return ends->times[ends->order[place]];
}

// How many end at `time` or before.
static uint32_t ended_until(const struct ends *ends, int64_t time) {
    return SORTED_FIND(i, 0, ends->count, end_at(ends, i) <= time);
}

// The command whose end explains the gap, or TSMITH_INDEX_NONE.
static uint32_t command_before_gap(const struct ends *ends, const struct gap *gap) {
    const uint32_t until = ended_until(ends, gap->to);
    if (!until || end_at(ends, until - 1) < gap->to - SOON || end_at(ends, until - 1) <= gap->from)
        return TSMITH_INDEX_NONE;
    return ends->commands[ends->order[until - 1]];
}

// The part of the gap that comes shortly after an end.
static double chance(const struct ends *ends, const struct gap *gap) {
    int64_t covered = 0, at = gap->from;
    for (uint32_t i = ended_until(ends, gap->from); i < ends->count && end_at(ends, i) <= gap->to; i++) {
        const int64_t from = end_at(ends, i) > at ? end_at(ends, i) : at, until = end_at(ends, i) + SOON;
        const int64_t to = until < gap->to ? until : gap->to;
        covered += to > from ? to - from : 0;
        at = to > at ? to : at;
    }
    return (double)covered / (double)(gap->to - gap->from);
}

static void infer(struct graph_builder *builder, const struct gaps *gaps, const struct ends *ends,
                  const tsmith_row *row) {
    size_t times = 0;
    double expected = 0;
    const uint32_t end = row->first_command + row->command_count;
    const struct gap *stop = gaps->items + gaps->count, *first = gaps->items;
    while (first < stop && first->command < row->first_command)
        first++;
    for (const struct gap *gap = first; gap < stop && gap->command < end; gap++)
        times += command_before_gap(ends, gap) != TSMITH_INDEX_NONE;
    if (times < TIMES_LEAST)
        return;
    for (const struct gap *gap = first; gap < stop && gap->command < end; gap++)
        expected += chance(ends, gap);
    if (!graph_is_no_chance((double)times, expected))
        return;
    for (const struct gap *gap = first; gap < stop && gap->command < end; gap++) {
        const uint32_t before = command_before_gap(ends, gap);
        if (before != TSMITH_INDEX_NONE)
            graph_add(builder, TSMITH_EDGE_QUEUE_INFERRED, before, gap->command);
    }
}

static bool infer_device(struct graph_builder *builder, const tsmith_row *device, const struct gaps *gaps) {
    const tsmith_timeline *timeline = builder->timeline;
    for (uint32_t source = device->first_row; source < device->first_row + device->row_count; source++) {
        struct ends ends;
        if (!ends_make(&ends, timeline, &timeline->rows[source]))
            return false;
        for (uint32_t row = device->first_row; row < device->first_row + device->row_count; row++)
            if (row != source)
                infer(builder, gaps, &ends, &timeline->rows[row]);
        ends_finish(&ends);
    }
    return true;
}

void graph_infer_queues(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    struct gaps gaps = {0};
    bool done = true;
    for (size_t i = 0; i < timeline->row_count && done; i++) {
        const uint32_t rows = timeline->devices[timeline->rows[i].device].row_count;
        if (timeline->rows[i].in_order && rows > 1 && rows <= ROWS_MOST)
            done = find_gaps(builder, &timeline->rows[i], &gaps);
    }
    if (done && gaps.count >= TIMES_LEAST)
        drop_explained(builder, &gaps);
    for (size_t i = 0; i < timeline->device_count && done && gaps.count >= TIMES_LEAST; i++)
        if (timeline->devices[i].row_count > 1 && timeline->devices[i].row_count <= ROWS_MOST)
            done = infer_device(builder, &timeline->devices[i], &gaps);
    builder->failed |= !done;
    free(gaps.items);
}
