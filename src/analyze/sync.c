// SPDX-License-Identifier: Apache-2.0
// What waiting costs. A wait is split where the device finished what it waited for: before that the device worked,
// after that only the return to the host took time. Also: how long finished commands stayed unobserved.
#include <stdlib.h>

#include "analyze/analysis.h"
#include "base/plural.h"

struct group {
    uint32_t name;
    uint8_t role, blocking;
    bool by_times; // it is no wait by its name
    uint64_t count, known, inferred;
    int64_t total, device, back, inferred_total;
};

struct syncs {
    struct group *groups;
    size_t count;
};

static bool is_wait(const tsmith_call *call) {
    return (call->role >= TSMITH_CALL_SYNC_QUEUE && call->role <= TSMITH_CALL_SYNC_EVENT) || call->blocking;
}

static int by_name(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->role != b->role ? (int)a->role - (int)b->role : (int)a->by_times - (int)b->by_times;
}

static int by_total(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return by_name(left, right);
}

static struct group measure(const struct analysis_context *context, uint32_t index) {
    const tsmith_call *call = &context->timeline->calls[index];
    struct group one = {.name = call->name, .role = call->role, .blocking = call->blocking, .count = 1};
    int64_t end = graph_waited_until(context->graph, index);
    one.total = call->end - call->start;
    one.by_times = !is_wait(call);
    if (end != TSMITH_TIME_UNKNOWN && (one.by_times || call->row_inferred)) {
        one.inferred = 1;
        one.inferred_total = one.total;
    }
    if (end == TSMITH_TIME_UNKNOWN || graph_waited_for_untimed(context->graph, index))
        return one;
    one.known = 1;
    one.device = end > call->start ? end - call->start : 0;
    one.back = one.total - one.device;
    return one;
}

static bool collect(struct syncs *syncs, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    const bool inferred = context->graph->counts[TSMITH_EDGE_SYNC_INFERRED];
    size_t count = context->graph->counts[TSMITH_EDGE_SYNC_INFERRED], kept = 0;
    for (size_t i = 0; i < timeline->call_count; i++)
        count += is_wait(&timeline->calls[i]);
    syncs->groups = malloc((count + 1) * sizeof *syncs->groups);
    if (!syncs->groups)
        return false;
    count = 0;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->start >= context->window.from && call->start < context->window.to &&
            (is_wait(call) || (inferred && graph_waited_until(context->graph, i) != TSMITH_TIME_UNKNOWN)))
            syncs->groups[count++] = measure(context, i);
    }
    qsort(syncs->groups, count, sizeof *syncs->groups, by_name);
    for (size_t i = 0; i < count; i++) {
        const struct group *one = &syncs->groups[i];
        struct group *last = kept ? &syncs->groups[kept - 1] : NULL;
        if (!last || by_name(last, one) != 0) {
            syncs->groups[kept++] = *one;
            continue;
        }
        last->count += one->count;
        last->known += one->known;
        last->inferred += one->inferred;
        last->inferred_total = sweep_add(last->inferred_total, one->inferred_total);
        last->total = sweep_add(last->total, one->total);
        last->device = sweep_add(last->device, one->device);
        last->back = sweep_add(last->back, one->back);
    }
    syncs->count = kept;
    qsort(syncs->groups, kept, sizeof *syncs->groups, by_total);
    return true;
}

static void write_finding(const struct group *all, const struct analysis_context *context,
                          struct report *report) {
    const uint64_t count = all->count, known = all->known;
    char time[REPORT_TEXT], way[REPORT_TEXT];
    if (!count && !context->timeline->call_count)
        report_finding(report, "No call of a host thread is in the %s: its waits are not known.",
                       context->scope);
    else if (!count)
        report_finding(report, "No wait of a host thread for a device is in the %s.", context->scope);
    else if (!known)
        report_finding(
            report, "Host threads waited %llu time%s, %s in all; when the device had finished is not known.",
            (unsigned long long)count, report_plural(count), report_duration(time, all->total));
    else
        report_finding(
            report,
            "Host threads waited %llu time%s, %s in all; for %s of it the device had already finished.",
            (unsigned long long)count, report_plural(count), report_duration(time, all->total),
            report_duration(way, all->back));
    if (all->inferred)
        report_note(report,
                    "%llu of the waits %s inferred, %s (%.1f%% of the time of all waits): from the call's "
                    "own times, or "
                    "from what its thread launched last.",
                    (unsigned long long)all->inferred, all->inferred == 1 ? "is" : "are",
                    report_duration(time, all->inferred_total),
                    report_percent(all->inferred_total, all->total));
    if (known < count)
        report_note(report,
                    "%llu of %llu %s %s not matched with commands: there was nothing to wait for, or the "
                    "trace does not tell when it ended.",
                    (unsigned long long)(count - known), (unsigned long long)count,
                    plural(count, "wait", "waits"), plural(count - known, "is", "are"));
}

static void write_calls(const struct syncs *syncs, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"call", TSMITH_CELL_TEXT},
                                                   {"role", TSMITH_CELL_TEXT},
                                                   {"count", TSMITH_CELL_COUNT},
                                                   {"total", TSMITH_CELL_DURATION},
                                                   {"device_work", TSMITH_CELL_DURATION},
                                                   {"return_delay", TSMITH_CELL_DURATION},
                                                   {"matched", TSMITH_CELL_COUNT}};
    struct report_table *table = REPORT_TABLE(
        report, "waits",
        "host waits; device_work and return_delay are of those matched with what they waited for", COLUMNS);
    struct group all = {0};
    for (size_t i = 0; i < syncs->count; i++) {
        const struct group *group = &syncs->groups[i];
        report_text(report, table, tsmith_dictionary_string(context->dictionary, group->name));
        report_text(report, table,
                    analysis_text(group->by_times   ? "inferred"
                                  : group->blocking ? "blocking_call"
                                                    : tsmith_call_role_name((tsmith_call_role)group->role)));
        report_integer(report, table, (int64_t)group->count);
        report_integer(report, table, group->total);
        if (group->known) {
            report_integer(report, table, group->device);
            report_integer(report, table, group->back);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
        report_integer(report, table, (int64_t)group->known);
        all.count += group->count;
        all.known += group->known;
        all.inferred += group->inferred;
        all.inferred_total = sweep_add(all.inferred_total, group->inferred_total);
        all.total = sweep_add(all.total, group->total);
        all.back = sweep_add(all.back, group->back);
    }
    write_finding(&all, context, report);
}

static void write_unobserved(const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"queue", TSMITH_CELL_TEXT},
                                                   {"observed", TSMITH_CELL_COUNT},
                                                   {"never_observed", TSMITH_CELL_COUNT},
                                                   {"mean_unobserved", TSMITH_CELL_DURATION},
                                                   {"longest_unobserved", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "unobserved", "from the end of a command until a wait that covers it returned", COLUMNS);
    size_t count;
    const tsmith_life *lives = tsmith_states_lives(context->states, &count);
    for (size_t r = 0; r < context->timeline->row_count; r++) {
        const tsmith_row *row = &context->timeline->rows[r];
        int64_t observed = 0, never = 0, total = 0, longest = 0;
        for (uint32_t i = row->first_command; i < row->first_command + row->command_count; i++) {
            if (!timeline_runs(&context->timeline->commands[i]))
                continue;
            if (lives[i].observed == TSMITH_TIME_UNKNOWN) {
                never++;
                continue;
            }
            int64_t time = lives[i].observed - context->timeline->commands[i].end;
            observed++;
            total = sweep_add(total, time);
            longest = time > longest ? time : longest;
        }
        analysis_track_text(report, table, context, row->track);
        report_integer(report, table, observed);
        report_integer(report, table, never);
        if (observed) {
            report_integer(report, table, total / observed);
            report_integer(report, table, longest);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
    }
}

// Copies from or to memory that is not pinned are staged, and the call returns only when the host's part is done: also
// of a call that is called asynchronous.
static void write_pageable(const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"direction", TSMITH_CELL_TEXT},   {"copies", TSMITH_CELL_COUNT}, {"moved", TSMITH_CELL_BYTES},
        {"copying", TSMITH_CELL_DURATION}, {"called", TSMITH_CELL_COUNT}, {"host", TSMITH_CELL_DURATION}};
    enum { DIRECTIONS = TSMITH_DIRECTION_PEER_TO_PEER + 1 };
    struct {
        int64_t copies, sized, moved, time, called, host;
    } sums[DIRECTIONS] = {0};
    const tsmith_timeline *timeline = context->timeline;
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        size_t direction = command->direction < DIRECTIONS ? command->direction : 0;
        if (!command->pageable || !timeline_runs(command) || command->start < context->window.from ||
            command->start >= context->window.to)
            continue;
        sums[direction].copies++;
        const uint64_t bytes = tsmith_command_bytes(timeline, command);
        sums[direction].sized += bytes > 0;
        sums[direction].moved =
            sweep_add(sums[direction].moved, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
        sums[direction].time = sweep_add(sums[direction].time, command->end - command->start);
        if (command->call == TSMITH_INDEX_NONE)
            continue;
        const tsmith_call *call = &timeline->calls[command->call];
        sums[direction].called++;
        sums[direction].host = sweep_add(sums[direction].host, call->end - call->start);
    }
    struct report_table *table = REPORT_TABLE(
        report, "pageable",
        "copies from or to host memory that is not pinned, and the host's time in the calls that made them",
        COLUMNS);
    for (size_t i = 0; i < DIRECTIONS; i++) {
        if (!sums[i].copies)
            continue;
        report_text(report, table, analysis_text(i ? tsmith_direction_name((tsmith_direction)i) : "unknown"));
        report_integer(report, table, sums[i].copies);
        if (sums[i].sized)
            report_integer(report, table, sums[i].moved);
        else
            report_unknown(report, table);
        report_integer(report, table, sums[i].time);
        report_integer(report, table, sums[i].called);
        if (sums[i].called)
            report_integer(report, table, sums[i].host);
        else
            report_unknown(report, table);
    }
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct syncs *syncs = state;
    if (!collect(syncs, context))
        return TSMITH_ERROR_NO_MEMORY;
    write_calls(syncs, context, report);
    write_unobserved(context, report);
    write_pageable(context, report);
    return TSMITH_OK;
}

static void release(void *state) {
    free(((struct syncs *)state)->groups);
}

const struct analysis_kind analysis_sync = {
    .name = "sync",
    .question = "What does waiting for the devices cost?",
    .needs = NEEDS_STATES,
    .state_size = sizeof(struct syncs),
    .finish = finish,
    .release = release,
};
