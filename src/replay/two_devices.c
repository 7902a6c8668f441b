// SPDX-License-Identifier: Apache-2.0
// The commands of a recording on two devices at once, one after the other on each: command i on the one, command i on
// the other, and so on. Data that both read, mapped and hold in the end is compared as it arrives, so that only data
// that one has and the other does not yet have is kept.
//
// The first wrong command is found by bisection: a number of commands is run on both from the beginning, and everything
// that they have written is compared. Before the first command the devices are the same, after `high` of them they are
// not; each replay halves the interval between, so that after at most log2(high), rounded up, there is one command with
// the same before it and something else after it. (A difference that was overwritten since is not seen. With `each`,
// which compares the memory that every command wrote directly after it, it is the first result that differs.)
#include "replay/two_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "replay/plan.h"

// A result that waits for the other device's.
struct kept {
    struct execute_result result; // its bytes are ours
    bool done;
};

struct side {
    struct pair *pair;
    struct execution *execution;
    struct execute_order *order;
    struct execute_client client;
    struct kept *kept;
    size_t kept_count, kept_capacity;
    tsmith_error error;
};

struct pair {
    struct tsmith_replay *replay;
    const tsmith_replay_options *options;
    struct plan plan;
    uint32_t *nodes; // commands, in the order of the plan
    size_t count;
    struct side sides[2];
    bool probes; // only whether anything differs
    bool differs, concluding, failed;
    tsmith_error *error;
};

// ---- results of one side

static void take_result(void *context, const struct execute_result *result) {
    struct side *side = context;
    struct pair *pair = side->pair;
    if (pair->concluding && !result->writer)
        return; // what no command has written is as it was recorded
    if (!ARRAY_RESERVE(side->kept, side->kept_capacity, side->kept_count + 1)) {
        pair->failed = true;
        return;
    }
    struct kept *mine = &side->kept[side->kept_count];
    *mine = (struct kept){.result = *result};
    if (result->bytes) {
        uint8_t *bytes = malloc(result->size ? result->size : 1);
        if (!bytes) {
            pair->failed = true;
            return;
        }
        memcpy(bytes, result->bytes, result->size);
        mine->result.bytes = bytes;
    }
    side->kept_count++;
}

static void take_note(void *context, const char *text) {
    const struct side *side = context;
    char note[600];
    if (side->pair->probes)
        return;
    snprintf(note, sizeof note, "on the %s device: %s", side == side->pair->sides ? "first" : "second", text);
    results_note(side->pair->replay, note);
}

// ---- of both

static void compare(struct pair *pair, const struct execute_result *first,
                    const struct execute_result *second) {
    if (!pair->probes) {
        results_compare(pair->replay, first, second);
    } else if (!first->bytes || !second->bytes || first->size != second->size) {
        pair->differs |= (first->bytes != NULL) != (second->bytes != NULL) || first->size != second->size;
    } else if (memcmp(first->bytes, second->bytes, first->size) != 0) {
        const struct comparison comparison = compare_buffers(second->element, first->bytes, second->bytes,
                                                             first->size, &pair->replay->tolerance);
        pair->differs |= !comparison.within;
    }
}

static void drop_done(struct side *side) {
    size_t count = 0;
    for (size_t i = 0; i < side->kept_count; i++)
        if (side->kept[i].done)
            free((void *)(uintptr_t)side->kept[i].result.bytes);
        else
            side->kept[count++] = side->kept[i];
    side->kept_count = count;
}

// Compares what both have. Few wait at any time: those of transfers that are on their way.
static void match_kept(struct pair *pair) {
    struct side *first = &pair->sides[0], *second = &pair->sides[1];
    if (!first->kept_count || !second->kept_count)
        return;
    for (size_t i = 0; i < first->kept_count; i++)
        for (size_t j = 0; j < second->kept_count && !first->kept[i].done; j++) {
            const struct execute_result *a = &first->kept[i].result, *b = &second->kept[j].result;
            if (second->kept[j].done || a->record != b->record || a->buffer != b->buffer)
                continue;
            compare(pair, a, b);
            first->kept[i].done = second->kept[j].done = true;
        }
    drop_done(first);
    drop_done(second);
}

static tsmith_status each_side(struct pair *pair, tsmith_status (*step)(struct execute_order *, uint32_t),
                               uint32_t node) {
    tsmith_status status = step(pair->sides[0].order, node);
    if (status == TSMITH_OK)
        status = step(pair->sides[1].order, node);
    match_kept(pair);
    return status;
}

static tsmith_status conclude(struct execute_order *order, uint32_t node) {
    (void)node;
    return execute_order_conclude(order);
}

// The first `count` commands.
static tsmith_status run_both(struct pair *pair, size_t count) {
    static const struct execute_options run_options = {.in_place = true};
    tsmith_status status = TSMITH_OK, ended = TSMITH_OK;
    pair->differs = pair->concluding = false;
    for (int i = 0; i < 2; i++) {
        struct side *side = &pair->sides[i];
        side->client = (struct execute_client){
            .context = side, .result = take_result, .note = take_note, .options = &run_options};
        side->order = NULL;
        if (status == TSMITH_OK)
            status = execute_order_begin(side->execution, &pair->plan, pair->options, &side->client,
                                         &side->order, &side->error);
    }
    for (size_t i = 0; i < count && status == TSMITH_OK; i++) {
        if (pair->options->progress)
            pair->options->progress(pair->options->progress_context, i, count);
        status = each_side(pair, execute_order_step, pair->nodes[i]);
        if (status == TSMITH_OK && pair->options->each && !pair->probes)
            status = each_side(pair, execute_order_bring, pair->nodes[i]);
    }
    pair->concluding = true;
    if (status == TSMITH_OK)
        status = each_side(pair, conclude, 0);
    for (int i = 0; i < 2; i++) {
        struct side *side = &pair->sides[i];
        const tsmith_status of_side = execute_order_end(side->order, status);
        ended = ended == TSMITH_OK ? of_side : ended;
        for (size_t j = 0; j < side->kept_count; j++)
            side->kept[j].done = true;
        drop_done(side);
        if (of_side != TSMITH_OK && side->error.message[0])
            status_set(pair->error, of_side, "%s (on %s)", side->error.message,
                       execute_opencl_device(side->execution));
    }
    if (ended == TSMITH_OK && pair->failed)
        ended = status_set(pair->error, TSMITH_ERROR_NO_MEMORY, "out of memory while comparing two devices");
    return ended;
}

static tsmith_status pair_begin(struct pair *pair, struct tsmith_replay *replay,
                                const struct recorded_process *process, const tsmith_replay_options *options,
                                tsmith_error *error) {
    *pair = (struct pair){.replay = replay, .options = options, .error = error};
    pair->sides[0].execution = replay->execution;
    pair->sides[1].execution = replay->against;
    pair->sides[0].pair = pair->sides[1].pair = pair;
    const tsmith_status status = plan_make(&pair->plan, replay->recording, process, error);
    if (status != TSMITH_OK)
        return status;
    pair->nodes = malloc((pair->plan.order_count + 1) * sizeof *pair->nodes);
    if (!pair->nodes)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while comparing two devices");
    for (size_t i = 0; i < pair->plan.order_count; i++)
        if (pair->plan.nodes[pair->plan.order[i]].kind == PLAN_COMMAND)
            pair->nodes[pair->count++] = pair->plan.order[i];
    return TSMITH_OK;
}

static void pair_end(struct pair *pair) {
    free(pair->sides[0].kept);
    free(pair->sides[1].kept);
    free(pair->nodes);
    plan_finish(&pair->plan);
}

tsmith_status two_devices_run(struct tsmith_replay *replay, const tsmith_replay_options *options,
                              tsmith_error *error) {
    struct pair pair;
    tsmith_status status = pair_begin(&pair, replay, replay->process, options, error);
    if (status == TSMITH_OK)
        status = run_both(&pair, pair.count);
    pair_end(&pair);
    return status;
}

// ---- which command

// After this many commands there is a difference for certain: at the first command whose own result differs, or after
// all of them. *exact: it is that command for certain.
static size_t first_known(const struct pair *pair, size_t process, bool *exact) {
    const struct tsmith_replay *replay = pair->replay;
    size_t least = pair->count;
    *exact = false;
    for (size_t i = 0; i < replay->count; i++) {
        const struct gathered *gathered = &replay->gathered[i];
        if (gathered->process != process || replay->results[i].verdict != TSMITH_VERDICT_DIVERGED)
            continue;
        for (size_t j = 0; j < least; j++)
            if (pair->plan.nodes[pair->nodes[j]].record == gathered->record) {
                least = j + 1;
                *exact = pair->options->each != 0;
            }
    }
    return least;
}

static void name(const struct pair *pair, size_t index, uint64_t replays) {
    tsmith_plan_command command;
    plan_describe(&pair->plan, pair->nodes[index], &command);
    pair->replay->culprit = (tsmith_replay_culprit){.pid = pair->plan.process->pid,
                                                    .first = command.command,
                                                    .count = 1,
                                                    .what = command.what,
                                                    .kernel = command.kernel,
                                                    .queue = command.queue,
                                                    .correlation = command.correlation,
                                                    .replays = replays};
}

tsmith_status two_devices_find_first(struct tsmith_replay *replay, const tsmith_replay_options *options,
                                     tsmith_error *error) {
    struct pair pair;
    size_t at = 0, low = 0;
    uint64_t replays = 0;
    bool exact;
    while (at < replay->count && replay->results[at].verdict != TSMITH_VERDICT_DIVERGED)
        at++;
    if (at == replay->count)
        return TSMITH_OK;
    const size_t process = replay->gathered[at].process;
    tsmith_status status = pair_begin(&pair, replay, &replay->recording->processes[process], options, error);
    size_t high = status == TSMITH_OK ? first_known(&pair, process, &exact) : 0;
    pair.probes = true;
    while (status == TSMITH_OK && !exact && high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        status = run_both(&pair, middle);
        replays++;
        if (pair.differs)
            high = middle;
        else
            low = middle;
    }
    if (status == TSMITH_OK && high)
        name(&pair, high - 1, replays);
    pair_end(&pair);
    return status;
}
