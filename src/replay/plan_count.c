// SPDX-License-Identifier: Apache-2.0
// How many legal orders the commands of a plan have, and the list of all of them if there are few. Two orders are
// different if their commands come in different orders; the positions of the host's moments do not count.
//
// A state is the set of commands that have run. From each state those commands can come next whose predecessors are
// in it; the number of orders is the number of ways from the empty set to the full one. Up to 64 commands and a
// limited number of sets it is counted exactly; for more, only whether there is more than one order.
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "replay/plan.h"

enum { COUNTED_MOST = 64, SETS_MOST = 1 << 15, ALL_SETS_MOST = 1 << 18 };

// Commands of the order, in it, and what must be before each: commands by their place.
struct places {
    uint32_t nodes[COUNTED_MOST];
    uint64_t before[COUNTED_MOST];
    size_t count;
};

static size_t count_commands(const struct plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->order_count; i++)
        count += plan->nodes[plan->order[i]].kind == PLAN_COMMAND;
    return count;
}

// False when memory is exhausted. There are no more commands than fit.
static bool find_places(const struct plan *plan, struct places *places) {
    uint64_t *before = calloc(plan->node_count + 1, sizeof *before); // by node: with the command itself
    places->count = 0;
    for (size_t i = 0; before && i < plan->order_count; i++) {
        const uint32_t node = plan->order[i];
        const struct plan_node *at = &plan->nodes[node];
        for (uint32_t j = 0; j < at->edge_count; j++)
            before[node] |= before[plan->edges[at->edge_first + j]];
        if (at->late)
            before[node] |= before[at->late - 1];
        if (at->kind != PLAN_COMMAND)
            continue;
        places->nodes[places->count] = node;
        places->before[places->count] = before[node];
        before[node] |= (uint64_t)1 << places->count++;
    }
    free(before);
    return before != NULL;
}

// ---- exactly

// Sets of equally many commands, with the number of orders of its commands that lead to each. In a hostile recording,
// all sets together may be many more than those of one size: both are bounded.
struct states {
    struct table ways;
    size_t left; // sets that may still be added, of any size
};

static bool states_add(struct states *states, uint64_t set, uint64_t ways) {
    bool is_new;
    uint64_t *sum = table_add(&states->ways, set, &is_new);
    if (!sum || states->ways.count > SETS_MOST || (is_new && states->left-- == 0))
        return false;
    *sum = *sum > PLAN_ORDERS_MOST - ways ? PLAN_ORDERS_MOST : *sum + ways;
    return true;
}

// Adds the sets that come from this one by one more command.
static bool add_larger(const struct places *places, uint64_t set, uint64_t ways, struct states *to) {
    for (size_t i = 0; i < places->count; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        if (!(set & bit) && !(places->before[i] & ~set) && !states_add(to, set | bit, ways))
            return false;
    }
    return true;
}

// From the sets of n commands to those of n + 1. False: too many, or no memory.
static bool advance(const struct places *places, struct states *states) {
    struct states to = {.left = states->left};
    bool good = !states->ways.has_zero || add_larger(places, 0, states->ways.zero, &to);
    for (size_t i = 0; i < states->ways.capacity && good; i++) {
        const struct table_slot *slot = &states->ways.slots[i];
        good = !slot->key || add_larger(places, slot->key, slot->value, &to);
    }
    table_finish(&states->ways);
    *states = to;
    return good;
}

static uint64_t count_exactly(const struct places *places) {
    struct states states = {.left = ALL_SETS_MOST};
    bool known = states_add(&states, 0, 1);
    for (size_t i = 0; i < places->count && known; i++)
        known = advance(places, &states);
    const uint64_t every = places->count == COUNTED_MOST ? ~(uint64_t)0 : ((uint64_t)1 << places->count) - 1;
    const uint64_t *ways = known ? table_find(&states.ways, every) : NULL;
    const uint64_t count = ways ? *ways : 0;
    table_finish(&states.ways);
    return count;
}

// ---- one, or more

// Whether at any point of the order two commands could come next. Everything but commands runs as soon as it can.
struct walk {
    const struct plan *plan;
    uint32_t *first, *next, *waits;
    uint32_t *ready; // what is no command
    size_t ready_count;
    size_t commands; // that could come next
    uint32_t command;
};

static void release(struct walk *walk, uint32_t node) {
    if (walk->plan->nodes[node].never)
        return;
    if (walk->plan->nodes[node].kind != PLAN_COMMAND) {
        walk->ready[walk->ready_count++] = node;
        return;
    }
    walk->commands++;
    walk->command = node;
}

static void finish(struct walk *walk, uint32_t node) {
    for (uint32_t i = walk->first[node]; i < walk->first[node + 1]; i++)
        if (--walk->waits[walk->next[i]] == 0)
            release(walk, walk->next[i]);
}

static void fill_successors(struct walk *walk) {
    const struct plan *plan = walk->plan;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t to = 0; to < plan->node_count; to++) {
            const struct plan_node *node = &plan->nodes[to];
            for (uint32_t i = 0; i < node->edge_count + (node->late != 0); i++) {
                const uint32_t from =
                    i < node->edge_count ? plan->edges[node->edge_first + i] : node->late - 1;
                if (fill)
                    walk->next[walk->first[from + 1]++] = to;
                else
                    walk->first[from + 2]++, walk->waits[to]++;
            }
        }
        for (size_t i = 2; i < plan->node_count + 3 && !fill; i++)
            walk->first[i] += walk->first[i - 1];
    }
}

static bool is_only_one(struct walk *walk) {
    for (uint32_t node = 0; node < walk->plan->node_count; node++)
        if (!walk->waits[node])
            release(walk, node);
    for (;;) {
        while (walk->ready_count)
            finish(walk, walk->ready[--walk->ready_count]);
        if (walk->commands != 1)
            return walk->commands == 0;
        walk->commands = 0;
        finish(walk, walk->command);
    }
}

static bool has_one_order(const struct plan *plan) {
    struct walk walk = {.plan = plan};
    walk.first = calloc(plan->node_count + 3, sizeof *walk.first);
    walk.waits = calloc(plan->node_count + 1, sizeof *walk.waits);
    walk.ready = calloc(plan->node_count + 1, sizeof *walk.ready);
    walk.next = calloc(plan->edge_count + plan->node_count + 1, sizeof *walk.next);
    bool one = false;
    if (walk.first && walk.waits && walk.ready && walk.next) {
        fill_successors(&walk);
        one = is_only_one(&walk);
    }
    free(walk.first);
    free(walk.waits);
    free(walk.ready);
    free(walk.next);
    return one;
}

uint64_t plan_count_orders(const struct plan *plan) {
    struct places places;
    if (has_one_order(plan))
        return 1;
    return count_commands(plan) <= COUNTED_MOST && find_places(plan, &places) ? count_exactly(&places) : 0;
}

// ---- all of them

struct listing {
    const struct places *places;
    uint32_t *out;
    uint64_t left;
};

// All orders that begin with the `depth` commands of `order`, whose set is `set`.
static void list(struct listing *listing, uint32_t *order, size_t depth, uint64_t set) {
    const struct places *places = listing->places;
    if (depth == places->count) {
        memcpy(listing->out, order, depth * sizeof *order);
        listing->out += depth;
        listing->left--;
    }
    for (size_t i = 0; i < places->count && listing->left; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        if (set & bit || (places->before[i] & ~set))
            continue;
        order[depth] = places->nodes[i];
        list(listing, order, depth + 1, set | bit);
    }
}

uint32_t *plan_list_orders(const struct plan *plan, uint64_t count) {
    struct places places;
    uint32_t order[COUNTED_MOST];
    if (count_commands(plan) > COUNTED_MOST || !find_places(plan, &places))
        return NULL;
    struct listing listing = {&places, calloc(count + 1, (places.count + 1) * sizeof *listing.out), count};
    uint32_t *orders = listing.out;
    if (orders)
        list(&listing, order, 0, 0);
    return orders;
}
