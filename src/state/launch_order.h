// SPDX-License-Identifier: Apache-2.0
// The commands of each row in the order in which the host enqueued them, for questions like "what was in the
// queue when this call was made". Commands whose enqueueing is unknown count as enqueued when they started.
#ifndef STATE_LAUNCH_ORDER_H
#define STATE_LAUNCH_ORDER_H

#include "state/timeline.h"

// Row r has the places first_command .. first_command + command_count - 1.
struct launch_order {
    uint32_t *command; // by place
    int64_t *time;     // by place: when it was enqueued, ascending in a row
    uint32_t *latest;  // by place: the command that ends last of those up to here in the row
};

tsmith_status launch_order_make(struct launch_order *order, const tsmith_timeline *timeline);
void launch_order_finish(struct launch_order *order);

// How many commands of the row were enqueued before `time`.
uint32_t launch_order_before(const struct launch_order *order, const tsmith_row *row, int64_t time);

#endif
