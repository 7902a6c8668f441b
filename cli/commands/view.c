// SPDX-License-Identifier: Apache-2.0
// `tracesmith view`: the events of a trace, its totals, or a timeline.
#include "cli/present/views.h"

#include <string.h>

#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"

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
            return view_timeline(view);
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

int command_view(const struct invocation *invocation) {
    struct view view = {.progress = {.what = "reading"}};
    if (!read_options(invocation, &view))
        return EXIT_USAGE;
    int code = trace_open(invocation->operands[0], &view.trace);
    if (code != EXIT_DONE)
        return code;
    window_place(&view.window, view.trace.summary.first_start, &view.query.from, &view.query.to);
    code = !view.with_stacks || stacks_open(&view.stacks, &view.trace, view.hide_interpreter)
               ? answer(invocation, &view)
               : EXIT_LACKING;
    // Losses are not reported if the reader of the answer has exited, or the question was wrong.
    if (code == EXIT_DONE && output_flush())
        code = trace_report(&view.trace);
    stacks_close(&view.stacks);
    trace_close(&view.trace);
    return code;
}
