// SPDX-License-Identifier: Apache-2.0
// Replays in other legal orders, and which two commands it is when a result depends on the order.
//
// The way from the recorded order to another exchanges two neighbors at a time, and every step is legal where both ends
// are (plan_order.c). Somewhere on it a result changes: halving finds a step before which it is as recorded and after
// which it is not, and the two commands of that step are those that something should order.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sized.h"
#include "base/status.h"
#include "replay/execute.h"
#include "replay/plan.h"

enum { FOUND_MOST = 256, AGAIN = 3 };

// What a replay gave, by record.
struct outcome {
    struct chunk_hash *hashes;
    uint8_t *there;
};

struct found {
    size_t process;
    uint32_t pair[2];
    size_t record;
};

struct tsmith_permutation {
    const tsmith_plan *plan;
    struct found *found;
    size_t count, capacity;
    tsmith_permutation_summary summary;
};

struct permuter {
    tsmith_permutation *out;
    const struct plan *plan;
    size_t process;
    struct execution *execution;
    tsmith_replay_options options;
    tsmith_error *error;
    uint32_t *recorded, *other, *between; // orders of commands
    size_t count;
    struct outcome right, now;
    uint8_t *noisy; // by record
    struct plan_pairs kept;
    struct chunk_table tried; // orders, by their hash
};

// ---- one replay

static void take_result(void *context, const struct execute_result *result) {
    struct outcome *outcome = context;
    if (!result->bytes)
        return;
    outcome->hashes[result->record] = chunk_hash_of(result->bytes, result->size);
    outcome->there[result->record] = 1;
}

static void take_note(void *context, const char *text) {
    (void)context;
    (void)text;
}

static tsmith_status run(struct permuter *permuter, const uint32_t *order, struct outcome *outcome) {
    const struct execute_client client = {outcome, take_result, take_note, NULL};
    memset(outcome->there, 0, permuter->plan->process->count);
    permuter->out->summary.replays++;
    return execute_opencl_order(permuter->execution, permuter->plan, order, permuter->count,
                                &permuter->options, &client, permuter->error);
}

// The first record whose result is another; SIZE_MAX: none is.
static size_t compare(const struct permuter *permuter) {
    for (size_t i = 0; i < permuter->plan->process->count; i++)
        if (permuter->right.there[i] && !permuter->noisy[i] &&
            (!permuter->now.there[i] ||
             !chunk_hash_equal(permuter->right.hashes[i], permuter->now.hashes[i])))
            return i;
    return SIZE_MAX;
}

// The recorded order once more: what differs now is noise.
static tsmith_status run_recorded_order(struct permuter *permuter) {
    const tsmith_status status = run(permuter, permuter->recorded, &permuter->now);
    for (size_t i; status == TSMITH_OK && (i = compare(permuter)) != SIZE_MAX;) {
        permuter->noisy[i] = 1;
        permuter->out->summary.noisy++;
    }
    return status;
}

// ---- which two

static bool keep_found(struct permuter *permuter, const uint32_t pair[2], size_t record) {
    tsmith_permutation *out = permuter->out;
    if (!ARRAY_RESERVE(out->found, out->capacity, out->count + 1))
        return false;
    out->found[out->count++] = (struct found){permuter->process, {pair[0], pair[1]}, record};
    if (!ARRAY_RESERVE(permuter->kept.pairs, permuter->kept.capacity, permuter->kept.count + 1))
        return false;
    permuter->kept.pairs[permuter->kept.count][0] = pair[0];
    permuter->kept.pairs[permuter->kept.count++][1] = pair[1];
    return true;
}

// `other` gives another result than `recorded`.
static tsmith_status find_pair(struct permuter *permuter) {
    const size_t nodes = permuter->plan->node_count;
    uint64_t same = 0, different = plan_distance(permuter->recorded, permuter->other, permuter->count, nodes);
    uint32_t pair[2] = {0, 0};
    size_t record = compare(permuter);
    tsmith_status status = TSMITH_OK;
    while (status == TSMITH_OK && different - same > 1) {
        const uint64_t middle = same + (different - same) / 2;
        if (!plan_between(permuter->recorded, permuter->other, permuter->count, nodes, middle,
                          permuter->between, pair))
            return TSMITH_ERROR_NO_MEMORY;
        status = run(permuter, permuter->between, &permuter->now);
        const size_t differs = status == TSMITH_OK ? compare(permuter) : SIZE_MAX;
        if (differs != SIZE_MAX) {
            different = middle;
            record = differs;
        } else {
            same = middle;
        }
    }
    if (status != TSMITH_OK)
        return status;
    if (!plan_between(permuter->recorded, permuter->other, permuter->count, nodes, different,
                      permuter->between, pair) ||
        !keep_found(permuter, pair, record))
        return TSMITH_ERROR_NO_MEMORY;
    return TSMITH_OK;
}

static void take_commands(struct permuter *permuter, const uint32_t *order, uint32_t *out) {
    size_t count = 0;
    for (size_t i = 0; i < permuter->plan->order_count; i++)
        if (permuter->plan->nodes[order[i]].kind == PLAN_COMMAND)
            out[count++] = order[i];
    permuter->count = count;
}

// Whether the order in `other` was not tried before; from now on it was.
static tsmith_status note_order(struct permuter *permuter, bool *is_new) {
    const struct chunk_hash key = chunk_hash_of(permuter->other, permuter->count * sizeof *permuter->other);
    *is_new = !chunk_table_find(&permuter->tried, key);
    return !*is_new || chunk_table_add(&permuter->tried, key, 1) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
}

// Runs the order in `other`. Where it gives something else than the recorded one, the two commands are found.
static tsmith_status try_other(struct permuter *permuter, bool *differs) {
    *differs = false;
    permuter->out->summary.orders++;
    tsmith_status status = run(permuter, permuter->other, &permuter->now);
    if (status != TSMITH_OK || compare(permuter) == SIZE_MAX)
        return status;
    // It may vary by itself: the recorded order must give the same again, and this one not.
    for (int i = 0; i < AGAIN && status == TSMITH_OK; i++)
        status = run_recorded_order(permuter);
    if (status == TSMITH_OK)
        status = run(permuter, permuter->other, &permuter->now);
    if (status != TSMITH_OK || compare(permuter) == SIZE_MAX)
        return status;
    *differs = true;
    return find_pair(permuter);
}

// An order of this seed, and others of it as long as they differ from the recorded one: pairs that were found are kept.
static tsmith_status try_order(struct permuter *permuter, uint64_t seed) {
    tsmith_status status = TSMITH_OK;
    bool differs = true;
    while (differs && status == TSMITH_OK && permuter->out->count < FOUND_MOST) {
        uint32_t *order = malloc((permuter->plan->node_count + 1) * sizeof *order);
        bool is_new = false;
        status = order ? plan_shuffle(permuter->plan, &permuter->kept, seed, order) : TSMITH_ERROR_NO_MEMORY;
        if (status == TSMITH_OK) {
            take_commands(permuter, order, permuter->other);
            status = note_order(permuter, &is_new);
        }
        free(order);
        if (status != TSMITH_OK || !is_new)
            return status;
        status = try_other(permuter, &differs);
    }
    return status;
}

static bool keeps_pairs(const struct permuter *permuter) {
    for (size_t i = 0; i < permuter->kept.count; i++)
        for (size_t j = 0; j < permuter->count && permuter->other[j] != permuter->kept.pairs[i][0]; j++)
            if (permuter->other[j] == permuter->kept.pairs[i][1])
                return false;
    return true;
}

// Every legal order there is, but those that exchange a pair that was found already.
static tsmith_status try_every_order(struct permuter *permuter, uint64_t count) {
    uint32_t *orders = plan_list_orders(permuter->plan, count);
    tsmith_status status = orders ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    for (uint64_t i = 0; i < count && status == TSMITH_OK && permuter->out->count < FOUND_MOST; i++) {
        bool is_new, differs;
        memcpy(permuter->other, orders + i * permuter->count, permuter->count * sizeof *permuter->other);
        status = note_order(permuter, &is_new);
        if (status == TSMITH_OK && is_new && keeps_pairs(permuter))
            status = try_other(permuter, &differs);
    }
    free(orders);
    return status;
}

// Random ones until enough different ones were tried; if there are few, the same ones repeat.
static tsmith_status try_random_orders(struct permuter *permuter, uint64_t orders, uint64_t seed) {
    const uint64_t from = permuter->out->summary.orders, attempts = 4 * orders + 64;
    tsmith_status status = TSMITH_OK;
    for (uint64_t i = 0; i < attempts && status == TSMITH_OK && permuter->out->summary.orders - from < orders;
         i++)
        status = try_order(permuter, i ? seed * 0x9e3779b97f4a7c15u + i : 0);
    return status;
}

static bool allocate(struct permuter *permuter) {
    const size_t records = permuter->plan->process->count + 1, nodes = permuter->plan->node_count + 1;
    permuter->recorded = malloc(nodes * sizeof(uint32_t));
    permuter->other = malloc(nodes * sizeof(uint32_t));
    permuter->between = malloc(nodes * sizeof(uint32_t));
    permuter->right.hashes = calloc(records, sizeof(struct chunk_hash));
    permuter->right.there = calloc(records, 1);
    permuter->now.hashes = calloc(records, sizeof(struct chunk_hash));
    permuter->now.there = calloc(records, 1);
    permuter->noisy = calloc(records, 1);
    return permuter->recorded && permuter->other && permuter->between && permuter->right.hashes &&
           permuter->right.there && permuter->now.hashes && permuter->now.there && permuter->noisy;
}

static void finish(struct permuter *permuter) {
    free(permuter->recorded);
    free(permuter->other);
    free(permuter->between);
    free(permuter->right.hashes);
    free(permuter->right.there);
    free(permuter->now.hashes);
    free(permuter->now.there);
    free(permuter->noisy);
    free(permuter->kept.pairs);
    chunk_table_finish(&permuter->tried);
}

// The recorded order, twice.
static tsmith_status begin(struct permuter *permuter) {
    tsmith_status status = allocate(permuter) ? TSMITH_OK : TSMITH_ERROR_NO_MEMORY;
    if (status == TSMITH_OK) {
        take_commands(permuter, permuter->plan->order, permuter->recorded);
        status = run(permuter, permuter->recorded, &permuter->right);
    }
    return status == TSMITH_OK ? run_recorded_order(permuter) : status;
}

static uint64_t add_up(uint64_t a, uint64_t b) {
    return a > PLAN_ORDERS_MOST - b ? PLAN_ORDERS_MOST : a + b;
}

static tsmith_status permute(struct permuter *permuter, uint64_t orders, uint64_t seed) {
    tsmith_permutation_summary *summary = &permuter->out->summary;
    const uint64_t legal = plan_count_orders(permuter->plan);
    bool is_new;
    tsmith_status status = begin(permuter);
    for (size_t i = 0; status == TSMITH_OK && i < permuter->plan->process->count; i++)
        summary->results += permuter->right.there[i];
    summary->commands += permuter->count;
    summary->others = add_up(summary->others, legal ? legal - 1 : 1);
    summary->counted = summary->counted && legal && legal < PLAN_ORDERS_MOST;
    if (status == TSMITH_OK) {
        memcpy(permuter->other, permuter->recorded, permuter->count * sizeof *permuter->other);
        status = note_order(permuter, &is_new);
    }
    if (status == TSMITH_OK && legal != 1)
        status = legal && legal - 1 <= orders ? try_every_order(permuter, legal)
                                              : try_random_orders(permuter, orders, seed);
    finish(permuter);
    return status;
}

tsmith_status tsmith_plan_permute(tsmith_plan *plan, const tsmith_permute_options *given,
                                  tsmith_permutation **out, tsmith_error *error) {
    tsmith_permute_options options = {0};
    struct permuter shared = {0};
    tsmith_error unasked;
    *out = NULL;
    tsmith_status status = sized_take(tsmith_permute_options, given, &options, error);
    if (status == TSMITH_OK)
        status = sized_take(tsmith_replay_options, options.replay, &shared.options, error);
    if (status != TSMITH_OK)
        return status;
    error = error ? error : &unasked;
    tsmith_permutation *permutation = calloc(1, sizeof *permutation);
    if (!permutation)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while trying other orders");
    permutation->plan = plan;
    permutation->summary.counted = 1;
    if (plan->count)
        status = recording_has_source_of(plan->processes[0].recording, shared.options.source_kernel, error);
    if (status == TSMITH_OK)
        status = execute_opencl_open(shared.options.device, &shared.execution, error);
    for (size_t i = 0; status == TSMITH_OK && i < plan->count; i++) {
        struct permuter permuter = shared;
        permuter.out = permutation;
        permuter.plan = &plan->processes[i];
        permuter.process = i;
        permuter.error = error;
        status = permute(&permuter, options.orders ? options.orders : 1, options.seed);
        if (status == TSMITH_ERROR_NO_MEMORY)
            status_set(error, status, "out of memory while trying other orders");
    }
    if (shared.execution)
        execute_opencl_close(shared.execution);
    if (status == TSMITH_OK)
        *out = permutation;
    else
        tsmith_permutation_destroy(permutation);
    return status;
}

// ---- findings, the other way round

// The recorded order, but for the first of the two and all that comes after it: these wait for the second. `later` is room for
// a mark of every node. False: the second comes after the first.
static bool exchange(struct permuter *permuter, const struct plan_hazard *hazard, uint8_t *later) {
    const struct plan *plan = permuter->plan;
    size_t count = 0, end = 0;
    memset(later, 0, plan->node_count + 1);
    for (size_t i = 0; i < plan->order_count; i++) {
        const uint32_t node = plan->order[i];
        const struct plan_node *at = &plan->nodes[node];
        later[node] = node == hazard->first || (at->late && later[at->late - 1]);
        for (uint32_t j = 0; j < at->edge_count && !later[node]; j++)
            later[node] = later[plan->edges[at->edge_first + j]];
        if (node == hazard->second)
            end = i + 1;
    }
    if (!end || later[hazard->second])
        return false;
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < end; i++)
            if (later[plan->order[i]] == turn && plan->nodes[plan->order[i]].kind == PLAN_COMMAND)
                permuter->other[count++] = plan->order[i];
    for (size_t i = end; i < plan->order_count; i++)
        if (plan->nodes[plan->order[i]].kind == PLAN_COMMAND)
            permuter->other[count++] = plan->order[i];
    return count == permuter->count;
}

static bool is_command(const struct plan *plan, uint32_t node) {
    return plan->nodes[node].kind == PLAN_COMMAND;
}

static tsmith_status try_hazards(struct permuter *permuter, struct plan *plan) {
    enum { TRIED_MOST = 256 };
    uint8_t *later = plan->hazard_count ? malloc(plan->node_count + 1) : NULL;
    tsmith_status status = !plan->hazard_count ? TSMITH_OK : later ? begin(permuter) : TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < plan->hazard_count && i < TRIED_MOST && status == TSMITH_OK; i++) {
        struct plan_hazard *hazard = &plan->hazards[i];
        if (plan->memories[hazard->memory].kind != PLAN_BUFFER || !is_command(plan, hazard->first) ||
            !is_command(plan, hazard->second) || !exchange(permuter, hazard, later))
            continue;
        status = run(permuter, permuter->other, &permuter->now);
        bool differs = status == TSMITH_OK && compare(permuter) != SIZE_MAX;
        if (differs) // It may vary by itself: what does so in the recorded order is left out.
            status = run_recorded_order(permuter);
        if (differs && status == TSMITH_OK)
            status = run(permuter, permuter->other, &permuter->now);
        differs = differs && status == TSMITH_OK && compare(permuter) != SIZE_MAX;
        hazard->trial = differs ? TSMITH_HAZARD_TRIAL_DIFFERENT : TSMITH_HAZARD_TRIAL_SAME;
    }
    finish(permuter);
    free(later);
    return status;
}

tsmith_status tsmith_plan_try_hazards(tsmith_plan *plan, const tsmith_replay_options *replay,
                                      uint64_t *replays, tsmith_error *error) {
    tsmith_permutation out = {.plan = plan};
    struct permuter shared = {.out = &out};
    tsmith_error unasked;
    *replays = 0;
    tsmith_status status = sized_take(tsmith_replay_options, replay, &shared.options, error);
    if (status != TSMITH_OK)
        return status;
    shared.error = error ? error : &unasked;
    status = execute_opencl_open(shared.options.device, &shared.execution, shared.error);
    for (size_t i = 0; status == TSMITH_OK && i < plan->count; i++) {
        struct permuter permuter = shared;
        permuter.plan = &plan->processes[i];
        permuter.process = i;
        status = try_hazards(&permuter, &plan->processes[i]);
        if (status == TSMITH_ERROR_NO_MEMORY)
            status_set(shared.error, status, "out of memory while trying other orders");
    }
    execute_opencl_close(shared.execution);
    *replays = out.summary.replays;
    return status;
}

void tsmith_permutation_destroy(tsmith_permutation *permutation) {
    if (!permutation)
        return;
    free(permutation->found);
    free(permutation);
}

void tsmith_permutation_summarize(const tsmith_permutation *permutation, tsmith_permutation_summary *out) {
    sized_give(tsmith_permutation_summary, &permutation->summary, out);
}

int tsmith_permutation_get(const tsmith_permutation *permutation, size_t index, tsmith_dependency *filled) {
    if (index >= permutation->count)
        return 0;
    const struct found *found = &permutation->found[index];
    const struct plan *plan = &permutation->plan->processes[found->process];
    const struct recording_record *record = &plan->process->records[found->record];
    tsmith_dependency out = {.pid = plan->process->pid, .result = "at the end"};
    plan_describe(plan, found->pair[0], &out.first);
    plan_describe(plan, found->pair[1], &out.second);
    if (record->type != RECORDING_COMMAND) {
        out.result_buffer = recording_value(record, RECORDING_KEY_OBJECT);
    } else {
        out.result = recording_command_name(recording_value(record, RECORDING_KEY_COMMAND));
        out.result_buffer = recording_value(record, RECORDING_KEY_SOURCE);
        for (size_t i = 0; i < found->record; i++)
            out.result_command += plan->process->records[i].type == RECORDING_COMMAND;
    }
    sized_give(tsmith_dependency, &out, filled);
    return 1;
}
