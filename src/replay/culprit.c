// SPDX-License-Identifier: Apache-2.0
// Finds the first wrong command, which is not always the last one that wrote the diverged memory. In this order:
//
//   1. The recording has hashes of what each command wrote: the first one that differs.
//   2. A kernel's source was replaced: the recording is replayed once as it is and once with the replacement, one command
//      after the other, and the memory that each wrote is compared. This takes two replays; bisection
//      would take one for each doubling of the commands.
//   3. Otherwise the memory between two results is unknown: the candidates are all commands that the first bad result
//      depends on, without those that a good result depends on.
#include "replay/culprit.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"

struct search {
    const struct plan *plan;
    const struct culprit_result *results;
    size_t count;
    uint8_t *suspects; // by node
    tsmith_replay_culprit *out;
};

static uint64_t id_of(const struct recording_record *record) {
    return recording_value(record, RECORDING_KEY_OBJECT);
}

static void name(const struct search *search, uint32_t node, uint64_t count, uint64_t replays) {
    tsmith_plan_command command;
    plan_describe(search->plan, node, &command);
    *search->out = (tsmith_replay_culprit){.pid = search->plan->process->pid,
                                           .first = command.command,
                                           .count = count,
                                           .what = command.what,
                                           .kernel = command.kernel,
                                           .queue = command.queue,
                                           .correlation = command.correlation,
                                           .replays = replays};
}

static bool writes(const struct plan *plan, uint32_t node, uint64_t memory) {
    const struct plan_node *at = &plan->nodes[node];
    for (uint32_t i = 0; i < at->access_count; i++) {
        const struct plan_access *access = &plan->accesses[at->access_first + i];
        if ((access->flags & PLAN_WRITES) && plan->memories[access->memory].kind == PLAN_BUFFER &&
            plan->memories[access->memory].id == memory)
            return true;
    }
    return false;
}

// ---- what a result comes of

// Marks the commands before the record that what it shows comes of.
static void mark_causes(const struct plan *plan, size_t record, uint8_t *marks) {
    const struct recording_record *at = &plan->process->records[record];
    if (at->type == RECORDING_COMMAND && plan->node_of[record])
        marks[plan->node_of[record] - 1] = 1;
    for (size_t i = record; at->type != RECORDING_COMMAND && i-- > 0;)
        if (plan->node_of[i] && writes(plan, plan->node_of[i] - 1, id_of(at)))
            marks[plan->node_of[i] - 1] = 1;
    for (size_t i = plan->order_count; i-- > 0;) {
        const uint32_t node = plan->order[i];
        const size_t end = plan->need_first[plan->node_count + 1 + node];
        for (size_t j = plan->need_first[node]; marks[node] && j < end; j++)
            if (plan->needs[j].content)
                marks[plan->needs[j].node] = 1;
    }
}

static bool may_be_wrong(const struct plan *plan, uint32_t node) {
    const struct plan_node *at = &plan->nodes[node];
    bool any = false;
    for (uint32_t i = 0; i < at->access_count; i++)
        any |= (plan->accesses[at->access_first + i].flags & PLAN_WRITES) != 0;
    return at->kind == PLAN_COMMAND && any;
}

static tsmith_status narrow_down(const struct search *search, size_t bad) {
    const struct plan *plan = search->plan;
    uint8_t *good = calloc(plan->node_count + 1, 1);
    uint64_t count = 0;
    uint32_t first = 0;
    if (!good)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < search->count; i++)
        if (search->results[i].exact && search->results[i].record < bad) {
            enum { EXACT_MOST = 64 }; // each costs a walk: the last ones give most
            if (i + EXACT_MOST >= search->count || search->count <= EXACT_MOST)
                mark_causes(plan, search->results[i].record, good);
        }
    mark_causes(plan, bad, search->suspects);
    for (uint32_t pass = 0; pass < 2 && !count; pass++) // all of them are good? Then none is.
        for (uint32_t node = 0; node < plan->node_count; node++)
            if (search->suspects[node] && (pass || !good[node]) && may_be_wrong(plan, node) && count++ == 0)
                first = node;
    free(good);
    if (count)
        name(search, first, count, 0);
    return TSMITH_OK;
}

// ---- with and without

struct written {
    struct chunk_hash *hashes; // by record
    uint8_t *there;
};

static void take_result(void *context, const struct execute_result *result) {
    struct written *written = context;
    if (!result->bytes)
        return;
    const struct chunk_hash hash = chunk_hash_of(result->bytes, result->size);
    struct chunk_hash *all = &written->hashes[result->record]; // a command may have written several buffers
    all->low = (all->low ^ hash.low) * 0x9fb21c651e98df25u + 1;
    all->high = (all->high ^ hash.high) * 0x9e3779b97f4a7c15u + 1;
    written->there[result->record] = 1;
}

static void take_note(void *context, const char *text) {
    (void)context;
    (void)text;
}

static tsmith_status run(struct execution *execution, const struct plan *plan,
                         const tsmith_replay_options *options, struct written *written, tsmith_error *error) {
    const struct execute_options run_options = {.each = true, .in_place = true};
    const struct execute_client client = {written, take_result, take_note, &run_options};
    const size_t records = plan->process->count + 1;
    written->hashes = calloc(records, sizeof *written->hashes);
    written->there = calloc(records, 1);
    if (!written->hashes || !written->there)
        return TSMITH_ERROR_NO_MEMORY;
    return execute_opencl_order(execution, plan, plan->order, plan->order_count, options, &client, error);
}

static tsmith_status compare_sources(struct execution *execution, const struct search *search,
                                     const tsmith_replay_options *options, tsmith_error *error) {
    const struct plan *plan = search->plan;
    tsmith_replay_options without = *options;
    struct written right = {0}, wrong = {0};
    without.source_kernel = without.source_text = NULL;
    tsmith_status status = run(execution, plan, &without, &right, error);
    if (status == TSMITH_OK)
        status = run(execution, plan, options, &wrong, error);
    for (size_t i = 0; status == TSMITH_OK && i < plan->order_count; i++) {
        const uint32_t node = plan->order[i], record = plan->nodes[node].record;
        if (plan->nodes[node].kind != PLAN_COMMAND ||
            (right.there[record] == wrong.there[record] &&
             chunk_hash_equal(right.hashes[record], wrong.hashes[record])))
            continue;
        name(search, node, 1, 2);
        break;
    }
    free(right.hashes);
    free(right.there);
    free(wrong.hashes);
    free(wrong.there);
    return status;
}

// ---- all of it

// The command whose result is the first that was compared by itself and differs; SIZE_MAX: there is none.
static uint32_t find_by_hash(const struct search *search, size_t bad) {
    const struct plan *plan = search->plan;
    const struct recording_record *record = &plan->process->records[bad];
    if (record->type != RECORDING_VERIFY ||
        !(recording_value(record, RECORDING_KEY_FLAGS) & RECORDING_VERIFY_COMMAND))
        return UINT32_MAX;
    for (size_t i = bad; i-- > 0;)
        if (plan->node_of[i] && writes(plan, plan->node_of[i] - 1, id_of(record)))
            return plan->node_of[i] - 1;
    return UINT32_MAX;
}

static tsmith_status search_for(struct execution *execution, const struct search *search, size_t bad,
                                const tsmith_replay_options *options, tsmith_error *error) {
    const uint32_t by_hash = find_by_hash(search, bad);
    tsmith_status status = TSMITH_OK;
    if (by_hash != UINT32_MAX)
        name(search, by_hash, 1, 0);
    else if (options->source_kernel)
        status = compare_sources(execution, search, options, error);
    return status == TSMITH_OK && !search->out->count ? narrow_down(search, bad) : status;
}

tsmith_status culprit_find(struct execution *execution, struct tsmith_recording *recording,
                           const struct recorded_process *process, const struct culprit_result *results,
                           size_t count, const tsmith_replay_options *options, tsmith_replay_culprit *out,
                           tsmith_error *error) {
    struct plan plan;
    struct search search = {.plan = &plan, .results = results, .count = count, .out = out};
    size_t bad = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (results[i].diverged && results[i].record < bad)
            bad = results[i].record;
    *out = (tsmith_replay_culprit){0};
    if (bad == SIZE_MAX)
        return TSMITH_OK;
    tsmith_status status = plan_make(&plan, recording, process, error);
    if (status == TSMITH_OK)
        status = plan_check(&plan, error);
    if (status == TSMITH_OK)
        search.suspects = calloc(plan.node_count + 1, 1);
    if (status == TSMITH_OK && !search.suspects)
        status = TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK)
        status = search_for(execution, &search, bad, options, error);
    free(search.suspects);
    plan_finish(&plan);
    return status == TSMITH_ERROR_NO_MEMORY
               ? status_set(error, status, "out of memory while searching for the first wrong command")
               : status;
}
