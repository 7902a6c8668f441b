// SPDX-License-Identifier: Apache-2.0
// What each queue did, and how many commands ran at once.
#include <stdlib.h>

#include "analyze/analysis.h"

enum { DEPTHS_SHOWN = 64 };

// Compilations that the driver does for a queue are on its track and are no commands of the program.
static int64_t commands_of(const tsmith_timeline *timeline, const tsmith_row *row) {
    const tsmith_command *commands = timeline_row_commands(timeline, row);
    int64_t count = 0;
    for (uint32_t i = 0; i < row->command_count; i++)
        count += commands[i].kind != TSMITH_KIND_COMPILE;
    return count;
}

static void add_row(struct report *report, struct report_table *table, const struct analysis_context *context,
                    const tsmith_row *row) {
    int64_t window = context->window.to - context->window.from;
    analysis_device_text(report, table, context, &context->timeline->devices[row->device]);
    analysis_track_text(report, table, context, row->track);
    report_integer(report, table, commands_of(context->timeline, row));
    report_integer(report, table, row->busy);
    report_share(report, table, row->busy, window);
    report_share(report, table, row->busy, row->last_end - row->first_start);
    report_integer(report, table, row->depth_max);
    report_integer(report, table, row->gap_count);
}

static tsmith_status add_depths(struct report *report, struct report_table *table,
                                const struct analysis_context *context, const tsmith_row *device) {
    int64_t *times, rest = 0, window = context->window.to - context->window.from;
    size_t count;
    tsmith_status status = tsmith_timeline_concurrency(context->timeline, device, &times, &count);
    if (status != TSMITH_OK)
        return status;
    for (size_t depth = 0; depth < count; depth++) {
        if (depth >= DEPTHS_SHOWN)
            rest += times[depth];
        if ((depth >= DEPTHS_SHOWN && depth + 1 < count) || !(times[depth] + rest))
            continue;
        analysis_device_text(report, table, context, device);
        report_integer(report, table, (int64_t)(depth < DEPTHS_SHOWN ? depth : DEPTHS_SHOWN));
        report_integer(report, table, depth < DEPTHS_SHOWN ? times[depth] : rest);
        report_share(report, table, depth < DEPTHS_SHOWN ? times[depth] : rest, window);
    }
    free(times);
    return TSMITH_OK;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column QUEUES[] = {
        {"device", TSMITH_CELL_TEXT},          {"queue", TSMITH_CELL_TEXT},
        {"commands", TSMITH_CELL_COUNT},       {"busy", TSMITH_CELL_DURATION},
        {"utilization", TSMITH_CELL_SHARE},    {"while_active", TSMITH_CELL_SHARE},
        {"max_concurrent", TSMITH_CELL_COUNT}, {"gaps", TSMITH_CELL_COUNT},
    };
    static const tsmith_report_column DEPTHS[] = {{"device", TSMITH_CELL_TEXT},
                                                  {"running", TSMITH_CELL_COUNT},
                                                  {"time", TSMITH_CELL_DURATION},
                                                  {"share", TSMITH_CELL_SHARE}};
    const tsmith_timeline *timeline = context->timeline;
    struct report_table *queues =
        REPORT_TABLE(report, "queues",
                     "utilization is of the window, while_active from its first command to its last", QUEUES);
    for (size_t i = 0; i < timeline->row_count; i++)
        add_row(report, queues, context, &timeline->rows[i]);
    struct report_table *depths = REPORT_TABLE(
        report, "concurrency",
        "the time in which this many commands ran at once; the row of 64 includes all larger numbers",
        DEPTHS);
    int64_t busy = 0, window = context->window.to - context->window.from;
    uint32_t deepest = 0;
    (void)state;
    for (size_t i = 0; i < timeline->device_count; i++) {
        tsmith_status status = add_depths(report, depths, context, &timeline->devices[i]);
        if (status != TSMITH_OK)
            return status;
        busy = sweep_add(busy, timeline->devices[i].busy);
        deepest = timeline->devices[i].depth_max > deepest ? timeline->devices[i].depth_max : deepest;
    }
    if (timeline->device_count)
        report_finding(
            report,
            "%zu queue%s on %zu device%s; a device is busy %.1f%% of the %s on average, and at most %u "
            "command%s at once.",
            timeline->row_count, report_plural(timeline->row_count), timeline->device_count,
            report_plural(timeline->device_count),
            report_percent(busy, window) / (double)timeline->device_count, context->scope, deepest,
            deepest == 1 ? " runs" : "s run");
    else
        report_finding(report, "No command of a device is in the %s.", context->scope);
    return TSMITH_OK;
}

const struct analysis_kind analysis_streams = {
    .name = "streams",
    .question = "How busy are the queues, and how much runs at once?",
    .needs = NEEDS_TIMELINE,
    .finish = finish,
};
