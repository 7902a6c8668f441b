// SPDX-License-Identifier: Apache-2.0
// Conflicts that no path orders, and the real dependencies: one walk in a legal order.
//
// Nodes form chains, each node after the one before it in its chain. A node's clock has, for every chain, the position
// up to which the chain is before the node; so A is before B if B's clock includes A's position in A's chain. A clock
// consists of a part that several nodes share, and the node's own position, which is added to the shared part only
// when a node of another chain follows: an in-order queue passes on one shared part, and a thousand commands behind
// one wait share one. It lives until the last successor was processed. A node without successors needs no chain.
//
// Each memory has a row of disjoint stretches, each with its last writer and the readers since. A node is checked
// against those only: earlier nodes were already checked against them.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/sorted.h"
#include "base/status.h"
#include "replay/plan.h"

enum { CHAINS_MOST = 1 << 16, STRETCHES_MOST = 1 << 14, HAZARDS_MOST = 1 << 14 };
#define NO_CHAIN UINT32_MAX
static const uint64_t WORK_MOST = (uint64_t)1 << 34;  // steps over chains and stretches: some seconds
static const uint64_t BYTES_MOST = (uint64_t)1 << 30; // of clocks

// The shared part of clocks.
struct past {
    uint32_t users, size;
    uint32_t at[]; // by chain
};

struct stretch {
    uint64_t from, to;
    uint32_t writer;  // node + 1
    uint32_t readers; // index + 1 into check.readers
    uint32_t
        writers; // the same: that may have written it after `writer`, or before it, and may use other bytes of it
};

struct reader {
    uint32_t node, next;
};

struct history {
    struct stretch *stretches;
    size_t count, capacity;
};

struct check {
    struct plan *plan;
    struct past **pasts; // by node
    bool *whole;         // by node: its own place is in it
    uint32_t *left;      // by node: successors that come yet
    uint32_t *chain, *place;
    struct tail {
        uint32_t place; // of its last
        bool host;
    } * tail; // by chain
    size_t tail_count, tail_capacity;
    struct history *histories; // by memory
    struct reader *readers;
    size_t reader_count, reader_capacity;
    uint32_t free_reader;
    struct chunk_table known; // hazards by who has them
    uint64_t bytes, bytes_most, work;
    // the node that is being checked
    uint32_t node;
    const struct past *now;
    uint32_t own_chain, own_place; // besides
    size_t need_from;
    bool failed, limit;
};

// ---- clocks

static uint32_t predecessor(const struct plan *plan, const struct plan_node *node, uint32_t i) {
    return i < node->edge_count ? plan->edges[node->edge_first + i] : node->late - 1;
}

static uint32_t predecessor_count(const struct plan_node *node) {
    return node->edge_count + (node->late != 0);
}

static bool is_before(const struct check *check, uint32_t node) {
    const uint32_t chain = check->chain[node], place = check->place[node];
    if (chain == NO_CHAIN)
        return false;
    return (chain == check->own_chain && check->own_place >= place) ||
           (check->now && chain < check->now->size && check->now->at[chain] >= place);
}

static size_t past_bytes(uint32_t size) {
    return sizeof(struct past) + (size_t)size * sizeof(uint32_t);
}

static void past_drop(struct check *check, struct past *past) {
    if (!past || --past->users)
        return;
    check->bytes -= past_bytes(past->size);
    free(past);
}

// A copy for this user alone, at least this large: the given one (whose reference is passed on) if it has no other
// user, else a copy.
static struct past *past_own(struct check *check, struct past *past, uint32_t size) {
    const uint32_t old = past ? past->size : 0;
    struct past *mine;
    size = size > old ? size : old;
    if (past && past->users == 1) {
        if (size == old)
            return past;
        mine = realloc(past, past_bytes(size));
        check->bytes -= mine ? past_bytes(old) : 0;
    } else {
        mine = malloc(past_bytes(size));
        if (mine && old)
            memcpy(mine->at, past->at, (size_t)old * sizeof(uint32_t));
        if (mine && past)
            past->users--;
    }
    check->failed |= !mine;
    if (!mine)
        return past;
    memset(mine->at + old, 0, (size_t)(size - old) * sizeof(uint32_t));
    mine->users = 1;
    mine->size = size;
    check->work += size;
    check->bytes += past_bytes(size);
    check->limit |= check->bytes > check->bytes_most;
    return mine;
}

static struct past *past_put(struct check *check, struct past *past, uint32_t chain, uint32_t place) {
    if (chain == NO_CHAIN)
        return past;
    past = past_own(check, past, chain + 1);
    if (!check->failed && past->at[chain] < place)
        past->at[chain] = place;
    return past;
}

// So that others can come after it.
static struct past *past_whole(struct check *check, uint32_t node) {
    if (!check->whole[node])
        check->pasts[node] = past_put(check, check->pasts[node], check->chain[node], check->place[node]);
    check->whole[node] = true;
    return check->pasts[node];
}

static bool can_extend(const struct check *check, uint32_t from, bool host) {
    const uint32_t chain = check->chain[from];
    return chain != NO_CHAIN && check->tail[chain].place == check->place[from] &&
           check->tail[chain].host == host;
}

static struct past *share_past(struct past *past) {
    if (past)
        past->users++;
    return past;
}

// With several predecessors: those that share a past differ in their own places only.
static struct past *join(struct check *check, const struct plan_node *at) {
    const uint32_t first = predecessor(check->plan, at, 0);
    const struct past *seen = check->pasts[first]; // only for comparing who shares it: it may be freed
    struct past *past = share_past(past_whole(check, first));
    for (uint32_t i = 1; i < predecessor_count(at) && !check->failed; i++) {
        const uint32_t from = predecessor(check->plan, at, i);
        const struct past *other = check->pasts[from];
        past = past_own(check, past, other ? other->size : 0);
        const uint32_t size = other && other != seen && !check->failed ? other->size : 0;
        for (uint32_t chain = 0; chain < size; chain++)
            past->at[chain] = past->at[chain] > other->at[chain] ? past->at[chain] : other->at[chain];
        check->work += size;
        past = past_put(check, past, check->chain[from], check->place[from]);
    }
    return past;
}

static void make_past(struct check *check, uint32_t node) {
    const struct plan_node *at = &check->plan->nodes[node];
    if (!predecessor_count(at))
        return;
    const uint32_t first = predecessor(check->plan, at, 0);
    if (predecessor_count(at) > 1)
        check->pasts[node] = join(check, at);
    else if (can_extend(check, first, at->kind == PLAN_HOST)) // its place is behind ours in the same chain
        check->pasts[node] = share_past(check->pasts[first]);
    else
        check->pasts[node] = share_past(past_whole(check, first));
}

// One that ends before the node, or a new one. The host's moments keep to chains of their own: they come after nearly
// everything, and would break off the chains of the queues.
static uint32_t find_chain(struct check *check, uint32_t node) {
    const struct plan_node *at = &check->plan->nodes[node];
    const struct past *past = check->pasts[node];
    const bool host = at->kind == PLAN_HOST;
    for (uint32_t i = predecessor_count(at); i-- > 0;) {
        const uint32_t from = predecessor(check->plan, at, i);
        if (can_extend(check, from, host))
            return check->chain[from];
    }
    check->work += past ? past->size : 0;
    for (uint32_t chain = 0; past && chain < past->size; chain++)
        if (past->at[chain] && check->tail[chain].place == past->at[chain] && check->tail[chain].host == host)
            return chain;
    check->limit |= check->tail_count == CHAINS_MOST;
    if (check->limit || !ARRAY_RESERVE(check->tail, check->tail_capacity, check->tail_count + 1)) {
        check->failed = true;
        return NO_CHAIN;
    }
    check->tail[check->tail_count] = (struct tail){.host = host};
    return (uint32_t)check->tail_count++;
}

static void begin_node(struct check *check, uint32_t node) {
    const struct plan_node *at = &check->plan->nodes[node];
    check->node = node;
    check->chain[node] = check->own_chain = NO_CHAIN;
    if (!check->left[node] &&
        predecessor_count(at) <= 1) { // what it sees is what its predecessor saw, and that
        const uint32_t from = predecessor_count(at) ? predecessor(check->plan, at, 0) : node;
        check->now = check->pasts[from];
        check->own_chain = check->chain[from];
        check->own_place = check->place[from];
        return;
    }
    make_past(check, node);
    if (check->left[node] && !check->failed) {
        const uint32_t chain = find_chain(check, node);
        if (chain != NO_CHAIN) {
            check->chain[node] = check->own_chain = chain;
            check->place[node] = check->own_place = ++check->tail[chain].place;
        }
        if (at->kind == PLAN_HOST) // much comes after it
            past_whole(check, node);
    }
    check->now = check->pasts[node];
}

static void end_node(struct check *check, uint32_t node) {
    const struct plan_node *at = &check->plan->nodes[node];
    for (uint32_t i = 0; i < predecessor_count(at); i++) {
        const uint32_t from = predecessor(check->plan, at, i);
        if (--check->left[from] == 0) {
            past_drop(check, check->pasts[from]);
            check->pasts[from] = NULL;
        }
    }
    if (!check->left[node]) {
        past_drop(check, check->pasts[node]);
        check->pasts[node] = NULL;
    }
}

// ---- what is only possible

// What all accesses of a node to these bytes have in common, and what any of them has.
static uint32_t flags_of(const struct plan *plan, uint32_t node, uint32_t memory,
                         const struct stretch *stretch, uint32_t *any) {
    const struct plan_node *at = &plan->nodes[node];
    uint32_t all = UINT32_MAX;
    *any = 0;
    for (uint32_t i = 0; i < at->access_count; i++) {
        const struct plan_access *access = &plan->accesses[at->access_first + i];
        if (access->memory != memory || access->from >= stretch->to || access->to <= stretch->from)
            continue;
        all &= access->flags;
        *any |= access->flags;
    }
    return *any ? all : 0;
}

static bool entries_equal(const struct recording_record *a, const struct recording_record *b,
                          enum recording_key key) {
    const uint8_t *bytes[2];
    size_t lengths[2] = {0, 0};
    const bool there[2] = {recording_get_bytes(a, key, &bytes[0], &lengths[0]),
                           recording_get_bytes(b, key, &bytes[1], &lengths[1])};
    return there[0] == there[1] &&
           (!there[0] || (lengths[0] == lengths[1] && memcmp(bytes[0], bytes[1], lengths[0]) == 0));
}

// Launches of one kernel with different scalar arguments: they may share the work on one buffer.
static bool shares_work(const struct plan *plan, uint32_t first, uint32_t second) {
    const struct plan_node *a = &plan->nodes[first], *b = &plan->nodes[second];
    const struct recording_record *of[2] = {plan_record(plan, first), plan_record(plan, second)};
    if (!a->arguments || !b->arguments || a->argument_count != b->argument_count ||
        recording_value(of[0], RECORDING_KEY_KERNEL) != recording_value(of[1], RECORDING_KEY_KERNEL))
        return false;
    bool differs = !entries_equal(of[0], of[1], RECORDING_KEY_GLOBAL_OFFSET);
    for (uint32_t i = 0; i < a->argument_count && !differs; i++) {
        const uint32_t set[2] = {plan->arguments[a->arguments - 1 + i],
                                 plan->arguments[b->arguments - 1 + i]};
        if (!set[0] || !set[1] || set[0] == set[1])
            continue;
        const struct recording_record *values[2] = {&plan->process->records[set[0] - 1],
                                                    &plan->process->records[set[1] - 1]};
        differs = recording_value(values[0], RECORDING_KEY_FORM) == RECORDING_ARGUMENT_VALUE &&
                  !entries_equal(values[0], values[1], RECORDING_KEY_DATA);
    }
    return differs;
}

// Whether the two may be no conflict: atomics meet, or it is unknown whether they use the same bytes.
static bool is_possible(const struct plan *plan, uint32_t first, uint32_t second, uint32_t memory,
                        const struct stretch *stretch) {
    uint32_t any[2];
    const uint32_t all[2] = {flags_of(plan, first, memory, stretch, &any[0]),
                             flags_of(plan, second, memory, stretch, &any[1])};
    return (all[0] & all[1] & PLAN_ATOMIC) ||
           (any[0] & any[1] & PLAN_ASSUMED && shares_work(plan, first, second));
}

// ---- findings

static uint64_t site(const struct plan *plan, uint32_t node) {
    const uint64_t words[] = {plan->nodes[node].kind, plan->nodes[node].queue, plan_command(plan, node),
                              plan->nodes[node].kind == PLAN_COMMAND
                                  ? recording_value(plan_record(plan, node), RECORDING_KEY_KERNEL)
                                  : 0};
    return hash_bytes(words, sizeof words);
}

static void find_hazard(struct check *check, uint32_t first, const struct plan_access *access,
                        const struct stretch *stretch, tsmith_hazard_kind kind) {
    struct plan *plan = check->plan;
    const struct chunk_hash key = {site(plan, first) * 31 + kind, site(plan, check->node)};
    const bool possible = is_possible(plan, first, check->node, access->memory, stretch);
    const uint64_t known = chunk_table_find(&check->known, key);
    if (known) {
        struct plan_hazard *hazard = &plan->hazards[known - 1];
        if (hazard->count == 1 && hazard->last[0] == first && hazard->last[1] == check->node &&
            hazard->memory == access->memory)
            hazard->to = stretch->to > hazard->to ? stretch->to : hazard->to;
        hazard->count += hazard->last[0] != first || hazard->last[1] != check->node;
        hazard->last[0] = first;
        hazard->last[1] = check->node;
        if (hazard->possible && !possible) { // this one is none of those
            hazard->first =
                plan->nodes[first].record <= plan->nodes[check->node].record ? first : check->node;
            hazard->second = hazard->first == first ? check->node : first;
            hazard->memory = access->memory;
            hazard->from = stretch->from;
            hazard->to = stretch->to;
            hazard->possible = false;
        }
        return;
    }
    if (plan->hazard_count == HAZARDS_MOST) {
        plan->unchecked++;
        return;
    }
    if (!ARRAY_RESERVE(plan->hazards, plan->hazard_capacity, plan->hazard_count + 1) ||
        !chunk_table_add(&check->known, key, plan->hazard_count + 1)) {
        check->failed = true;
        return;
    }
    const bool earlier = plan->nodes[first].record <= plan->nodes[check->node].record;
    plan->hazards[plan->hazard_count++] = (struct plan_hazard){.first = earlier ? first : check->node,
                                                               .second = earlier ? check->node : first,
                                                               .memory = access->memory,
                                                               .kind = kind,
                                                               .from = stretch->from,
                                                               .to = stretch->to,
                                                               .last = {first, check->node},
                                                               .count = 1,
                                                               .possible = possible};
}

static void add_need(struct check *check, uint32_t node, bool content) {
    struct plan *plan = check->plan;
    enum { LOOK_BACK = 4 };
    if (node == check->node)
        return;
    for (size_t i = plan->need_count; i > check->need_from && i + LOOK_BACK > plan->need_count; i--)
        if (plan->needs[i - 1].node == node) {
            plan->needs[i - 1].content |= content;
            return;
        }
    if (!ARRAY_RESERVE(plan->needs, plan->need_capacity, plan->need_count + 1)) {
        check->failed = true;
        return;
    }
    plan->needs[plan->need_count++] = (struct plan_need){node, content};
}

static void note_conflict(struct check *check, uint32_t other, const struct plan_access *access,
                          const struct stretch *stretch, tsmith_hazard_kind kind, bool content) {
    const bool host =
        check->plan->nodes[other].kind == PLAN_HOST && check->plan->nodes[check->node].kind == PLAN_HOST;
    add_need(check, other, content);
    if (other != check->node && !host && !is_before(check, other))
        find_hazard(check, other, access, stretch, kind);
}

// ---- stretches

// Index of the first that ends after `at`.
static size_t find_stretch(const struct history *history, uint64_t at) {
    return SORTED_FIND(i, 0, history->count, history->stretches[i].to <= at);
}

static bool insert(struct check *check, struct history *history, size_t index, struct stretch stretch) {
    if (!ARRAY_RESERVE(history->stretches, history->capacity, history->count + 1)) {
        check->failed = true;
        return false;
    }
    check->work += (history->count - index) / 64;
    memmove(history->stretches + index + 1, history->stretches + index,
            (history->count - index) * sizeof stretch);
    history->stretches[index] = stretch;
    history->count++;
    return true;
}

static uint32_t add_reader(struct check *check, uint32_t node, uint32_t next) {
    uint32_t index = check->free_reader;
    if (index) {
        check->free_reader = check->readers[index - 1].next;
    } else {
        if (!ARRAY_RESERVE(check->readers, check->reader_capacity, check->reader_count + 1)) {
            check->failed = true;
            return next;
        }
        index = (uint32_t)++check->reader_count;
    }
    check->readers[index - 1] = (struct reader){node, next};
    return index;
}

static void drop_list(struct check *check, uint32_t *list) {
    while (*list) {
        const uint32_t index = *list;
        *list = check->readers[index - 1].next;
        check->readers[index - 1].next = check->free_reader;
        check->free_reader = index;
    }
}

static void drop_readers(struct check *check, struct stretch *stretch) {
    drop_list(check, &stretch->readers);
}

static uint32_t copy_list(struct check *check, uint32_t list) {
    uint32_t copy = 0;
    for (uint32_t i = list; i; i = check->readers[i - 1].next)
        copy = add_reader(check, check->readers[i - 1].node, copy), check->work++;
    return copy;
}

// Makes the stretch at `index` end at `at`, which is inside it.
static bool split(struct check *check, struct history *history, size_t index, uint64_t at) {
    struct stretch tail = history->stretches[index];
    tail.from = at;
    tail.readers = copy_list(check, tail.readers);
    tail.writers = copy_list(check, tail.writers);
    if (!insert(check, history, index + 1, tail))
        return false;
    history->stretches[index].to = at;
    return true;
}

// Makes stretches that are exactly the bytes of the access: [*first, *end).
static bool cover_bytes(struct check *check, struct history *history, uint64_t from, uint64_t to,
                        size_t *first, size_t *end) {
    size_t at = find_stretch(history, from);
    if (at < history->count && history->stretches[at].from < from && !split(check, history, at++, from))
        return false;
    *first = at;
    for (uint64_t reached = from; reached < to; at++) {
        struct stretch *stretch = at < history->count ? &history->stretches[at] : NULL;
        if (!stretch || stretch->from > reached) {
            const uint64_t until = stretch && stretch->from < to ? stretch->from : to;
            if (!insert(check, history, at, (struct stretch){.from = reached, .to = until}))
                return false;
        } else if (stretch->to > to && !split(check, history, at, to)) {
            return false;
        }
        reached = history->stretches[at].to;
    }
    *end = at;
    return true;
}

static void take_read(struct check *check, const struct plan_access *access, struct stretch *stretch) {
    if (stretch->writer)
        note_conflict(check, stretch->writer - 1, access, stretch, TSMITH_HAZARD_READ_AFTER_WRITE,
                      check->plan->memories[access->memory].kind != PLAN_HOST_MEMORY);
    for (uint32_t i = stretch->writers; i; i = check->readers[i - 1].next) {
        check->work++;
        note_conflict(check, check->readers[i - 1].node, access, stretch, TSMITH_HAZARD_READ_AFTER_WRITE,
                      check->plan->memories[access->memory].kind != PLAN_HOST_MEMORY);
    }
    if (!(access->flags & PLAN_WRITES) &&
        (!stretch->readers || check->readers[stretch->readers - 1].node != check->node))
        stretch->readers = add_reader(check, check->node, stretch->readers);
}

static void take_write(struct check *check, const struct plan_access *access, struct stretch *stretch) {
    const bool partly = access->flags & (PLAN_ASSUMED | PLAN_PARTLY);
    if (stretch->writer && !(access->flags & PLAN_READS))
        note_conflict(check, stretch->writer - 1, access, stretch, TSMITH_HAZARD_WRITE_AFTER_WRITE, partly);
    for (uint32_t i = access->flags & PLAN_READS ? 0 : stretch->writers; i; i = check->readers[i - 1].next) {
        check->work++;
        note_conflict(check, check->readers[i - 1].node, access, stretch, TSMITH_HAZARD_WRITE_AFTER_WRITE,
                      partly);
    }
    for (uint32_t i = stretch->readers; i; i = check->readers[i - 1].next) {
        check->work++;
        note_conflict(check, check->readers[i - 1].node, access, stretch, TSMITH_HAZARD_WRITE_AFTER_READ,
                      false);
    }
    drop_readers(check, stretch);
}

// Those that wrote it and that this node and they do not know of each other, where that is no finding: what comes next must be
// checked against them too.
static uint32_t other_writers(struct check *check, const struct plan_access *access,
                              const struct stretch *stretch) {
    uint32_t others = 0;
    const uint32_t writer = stretch->writer;
    if (writer && writer - 1 != check->node && !is_before(check, writer - 1) &&
        is_possible(check->plan, writer - 1, check->node, access->memory, stretch))
        others = add_reader(check, writer - 1, others);
    for (uint32_t i = stretch->writers; i; i = check->readers[i - 1].next) {
        const uint32_t node = check->readers[i - 1].node;
        check->work++;
        if (node != check->node && !is_before(check, node) &&
            is_possible(check->plan, node, check->node, access->memory, stretch))
            others = add_reader(check, node, others);
    }
    return others;
}

// After a write: what its stretches hold now. One, but for those with other writers.
static void settle_write(struct check *check, const struct plan_access *access, struct history *history,
                         size_t first, size_t end) {
    bool any = false;
    for (size_t i = first; i < end; i++) {
        struct stretch *stretch = &history->stretches[i];
        const uint32_t others = stretch->writer ? other_writers(check, access, stretch) : 0;
        drop_list(check, &stretch->writers);
        stretch->writers = others;
        stretch->writer = check->node + 1;
        any |= others != 0;
    }
    if (any)
        return;
    history->stretches[first] =
        (struct stretch){.from = access->from, .to = access->to, .writer = check->node + 1};
    memmove(history->stretches + first + 1, history->stretches + end,
            (history->count - end) * sizeof *history->stretches);
    history->count -= end - first - 1;
}

static void take_access(struct check *check, const struct plan_access *access) {
    struct history *history = &check->histories[access->memory];
    size_t first, end;
    if (history->count >= STRETCHES_MOST) { // what was before is forgotten
        for (size_t i = 0; i < history->count; i++) {
            drop_readers(check, &history->stretches[i]);
            drop_list(check, &history->stretches[i].writers);
        }
        history->count = 0;
        check->plan->unchecked++;
    }
    if (!cover_bytes(check, history, access->from, access->to, &first, &end))
        return;
    check->work += end - first;
    for (size_t i = first; i < end; i++) {
        if (access->flags & PLAN_READS)
            take_read(check, access, &history->stretches[i]);
        if (access->flags & PLAN_WRITES)
            take_write(check, access, &history->stretches[i]);
    }
    if (access->flags & PLAN_WRITES)
        settle_write(check, access, history, first, end);
}

// ---- all of it

static void walk(struct check *check) {
    struct plan *plan = check->plan;
    for (size_t i = 0; i < plan->order_count && !check->failed && !check->limit; i++) {
        const uint32_t node = plan->order[i];
        const struct plan_node *at = &plan->nodes[node];
        begin_node(check, node);
        check->need_from = plan->need_count;
        for (uint32_t j = 0; j < at->access_count && !check->failed; j++)
            take_access(check, &plan->accesses[at->access_first + j]);
        plan->need_first[node] = check->need_from;
        plan->need_first[plan->node_count + 1 + node] = plan->need_count;
        end_node(check, node);
        check->limit |= check->work > WORK_MOST;
    }
}

static void finish(struct check *check) {
    for (size_t i = 0; check->pasts && i < check->plan->node_count; i++)
        past_drop(check, check->pasts[i]);
    for (size_t i = 0; check->histories && i < check->plan->memory_count; i++)
        free(check->histories[i].stretches);
    chunk_table_finish(&check->known);
    free(check->pasts);
    free(check->whole);
    free(check->left);
    free(check->chain);
    free(check->place);
    free(check->tail);
    free(check->histories);
    free(check->readers);
}

tsmith_status plan_check(struct plan *plan, tsmith_error *error) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct check check = {.plan = plan};
    const size_t nodes = plan->node_count + 1;
    const uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : BYTES_MOST;
    check.bytes_most = memory < BYTES_MOST ? memory : BYTES_MOST;
    check.pasts = calloc(nodes, sizeof(struct past *));
    check.whole = calloc(nodes, sizeof *check.whole);
    check.left = calloc(nodes, sizeof *check.left);
    check.chain = calloc(nodes, sizeof *check.chain);
    check.place = calloc(nodes, sizeof *check.place);
    check.histories = calloc(plan->memory_count + 1, sizeof *check.histories);
    plan->need_first = calloc(2 * nodes, sizeof *plan->need_first);
    check.failed = !check.pasts || !check.whole || !check.left || !check.chain || !check.place ||
                   !check.histories || !plan->need_first;
    for (size_t i = 0; i < plan->order_count && !check.failed; i++) {
        const struct plan_node *node = &plan->nodes[plan->order[i]];
        for (uint32_t j = 0; j < predecessor_count(node); j++)
            check.left[predecessor(plan, node, j)]++;
    }
    walk(&check);
    finish(&check);
    if (check.limit)
        return status_set(error, TSMITH_ERROR_LIMIT,
                          "more commands of the recording can run at once than can be distinguished: their "
                          "order is not checked");
    return check.failed ? status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while checking the plan")
                        : TSMITH_OK;
}
