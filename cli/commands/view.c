// SPDX-License-Identifier: Apache-2.0
// `tracesmith view`: the events of a trace, its totals, or a timeline.
#include "cli/present/views.h"

#include <string.h>

#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "tracesmith/frames.h"

static bool read_options(const struct invocation *invocation, struct view *view) {
    const char *count = invocation_value(invocation, "count");
    view->limit = UINT64_MAX;
    if (count && !quantity_count(count, &view->limit)) {
        complain("--count: '%s' is not a number", count);
        return false;
    }
    if (!window_read(invocation, &view->window))
        return false;
    view->query.kinds = view->window.kinds;
    const char *format = invocation_value(invocation, "format");
    if (invocation_flag(invocation, "json") && format && strcmp(format, "json") != 0) {
        complain("--json and --format %s cannot be combined", format);
        return false;
    }
    if (invocation_flag(invocation, "stats") && invocation_flag(invocation, "timeline")) {
        complain("--stats and --timeline cannot be combined");
        return false;
    }
    view->with_stacks = invocation_flag(invocation, "stacks");
    if (view->with_stacks &&
        (invocation_flag(invocation, "stats") || invocation_flag(invocation, "timeline"))) {
        complain("--stacks applies to lists of events only; `tracesmith analyze callsites` sums the cost of "
                 "call paths");
        return false;
    }
    view->hide_interpreter = invocation_flag(invocation, "hide-interpreter");
    if (view->hide_interpreter && !view->with_stacks) {
        complain("--hide-interpreter needs --stacks");
        return false;
    }
    if (count && (invocation_flag(invocation, "stats") || invocation_flag(invocation, "timeline"))) {
        complain("--count applies to lists of events only; use --from and --to with --stats and --timeline");
        return false;
    }
    return true;
}

static int answer(const struct invocation *invocation, struct view *view) {
    const char *format = invocation_value(invocation, "format");
    bool json = invocation_flag(invocation, "json") || (format && strcmp(format, "json") == 0);
    bool csv = !json && format && strcmp(format, "csv") == 0;
    if (invocation_flag(invocation, "timeline")) {
        if (!json && !csv)
            return trace_refuses_sums(&view->trace, "a timeline") ? EXIT_NO : view_timeline(view);
        complain("--timeline has only a text form; use --stats --json or --format json");
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "stats")) {
        if (!csv)
            return view_stats(view, json);
        complain("--stats has only text and JSON forms");
        return EXIT_USAGE;
    }
    return json ? view_json(view) : csv ? view_csv(view) : view_text(view);
}

// The number of the frame; 0: not asked for.
static bool read_frame(const struct invocation *invocation, const struct view *view, uint64_t *number) {
    const char *text = invocation_value(invocation, "frame"), *form = invocation_value(invocation, "frames");
    tsmith_error error;
    *number = 0;
    if (form && !text) {
        complain("--frames needs --frame");
        return false;
    }
    if (!text)
        return true;
    if (!quantity_count(text, number) || *number == 0) {
        complain("--frame: '%s' is not the number of a frame; the first is 1", text);
        return false;
    }
    if (invocation_flag(invocation, "stats") || invocation_flag(invocation, "timeline") ||
        window_has_time(&view->window)) {
        complain("--frame cannot be combined with --stats, --timeline, --from or --to");
        return false;
    }
    if (!form || tsmith_frames_check(form, &error) == TSMITH_OK)
        return true;
    complain("--frames: %s", error.message);
    return false;
}

static int open_frame(const struct invocation *invocation, struct view *view, uint64_t number) {
    if (!number)
        return EXIT_DONE;
    const int code =
        frame_filter_open(&view->frame, &view->trace, number, invocation_value(invocation, "frames"));
    if (code == EXIT_DONE)
        frame_filter_apply(&view->frame, &view->query);
    return code;
}

int command_view(const struct invocation *invocation) {
    struct view view = {.progress = {.what = "reading"}};
    uint64_t frame;
    if (!read_options(invocation, &view) || !read_frame(invocation, &view, &frame))
        return EXIT_USAGE;
    int code = trace_open(invocation->operands[0], &view.trace);
    if (code != EXIT_DONE)
        return code;
    window_place(&view.window, view.trace.summary.first_start, &view.query.from, &view.query.to);
    code = open_frame(invocation, &view, frame);
    if (code != EXIT_DONE) {
        frame_filter_close(&view.frame);
        trace_close(&view.trace);
        return code;
    }
    code = !view.with_stacks || stacks_open(&view.stacks, &view.trace, view.hide_interpreter)
               ? answer(invocation, &view)
               : EXIT_LACKING;
    // Losses are not reported if the reader of the answer has exited, or the question was wrong.
    if (code == EXIT_DONE && output_flush())
        code = trace_report(&view.trace);
    frame_filter_close(&view.frame);
    stacks_close(&view.stacks);
    trace_close(&view.trace);
    return code;
}
