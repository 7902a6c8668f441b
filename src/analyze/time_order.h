// SPDX-License-Identifier: Apache-2.0
// The commands of some rows in the order of their start; at one time those of the row with the lower index first. A heap
// over the rows, which are in order themselves.
#ifndef ANALYZE_TIME_ORDER_H
#define ANALYZE_TIME_ORDER_H

#include <stdbool.h>

#include "state/timeline.h"

struct time_order {
    const tsmith_command *commands;
    struct time_order_head {
        uint32_t next, end; // commands of a row
    } * heads;
    size_t count;
};

// Of rows [first, first + count). False when memory is exhausted.
bool time_order_begin(struct time_order *order, const tsmith_timeline *timeline, uint32_t first,
                      uint32_t count);
// The next command, TSMITH_INDEX_NONE after the last.
uint32_t time_order_next(struct time_order *order);
void time_order_finish(struct time_order *order);

#endif
