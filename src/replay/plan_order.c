// SPDX-License-Identifier: Apache-2.0
// Legal orders of a plan, and the way from one to another by exchanging neighbors.
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/status.h"
#include "replay/plan.h"

struct sorter {
    const struct plan *plan;
    const struct plan_pairs *kept;
    uint32_t *first; // by node: its successors in `next`
    uint32_t *next;
    uint32_t *waits; // by node: predecessors that are not in the order yet
    struct heap ready;
    uint64_t seed;
    bool recorded; // as near to the recorded order as can be
};

static uint64_t mix_bits(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// All edges one by one, with the place of each in a list by its beginning: counted first, then filled in.
static void each_edge(struct sorter *sorter, bool fill) {
    const struct plan *plan = sorter->plan;
    for (uint32_t to = 0; to < plan->node_count; to++) {
        const struct plan_node *node = &plan->nodes[to];
        for (uint32_t i = 0; i < node->edge_count + (node->late != 0); i++) {
            const uint32_t from = i < node->edge_count ? plan->edges[node->edge_first + i] : node->late - 1;
            if (fill)
                sorter->next[sorter->first[from + 1]++] = to;
            else
                sorter->first[from + 2]++, sorter->waits[to]++;
        }
    }
    for (size_t i = 0; sorter->kept && i < sorter->kept->count; i++) {
        const uint32_t *pair = sorter->kept->pairs[i];
        if (fill)
            sorter->next[sorter->first[pair[0] + 1]++] = pair[1];
        else
            sorter->first[pair[0] + 2]++, sorter->waits[pair[1]]++;
    }
}

static bool offer_node(struct sorter *sorter, uint32_t node) {
    const int64_t key = sorter->recorded ? node
                        : sorter->seed   ? (int64_t)(mix_bits(sorter->seed * 0x9e3779b97f4a7c15u + node) >> 1)
                                         : -(int64_t)node;
    return sorter->plan->nodes[node].never || heap_push(&sorter->ready, key, node);
}

static bool sort(struct sorter *sorter, uint32_t *out, size_t *count) {
    const size_t nodes = sorter->plan->node_count;
    bool good = true;
    *count = 0;
    for (uint32_t node = 0; node < nodes && good; node++)
        if (!sorter->waits[node])
            good = offer_node(sorter, node);
    while (good && sorter->ready.count) {
        const uint32_t node = (uint32_t)heap_pop(&sorter->ready).tie;
        out[(*count)++] = node;
        for (uint32_t i = sorter->first[node]; i < sorter->first[node + 1] && good; i++)
            if (--sorter->waits[sorter->next[i]] == 0)
                good = offer_node(sorter, sorter->next[i]);
    }
    return good;
}

static bool make_lists(struct sorter *sorter, uint32_t *out, size_t *count) {
    const size_t nodes = sorter->plan->node_count;
    const size_t edges =
        sorter->plan->edge_count + nodes + (sorter->kept ? sorter->kept->count : 0); // and late ones
    sorter->first = calloc(nodes + 3, sizeof *sorter->first);
    sorter->waits = calloc(nodes + 1, sizeof *sorter->waits);
    sorter->next = malloc((edges + 1) * sizeof *sorter->next);
    bool good = sorter->first && sorter->waits && sorter->next;
    if (good) {
        each_edge(sorter, false);
        for (size_t i = 2; i < nodes + 3; i++)
            sorter->first[i] += sorter->first[i - 1];
        each_edge(sorter, true); // moves first[i + 1] from the beginning of i to its end
        good = sort(sorter, out, count);
    }
    free(sorter->first);
    free(sorter->waits);
    free(sorter->next);
    heap_finish(&sorter->ready);
    return good;
}

// Without user events the recorded order is legal.
static bool is_sorted(const struct plan *plan) {
    for (size_t i = 0; i < plan->node_count; i++)
        if (plan->nodes[i].late || plan->nodes[i].never)
            return false;
    return true;
}

tsmith_status plan_order(struct plan *plan, tsmith_error *error) {
    struct sorter sorter = {.plan = plan, .recorded = true};
    plan->order = malloc((plan->node_count + 1) * sizeof *plan->order);
    bool good = plan->order != NULL;
    if (good && is_sorted(plan)) {
        for (uint32_t i = 0; i < plan->node_count; i++)
            plan->order[i] = i;
        plan->order_count = plan->node_count;
    } else if (good) {
        good = make_lists(&sorter, plan->order, &plan->order_count);
        for (size_t i = 0; i < plan->node_count; i++)
            plan->nodes[i].never = true;
        for (size_t i = 0; i < plan->order_count; i++)
            plan->nodes[plan->order[i]].never = false;
    }
    return good ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while ordering the recording");
}

tsmith_status plan_shuffle(const struct plan *plan, const struct plan_pairs *kept, uint64_t seed,
                           uint32_t *out) {
    struct sorter sorter = {.plan = plan, .kept = kept, .seed = seed};
    size_t count;
    return make_lists(&sorter, out, &count) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// ---- from one order to another
//
// As an insertion sort goes: the first node stays, each next one moves forward past those that come after it in `to`.

struct way {
    uint32_t *place; // by node: in `to`
    uint32_t *tree;  // by place: how many nodes up to there have been seen (sums of a Fenwick tree)
    size_t count;
};

static bool way_begin(struct way *way, const uint32_t *to, size_t count, size_t limit) {
    way->count = count;
    way->place = malloc((limit + 1) * sizeof *way->place);
    way->tree = calloc(count + 1, sizeof *way->tree);
    for (size_t i = 0; way->place && i < count; i++)
        way->place[to[i]] = (uint32_t)i;
    return way->place && way->tree;
}

static void way_finish(struct way *way) {
    free(way->place);
    free(way->tree);
}

// How many of those seen come after this node; and sees it.
static uint64_t way_steps(struct way *way, uint32_t node, size_t seen) {
    uint64_t before = 0;
    for (size_t i = way->place[node] + 1; i; i -= i & -i)
        before += way->tree[i];
    for (size_t i = way->place[node] + 1; i <= way->count; i += i & -i)
        way->tree[i]++;
    return seen - before;
}

uint64_t plan_distance(const uint32_t *from, const uint32_t *to, size_t count, size_t limit) {
    struct way way;
    uint64_t steps = UINT64_MAX;
    if (way_begin(&way, to, count, limit)) {
        steps = 0;
        for (size_t i = 0; i < count; i++)
            steps += way_steps(&way, from[i], i);
    }
    way_finish(&way);
    return steps;
}

bool plan_between(const uint32_t *from, const uint32_t *to, size_t count, size_t limit, uint64_t steps,
                  uint32_t *out, uint32_t last[2]) {
    struct way way;
    const bool good = way_begin(&way, to, count, limit);
    size_t moved = 0, at = 0;
    uint64_t left = steps, more = 0;
    for (; good && moved < count; moved++) {
        more = way_steps(&way, from[moved], moved);
        if (more >= left)
            break;
        left -= more;
    }
    if (good && moved < count) {
        // from[0 .. moved) in the order of `to`; then from[moved], `left` places forward; the rest as it was.
        uint8_t *early = calloc(limit + 1, 1);
        for (size_t i = 0; early && i < moved; i++)
            early[from[i]] = 1;
        for (size_t i = 0; early && i < count; i++)
            if (early[to[i]])
                out[at++] = to[i];
        free(early);
        if (at == moved) {
            memmove(out + moved - left + 1, out + moved - left, left * sizeof *out);
            out[moved - left] = from[moved];
            memcpy(out + moved + 1, from + moved + 1, (count - moved - 1) * sizeof *out);
            last[0] = out[moved - left + 1];
            last[1] = from[moved];
            way_finish(&way);
            return true;
        }
    }
    way_finish(&way);
    return false;
}
