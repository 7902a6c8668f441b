// SPDX-License-Identifier: Apache-2.0
// What a device's time went into, from its first command to its last. As in Holistic Trace Analysis: compute is the
// time in which a kernel computes, idle the time in which nothing runs, and what is left (communication and copies
// that no computation hides) is split here: communication first, then copies.
#include <stdlib.h>

#include "analyze/analysis.h"

struct parts {
    int64_t span, compute, communication, copy, idle;
};

static tsmith_status measure(const struct analysis_context *context, const tsmith_row *device,
                             struct parts *parts) {
    static const uint32_t WORKS[] = {1u << TSMITH_WORK_COMPUTE,
                                     1u << TSMITH_WORK_COMPUTE | 1u << TSMITH_WORK_COMMUNICATION, UINT32_MAX};
    int64_t busy[3];
    for (size_t i = 0; i < 3; i++) {
        tsmith_interval *intervals;
        size_t count;
        busy[i] = device->busy;
        if (!(device->works & ~WORKS[i]))
            continue; // all that runs is of these
        tsmith_status status = tsmith_timeline_busy(context->timeline, device, WORKS[i], &intervals, &count);
        if (status != TSMITH_OK)
            return status;
        busy[i] = sweep_length(intervals, count);
        free(intervals);
    }
    int64_t span = device->last_end - device->first_start;
    *parts = (struct parts){span, busy[0], busy[1] - busy[0], busy[2] - busy[1], span - busy[2]};
    return TSMITH_OK;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},         {"span", TSMITH_CELL_DURATION},
        {"compute", TSMITH_CELL_DURATION},    {"communication", TSMITH_CELL_DURATION},
        {"copy", TSMITH_CELL_DURATION},       {"idle", TSMITH_CELL_DURATION},
        {"compute_share", TSMITH_CELL_SHARE}, {"communication_share", TSMITH_CELL_SHARE},
        {"copy_share", TSMITH_CELL_SHARE},    {"idle_share", TSMITH_CELL_SHARE},
    };
    struct report_table *table =
        REPORT_TABLE(report, "devices",
                     "span is from the first command to the last; the other times add up to it", COLUMNS);
    struct parts sum = {0};
    (void)state;
    for (size_t i = 0; i < context->timeline->device_count; i++) {
        const tsmith_row *device = &context->timeline->devices[i];
        struct parts parts;
        tsmith_status status = measure(context, device, &parts);
        if (status != TSMITH_OK)
            return status;
        const int64_t times[] = {parts.compute, parts.communication, parts.copy, parts.idle};
        analysis_device_text(report, table, context, device);
        report_integer(report, table, parts.span);
        for (size_t k = 0; k < 4; k++)
            report_integer(report, table, times[k]);
        for (size_t k = 0; k < 4; k++)
            report_share(report, table, times[k], parts.span);
        sum.span = sweep_add(sum.span, parts.span);
        sum.compute = sweep_add(sum.compute, parts.compute);
        sum.communication = sweep_add(sum.communication, parts.communication);
        sum.copy = sweep_add(sum.copy, parts.copy);
        sum.idle = sweep_add(sum.idle, parts.idle);
    }
    if (!sum.span)
        report_finding(report, "No command of a device takes time in the %s.", context->scope);
    else
        report_finding(
            report,
            "Between their first and last command the devices compute %.1f%% of the time, are idle %.1f%%, "
            "and only communicate or copy %.1f%%.",
            report_percent(sum.compute, sum.span), report_percent(sum.idle, sum.span),
            report_percent(sum.communication + sum.copy, sum.span));
    return TSMITH_OK;
}

const struct analysis_kind analysis_breakdown = {
    .name = "breakdown",
    .question = "What did the devices spend their time on?",
    .needs = NEEDS_TIMELINE,
    .finish = finish,
};
