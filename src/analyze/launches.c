// SPDX-License-Identifier: Apache-2.0
// What launching costs: the calls, and the way from the call to the start. As in Holistic Trace Analysis, a delay is
// a property of launching only if the queue was empty: such launches are "idle", the others "queued".
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/samples.h"
#include "analyze/tally.h"

struct name_entry {
    uint32_t name;
    struct samples calls; // without what they waited for a device
    int64_t waiting, inferred;
};

// The way to the device of commands whose times on it are known: from the call to the queue, to the device, to the start.
enum { STEPS = 3 };
struct steps {
    struct samples each[STEPS];
};

struct launches {
    struct tally numbers; // of names
    struct name_entry *names;
    size_t count;
    struct samples *delays; // by row: idle launches
    struct samples *queued; // by row: the others
    struct steps *steps;    // by row
    size_t row_count;
};

static int by_total(const void *left, const void *right) {
    const struct name_entry *a = left, *b = right;
    if (a->calls.total != b->calls.total)
        return a->calls.total > b->calls.total ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

// Numbers the names of the calls that launch.
static bool list_names(struct launches *launches, const tsmith_timeline *timeline) {
    for (size_t i = 0; i < timeline->call_count; i++)
        if (timeline->calls[i].command_count &&
            tally_number(&launches->numbers, timeline->calls[i].name) == UINT32_MAX)
            return false;
    launches->names = calloc(launches->numbers.count + 1, sizeof *launches->names);
    launches->count = launches->names ? launches->numbers.count : 0;
    for (size_t i = 0; i < launches->count; i++)
        launches->names[i].name = (uint32_t)launches->numbers.keys[i];
    return launches->names;
}

static bool measure_steps(struct launches *launches, const tsmith_timeline *timeline,
                          const tsmith_command *command) {
    struct steps *steps = &launches->steps[command->row];
    const tsmith_command_times times = timeline_times(timeline, command);
    if (times.queued == TSMITH_TIME_UNKNOWN || times.submitted == TSMITH_TIME_UNKNOWN)
        return true;
    return samples_add(&steps->each[0], times.queued - timeline->calls[command->call].start) &&
           samples_add(&steps->each[1], times.submitted - times.queued) &&
           samples_add(&steps->each[2], command->start - times.submitted);
}

// ns that a launching call spent waiting for a device to finish.
static int64_t waited_ns(const struct analysis_context *context, uint32_t index) {
    const tsmith_call *call = &context->timeline->calls[index];
    if (!call->blocking && !context->graph->counts[TSMITH_EDGE_SYNC_INFERRED])
        return 0;
    const int64_t until = graph_waited_until(context->graph, index);
    return until == TSMITH_TIME_UNKNOWN || until <= call->start ? 0 : until - call->start;
}

static bool measure(struct launches *launches, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    tsmith_interval window = context->window;
    size_t count;
    const tsmith_life *lives = tsmith_states_lives(context->states, &count);
    for (size_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (!call->command_count || call->start < window.from || call->start >= window.to)
            continue;
        struct name_entry *entry =
            &launches->names[tally_number(&launches->numbers, call->name)]; // it is there
        const int64_t waiting = waited_ns(context, (uint32_t)i);
        entry->waiting = sweep_add(entry->waiting, waiting);
        entry->inferred = sweep_add(entry->inferred, call->blocking ? 0 : waiting);
        if (!samples_add(&entry->calls, call->end - call->start - waiting))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!timeline_runs(command) || command->call == TSMITH_INDEX_NONE || command->start < window.from ||
            command->start >= window.to)
            continue;
        struct samples *samples = lives[i].block == TSMITH_BLOCK_NONE ? launches->delays : launches->queued;
        const int64_t start = graph_command_time(context->graph, (uint32_t)i, false);
        if (!samples_add(&samples[command->row], start - timeline->calls[command->call].start) ||
            !measure_steps(launches, timeline, command))
            return false;
    }
    return true;
}

static void write_calls(const struct launches *launches, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"call", TSMITH_CELL_TEXT},    {"count", TSMITH_CELL_COUNT},     {"total", TSMITH_CELL_DURATION},
        {"min", TSMITH_CELL_DURATION}, {"median", TSMITH_CELL_DURATION}, {"p99", TSMITH_CELL_DURATION},
        {"max", TSMITH_CELL_DURATION}, {"waiting", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(report, "calls",
                                              "time the host spends in calls that enqueue something, without "
                                              "the time in which they wait for a device",
                                              COLUMNS);
    for (size_t i = 0; i < launches->count; i++) {
        struct samples *calls = &launches->names[i].calls;
        if (!calls->count)
            continue;
        report_text(report, table, tsmith_dictionary_string(context->dictionary, launches->names[i].name));
        report_integer(report, table, (int64_t)calls->count);
        report_integer(report, table, calls->total);
        report_integer(report, table, calls->min);
        report_integer(report, table, samples_quantile(calls, 0.5));
        report_integer(report, table, samples_quantile(calls, 0.99));
        report_integer(report, table, calls->max);
        report_integer(report, table, launches->names[i].waiting);
    }
}

static void write_delays(const struct launches *launches, const struct analysis_context *context,
                         struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"queue", TSMITH_CELL_TEXT},
                                                   {"idle_launches", TSMITH_CELL_COUNT},
                                                   {"delay_min", TSMITH_CELL_DURATION},
                                                   {"delay_median", TSMITH_CELL_DURATION},
                                                   {"delay_p99", TSMITH_CELL_DURATION},
                                                   {"delay_max", TSMITH_CELL_DURATION},
                                                   {"queued_launches", TSMITH_CELL_COUNT},
                                                   {"queued_median", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "delays",
        "from the begin of the call to the start on the device, by whether earlier work was in the queue",
        COLUMNS);
    for (size_t i = 0; i < launches->row_count; i++) {
        struct samples *delays = &launches->delays[i], *queued = &launches->queued[i];
        if (!delays->count && !queued->count)
            continue;
        analysis_track_text(report, table, context, context->timeline->rows[i].track);
        report_integer(report, table, (int64_t)delays->count);
        for (int k = 0; k < 4; k++) {
            static const double SHARES[] = {0, 0.5, 0.99, 1};
            if (delays->count)
                report_integer(report, table, samples_quantile(delays, SHARES[k]));
            else
                report_unknown(report, table);
        }
        report_integer(report, table, (int64_t)queued->count);
        if (queued->count)
            report_integer(report, table, samples_quantile(queued, 0.5));
        else
            report_unknown(report, table);
    }
}

static void write_steps(const struct launches *launches, const struct analysis_context *context,
                        struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"queue", TSMITH_CELL_TEXT},
                                                   {"launches", TSMITH_CELL_COUNT},
                                                   {"to_queued_median", TSMITH_CELL_DURATION},
                                                   {"to_submitted_median", TSMITH_CELL_DURATION},
                                                   {"to_start_median", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "steps", "medians for the commands whose queued and submitted times are known", COLUMNS);
    for (size_t i = 0; i < launches->row_count; i++) {
        struct steps *steps = &launches->steps[i];
        if (!steps->each[0].count)
            continue;
        analysis_track_text(report, table, context, context->timeline->rows[i].track);
        report_integer(report, table, (int64_t)steps->each[0].count);
        for (int step = 0; step < STEPS; step++)
            report_integer(report, table, samples_quantile(&steps->each[step], 0.5));
    }
}

static void write_finding(const struct launches *launches, const struct analysis_context *context,
                          struct report *report) {
    const tsmith_timeline *timeline = context->timeline;
    uint64_t commands = 0, paired = 0, shorter = 0;
    int64_t total = 0, waiting = 0, inferred = 0;
    char calls[REPORT_TEXT], waits[REPORT_TEXT], part[REPORT_TEXT];
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!timeline_runs(command) || command->start < context->window.from ||
            command->start >= context->window.to)
            continue;
        commands++;
        if (command->call == TSMITH_INDEX_NONE)
            continue;
        const tsmith_call *call = &timeline->calls[command->call];
        paired++;
        shorter +=
            command->kind == TSMITH_KIND_KERNEL &&
            command->end - command->start < call->end - call->start - waited_ns(context, command->call);
    }
    for (size_t i = 0; i < launches->count; i++) {
        total = sweep_add(total, launches->names[i].calls.total);
        waiting = sweep_add(waiting, launches->names[i].waiting);
        inferred = sweep_add(inferred, launches->names[i].inferred);
    }
    if (!commands)
        report_finding(report, "No command of a device takes time in the %s.", context->scope);
    else if (!paired)
        report_finding(report, "No command can be paired with the call that launched it.");
    else
        report_finding(
            report,
            "The host spends %s in launching calls; %llu of %llu command%s (%.1f%%) are kernels that run "
            "shorter than the call that launched them.",
            report_duration(calls, total), (unsigned long long)shorter, (unsigned long long)paired,
            report_plural(paired), report_percent((int64_t)shorter, (int64_t)paired));
    if (waiting)
        report_note(report,
                    "Launching calls also wait %s for a device to finish; %s of that are inferred from their "
                    "times.",
                    report_duration(waits, waiting), report_duration(part, inferred));
    if (shorter)
        advice_evidence(context->advice, ADVICE_LAUNCH,
                        "%llu of %llu command%s: a kernel shorter than the call that launched it.",
                        (unsigned long long)shorter, (unsigned long long)paired, report_plural(paired));
    if (paired < commands)
        report_note(report, "The trace has no launching call of %llu of %llu command%s.",
                    (unsigned long long)(commands - paired), (unsigned long long)commands,
                    report_plural(commands));
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct launches *launches = state;
    launches->row_count = context->timeline->row_count;
    launches->delays = calloc(launches->row_count + 1, sizeof *launches->delays);
    launches->queued = calloc(launches->row_count + 1, sizeof *launches->queued);
    launches->steps = calloc(launches->row_count + 1, sizeof *launches->steps);
    if (!launches->delays || !launches->queued || !launches->steps ||
        !list_names(launches, context->timeline) || !measure(launches, context))
        return TSMITH_ERROR_NO_MEMORY;
    qsort(launches->names, launches->count, sizeof *launches->names, by_total);
    write_calls(launches, context, report);
    write_delays(launches, context, report);
    write_steps(launches, context, report);
    write_finding(launches, context, report);
    return TSMITH_OK;
}

static void release(void *state) {
    struct launches *launches = state;
    for (size_t i = 0; i < launches->count && launches->names; i++)
        samples_finish(&launches->names[i].calls);
    for (size_t i = 0; i < launches->row_count; i++) {
        if (launches->delays)
            samples_finish(&launches->delays[i]);
        if (launches->queued)
            samples_finish(&launches->queued[i]);
        for (int step = 0; step < STEPS && launches->steps; step++)
            samples_finish(&launches->steps[i].each[step]);
    }
    tally_finish(&launches->numbers);
    free(launches->names);
    free(launches->delays);
    free(launches->queued);
    free(launches->steps);
}

const struct analysis_kind analysis_launches = {
    .name = "launches",
    .question = "What does launching cost, and how long is the way to the device?",
    .needs = NEEDS_STATES,
    .state_size = sizeof(struct launches),
    .finish = finish,
    .release = release,
    .advises = true,
};
