// SPDX-License-Identifier: Apache-2.0
// Which events belong to a frame: device commands by the call that launched them, all else by its begin. `view` calls it.
#include "frame_filter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/options/command.h"
#include "cli/present/terminal.h"

static int by_command(const void *left, const void *right) {
    const struct frame_command *a = left, *b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return a->track < b->track ? -1 : a->track > b->track;
}

// The commands that the frame's calls launched.
static bool find_commands(struct frame_filter *filter) {
    const tsmith_timeline *timeline = tsmith_frames_timeline(filter->frames);
    size_t call_count, launches, count, rows;
    (void)tsmith_timeline_calls(timeline, &call_count);
    const tsmith_command *command = tsmith_timeline_commands(timeline, &count);
    const tsmith_row *row = tsmith_timeline_rows(timeline, &rows);
    const tsmith_frame_launch *launch = tsmith_frame_launches(filter->frames, filter->frame, &launches);
    uint8_t *is_own = calloc(call_count + 1, 1);
    filter->commands = malloc((count + 1) * sizeof *filter->commands);
    for (size_t i = 0; is_own && i < launches; i++)
        is_own[launch[i].call] = 1;
    for (size_t i = 0; is_own && filter->commands && i < count; i++)
        if (command[i].call != TSMITH_INDEX_NONE && is_own[command[i].call])
            filter->commands[filter->count++] =
                (struct frame_command){command[i].correlation, row[command[i].row].track};
    const bool done = is_own && filter->commands;
    if (done)
        qsort(filter->commands, filter->count, sizeof *filter->commands, by_command);
    free(is_own);
    return done;
}

static int by_number(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

uint64_t *frame_calls(const tsmith_frames *frames, const tsmith_frame_interval *frame, size_t *count) {
    size_t calls;
    const tsmith_frame_launch *launches = tsmith_frame_launches(frames, frame, count);
    const tsmith_call *call = tsmith_timeline_calls(tsmith_frames_timeline(frames), &calls);
    uint64_t *out = malloc((*count + 1) * sizeof *out);
    for (size_t i = 0; out && i < *count; i++)
        out[i] = call[launches[i].call].correlation;
    if (out)
        qsort(out, *count, sizeof *out, by_number);
    return out;
}

int frame_filter_open(struct frame_filter *filter, struct trace *trace, uint64_t number, const char *form) {
    tsmith_source *source = NULL;
    tsmith_error error;
    size_t count = 0;
    *filter = (struct frame_filter){.dictionary = trace->dictionary};
    tsmith_status status = tsmith_sbt_scan(trace->file, NULL, &source, &error);
    if (status >= 0)
        status = tsmith_frames_read(source, form, &filter->frames, &error);
    tsmith_source_destroy(source);
    if (status < 0) {
        complain("%s: %s", trace->path, error.message);
        return exit_code_of_input(status);
    }
    const tsmith_frame_interval *frames = tsmith_frames_get(filter->frames, &count);
    if (!number || number > count) {
        complain("%s: there is no frame %" PRIu64 ": the trace has %zu %s (%s)", trace->path, number, count,
                 plural(count, "frame", "frames"), tsmith_frames_form(filter->frames));
        return EXIT_USAGE;
    }
    filter->frame = &frames[number - 1];
    if (find_commands(filter))
        return EXIT_DONE;
    complain("out of memory");
    return EXIT_LACKING;
}

void frame_filter_close(struct frame_filter *filter) {
    tsmith_frames_destroy(filter->frames);
    free(filter->commands);
    *filter = (struct frame_filter){.frames = NULL};
}

static void begin(void *context, const tsmith_batch *batch) {
    static const uint32_t field = TSMITH_FIELD_CORRELATION;
    struct frame_filter *filter = context;
    filter->track = tsmith_batch_track(batch);
    const tsmith_track *track = tsmith_dictionary_track(filter->dictionary, filter->track);
    filter->on_device =
        track && (track->kind == TSMITH_TRACK_QUEUE || track->kind == TSMITH_TRACK_COPY_ENGINE);
    filter->is_process = track && track->process == filter->frame->process;
    filter->has_spans = tsmith_view_spans(batch, &filter->spans);
    tsmith_view_batch(batch, &field, 1, &filter->correlations);
}

static bool is_wanted(void *context, uint32_t row) {
    const struct frame_filter *filter = context;
    struct frame_command command = {.track = filter->track};
    if (!filter->has_spans || filter->spans.kinds[row] == TSMITH_KIND_LOSS)
        return false;
    if (filter->on_device && tsmith_view_u64(&filter->correlations, row, &command.correlation))
        return bsearch(&command, filter->commands, filter->count, sizeof command, by_command) != NULL;
    return filter->is_process && filter->spans.starts[row] >= filter->frame->start &&
           filter->spans.starts[row] < filter->frame->end;
}

void frame_filter_apply(struct frame_filter *filter, struct order_query *query) {
    query->filter = (struct order_filter){.context = filter, .begin = begin, .is_wanted = is_wanted};
}
