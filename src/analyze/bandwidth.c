// SPDX-License-Identifier: Apache-2.0
// How fast memory was moved: by direction, and over time. A copy's bytes are spread evenly over its time. Maps are
// left out: mapping 512 MiB in 300 ns copies nothing, and for other maps it is unknown whether they copy.
#include <stdlib.h>

#include "analyze/analysis.h"

enum { BUCKETS = 50, DIRECTIONS = TSMITH_DIRECTION_PEER_TO_PEER + 2, FILLS = DIRECTIONS - 1 };

struct direction {
    uint64_t count, unsized, pageable;
    double bytes;
    int64_t time;
    double fastest;
};

static size_t direction_of(const tsmith_command *command) {
    if (command->kind == TSMITH_KIND_MEMSET)
        return FILLS;
    return command->direction < FILLS ? command->direction : 0;
}

static const char *direction_name(size_t direction) {
    return direction == FILLS ? "fill"
           : direction == 0   ? "unknown"
                              : tsmith_direction_name((tsmith_direction)direction);
}

static void add_to_buckets(double *buckets, tsmith_interval window, const tsmith_command *command,
                           uint64_t bytes) {
    double length = (double)(window.to - window.from) / BUCKETS,
           time = (double)(command->end - command->start);
    double from = (double)(command->start - window.from), to = (double)(command->end - window.from);
    if (to <= 0 || from >= length * BUCKETS)
        return;
    size_t first = from <= 0 ? 0 : (size_t)(from / length);
    for (size_t i = first; i < BUCKETS && (double)i * length < to; i++) {
        double begin = (double)i * length > from ? (double)i * length : from;
        double end = (double)(i + 1) * length < to ? (double)(i + 1) * length : to;
        if (end > begin)
            buckets[i] += (double)bytes * (end - begin) / time;
    }
}

// What the notes are about.
struct left_out {
    uint64_t maps, unsized, pageable;
    double mapped; // bytes
};

static void measure(const struct analysis_context *context, struct direction *directions,
                    struct left_out *left_out, double *buckets) {
    for (size_t i = 0; i < context->timeline->command_count; i++) {
        const tsmith_command *command = &context->timeline->commands[i];
        if (command->work != TSMITH_WORK_COPY || !timeline_runs(command) ||
            command->end <= context->window.from || command->start >= context->window.to)
            continue;
        const uint64_t bytes = tsmith_command_bytes(context->timeline, command);
        if (tsmith_operation_is_map((tsmith_operation)command->operation)) {
            left_out->maps++;
            left_out->mapped += (double)bytes;
            continue;
        }
        struct direction *direction = &directions[direction_of(command)];
        int64_t time = command->end - command->start;
        direction->count++;
        direction->pageable += command->pageable;
        if (!bytes) {
            direction->unsized++;
            continue;
        }
        double rate = (double)bytes / (double)time * 1e9;
        direction->bytes += (double)bytes;
        direction->time = sweep_add(direction->time, time);
        direction->fastest = rate > direction->fastest ? rate : direction->fastest;
        add_to_buckets(buckets, context->window, command, bytes);
    }
}

static void write_notes(const struct analysis_context *context, struct report *report,
                        const struct left_out *left_out) {
    char text[REPORT_TEXT];
    if (left_out->pageable)
        report_note(report,
                    "%llu cop%s from or to pageable memory: the driver copies through memory of its own, and "
                    "the call may "
                    "wait.",
                    (unsigned long long)left_out->pageable, left_out->pageable == 1 ? "y is" : "ies are");
    if (left_out->pageable)
        advice_evidence(context->advice, ADVICE_COPY,
                        "%llu cop%s from or to pageable memory; only pinned memory is copied asynchronously.",
                        (unsigned long long)left_out->pageable, left_out->pageable == 1 ? "y is" : "ies are");
    if (left_out->maps)
        report_note(report,
                    "Commands that map memory to the host or unmap it are left out (%llu, %s): whether a map "
                    "copies is "
                    "up to the driver.",
                    (unsigned long long)left_out->maps, report_bytes(text, left_out->mapped));
    if (left_out->unsized)
        report_note(report, "%llu cop%s no size and %s left out.", (unsigned long long)left_out->unsized,
                    left_out->unsized == 1 ? "y has" : "ies have", left_out->unsized == 1 ? "is" : "are");
}

static tsmith_status finish(void *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"direction", TSMITH_CELL_TEXT}, {"copies", TSMITH_CELL_COUNT}, {"moved", TSMITH_CELL_BYTES},
        {"time", TSMITH_CELL_DURATION},  {"mean", TSMITH_CELL_RATE},    {"fastest", TSMITH_CELL_RATE}};
    static const tsmith_report_column TIMES[] = {{"at", TSMITH_CELL_TIME}, {"rate", TSMITH_CELL_RATE}};
    struct direction directions[DIRECTIONS] = {0};
    double buckets[BUCKETS] = {0}, bytes = 0;
    int64_t window = context->window.to - context->window.from, time = 0;
    struct left_out left_out = {0};
    (void)state;
    measure(context, directions, &left_out, buckets);
    struct report_table *table =
        REPORT_TABLE(report, "directions", "copies and fills; time is that of all of them added up", COLUMNS);
    for (size_t i = 0; i < DIRECTIONS; i++) {
        const struct direction *direction = &directions[i];
        if (!direction->count)
            continue;
        report_text(report, table, analysis_text(direction_name(i)));
        report_integer(report, table, (int64_t)direction->count);
        const bool sized = direction->unsized < direction->count;
        if (sized) {
            report_integer(report, table, direction->bytes < 9e18 ? (int64_t)direction->bytes : INT64_MAX);
            report_integer(report, table, direction->time);
            report_number(report, table, direction->bytes / (double)direction->time * 1e9);
            report_number(report, table, direction->fastest);
        }
        for (int cell = 0; cell < 4 && !sized; cell++)
            report_unknown(report, table);
        bytes += direction->bytes;
        time = sweep_add(time, direction->time);
        left_out.unsized += direction->unsized;
        left_out.pageable += direction->pageable;
    }
    struct report_table *times = REPORT_TABLE(
        report, "over_time", "bytes per second in each fiftieth of the window, all directions", TIMES);
    for (size_t i = 0; i < BUCKETS && window > 0 && time; i++) {
        report_integer(report, times, (int64_t)((double)window / BUCKETS * (double)i));
        report_number(report, times, buckets[i] / ((double)window / BUCKETS) * 1e9);
    }
    char text[REPORT_TEXT], rate[REPORT_TEXT];
    if (!time)
        report_finding(report, "No copy of known size is in the %s.", context->scope);
    else
        report_finding(
            report,
            "%s were copied or filled, at %s on average (the times of all copies and fills added up).",
            report_bytes(text, bytes), report_rate(rate, bytes / (double)time * 1e9));
    write_notes(context, report, &left_out);
    return TSMITH_OK;
}

const struct analysis_kind analysis_bandwidth = {
    .name = "bandwidth",
    .question = "How fast is memory moved, and when?",
    .needs = NEEDS_TIMELINE,
    .finish = finish,
    .advises = true,
};
