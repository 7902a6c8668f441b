// SPDX-License-Identifier: Apache-2.0
// How much communication is hidden behind computation: of the time in which a device communicates, the part in which
// it also computes (the definition of Holistic Trace Analysis).
#include <stdlib.h>

#include "analyze/analysis.h"

// The longest stretch of `a` that `b` does not touch.
static tsmith_interval longest_alone(const tsmith_interval *a, size_t a_count, const tsmith_interval *b,
                                     size_t b_count) {
    tsmith_interval longest = {0, 0};
    size_t next = 0;
    for (size_t i = 0; i < a_count; i++) {
        int64_t from = a[i].from;
        while (next < b_count && b[next].to <= from)
            next++;
        for (size_t k = next; from < a[i].to; k++) {
            int64_t to = k < b_count && b[k].from < a[i].to ? b[k].from : a[i].to;
            if (to - from > longest.to - longest.from)
                longest = (tsmith_interval){from, to};
            from = k < b_count && b[k].to < a[i].to ? b[k].to : a[i].to;
        }
    }
    return longest;
}

static void advise(const struct analysis_context *context, const tsmith_row *device, tsmith_work work,
                   int64_t time, int64_t exposed, tsmith_interval longest) {
    enum advice_problem problem = work == TSMITH_WORK_COPY ? ADVICE_COPY : ADVICE_COMMUNICATION;
    const tsmith_command *commands = timeline_row_commands(context->timeline, device);
    tsmith_string name = {"", 0};
    char all[REPORT_TEXT], alone[REPORT_TEXT], one[REPORT_TEXT];
    int64_t most = 0;
    if (exposed <= context->advice->items[problem].saves || !analysis_matters(context, device))
        return;
    for (uint32_t i = 0; i < device->command_count; i++) {
        const tsmith_command *command = &commands[i];
        int64_t from = command->start > longest.from ? command->start : longest.from;
        int64_t to = command->end < longest.to ? command->end : longest.to;
        if (command->work != work || to - from <= most)
            continue;
        most = to - from;
        name = analysis_command_name(context, command);
    }
    advice_add(context->advice, problem, exposed, longest, name);
    context->advice->items[problem].evidence[0] = 0; // of another device
    advice_evidence(context->advice, problem,
                    "For %s of its %s of %s the device does not compute; longest at a stretch %s, of %.*s%s.",
                    report_duration(alone, exposed), report_duration(all, time), tsmith_work_name(work),
                    report_duration(one, longest.to - longest.from), ANALYSIS_NAMED(name));
}

static tsmith_status measure(const struct analysis_context *context, const tsmith_row *device,
                             tsmith_work work, int64_t *time, int64_t *hidden) {
    tsmith_interval *other = NULL, *compute = NULL;
    size_t others, computes;
    if (!(device->works >> work & 1))
        return TSMITH_OK;
    tsmith_status status = tsmith_timeline_busy(context->timeline, device, 1u << work, &other, &others);
    if (status == TSMITH_OK)
        status =
            tsmith_timeline_busy(context->timeline, device, 1u << TSMITH_WORK_COMPUTE, &compute, &computes);
    if (status == TSMITH_OK) {
        *time = sweep_length(other, others);
        *hidden = sweep_common(other, others, compute, computes);
        advise(context, device, work, *time, *time - *hidden,
               longest_alone(other, others, compute, computes));
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
    struct report_table *table =
        REPORT_TABLE(report, "overlap",
                     "time of communication and copies, and the part that overlaps computation", COLUMNS);
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
        report_finding(report, "%.1f%% of the communication time overlaps computation; %s does not.",
                       report_percent(hidden[0], time[0]), report_duration(text, time[0] - hidden[0]));
    else if (time[1])
        report_finding(
            report, "The %s has no communication. %.1f%% of the copy time overlaps computation; %s does not.",
            context->scope, report_percent(hidden[1], time[1]), report_duration(text, time[1] - hidden[1]));
    else
        report_finding(report, "No communication and no copy that takes time is in the %s.", context->scope);
    return TSMITH_OK;
}

const struct analysis_kind analysis_overlap = {
    .name = "overlap",
    .question = "How much communication is hidden behind computation?",
    .needs = NEEDS_TIMELINE,
    .finish = finish,
    .advises = true,
};
