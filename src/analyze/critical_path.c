// SPDX-License-Identifier: Apache-2.0
// What decides how long it all takes: the critical path by kind and by name, and the slack of what is not on it.
#include "state/critical_path.h"

#include <stdlib.h>

#include "analyze/analysis.h"

// The kinds of steps: the nodes' own work by what they are, then the edges.
enum { OWN_CALL = TSMITH_WORK_LIMIT, OWN_COMPILE, OWN_LIMIT, CLASSES = OWN_LIMIT + TSMITH_EDGE_LIMIT };

struct part {
    uint32_t class, name;
    uint64_t count;
    int64_t time;
};

struct by_kernel {
    uint32_t name;
    uint64_t count, critical;
    int64_t total, on_path, least_slack;
};

struct state {
    struct critical_path path;
    struct part *parts;
    struct by_kernel *kernels;
};

static uint32_t class_of(const struct analysis_context *context, const struct path_step *step) {
    if (step->kind != PATH_RUN)
        return OWN_LIMIT + step->kind;
    return step->node < context->graph->command_count ? context->timeline->commands[step->node].work
                                                      : OWN_CALL;
}

static const char *class_name(uint32_t class) {
    static const char *const EDGES[TSMITH_EDGE_LIMIT] = {
        [TSMITH_EDGE_PROGRAM_ORDER] = "host between calls",
        [TSMITH_EDGE_CALLED] = "host in a call",
        [TSMITH_EDGE_RETURNED] = "host in a call",
        [TSMITH_EDGE_LAUNCH] = "launch latency",
        [TSMITH_EDGE_STREAM_ORDER] = "gap within a queue",
        [TSMITH_EDGE_GRAPH_NODE] = "gap within a graph",
        [TSMITH_EDGE_BARRIER] = "gap after a barrier",
        [TSMITH_EDGE_EVENT_WAIT] = "gap after another queue",
        [TSMITH_EDGE_DEFAULT_STREAM] = "gap after the default stream",
        [TSMITH_EDGE_RESOURCE] = "gap after a busy resource",
        [TSMITH_EDGE_COMPILE] = "gap after a compilation",
        [TSMITH_EDGE_COLLECTIVE] = "collective",
        [TSMITH_EDGE_SYNC_RETURN] = "return of a wait",
    };
    if (class < OWN_LIMIT) // of the node itself
        return class == OWN_CALL ? "host in a call" : tsmith_work_name((tsmith_work) class);
    return EDGES[class - OWN_LIMIT];
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
    size_t kept = 0;
    state->parts = malloc((state->path.count + 1) * sizeof *state->parts);
    if (!state->parts)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < state->path.count; i++) {
        const struct path_step *step = &state->path.steps[i];
        state->parts[i] =
            (struct part){class_of(context, step), name_of(context, step->node), 1, step->to - step->from};
    }
    qsort(state->parts, state->path.count, sizeof *state->parts, by_class_and_name);
    for (size_t i = 0; i < state->path.count; i++) {
        struct part *last = kept ? &state->parts[kept - 1] : NULL;
        if (last && by_class_and_name(last, &state->parts[i]) == 0) {
            last->count++;
            last->time += state->parts[i].time;
        } else {
            state->parts[kept++] = state->parts[i];
        }
    }
    qsort(state->parts, kept, sizeof *state->parts, by_time);
    struct report_table *table = REPORT_TABLE(
        report, "names", "the path by what it consists of; of a gap, the one that waited", COLUMNS);
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

// Each command that runs, then added up by name.
static tsmith_status write_slack(struct state *state, const struct analysis_context *context,
                                 struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"kernel", TSMITH_CELL_TEXT},         {"count", TSMITH_CELL_COUNT},
        {"total", TSMITH_CELL_DURATION},      {"on_path", TSMITH_CELL_DURATION},
        {"without_slack", TSMITH_CELL_COUNT}, {"least_slack", TSMITH_CELL_DURATION}};
    const tsmith_timeline *timeline = context->timeline;
    size_t count = timeline->command_count, kept = 0;
    state->kernels = calloc(count + 1, sizeof *state->kernels);
    if (!state->kernels)
        return TSMITH_ERROR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        state->kernels[i] =
            (struct by_kernel){.name = command->name,
                               .count = timeline_runs(command),
                               .critical = timeline_runs(command) && state->path.slack[i] == 0,
                               .total = command->end - command->start,
                               .least_slack = state->path.slack[i]};
    }
    for (size_t i = 0; i < state->path.count; i++)
        if (state->path.steps[i].kind == PATH_RUN && state->path.steps[i].node < count)
            state->kernels[state->path.steps[i].node].on_path +=
                state->path.steps[i].to - state->path.steps[i].from;
    qsort(state->kernels, count, sizeof *state->kernels, by_kernel_name);
    for (size_t i = 0; i < count; i++) {
        const struct by_kernel *one = &state->kernels[i];
        struct by_kernel *last = kept ? &state->kernels[kept - 1] : NULL;
        if (!one->count)
            continue;
        if (!last || last->name != one->name) {
            state->kernels[kept++] = *one;
            continue;
        }
        last->count += one->count;
        last->critical += one->critical;
        last->total = sweep_add(last->total, one->total);
        last->on_path += one->on_path;
        last->least_slack = one->least_slack < last->least_slack ? one->least_slack : last->least_slack;
    }
    qsort(state->kernels, kept, sizeof *state->kernels, by_path_time);
    struct report_table *table = REPORT_TABLE(
        report, "slack",
        "commands by name: how much of them is on the path, and how much later the tightest could end",
        COLUMNS);
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
        device += class < OWN_CALL ? times[class] : 0;
        if (!times[class])
            continue;
        report_text(report, table, analysis_text(class_name(class)));
        report_integer(report, table, times[class]);
        report_share(report, table, times[class], length);
    }
    char text[REPORT_TEXT];
    if (!length)
        report_finding(report, "There is no path: the trace has no commands and no calls.");
    else
        report_finding(
            report,
            "Of the %s of the critical path %.1f %% are work of a device; the largest part is %s (%.1f %%).",
            report_duration(text, length), report_percent(device, length), class_name(worst),
            report_percent(times[worst], length));
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
    for (int kind = 0; kind < TSMITH_EDGE_LIMIT; kind++)
        contradicted += context->graph->contradicted[kind];
    if (contradicted)
        report_note(report, "%llu dependencies contradict the times of the trace and are left out.",
                    (unsigned long long)contradicted);
    return status;
}

static void release(void *self) {
    struct state *state = self;
    critical_path_finish(&state->path);
    free(state->parts);
    free(state->kernels);
}

const struct analysis_kind analysis_critical_path = {
    "critical_path", "What decides how long it all takes?", NEEDS_GRAPH, sizeof(struct state), NULL, finish,
    release};
