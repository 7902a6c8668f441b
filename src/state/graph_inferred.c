// SPDX-License-Identifier: Apache-2.0
// Calls that waited, by their times: they returned only after a device had finished, independent of their names.
//
// A call that launched commands, is not a wait by its name, and returned after the last of them had ended is one if
//   - the last is a copy from or to pageable memory, or
//   - similar calls did so every time it could be determined: of the commands that calls of this name launched of this work and
//     direction, LONG_LEAST or more ran for twice as long as an ordinary launching call takes, and 19 of 20 of these had
//     ended when the call returned, or
//   - it took WAIT_LEAST and four times as long as an ordinary launching call, for at least half of the time up to the
//     end its queue ran, and it returned soon after that end.
// A call that launched nothing is one if calls of its name return soon after the last command of the process that was
// enqueued before them has ended, more often than by chance, and at least 4 times out of 5.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/table.h"
#include "state/graph.h"
#include "state/sweep.h"

enum {
    WAIT_LEAST = 50000,
    SOON = 30000,
    LONG_LEAST = 3,
    ORDINARY_UNKNOWN = 10000,
    SAMPLES = 65536,
    ROWS_MOST = 64,
    COMMANDS_MOST = 4096
};

bool graph_is_no_chance(double times, double expected) {
    if (times <= expected || times < 1)
        return false;
    if (expected <= 0)
        return true;
    return times - expected + times * log(expected / times) < log(1e-3); // Chernoff's bound for a Poisson sum
}

static int64_t soon_limit(int64_t least, int64_t part) {
    return part > least ? part : least;
}

static bool may_wait(const tsmith_call *call) {
    return !call->blocking && call->role != TSMITH_CALL_RECORD && call->role != TSMITH_CALL_WAIT_EVENT &&
           !(call->role >= TSMITH_CALL_SYNC_QUEUE && call->role <= TSMITH_CALL_SYNC_EVENT);
}

// ---- calls that launched

// A command that had ended when its call returned.
struct candidate {
    uint32_t call, command;
};

// Commands of calls of one name, of one work and direction.
struct like {
    uint64_t key; // 0: free
    uint64_t of_length, ended;
};

struct inferring {
    struct graph_builder *builder;
    const tsmith_timeline *timeline;
    struct candidate *candidates;
    size_t count, capacity;
    struct like *likes; // open addressing
    size_t like_slots;
    int64_t ordinary; // what a launching call takes that does not wait
};

static bool is_launched(const tsmith_timeline *timeline, const tsmith_command *command) {
    return command->call != TSMITH_INDEX_NONE && command->kind != TSMITH_KIND_COMPILE && !command->untimed &&
           may_wait(&timeline->calls[command->call]);
}

// Whether a command had ended when its call returned, for every admissible offset of its device's clock.
static bool had_ended(const struct inferring *inferring, uint32_t index) {
    const tsmith_command *command = &inferring->timeline->commands[index];
    const tsmith_graph *graph = inferring->builder->graph;
    int64_t end = graph_command_time(graph, index, true);
    if (graph->placed) {
        const tsmith_device_clock *clock = &graph->clocks[inferring->timeline->rows[command->row].device];
        end += clock->state == TSMITH_CLOCK_PLACED && clock->high != TSMITH_TIME_UNKNOWN
                   ? clock->high - clock->offset
                   : 0;
    }
    return end <= inferring->timeline->calls[command->call].end;
}

static bool find_candidates(struct inferring *inferring) {
    const tsmith_timeline *timeline = inferring->timeline;
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        timeline_fetch_call(timeline, i, (uint32_t)timeline->command_count);
        if (!is_launched(timeline, command) || !had_ended(inferring, i))
            continue;
        if (!ARRAY_RESERVE(inferring->candidates, inferring->capacity, inferring->count + 1))
            return false;
        inferring->candidates[inferring->count++] = (struct candidate){command->call, i};
    }
    return true;
}

static int by_call(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return a->command < b->command ? -1 : a->command > b->command;
}

// For each call whose commands had all ended, the one that ended last.
static void keep_last(struct inferring *inferring) {
    const tsmith_command *commands = inferring->timeline->commands;
    size_t kept = 0;
    qsort(inferring->candidates, inferring->count, sizeof *inferring->candidates, by_call);
    for (size_t from = 0, to; from < inferring->count; from = to) {
        struct candidate last = inferring->candidates[from];
        for (to = from + 1; to < inferring->count && inferring->candidates[to].call == last.call; to++)
            if (commands[inferring->candidates[to].command].end > commands[last.command].end)
                last = inferring->candidates[to];
        if (to - from == inferring->timeline->calls[last.call].command_count)
            inferring->candidates[kept++] = last;
    }
    inferring->count = kept;
}

// The median duration of launching calls that returned before their command had ended; of very many, of a part.
static bool find_ordinary(struct inferring *inferring) {
    const tsmith_timeline *timeline = inferring->timeline;
    int64_t *times = malloc(2 * SAMPLES * sizeof *times);
    const size_t step = timeline->command_count / SAMPLES + 1;
    size_t count = 0;
    for (size_t i = 0; times && i < timeline->command_count; i += step) {
        const tsmith_command *command = &timeline->commands[i];
        if (is_launched(timeline, command) && !had_ended(inferring, (uint32_t)i))
            times[count++] = timeline->calls[command->call].end - timeline->calls[command->call].start;
    }
    if (times && count)
        sweep_sort(times, times + SAMPLES, count);
    inferring->ordinary = times && count ? times[(count - 1) / 2] : ORDINARY_UNKNOWN;
    free(times);
    return times;
}

static uint64_t like_key(const struct inferring *inferring, uint32_t index) {
    const tsmith_command *command = &inferring->timeline->commands[index];
    return (uint64_t)inferring->timeline->calls[command->call].name << 16 | (uint64_t)command->work << 12 |
           (uint64_t)(command->direction & 15) << 8 | 1;
}

static struct like *find_like(const struct inferring *inferring, uint64_t key) {
    return TABLE_SLOT(inferring->likes, inferring->like_slots, key * 0x9e3779b97f4a7c15u >> 20, slot,
                      !slot->key || slot->key == key);
}

// Counts, of what the candidates are like, the commands that ran for long.
static bool count_likes(struct inferring *inferring) {
    const tsmith_timeline *timeline = inferring->timeline;
    inferring->like_slots = table_capacity(inferring->count);
    inferring->likes = calloc(inferring->like_slots, sizeof *inferring->likes);
    if (!inferring->likes)
        return false;
    for (size_t i = 0; i < inferring->count; i++) {
        const uint64_t key = like_key(inferring, inferring->candidates[i].command);
        find_like(inferring, key)->key = key;
    }
    for (uint32_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (command->end - command->start < 2 * inferring->ordinary || !is_launched(timeline, command))
            continue;
        struct like *like = find_like(inferring, like_key(inferring, i));
        like->of_length += like->key != 0;
        like->ended += like->key != 0 && had_ended(inferring, i);
    }
    return true;
}

// ns before the end of a command, from `from` on, in which its queue ran.
static int64_t queue_ran(const struct inferring *inferring, uint32_t index, int64_t from) {
    const tsmith_timeline *timeline = inferring->timeline;
    const tsmith_row *row = &timeline->rows[timeline->commands[index].row];
    int64_t sum = 0, until = INT64_MAX;
    const uint32_t first =
        index - row->first_command > COMMANDS_MOST ? index - COMMANDS_MOST : row->first_command;
    for (uint32_t i = index + 1; i-- > first;) {
        const tsmith_command *command = &timeline->commands[i];
        const int64_t end = command->end < until ? command->end : until,
                      begin = command->start > from ? command->start : from;
        if (command->end <= from && timeline_runs(command))
            break;
        sum += timeline_runs(command) && end > begin ? end - begin : 0;
        until = begin < until ? begin : until;
    }
    return sum;
}

static bool has_waited(const struct inferring *inferring, const struct candidate *candidate) {
    const tsmith_graph *graph = inferring->builder->graph;
    const tsmith_command *command = &inferring->timeline->commands[candidate->command];
    const tsmith_call *call = &inferring->timeline->calls[candidate->call];
    const int64_t end = graph_command_time(graph, candidate->command, true), took = call->end - call->start;
    if (!timeline_runs(command) || end <= call->start)
        return false;
    if (command->pageable)
        return true;
    const struct like *like = find_like(inferring, like_key(inferring, candidate->command));
    if (like->of_length >= LONG_LEAST && like->ended >= like->of_length - like->of_length / 20)
        return true;
    if (took < WAIT_LEAST || took / 4 < inferring->ordinary || call->end - end > soon_limit(SOON, took / 4))
        return false;
    const uint32_t device = inferring->timeline->rows[command->row].device;
    return queue_ran(inferring, candidate->command, graph_on_device(graph, device, call->start)) >=
           (end - call->start) / 2;
}

static bool infer_launching(struct inferring *inferring) {
    struct graph_builder *builder = inferring->builder;
    if (!find_candidates(inferring))
        return false;
    if (!inferring->count)
        return true;
    keep_last(inferring);
    if (!find_ordinary(inferring) || !count_likes(inferring))
        return false;
    for (size_t i = 0; i < inferring->count; i++)
        if (has_waited(inferring, &inferring->candidates[i]))
            graph_add(builder, TSMITH_EDGE_SYNC_INFERRED, inferring->candidates[i].command,
                      graph_call_node(builder->graph, inferring->candidates[i].call));
    return true;
}

// ---- calls that launched nothing

// A call of some length during which a device had something to do, with what ended last of that.
struct other {
    uint32_t name, call, command;
    bool soon;
    double chance; // that it returns soon after by chance
};

static int by_name(const void *left, const void *right) {
    const struct other *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

static struct other measure(const struct graph_builder *builder, uint32_t index) {
    const tsmith_timeline *timeline = builder->timeline;
    const tsmith_call *call = &timeline->calls[index];
    const uint32_t process = timeline->threads[call->thread].process;
    struct other one = {.name = call->name, .call = index, .command = TSMITH_INDEX_NONE};
    int64_t end = call->start;
    for (uint32_t row = 0; row < timeline->row_count; row++) {
        const uint32_t last = timeline->rows[row].process == process
                                  ? graph_last_before(builder, row, call->start)
                                  : TSMITH_INDEX_NONE;
        if (last != TSMITH_INDEX_NONE && graph_command_time(builder->graph, last, true) > end) {
            end = graph_command_time(builder->graph, last, true);
            one.command = last;
        }
    }
    const int64_t took = call->end - call->start, limit = soon_limit(SOON, took / 10);
    one.soon = end <= call->end && call->end - end <= limit;
    one.chance = (double)limit < (double)took ? (double)limit / (double)took : 1;
    return one;
}

static void add_name(struct graph_builder *builder, const struct other *first, size_t count) {
    double expected = 0;
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        expected += first[i].chance;
        hits += first[i].soon;
    }
    if (5 * hits < 4 * count || !graph_is_no_chance((double)hits, expected))
        return;
    for (size_t i = 0; i < count; i++)
        if (first[i].soon)
            graph_add(builder, TSMITH_EDGE_SYNC_INFERRED, first[i].command,
                      graph_call_node(builder->graph, first[i].call));
}

static bool infer_others(struct graph_builder *builder) {
    const tsmith_timeline *timeline = builder->timeline;
    struct other *others = NULL;
    size_t count = 0, capacity = 0;
    if (timeline->row_count > ROWS_MOST)
        return true;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->command_count || call->end - call->start < WAIT_LEAST || !may_wait(call) ||
            call->role == TSMITH_CALL_COMPILE || timeline_call_details(timeline, call).wait_count)
            continue;
        const struct other one = measure(builder, i);
        if (one.command == TSMITH_INDEX_NONE)
            continue;
        if (!ARRAY_RESERVE(others, capacity, count + 1)) {
            free(others);
            return false;
        }
        others[count++] = one;
    }
    if (count)
        qsort(others, count, sizeof *others, by_name);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && others[to].name == others[from].name;)
            to++;
        add_name(builder, others + from, to - from);
    }
    free(others);
    return true;
}

void graph_infer_waits(struct graph_builder *builder) {
    struct inferring inferring = {.builder = builder, .timeline = builder->timeline};
    if (!builder->failed && (!infer_launching(&inferring) || !infer_others(builder)))
        builder->failed = true;
    free(inferring.candidates);
    free(inferring.likes);
}
