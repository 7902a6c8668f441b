// SPDX-License-Identifier: Apache-2.0
// How long frames take, and what the devices do for each of them.
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/samples.h"
#include "tracesmith/time.h"

enum { FRAMES_LISTED = 100000 };

// Of the launches before one: the differences are those of a frame.
struct sums {
    int64_t kernels, kernel_time, transfers, transfer_time, untimed;
};

struct frames {
    struct sums *sums;                   // by launch, of all launches before it; one more at the end
    const tsmith_frame_interval **order; // of the window, the longest first
    size_t count;
};

static int64_t length_of(const tsmith_frame_interval *frame) {
    return tsmith_time_subtract(frame->end, frame->start);
}

static int by_length(const void *left, const void *right) {
    const tsmith_frame_interval *a = *(const tsmith_frame_interval *const *)left,
                                *b = *(const tsmith_frame_interval *const *)right;
    const int64_t first = length_of(a), second = length_of(b);
    if (first != second)
        return first > second ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

// ---- what is done for a frame

static void add_command(struct sums *sums, const tsmith_command *command) {
    const int64_t time = command->end - command->start;
    if (command->work == TSMITH_WORK_CONTROL || command->kind == TSMITH_KIND_COMPILE)
        return;
    sums->untimed += command->untimed || command->end_unknown;
    if (command->work == TSMITH_WORK_COPY) {
        sums->transfers++;
        sums->transfer_time = sweep_add(sums->transfer_time, time);
    } else {
        sums->kernels++;
        sums->kernel_time = sweep_add(sums->kernel_time, time);
    }
}

static bool add_up(struct frames *state, const struct analysis_context *context) {
    const tsmith_timeline *timeline = context->timeline;
    size_t count = 0;
    const tsmith_frame_launch *launches = tsmith_frames_launches(context->frames, &count);
    uint32_t *slot = malloc((timeline->call_count + 1) * sizeof *slot); // by call: its launch
    state->sums = calloc(count + 1, sizeof *state->sums);
    for (size_t i = 0; slot && i < count; i++)
        slot[launches[i].call] = (uint32_t)i;
    for (size_t i = 0; slot && state->sums && i < timeline->command_count; i++) {
        const tsmith_command *command = &timeline->commands[i];
        if (command->call != TSMITH_INDEX_NONE)
            add_command(&state->sums[slot[command->call] + 1], command);
    }
    const bool done = slot && state->sums;
    free(slot);
    for (size_t i = 1; done && i <= count; i++) {
        struct sums *to = &state->sums[i];
        const struct sums *before = &state->sums[i - 1];
        to->kernels += before->kernels;
        to->kernel_time = sweep_add(to->kernel_time, before->kernel_time);
        to->transfers += before->transfers;
        to->transfer_time = sweep_add(to->transfer_time, before->transfer_time);
        to->untimed += before->untimed;
    }
    return done;
}

static struct sums sums_of(const struct frames *state, const struct analysis_context *context,
                           const tsmith_frame_interval *frame) {
    size_t all, count;
    const tsmith_frame_launch *first = tsmith_frames_launches(context->frames, &all);
    const tsmith_frame_launch *own = tsmith_frame_launches(context->frames, frame, &count);
    const struct sums *from = &state->sums[own - first], *to = from + count;
    return (struct sums){
        to->kernels - from->kernels, tsmith_time_subtract(to->kernel_time, from->kernel_time),
        to->transfers - from->transfers, tsmith_time_subtract(to->transfer_time, from->transfer_time),
        to->untimed - from->untimed};
}

// ---- the report

static bool find_frames(struct frames *state, const struct analysis_context *context) {
    size_t count;
    const tsmith_frame_interval *frames = tsmith_frames_get(context->frames, &count);
    state->order = malloc((count + 1) * sizeof *state->order);
    for (size_t i = 0; state->order && i < count; i++)
        if (frames[i].start >= context->window.from && frames[i].start < context->window.to)
            state->order[state->count++] = &frames[i];
    if (state->order)
        qsort(state->order, state->count, sizeof *state->order, by_length);
    return state->order;
}

static void write_frames(const struct frames *state, const struct analysis_context *context,
                         struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"frame", TSMITH_CELL_COUNT},     {"thread", TSMITH_CELL_TEXT},
        {"start", TSMITH_CELL_TIME},      {"time", TSMITH_CELL_DURATION},
        {"kernels", TSMITH_CELL_COUNT},   {"kernel_time", TSMITH_CELL_DURATION},
        {"transfers", TSMITH_CELL_COUNT}, {"transfer_time", TSMITH_CELL_DURATION}};
    struct report_table *table = REPORT_TABLE(report, "frames",
                                              "each frame, the longest first, with the work that its calls "
                                              "launched, whenever it ran; work that runs "
                                              "at once counts several times",
                                              COLUMNS);
    for (size_t i = 0; i < state->count && i < FRAMES_LISTED; i++) {
        const tsmith_frame_interval *frame = state->order[i];
        const struct sums sums = sums_of(state, context, frame);
        report_integer(report, table, (int64_t)frame->number);
        analysis_track_text(report, table, context, frame->track);
        report_integer(report, table, tsmith_time_subtract(frame->start, context->window.from));
        report_integer(report, table, length_of(frame));
        report_integer(report, table, sums.kernels);
        if (sums.untimed)
            report_unknown(report, table);
        else
            report_integer(report, table, sums.kernel_time);
        report_integer(report, table, sums.transfers);
        if (sums.untimed)
            report_unknown(report, table);
        else
            report_integer(report, table, sums.transfer_time);
    }
    if (state->count > FRAMES_LISTED)
        report_note(report, "Of %zu frames the %d longest are listed.", state->count, FRAMES_LISTED);
}

static bool write_times(struct frames *state, const struct analysis_context *context, struct report *report) {
    static const tsmith_report_column COLUMNS[] = {
        {"frames", TSMITH_CELL_COUNT}, {"mean", TSMITH_CELL_DURATION}, {"median", TSMITH_CELL_DURATION},
        {"p95", TSMITH_CELL_DURATION}, {"p99", TSMITH_CELL_DURATION},  {"longest", TSMITH_CELL_DURATION},
        {"slow", TSMITH_CELL_COUNT}};
    struct report_table *table =
        REPORT_TABLE(report, "times", "of all frames; slow ones took longer than twice the median", COLUMNS);
    if (!state->count)
        return true;
    struct samples times = {0};
    char middle[REPORT_TEXT], high[REPORT_TEXT], most[REPORT_TEXT];
    bool done = true;
    for (size_t i = 0; i < state->count && done; i++)
        done = samples_add(&times, length_of(state->order[i]));
    const int64_t median = samples_quantile(&times, 0.5), p99 = samples_quantile(&times, 0.99);
    size_t slow = 0;
    while (slow < state->count && length_of(state->order[slow]) / 2 > median)
        slow++;
    report_integer(report, table, (int64_t)state->count);
    report_integer(report, table, times.total / (int64_t)state->count);
    report_integer(report, table, median);
    report_integer(report, table, samples_quantile(&times, 0.95));
    report_integer(report, table, p99);
    report_integer(report, table, times.max);
    report_integer(report, table, (int64_t)slow);
    report_finding(
        report,
        "%zu frame%s (%s): the median took %s, the 99th percentile %s, the longest %s (frame %llu); "
        "%zu took longer than twice the median.",
        state->count, report_plural(state->count), tsmith_frames_form(context->frames),
        report_duration(middle, median), report_duration(high, p99), report_duration(most, times.max),
        (unsigned long long)state->order[0]->number, slow);
    samples_finish(&times);
    return done;
}

static tsmith_status finish(void *own, const struct analysis_context *context, struct report *report) {
    struct frames *state = own;
    if (!add_up(state, context) || !find_frames(state, context))
        return TSMITH_ERROR_NO_MEMORY;
    if (!write_times(state, context, report))
        return TSMITH_ERROR_NO_MEMORY;
    write_frames(state, context, report);
    if (state->count)
        return TSMITH_OK;
    const char *form = tsmith_frames_form(context->frames);
    report_finding(report, "No frame (%s) is in the %s.", form, context->scope);
    if (strcmp(form, "present") == 0)
        report_note(
            report,
            "Nothing was presented; --frames wait or --frames range:NAME states another form of frames.");
    return TSMITH_OK;
}

static void release(void *own) {
    struct frames *state = own;
    free(state->sums);
    free(state->order);
}

const struct analysis_kind analysis_frames = {
    .name = "frames",
    .question = "How long do frames take, and which are slow?",
    .needs = NEEDS_TIMELINE,
    .frames = true,
    .state_size = sizeof(struct frames),
    .finish = finish,
    .release = release,
};
