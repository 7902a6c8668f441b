// SPDX-License-Identifier: Apache-2.0
// Captured graphs: how often they are launched, how many commands a launch brings, and what that costs the host against
// launching command by command.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "base/array.h"

// One launch of a graph.
struct launch {
    uint32_t call, commands;
    int64_t time, first, last; // of its commands on the devices
};

struct group {
    uint32_t name, commands;
    uint64_t launches;
    int64_t calls, time, span;
};

struct graphs {
    uint8_t *launches_graph; // by string: 1 no, 2 yes
    struct tally numbers;    // of calls
    struct launch *launches;
    struct group *groups;
    size_t launch_capacity, group_count;
    uint64_t single_count; // calls that launch one kernel each
    int64_t single_total;
    uint64_t graph_count, graph_commands; // what graphs did in all
    int64_t graph_total;
};

static bool is_graph(struct graphs *graphs, const struct analysis_context *context, const tsmith_call *call) {
    tsmith_string name = tsmith_dictionary_string(context->dictionary, call->name);
    uint8_t *known = &graphs->launches_graph[name.length ? call->name : 0]; // an id may be none
    if (call->kind == TSMITH_KIND_GRAPH_LAUNCH)
        return true;
    if (!*known)
        *known = memmem(name.bytes, name.length, "GraphLaunch", 11) ? 2 : 1;
    return *known == 2;
}

static bool add_launches(struct graphs *graphs, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    graphs->launches_graph = calloc(tsmith_dictionary_string_count(context->dictionary) + 1u, 1);
    if (!graphs->launches_graph)
        return false;
    for (uint32_t i = 0; i < timeline->call_count; i++) {
        const tsmith_call *call = &timeline->calls[i];
        if (call->start < context->window.from || call->start >= context->window.to ||
            !is_graph(graphs, context, call))
            continue;
        uint32_t number = tally_number(&graphs->numbers, i);
        if (number == UINT32_MAX ||
            !ARRAY_RESERVE(graphs->launches, graphs->launch_capacity, graphs->numbers.count))
            return false;
        graphs->launches[number] = (struct launch){.call = i};
    }
    return true;
}

// What the launches brought to the devices, and what kernels launched one by one cost.
static void add_commands(struct graphs *graphs, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    for (size_t i = 0; i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (!timeline_runs(command) || command->call == TSMITH_INDEX_NONE)
            continue;
        const tsmith_call *call = &timeline->calls[command->call];
        if (call->start < context->window.from || call->start >= context->window.to)
            continue;
        if (!is_graph(graphs, context, call)) {
            bool single = call->command_count == 1 && command->kind == TSMITH_KIND_KERNEL;
            graphs->single_count += single;
            graphs->single_total = sweep_add(graphs->single_total, single ? call->end - call->start : 0);
            continue;
        }
        struct launch *launch =
            &graphs->launches[tally_number(&graphs->numbers, command->call)]; // it is there
        launch->first = launch->commands && launch->first < command->start ? launch->first : command->start;
        launch->last = launch->commands && launch->last > command->end ? launch->last : command->end;
        launch->time = sweep_add(launch->time, command->end - command->start);
        launch->commands++;
    }
}

static int by_name(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->commands < b->commands ? -1 : a->commands > b->commands;
}

static int by_launches(const void *left, const void *right) {
    const struct group *a = left, *b = right;
    if (a->launches != b->launches)
        return a->launches > b->launches ? -1 : 1;
    return by_name(left, right);
}

static bool group(struct graphs *graphs, const tsmith_timeline *timeline) {
    size_t count = graphs->numbers.count, kept = 0;
    graphs->groups = malloc((count + 1) * sizeof *graphs->groups);
    if (!graphs->groups)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct launch *launch = &graphs->launches[i];
        const tsmith_call *call = &timeline->calls[launch->call];
        graphs->groups[i] = (struct group){call->name,
                                           launch->commands,
                                           1,
                                           call->end - call->start,
                                           launch->time,
                                           launch->last - launch->first};
        graphs->graph_count++;
        graphs->graph_commands += launch->commands;
        graphs->graph_total = sweep_add(graphs->graph_total, call->end - call->start);
    }
    qsort(graphs->groups, count, sizeof *graphs->groups, by_name);
    for (size_t i = 0; i < count; i++) {
        const struct group *one = &graphs->groups[i];
        struct group *last = kept ? &graphs->groups[kept - 1] : NULL;
        if (!last || by_name(last, one) != 0) {
            graphs->groups[kept++] = *one;
            continue;
        }
        last->launches++;
        last->calls = sweep_add(last->calls, one->calls);
        last->time = sweep_add(last->time, one->time);
        last->span = sweep_add(last->span, one->span);
    }
    graphs->group_count = kept;
    qsort(graphs->groups, kept, sizeof *graphs->groups, by_launches);
    return true;
}

static void write_groups(const struct graphs *graphs, const struct analysis_context *context,
                         struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"call", TSMITH_CELL_TEXT},          {"commands", TSMITH_CELL_COUNT},
        {"launches", TSMITH_CELL_COUNT},     {"call_total", TSMITH_CELL_DURATION},
        {"call_mean", TSMITH_CELL_DURATION}, {"call_per_command", TSMITH_CELL_DURATION},
        {"total", TSMITH_CELL_DURATION},     {"span", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(report, "graphs",
                                              "by the number of commands of a launch; total is the sum of "
                                              "their durations, span from first to last, of all launches",
                                              COLUMNS);
    for (size_t i = 0; i < graphs->group_count; i++) {
        const struct group *one = &graphs->groups[i];
        report_text(report, table, tsmith_dictionary_string(context->dictionary, one->name));
        report_integer(report, table, one->commands);
        report_integer(report, table, (int64_t)one->launches);
        report_integer(report, table, one->calls);
        report_integer(report, table, one->calls / (int64_t)one->launches);
        if (one->commands)
            report_integer(report, table, one->calls / (int64_t)(one->launches * one->commands));
        else
            report_unknown(report, table);
        if (one->commands) { // else their commands are unknown
            report_integer(report, table, one->time);
            report_integer(report, table, one->span);
        } else {
            report_unknown(report, table);
            report_unknown(report, table);
        }
    }
}

static void write_costs(const struct graphs *graphs, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {{"launched", TSMITH_CELL_TEXT},
                                                   {"calls", TSMITH_CELL_COUNT},
                                                   {"commands", TSMITH_CELL_COUNT},
                                                   {"call_total", TSMITH_CELL_DURATION},
                                                   {"call_per_command", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(
        report, "costs", "host time in launching calls, by graphs and kernel by kernel", COLUMNS);
    const struct {
        const char *what;
        uint64_t calls, commands;
        int64_t total;
    } ROWS[] = {{"graphs", graphs->graph_count, graphs->graph_commands, graphs->graph_total},
                {"single kernels", graphs->single_count, graphs->single_count, graphs->single_total}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        report_text(report, table, analysis_text(ROWS[i].what));
        report_integer(report, table, (int64_t)ROWS[i].calls);
        report_integer(report, table, (int64_t)ROWS[i].commands);
        report_integer(report, table, ROWS[i].total);
        if (ROWS[i].commands)
            report_integer(report, table, ROWS[i].total / (int64_t)ROWS[i].commands);
        else
            report_unknown(report, table);
    }
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    struct graphs *graphs = state;
    char each[REPORT_TEXT], single[REPORT_TEXT];
    if (!add_launches(graphs, context))
        return TSMITH_ERROR_NO_MEMORY;
    add_commands(graphs, context);
    if (!group(graphs, context->timeline))
        return TSMITH_ERROR_NO_MEMORY;
    write_groups(graphs, context, report);
    write_costs(graphs, report);
    if (!graphs->graph_count)
        report_finding(report, "No launch of a captured graph is in the %s.", context->scope);
    else if (!graphs->graph_commands)
        report_finding(report, "Graphs were launched %llu time%s; their commands are not in the trace.",
                       (unsigned long long)graphs->graph_count, report_plural(graphs->graph_count));
    else
        report_finding(
            report,
            "Graphs were launched %llu time%s, with %.1f commands each: %s of host time per command, "
            "against %s for a kernel launched by itself.",
            (unsigned long long)graphs->graph_count, report_plural(graphs->graph_count),
            (double)graphs->graph_commands / (double)graphs->graph_count,
            report_duration(each, graphs->graph_total / (int64_t)graphs->graph_commands),
            graphs->single_count
                ? report_duration(single, graphs->single_total / (int64_t)graphs->single_count)
                : "an unknown time");
    return TSMITH_OK;
}

static void release(void *state) {
    struct graphs *graphs = state;
    free(graphs->launches_graph);
    free(graphs->launches);
    free(graphs->groups);
    tally_finish(&graphs->numbers);
}

const struct analysis_kind analysis_graphs = {
    .name = "graphs",
    .question = "What do captured graphs bring, and what does launching them cost?",
    .needs = NEEDS_TIMELINE,
    .state_size = sizeof(struct graphs),
    .finish = finish,
    .release = release,
};
