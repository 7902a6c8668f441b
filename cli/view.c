// SPDX-License-Identifier: Apache-2.0
// `tracesmith view`: the events of a trace, its totals, or a timeline.
#include "view.h"

#include <string.h>

#include "command.h"
#include "quantity.h"
#include "terminal.h"

static void add_kind(void *context, size_t index) {
    static const uint8_t numbers[] = {
#define NUMBER(NAME, number, name, doc) number,
        TSMITH_KIND_TABLE(NUMBER)
#undef NUMBER
    };
    *(uint32_t *)context |= 1u << numbers[index];
}

static bool read_time(const struct invocation *invocation, const char *option, int64_t *out, bool *given) {
    const char *value = invocation_value(invocation, option);
    *given = value != NULL;
    if (!value || quantity_time(value, out))
        return true;
    complain("--%s: '%s' is no time: write 1.5ms, 2s, 300us or 250ns", option, value);
    return false;
}

static int64_t after_start(const struct view *view, int64_t offset) {
    int64_t time;
    return __builtin_add_overflow(view->trace.summary.first_start, offset, &time) ? INT64_MAX : time;
}

// Times are since the start of the trace, so this comes after it is open.
static bool read_window(const struct invocation *invocation, struct view *view) {
    int64_t from = 0;
    int64_t to = 0;
    bool has_from, has_to;
    if (!read_time(invocation, "from", &from, &has_from) || !read_time(invocation, "to", &to, &has_to))
        return false;
    if (has_from && has_to && to <= from) {
        complain("--to has to be later than --from");
        return false;
    }
    view->query.from = has_from ? after_start(view, from) : INT64_MIN;
    view->query.to = has_to ? after_start(view, to) : INT64_MAX;
    view->has_window = has_from || has_to;
    return true;
}

static bool read_options(const struct invocation *invocation, struct view *view) {
    const char *count = invocation_value(invocation, "count");
    const char *types = invocation_value(invocation, "type");
    view->limit = UINT64_MAX;
    if (count && !quantity_count(count, &view->limit)) {
        complain("--count: '%s' is no number", count);
        return false;
    }
    if (types &&
        !option_each_word(command_option(invocation->command, "type"), types, add_kind, &view->query.kinds))
        return false;
    if (invocation_flag(invocation, "stats") && invocation_flag(invocation, "timeline")) {
        complain("--stats and --timeline are two answers: ask for one");
        return false;
    }
    if (count && (invocation_flag(invocation, "stats") || invocation_flag(invocation, "timeline"))) {
        complain("--count is for lists of events: --from and --to choose what --stats and --timeline cover");
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
        complain("--timeline is for people: --stats --json and --format json are for programs");
        return EXIT_USAGE;
    }
    if (invocation_flag(invocation, "stats")) {
        if (!csv)
            return view_stats(view, json);
        complain("--stats is written as text or JSON");
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
    code = read_window(invocation, &view) ? answer(invocation, &view) : EXIT_USAGE;
    // Nothing is said about losses when the reader of the answer has gone, or the question was wrong.
    if (code == EXIT_DONE && output_flush())
        code = trace_report(&view.trace);
    trace_close(&view.trace);
    return code;
}
