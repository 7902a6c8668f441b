// SPDX-License-Identifier: Apache-2.0
// Events of one clock that came before events of another: a message is sent before it has been received, and all ranks begin a
// barrier before one leaves it. Each is a condition on the offset of the two clocks. There may be millions of them: only those
// are kept that may bound a line (host_lines.h) within a stretch of time. To leave a condition out widens bounds and breaks none.
#ifndef STATE_HOST_ORDERS_H
#define STATE_HOST_ORDERS_H

#include "base/table.h"
#include "state/host_clocks.h"

enum {
    HOST_ORDERS_MOST = 4000000, // kept in all, about
    HOST_ORDERS_OF_PAIR = 4096, // at most of two clocks, one direction and one source
    HOST_ORDERS_OF_PAIR_LEAST = 16
};

struct host_order {
    int64_t at, high; // of the earlier clock; the other clock minus it is at most `high`
};

// The orders of one pair of clocks, one direction, one source.
struct host_order_list {
    uint32_t a, b, source;
    uint32_t shift; // stretches of time have 1 << shift ns
    struct host_order *items;
    size_t count, capacity;
};

// A zeroed struct is a valid one that has no orders.
struct host_orders {
    struct host_order_list *lists;
    size_t count, capacity;
    struct table places; // clocks and source: index in lists
};

void host_orders_finish(struct host_orders *orders);
// Clock a showed `first` before, or at the moment when, clock b showed `second`. `source` is one bit of HOST_CLOCKS_... . Of one clock
// with itself nothing is kept. O(log HOST_ORDERS_OF_PAIR). False when memory is exhausted.
bool host_orders_add(struct host_orders *orders, uint32_t a, int64_t first, uint32_t b, int64_t second,
                     uint32_t source);
// Adds what is kept to the conditions of the clocks. False when memory is exhausted.
bool host_orders_give(struct host_orders *orders, struct host_clocks *clocks);

#endif
