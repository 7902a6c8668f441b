// SPDX-License-Identifier: Apache-2.0
// Keeps the orders of events that may bound the offset of two clocks. The comparison of ranks calls it.
//
// An order is a point (at, high), and the offset of the clocks as a line over time passes below it. Points above the lower convex hull
// of the others bound no line. Rates change, and then lines have parts (host_pairs.h): so each stretch of time keeps a hull of its own,
// and stretches become longer only as they have to, to bound the memory.
#include "state/host_orders.h"

#include <stdlib.h>

#include "base/array.h"

enum { FIRST_SHIFT = 32, LAST_SHIFT = 62 }; // 4.3 s; a part has 20 s or more if it has enough conditions

void host_orders_finish(struct host_orders *orders) {
    for (size_t i = 0; i < orders->count; i++)
        free(orders->lists[i].items);
    free(orders->lists);
    table_finish(&orders->places);
    *orders = (struct host_orders){0};
}

static int by_time(const void *left, const void *right) {
    const struct host_order *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

// Whether `middle` is on the line from `first` to `last` or above it.
static bool is_above(const struct host_order *first, const struct host_order *middle,
                     const struct host_order *last) {
    const double whole = (double)last->at - (double)first->at, part = (double)middle->at - (double)first->at,
                 rise = (double)last->high - (double)first->high,
                 own = (double)middle->high - (double)first->high;
    return own * whole >= rise * part;
}

// The lower hull of each stretch; the orders are sorted.
static void keep_hulls(struct host_order_list *list) {
    size_t kept = 0, first = 0; // of the stretch at hand
    for (size_t i = 0; i < list->count; i++) {
        const struct host_order one = list->items[i];
        if (kept && list->items[kept - 1].at >> list->shift != one.at >> list->shift)
            first = kept;
        if (kept > first && list->items[kept - 1].at == one.at)
            continue; // of one time the least is first
        while (kept >= first + 2 && is_above(&list->items[kept - 2], &list->items[kept - 1], &one))
            kept--;
        list->items[kept++] = one;
    }
    list->count = kept;
}

static void reduce(struct host_order_list *list, size_t most) {
    qsort(list->items, list->count, sizeof *list->items, by_time);
    for (keep_hulls(list); list->count > most && list->shift < LAST_SHIFT; keep_hulls(list))
        list->shift++;
    if (list->count <= most)
        return;
    for (size_t i = 0; i < most; i++) // all on one hull
        list->items[i] = list->items[(size_t)((double)i / (double)most * (double)list->count)];
    list->count = most;
}

static struct host_order_list *list_of(struct host_orders *orders, uint32_t a, uint32_t b, uint32_t source) {
    bool is_new;
    // Clocks are numbers of ranks at most: 28 bits.
    uint64_t *place =
        table_add(&orders->places, (uint64_t)a << 36 | (uint64_t)b << 8 | (source & 0xff), &is_new);
    if (!place)
        return NULL;
    if (!is_new)
        return &orders->lists[*place];
    struct host_order_list *list = ARRAY_PUSH(orders->lists, orders->count, orders->capacity);
    if (!list)
        return NULL;
    *place = orders->count - 1;
    *list = (struct host_order_list){.a = a, .b = b, .source = source, .shift = FIRST_SHIFT};
    return list;
}

bool host_orders_add(struct host_orders *orders, uint32_t a, int64_t first, uint32_t b, int64_t second,
                     uint32_t source) {
    struct host_order order = {.at = first};
    if (a == b || __builtin_sub_overflow(second, first, &order.high))
        return true;
    struct host_order_list *list = list_of(orders, a, b, source);
    if (!list)
        return false;
    size_t most = HOST_ORDERS_MOST / orders->count;
    most = most > HOST_ORDERS_OF_PAIR         ? HOST_ORDERS_OF_PAIR
           : most < HOST_ORDERS_OF_PAIR_LEAST ? HOST_ORDERS_OF_PAIR_LEAST
                                              : most;
    if (list->count >= most)
        reduce(list, most / 2);
    struct host_order *place = ARRAY_PUSH(list->items, list->count, list->capacity);
    if (place)
        *place = order;
    return place;
}

bool host_orders_give(struct host_orders *orders, struct host_clocks *clocks) {
    for (size_t i = 0; i < orders->count; i++) {
        struct host_order_list *list = &orders->lists[i];
        if (list->count)
            reduce(list, list->count);
        for (size_t k = 0; k < list->count; k++) {
            const struct host_order *one = &list->items[k];
            struct host_condition condition = {list->a, list->b,   list->source, one->at,
                                               0,       INT64_MIN, one->high};
            condition.at_b =
                one->at + one->high; // no overflow: it is the second time, of which `high` was computed
            if (!host_clocks_add(clocks, &condition))
                return false;
        }
    }
    return true;
}
