// SPDX-License-Identifier: Apache-2.0
// Merges the commands of several rows in the order of their start. The analyses of ranges, gaps and sequences call it.
#include "analyze/time_order.h"

#include <stdlib.h>

static bool before(const struct time_order *order, size_t a, size_t b) {
    uint32_t left = order->heads[a].next, right = order->heads[b].next;
    int64_t left_start = order->commands[left].start, right_start = order->commands[right].start;
    return left_start != right_start ? left_start < right_start : left < right;
}

static void sink(struct time_order *order, size_t at) {
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        if (child < order->count && before(order, child, least))
            least = child;
        if (child + 1 < order->count && before(order, child + 1, least))
            least = child + 1;
        if (least == at)
            return;
        struct time_order_head held = order->heads[at];
        order->heads[at] = order->heads[least];
        order->heads[least] = held;
        at = least;
    }
}

bool time_order_begin(struct time_order *order, const tsmith_timeline *timeline, uint32_t first,
                      uint32_t count) {
    *order = (struct time_order){timeline->commands, malloc((count + 1) * sizeof *order->heads), 0};
    if (!order->heads)
        return false;
    for (uint32_t i = first; i < first + count; i++) {
        const tsmith_row *row = &timeline->rows[i];
        if (row->command_count)
            order->heads[order->count++] =
                (struct time_order_head){row->first_command, row->first_command + row->command_count};
    }
    for (size_t i = order->count / 2; i-- > 0;)
        sink(order, i);
    return true;
}

uint32_t time_order_next(struct time_order *order) {
    if (!order->count)
        return TSMITH_INDEX_NONE;
    uint32_t next = order->heads[0].next++;
    if (order->heads[0].next == order->heads[0].end)
        order->heads[0] = order->heads[--order->count];
    sink(order, 0);
    return next;
}

void time_order_finish(struct time_order *order) {
    free(order->heads);
}
