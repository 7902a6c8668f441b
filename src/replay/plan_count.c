// SPDX-License-Identifier: Apache-2.0
// How many legal orders the commands of a plan have, and all of them where there are few. Two orders are different when
// their commands come in different orders: where the host's moments lie between them makes none.
//
// A state is the set of commands that have run. From each state those commands can come next whose predecessors are in
// it; the number of orders is the number of ways from the empty set to the full one. Up to 64 commands and so many sets
// that is counted exactly; of more commands it is only known whether there is more than one order.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/plan.h"

enum { COUNTED_MOST = 64, STATES_MOST = 1 << 15 };

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

struct states {
    struct chunk_table index; // of a set of commands: index + 1
    uint64_t *sets, *ways;
    size_t count, set_capacity, way_capacity;
};

static void states_clear(struct states *states) {
    chunk_table_finish(&states->index);
    states->index = (struct chunk_table){0};
    states->count = 0;
}

static bool states_add(struct states *states, uint64_t set, uint64_t ways) {
    const struct chunk_hash key = {set * 0x9e3779b97f4a7c15u ^ set >> 29, set};
    const uint64_t known = chunk_table_find(&states->index, key);
    if (known) {
        uint64_t *sum = &states->ways[known - 1];
        *sum = *sum > PLAN_ORDERS_MOST - ways ? PLAN_ORDERS_MOST : *sum + ways;
        return true;
    }
    void *sets = states->sets, *all_ways = states->ways;
    const bool room = array_reserve(&sets, &states->set_capacity, states->count + 1, sizeof *states->sets);
    states->sets = sets;
    if (!room || !array_reserve(&all_ways, &states->way_capacity, states->count + 1, sizeof *states->ways))
        return false;
    states->ways = all_ways;
    if (!chunk_table_add(&states->index, key, states->count + 1))
        return false;
    states->sets[states->count] = set;
    states->ways[states->count++] = ways;
    return true;
}

// From the sets of so many commands to those of one more. False: too many, or no memory.
static bool advance(const struct places *places, const struct states *from, struct states *to) {
    states_clear(to);
    for (size_t i = 0; i < from->count; i++)
        for (size_t j = 0; j < places->count; j++) {
            const uint64_t set = from->sets[i], bit = (uint64_t)1 << j;
            if (set & bit || (places->before[j] & ~set))
                continue;
            if (to->count > STATES_MOST || !states_add(to, set | bit, from->ways[i]))
                return false;
        }
    return true;
}

static uint64_t count_exactly(const struct places *places) {
    struct states states[2] = {{.count = 0}, {.count = 0}};
    bool known = states_add(&states[0], 0, 1);
    for (size_t i = 0; i < places->count && known; i++)
        known = advance(places, &states[i % 2], &states[(i + 1) % 2]);
    const struct states *last = &states[places->count % 2];
    const uint64_t count = known && last->count == 1 ? last->ways[0] : 0;
    for (int i = 0; i < 2; i++) {
        states_clear(&states[i]);
        free(states[i].sets);
        free(states[i].ways);
    }
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
