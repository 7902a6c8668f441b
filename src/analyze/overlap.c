// SPDX-License-Identifier: Apache-2.0
// How much communication is hidden behind computation: of the time in which a device communicates, the part in which
// it also computes (the definition of Holistic Trace Analysis).
#include <stdlib.h>

#include "analyze/analysis.h"

static tsmith_status measure(const struct analysis_context *context, const tsmith_row *device,
                             tsmith_work work, int64_t *time, int64_t *hidden) {
    tsmith_interval *other = NULL, *compute = NULL;
    size_t others, computes;
    tsmith_status status = tsmith_timeline_busy(context->timeline, device, 1u << work, &other, &others);
    if (status == TSMITH_OK)
        status =
            tsmith_timeline_busy(context->timeline, device, 1u << TSMITH_WORK_COMPUTE, &compute, &computes);
    if (status == TSMITH_OK) {
        *time = sweep_length(other, others);
        *hidden = sweep_common(other, others, compute, computes);
    }
    free(other);
    free(compute);
    return status;
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"device", TSMITH_CELL_TEXT},      {"work", TSMITH_CELL_TEXT},
        {"time", TSMITH_CELL_DURATION},    {"overlapped", TSMITH_CELL_DURATION},
        {"exposed", TSMITH_CELL_DURATION}, {"overlap", TSMITH_CELL_SHARE},
    };
    static const tsmith_work WORKS[] = {TSMITH_WORK_COMMUNICATION, TSMITH_WORK_COPY};
    struct report_table *table = REPORT_TABLE(
        report, "overlap", "time of communication and copies, and the part beside computation", COLUMNS);
    int64_t time[2] = {0}, hidden[2] = {0};
    (void)state;
    for (size_t i = 0; i < context->timeline->device_count; i++) {
        const tsmith_row *device = &context->timeline->devices[i];
        for (size_t w = 0; w < 2; w++) {
            int64_t one = 0, both = 0;
            tsmith_status status = measure(context, device, WORKS[w], &one, &both);
            if (status != TSMITH_OK)
                return status;
            time[w] = sweep_add(time[w], one);
            hidden[w] = sweep_add(hidden[w], both);
            analysis_device_text(report, table, context, device);
            report_text(report, table, analysis_text(tsmith_work_name(WORKS[w])));
            report_integer(report, table, one);
            report_integer(report, table, both);
            report_integer(report, table, one - both);
            report_share(report, table, both, one);
        }
    }
    char text[REPORT_TEXT];
    if (time[0])
        report_finding(report, "%.1f %% of the communication runs beside computation; %s of it do not.",
                       report_percent(hidden[0], time[0]), report_duration(text, time[0] - hidden[0]));
    else if (time[1])
        report_finding(
            report,
            "No communication is in the trace. %.1f %% of the copies run beside computation; %s do not.",
            report_percent(hidden[1], time[1]), report_duration(text, time[1] - hidden[1]));
    else
        report_finding(report, "Neither communication nor copies are in the trace.");
    return TSMITH_OK;
}

const struct analysis_kind analysis_overlap = {
    "overlap", "How much communication is hidden behind computation?", NEEDS_TIMELINE, 0, NULL, finish, NULL};
