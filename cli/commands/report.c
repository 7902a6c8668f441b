// SPDX-License-Identifier: Apache-2.0
// `tracesmith report`: a page about a trace, for people who have neither the trace nor TraceSmith.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/options.h"
#include "cli/options/quantity.h"
#include "cli/present/out_file.h"
#include "cli/present/terminal.h"
#include "cli/window.h"
#include "tracesmith/stacks.h"
#include "tracesmith/trace_report.h"

struct reporting {
    const char *from;
    const char *to; // NULL or "-": standard output
    struct window window;
    tsmith_trace_report_options options;
};

const char *option_report_word(size_t index) {
    return tsmith_report_format_name((unsigned)index);
}

const char *option_report_doc(size_t index) {
    return tsmith_report_format_doc((unsigned)index);
}

static bool ends_with(const char *name, const char *end) {
    const size_t length = strlen(name), end_length = strlen(end);
    return length > end_length && strcmp(name + length - end_length, end) == 0;
}

static bool read_options(const struct invocation *invocation, struct reporting *out) {
    const char *rows = invocation_value(invocation, "rows"), *format = invocation_value(invocation, "format");
    uint64_t count = 0;
    const char *title = invocation_value(invocation, "title"), *slash;
    *out = (struct reporting){.from = invocation->operands[0],
                              .to = invocation_value(invocation, "output"),
                              .options = {.size = sizeof out->options}};
    slash = strrchr(out->from, '/');
    out->options.title = title ? title : slash && slash[1] ? slash + 1 : out->from;
    if (!window_read(invocation, &out->window))
        return false;
    if (rows && (!quantity_count(rows, &count) || count == 0)) {
        complain("--rows: '%s' is not a number of rows", rows);
        return false;
    }
    out->options.table_rows = (size_t)count;
    for (unsigned i = 0; format && tsmith_report_format_name(i); i++)
        if (strcmp(format, tsmith_report_format_name(i)) == 0)
            out->options.format = (tsmith_report_format)i;
    if (!format && out->to && (ends_with(out->to, ".md") || ends_with(out->to, ".markdown")))
        out->options.format = TSMITH_REPORT_FORMAT_MARKDOWN;
    if (!out->to && terminal_is_output() && out->options.format == TSMITH_REPORT_FORMAT_HTML) {
        complain("standard output is a terminal; name a file with --output, or use --output - to write to "
                 "the terminal");
        return false;
    }
    return convert_may_replace(out->from, out->to ? out->to : "-");
}

static bool place_window(struct reporting *reporting, const struct trace *trace) {
    tsmith_trace_report_options *options = &reporting->options;
    const tsmith_sbt_summary *summary = &trace->summary;
    if (!window_has_time(&reporting->window))
        return true;
    options->has_window = 1;
    window_place(&reporting->window, summary->first_start, &options->from, &options->to);
    options->from = options->from > summary->first_start ? options->from : summary->first_start;
    options->to = options->to < summary->last_end ? options->to : summary->last_end;
    if (options->from < options->to)
        return true;
    complain("%s: the window contains no events", trace->path);
    return false;
}

static int write_report(struct reporting *reporting, struct trace *trace) {
    tsmith_error error;
    struct out_file file;
    int code = out_file_open(&file, reporting->to);
    if (code != EXIT_DONE)
        return code;
    if (tsmith_dictionary_stack_count(trace->dictionary) > 1)
        (void)tsmith_trace_symbolize(trace->opened, NULL, NULL); // what has no name is module and offset
    const tsmith_output output = out_file_output(&file);
    const tsmith_status status =
        tsmith_trace_report_write(trace->opened, &reporting->options, &output, &error);
    if (status < 0 && !file.failure) {
        complain("%s: %s", trace->path, error.message);
        (void)out_file_close(&file);
        return exit_code_of_input(status);
    }
    code = out_file_end(&file, TSMITH_OK, NULL);
    const int closed = out_file_close(&file);
    code = code == EXIT_DONE ? closed : code;
    if (code != EXIT_DONE)
        return code;
    trace_refresh(trace);
    return trace_report(trace);
}

int command_report(const struct invocation *invocation) {
    struct reporting reporting;
    struct trace trace;
    if (!read_options(invocation, &reporting))
        return EXIT_USAGE;
    int code = trace_open(reporting.from, &trace);
    if (code == EXIT_DONE)
        code = place_window(&reporting, &trace) ? write_report(&reporting, &trace) : EXIT_USAGE;
    trace_close(&trace);
    return code;
}
