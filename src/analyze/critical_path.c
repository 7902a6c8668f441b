// SPDX-License-Identifier: Apache-2.0
// What decides how long it all takes: the critical path by kind and by name, and the slack of what is not on it.
#include "state/critical_path.h"

#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/tally.h"
#include "base/array.h"
#include "base/plural.h"

// The kinds of steps: the nodes' own work by what they are, then the edges.
enum { OWN_CALL = TSMITH_WORK_LIMIT, OWN_COMPILE, OWN_LIMIT, CLASSES = OWN_LIMIT + PATH_LIMIT };

struct part {
    uint32_t class, name;
    uint64_t count;
    int64_t time;
};

struct by_kernel {
    uint32_t name;
    uint32_t computes;
    uint64_t count, critical;
    int64_t total, on_path, least_slack;
};

struct state {
    struct critical_path path;
    struct tally part_numbers, kernel_numbers;
    struct part *parts;
    struct by_kernel *kernels;
    size_t part_capacity, kernel_capacity;
};

static uint32_t class_of(const struct analysis_context *context, const struct path_step *step) {
    if (step->kind != PATH_RUN)
        return OWN_LIMIT + step->kind;
    const uint32_t commands = context->graph->command_count;
    if (step->node >= commands)
        return context->timeline->calls[step->node - commands].role == TSMITH_CALL_COMPILE ? OWN_COMPILE
                                                                                           : OWN_CALL;
    const tsmith_command *command = &context->timeline->commands[step->node];
    return command->kind == TSMITH_KIND_COMPILE ? OWN_COMPILE : command->work;
}

static const char *class_name(uint32_t class) {
    if (class < OWN_CALL)
        return tsmith_work_name((tsmith_work) class);
    if (class < OWN_LIMIT)
        return path_call_name(
            &(tsmith_call){.role = class == OWN_COMPILE ? TSMITH_CALL_COMPILE : TSMITH_CALL_OTHER});
    return path_edge_name(class - OWN_LIMIT);
}

static uint32_t name_of(const struct analysis_context *context, uint32_t node) {
    uint32_t commands = context->graph->command_count;
    return node < commands ? context->timeline->commands[node].name
                           : context->timeline->calls[node - commands].name;
}

static int by_class_and_name(const void *left, const void *right) {
    const struct part *a = left, *b = right;
    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_time(const void *left, const void *right) {
    const struct part *a = left, *b = right;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return by_class_and_name(left, right);
}

static tsmith_status write_parts(struct state *state, const struct analysis_context *context,
                                 struct report *report, int64_t length) {
    static const tsmith_report_column COLUMNS[] = {{"what", TSMITH_CELL_TEXT},
                                                   {"name", TSMITH_CELL_TEXT},
                                                   {"count", TSMITH_CELL_COUNT},
                                                   {"time", TSMITH_CELL_DURATION},
                                                   {"share", TSMITH_CELL_SHARE}};
    for (size_t i = 0; i < state->path.count; i++) {
        const struct path_step *step = &state->path.steps[i];
        uint32_t class = class_of(context, step), name = name_of(context, step->node);
        size_t known = state->part_numbers.count;
        uint32_t number = tally_number(&state->part_numbers, (uint64_t) class << 32 | name);
        if (number == UINT32_MAX ||
            !ARRAY_RESERVE(state->parts, state->part_capacity, state->part_numbers.count))
            return TSMITH_ERROR_NO_MEMORY;
        if (number == known)
            state->parts[number] = (struct part){.class = class, .name = name};
        state->parts[number].count++;
        state->parts[number].time += step->to - step->from;
    }
    size_t kept = state->part_numbers.count;
    if (kept)
        qsort(state->parts, kept, sizeof *state->parts, by_time);
    struct report_table *table = REPORT_TABLE(
        report, "names",
        "the path by kind and name; time between two commands has the name of the one that waited", COLUMNS);
    for (size_t i = 0; i < kept; i++) {
        report_text(report, table, analysis_text(class_name(state->parts[i].class)));
        report_text(report, table, tsmith_dictionary_string(context->dictionary, state->parts[i].name));
        report_integer(report, table, (int64_t)state->parts[i].count);
        report_integer(report, table, state->parts[i].time);
        report_share(report, table, state->parts[i].time, length);
    }
    return TSMITH_OK;
}

static int by_kernel_name(const void *left, const void *right) {
    const struct by_kernel *a = left, *b = right;
    return a->name < b->name ? -1 : a->name > b->name;
}

static int by_path_time(const void *left, const void *right) {
    const struct by_kernel *a = left, *b = right;
    if (a->on_path != b->on_path)
        return a->on_path > b->on_path ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return by_kernel_name(left, right);
}

// The entry of a command's name; NULL when memory is exhausted.
static struct by_kernel *kernel_of(struct state *state, uint32_t name) {
    size_t known = state->kernel_numbers.count;
    uint32_t number = tally_number(&state->kernel_numbers, name);
    if (number == UINT32_MAX ||
        !ARRAY_RESERVE(state->kernels, state->kernel_capacity, state->kernel_numbers.count))
        return NULL;
    if (number == known)
        state->kernels[number] = (struct by_kernel){.name = name, .least_slack = INT64_MAX};
    return &state->kernels[number];
}

static tsmith_status add_up_kernels(struct state *state, const tsmith_timeline *timeline) {
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!timeline_runs(command))
            continue;
        struct by_kernel *kernel = kernel_of(state, command->name);
        if (!kernel)
            return TSMITH_ERROR_NO_MEMORY;
        int64_t slack = state->path.slack[i];
        kernel->count++;
        kernel->computes = command->work == TSMITH_WORK_COMPUTE;
        kernel->critical += slack == 0;
        kernel->total = sweep_add(kernel->total, command->end - command->start);
        kernel->least_slack = slack < kernel->least_slack ? slack : kernel->least_slack;
    }
    for (size_t i = 0; i < state->path.count; i++) {
        const struct path_step *step = &state->path.steps[i];
        if (step->kind != PATH_RUN || step->node >= timeline->command_count ||
            !timeline_runs(&timeline->commands[step->node]))
            continue;
        struct by_kernel *kernel = kernel_of(state, timeline->commands[step->node].name);
        if (kernel)
            kernel->on_path += step->to - step->from;
    }
    return TSMITH_OK;
}

static tsmith_status write_slack(struct state *state, const struct analysis_context *context,
                                 struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kernel", TSMITH_CELL_TEXT},         {"count", TSMITH_CELL_COUNT},
        {"total", TSMITH_CELL_DURATION},      {"on_path", TSMITH_CELL_DURATION},
        {"without_slack", TSMITH_CELL_COUNT}, {"least_slack", TSMITH_CELL_DURATION}};
    tsmith_status status = add_up_kernels(state, context->timeline);
    size_t kept = state->kernel_numbers.count;
    if (status != TSMITH_OK)
        return status;
    if (kept)
        qsort(state->kernels, kept, sizeof *state->kernels, by_path_time);
    struct report_table *table =
        REPORT_TABLE(report, "slack",
                     "commands by name: how much of them is on the path, and the smallest slack", COLUMNS);
    for (size_t i = 0; i < kept; i++) {
        const struct by_kernel *kernel = &state->kernels[i];
        report_text(report, table, tsmith_dictionary_string(context->dictionary, kernel->name));
        report_integer(report, table, (int64_t)kernel->count);
        report_integer(report, table, kernel->total);
        report_integer(report, table, kernel->on_path);
        report_integer(report, table, (int64_t)kernel->critical);
        report_integer(report, table, kernel->least_slack);
    }
    return TSMITH_OK;
}

static void advise(const struct state *state, const struct analysis_context *context, int64_t length) {
    const struct by_kernel *kernel = NULL;
    tsmith_string name;
    char time[REPORT_TEXT], total[REPORT_TEXT];
    tsmith_interval where = {0, 0};
    for (size_t i = 0; i < state->kernel_numbers.count && !kernel; i++) // the first has most of the path
        kernel = state->kernels[i].computes ? &state->kernels[i] : NULL;
    if (!kernel || !kernel->on_path)
        return;
    name = tsmith_dictionary_string(context->dictionary, kernel->name);
    for (size_t i = 0; i < state->path.count; i++) {
        const struct path_step *step = &state->path.steps[i];
        if (step->kind == PATH_RUN && step->node < context->graph->command_count &&
            context->timeline->commands[step->node].name == kernel->name &&
            step->to - step->from > where.to - where.from)
            where = (tsmith_interval){step->from, step->to};
    }
    advice_add(context->advice, ADVICE_KERNEL, kernel->on_path, where, name);
    advice_evidence(
        context->advice, ADVICE_KERNEL,
        "%.*s%s ran %llu time%s, %s in all; %s of it are on the critical path (%.1f%% of the path).",
        ANALYSIS_NAMED(name), (unsigned long long)kernel->count, report_plural(kernel->count),
        report_duration(total, kernel->total), report_duration(time, kernel->on_path),
        report_percent(kernel->on_path, length));
}

static void write_classes(const struct state *state, const struct analysis_context *context,
                          struct report *report, int64_t length) {
    static const tsmith_report_column COLUMNS[] = {
        {"what", TSMITH_CELL_TEXT}, {"time", TSMITH_CELL_DURATION}, {"share", TSMITH_CELL_SHARE}};
    int64_t times[CLASSES] = {0}, device = 0;
    uint32_t worst = 0;
    for (size_t i = 0; i < state->path.count; i++)
        times[class_of(context, &state->path.steps[i])] +=
            state->path.steps[i].to - state->path.steps[i].from;
    struct report_table *table =
        REPORT_TABLE(report, "path", "the critical path by kind; the times add up to its length", COLUMNS);
    for (uint32_t class = 0; class < CLASSES; class ++) {
        worst = times[class] > times[worst] ? class : worst;
        device += class < OWN_CALL && class != TSMITH_WORK_CONTROL ? times[class] : 0;
        if (!times[class])
            continue;
        report_text(report, table, analysis_text(class_name(class)));
        report_integer(report, table, times[class]);
        report_share(report, table, times[class], length);
    }
    char text[REPORT_TEXT];
    if (!length)
        report_finding(report, "There is no path: no command and no call of the %s takes time.",
                       context->scope);
    else
        report_finding(report,
                       "The critical path takes %s; %.1f%% of it is work of a device, and the largest part "
                       "is %s (%.1f%%).",
                       report_duration(text, length), report_percent(device, length), class_name(worst),
                       report_percent(times[worst], length));
}

static void note_inferred(const struct state *state, const struct analysis_context *context,
                          struct report *report, int64_t length) {
    const struct critical_path *path = &state->path;
    if (!path->inferred || !path->count)
        return;
    const int64_t from = path->steps[0].from, until = path->inferred_until < context->window.to
                                                          ? path->inferred_until
                                                          : context->window.to;
    report_note(report,
                "The path goes through %llu inferred dependenc%s, which the trace does not record "
                "(docs/analyses.md); the %.1f%% of the path before the last of them rest on that.",
                (unsigned long long)path->inferred, path->inferred == 1 ? "y" : "ies",
                report_percent(until > from ? until - from : 0, length));
}

// What ends after a window is not on its path, however long it ran in the window.
static void note_beyond(const struct state *state, const struct analysis_context *context,
                        struct report *report) {
    const struct critical_path *path = &state->path;
    char text[REPORT_TEXT];
    if (!context->timeline->options.has_window || !path->count ||
        path->steps[path->count - 1].to >= context->window.to)
        return;
    report_note(report, "The path ends %s before the window: what ends after the window is not on it.",
                report_duration(text, context->window.to - path->steps[path->count - 1].to));
}

// The earliest time of a node of the graph, not before the window.
static int64_t first_time(const struct analysis_context *context) {
    int64_t first = context->window.to;
    for (uint32_t node = 0; node < context->graph->node_count; node++) {
        const int64_t start = graph_time(context->graph, node, false);
        first = start < first ? start : first;
    }
    return first > context->window.from ? first : context->window.from;
}

// A path that begins in the middle answers for less than the trace: no dependency leads further back.
static void note_beginning(const struct state *state, const struct analysis_context *context,
                           struct report *report, int64_t length) {
    const struct critical_path *path = &state->path;
    char text[REPORT_TEXT];
    const int64_t missing = path->count ? path->steps[0].from - first_time(context) : 0;
    if (missing <= length / 100)
        return;
    report_note(report,
                "The path begins %s after the first call or command: what its first step waited for is not "
                "in the trace.",
                report_duration(text, missing));
}

static tsmith_status finish(void *self, const struct analysis_context *context, struct report *report) {
    struct state *state = self;
    uint64_t contradicted = 0;
    tsmith_status status = critical_path_make(&state->path, context->graph, context->window);
    if (status != TSMITH_OK)
        return status;
    int64_t length =
        state->path.count ? state->path.steps[state->path.count - 1].to - state->path.steps[0].from : 0;
    write_classes(state, context, report, length);
    status = write_parts(state, context, report, length);
    if (status == TSMITH_OK)
        status = write_slack(state, context, report);
    if (status == TSMITH_OK)
        advise(state, context, length);
    note_inferred(state, context, report, length);
    note_beginning(state, context, report, length);
    note_beyond(state, context, report);
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        contradicted += context->graph->contradicted[kind];
    if (contradicted)
        report_note(report, "%llu %s the times of the trace and %s left out.",
                    (unsigned long long)contradicted,
                    plural(contradicted, "dependency contradicts", "dependencies contradict"),
                    plural(contradicted, "is", "are"));
    return status;
}

static void release(void *self) {
    struct state *state = self;
    critical_path_finish(&state->path);
    tally_finish(&state->part_numbers);
    tally_finish(&state->kernel_numbers);
    free(state->parts);
    free(state->kernels);
}

const struct analysis_kind analysis_critical_path = {
    .name = "critical_path",
    .question = "What decides how long it all takes?",
    .needs = NEEDS_GRAPH,
    .state_size = sizeof(struct state),
    .finish = finish,
    .release = release,
    .advises = true,
};
