// SPDX-License-Identifier: Apache-2.0
// Sorts the commands of each row by the time they were enqueued. The graph and the lives of commands call it.
#include "state/launch_order.h"

#include <stdlib.h>

#include "base/sorted.h"
#include "event/sort.h"

static int64_t enqueued(const tsmith_timeline *timeline, const tsmith_command *command) {
    int64_t time = timeline_enqueued(timeline, command);
    return time == TSMITH_TIME_UNKNOWN ? command->start : time;
}

static void order_row(struct launch_order *order, const tsmith_timeline *timeline, const tsmith_row *row,
                      int64_t *times, uint32_t *sorted, uint32_t *scratch) {
    uint32_t first = row->first_command, count = row->command_count, latest = first;
    for (uint32_t i = 0; i < count; i++) {
        timeline_fetch_call(timeline, first + i, first + count);
        times[i] = enqueued(timeline, &timeline->commands[first + i]);
    }
    sort_order_by_time(times, count, sorted, scratch);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t command = first + sorted[i];
        order->command[first + i] = command;
        order->time[first + i] = times[sorted[i]];
        if (i == 0 || timeline->commands[command].end >= timeline->commands[latest].end)
            latest = command;
        order->latest[first + i] = latest;
    }
}

tsmith_status launch_order_make(struct launch_order *order, const tsmith_timeline *timeline) {
    size_t count = timeline->command_count + 1, longest = 1;
    for (size_t i = 0; i < timeline->row_count; i++)
        longest = timeline->rows[i].command_count > longest ? timeline->rows[i].command_count : longest;
    *order = (struct launch_order){malloc(count * sizeof(uint32_t)), malloc(count * sizeof(int64_t)),
                                   malloc(count * sizeof(uint32_t))};
    int64_t *times = malloc(longest * sizeof *times);
    uint32_t *sorted = malloc(longest * sizeof *sorted), *scratch = malloc(longest * sizeof *scratch);
    bool done = order->command && order->time && order->latest && times && sorted && scratch;
    for (size_t i = 0; done && i < timeline->row_count; i++)
        order_row(order, timeline, &timeline->rows[i], times, sorted, scratch);
    free(times);
    free(sorted);
    free(scratch);
    if (!done)
        launch_order_finish(order);
    return done ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

void launch_order_finish(struct launch_order *order) {
    free(order->command);
    free(order->time);
    free(order->latest);
    *order = (struct launch_order){0};
}

uint32_t launch_order_before(const struct launch_order *order, const tsmith_row *row, int64_t time) {
    const int64_t *times = order->time + row->first_command;
    return SORTED_FIND(i, 0, row->command_count, times[i] < time);
}
