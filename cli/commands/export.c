// SPDX-License-Identifier: Apache-2.0
// `tracesmith export`: a trace, or a window of it, for other tools. The formats are the library's table, and `dot`,
// which is no stream of events but a graph of them.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/options.h"
#include "cli/present/out_file.h"
#include "cli/present/terminal.h"
#include "cli/window.h"
#include "tracesmith/export_trace.h"
#include "tracesmith/graph.h"
#include "tracesmith/stacks.h"

struct exporting {
    const char *from;
    const char *to; // "-": standard output
    const char *format;
    struct window window;
    bool gzip, hide_interpreter, cpu;
    struct trace trace; // opened when a window, or all of it, is needed at once
};

static const char dot[] = "dot", memory_viz[] = "memory-viz";

const char *option_export_word(size_t index) {
    const char *name = tsmith_export_format_name((unsigned)index);
    return name ? name : index && tsmith_export_format_name((unsigned)index - 1) ? dot : NULL;
}

const char *option_export_doc(size_t index) {
    const char *doc = tsmith_export_format_doc((unsigned)index);
    return doc ? doc : "Graphviz: commands and calls of a window, and their dependencies";
}

static bool ends_with(const char *name, const char *end) {
    size_t length = strlen(name), end_length = strlen(end);
    return length > end_length && strcmp(name + length - end_length, end) == 0;
}

// By the extension of the file that is to be written.
static const char *format_of_name(const char *name) {
    struct text plain = {0};
    const char *found = NULL, *extension;
    size_t longest = 0; // ".speedscope.json" is more than ".json"
    text_add(&plain, name, strlen(name) - (ends_with(name, ".gz") ? 3 : 0));
    for (unsigned i = 0; (extension = tsmith_export_format_extension(i)); i++)
        if (ends_with(text_cstr(&plain), extension) && strlen(extension) > longest) {
            longest = strlen(extension);
            found = tsmith_export_format_name(i);
        }
    if (!found && ends_with(text_cstr(&plain), ".dot"))
        found = dot;
    text_finish(&plain);
    return found;
}

// Whether it is a tree of call paths.
static bool has_stacks(const char *format) {
    static const char *const formats[] = {"folded", "flamegraph", "pprof", "speedscope", "firefox"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i], format) == 0)
            return true;
    return false;
}

// Whether the columns are fixed before the first event: all fields of the trace must be known then.
static bool has_fixed_columns(const char *format) {
    static const char *const formats[] = {"arrow", "arrow-stream", "parquet"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(formats[i], format) == 0)
            return true;
    return false;
}

static bool read_options(const struct invocation *invocation, struct exporting *out) {
    const char *to = invocation_value(invocation, "output");
    *out = (struct exporting){.from = invocation->operands[0],
                              .to = to ? to : "-",
                              .format = invocation_value(invocation, "format"),
                              .gzip = invocation_flag(invocation, "gzip"),
                              .hide_interpreter = invocation_flag(invocation, "hide-interpreter"),
                              .cpu = invocation_flag(invocation, "cpu")};
    if (!window_read(invocation, &out->window))
        return false;
    if (!out->format && to)
        out->format = format_of_name(to);
    if (!out->format) {
        complain("the output format is unknown; use --format, or an --output file with a known extension; "
                 "'tracesmith "
                 "help export' lists the formats");
        return false;
    }
    out->gzip |= ends_with(out->to, ".gz");
    if (!to && terminal_is_output()) {
        complain("standard output is a terminal; name a file with --output, or use --output - to write to "
                 "the terminal");
        return false;
    }
    if (out->hide_interpreter && !has_stacks(out->format)) {
        complain("--hide-interpreter applies to folded stacks, flame graphs, pprof, speedscope and Firefox "
                 "profiles only");
        return false;
    }
    if (out->cpu && !has_stacks(out->format)) {
        complain("--cpu applies to folded stacks, flame graphs, pprof and speedscope only");
        return false;
    }
    if (out->gzip && strcmp(out->format, dot) == 0) {
        complain("the format dot cannot be compressed");
        return false;
    }
    return true;
}

// Whether all fields of the trace must be known before its first event is read, and a stream of it does not have them: other
// formats than SBT describe a field where it first occurs.
static bool needs_fields(const struct exporting *exporting) {
    tsmith_sbt *file = NULL;
    if (!has_fixed_columns(exporting->format))
        return false;
    const bool is_trace =
        strcmp(exporting->from, "-") != 0 && tsmith_sbt_open(exporting->from, &file, NULL) == TSMITH_OK;
    tsmith_sbt_close(file);
    return !is_trace;
}

// ---- streams of events

static tsmith_status open_sink(void *context, tsmith_sink **out, tsmith_error *error) {
    const struct exporting *exporting = context;
    const tsmith_export_options options = {.size = sizeof options,
                                           .gzip = exporting->gzip,
                                           .hide_interpreter = exporting->hide_interpreter,
                                           .cpu_samples = exporting->cpu};
    if (strcmp(exporting->to, "-") == 0)
        return tsmith_export_open_fd(exporting->format, STDOUT_FILENO, &options, out, error);
    return tsmith_export_open(exporting->format, exporting->to, &options, out, error);
}

// A window in time is since the start of the trace: known before of an SBT file only.
static tsmith_status open_source(struct exporting *exporting, struct convert *convert, tsmith_source **out) {
    tsmith_source *all = NULL;
    if (exporting->trace.file)
        return window_scan(&exporting->window, exporting->trace.file, out, &convert->error);
    tsmith_status status = tsmith_trace_stream(exporting->from, &convert->options, &all, &convert->error);
    return status < 0 ? status : window_kinds(&exporting->window, all, out, &convert->error);
}

// Formats of one kind of event only are empty without it.
static void want_kinds(const struct exporting *exporting, struct convert *convert) {
    if (exporting->cpu) {
        convert->wanted[0] = TSMITH_KIND_SAMPLE;
    } else if (strcmp(exporting->format, memory_viz) == 0) {
        convert->wanted[0] = TSMITH_KIND_ALLOC;
        convert->wanted[1] = TSMITH_KIND_FREE;
        convert->wanted[2] = TSMITH_KIND_MARKER; // of PyTorch's profiler, perhaps
    }
}

static void say_empty(const struct exporting *exporting, const struct convert *convert) {
    if (!convert->wanted[0] || convert->has_wanted || convert->status < 0)
        return;
    const char *part =
        window_has_time(&exporting->window) || exporting->window.kinds ? "the selected part of " : "";
    if (exporting->cpu)
        complain("%s%s has no samples of the CPU, so the output is empty; 'tracesmith profile --sample' "
                 "records them",
                 part, exporting->from);
    else
        complain("%s%s has no events of memory (alloc, free), so the snapshot is empty", part,
                 exporting->from);
}

static int export_events(struct exporting *exporting) {
    struct convert convert;
    tsmith_source *source = NULL;
    convert_init(&convert, "exporting");
    want_kinds(exporting, &convert);
    convert.status = open_source(exporting, &convert, &source);
    if (convert.status >= 0 && tsmith_dictionary_stack_count(tsmith_source_dictionary(source)) > 1)
        (void)tsmith_source_symbolize(source, NULL, NULL); // what has no name is module and offset
    if (convert.status >= 0)
        convert_run(&convert, source, open_sink, exporting);
    if (!exporting->trace.file)
        losses_complain(&convert.losses, exporting->from);
    say_empty(exporting, &convert);
    int code = convert_exit_code(&convert);
    if (code == EXIT_DONE && exporting->trace.file)
        code = trace_report(&exporting->trace);
    convert_finish(&convert);
    return code;
}

// ---- the graph

static tsmith_status read_timeline(struct exporting *exporting, tsmith_timeline **out, tsmith_error *error) {
    tsmith_source *source = NULL;
    const tsmith_timeline_options options = {.size = sizeof options};
    tsmith_status status = tsmith_sbt_scan(exporting->trace.file, NULL, &source, error);
    if (status == TSMITH_OK)
        status = tsmith_timeline_read(source, &options, out, error);
    tsmith_source_destroy(source);
    return status < 0 ? status : TSMITH_OK;
}

// The exit code.
static int write_graph(struct exporting *exporting, const tsmith_timeline *timeline,
                       const tsmith_graph *graph) {
    tsmith_interval window = tsmith_timeline_window(timeline);
    tsmith_error error;
    int64_t from, to;
    window_place(&exporting->window, exporting->trace.summary.first_start, &from, &to);
    window.from = from > window.from ? from : window.from;
    window.to = to < window.to ? to : window.to;
    struct out_file file;
    int code = out_file_open(&file, exporting->to);
    if (code != EXIT_DONE)
        return code;
    const tsmith_status status =
        tsmith_graph_write_dot(graph, exporting->trace.dictionary, window, 0, file.file, &error);
    code = out_file_end(&file, status, &error);
    const int closed = out_file_close(&file);
    code = code == EXIT_DONE ? closed : code;
    return code == EXIT_DONE ? trace_report(&exporting->trace) : code;
}

static int export_graph(struct exporting *exporting) {
    tsmith_timeline *timeline = NULL;
    tsmith_graph *graph = NULL;
    tsmith_error error;
    int code;
    tsmith_status status = read_timeline(exporting, &timeline, &error);
    if (status == TSMITH_OK)
        status = tsmith_graph_create(timeline, exporting->trace.dictionary, &graph, &error);
    if (status == TSMITH_OK) {
        code = write_graph(exporting, timeline, graph);
    } else {
        complain("%s", error.message);
        code = exit_code_of_input(status);
    }
    tsmith_graph_destroy(graph);
    tsmith_timeline_destroy(timeline);
    return code;
}

int command_export(const struct invocation *invocation) {
    struct exporting exporting;
    if (!read_options(invocation, &exporting) || !convert_may_replace(exporting.from, exporting.to))
        return EXIT_USAGE;
    bool is_graph = strcmp(exporting.format, dot) == 0;
    if (is_graph && exporting.window.kinds) {
        complain("--type cannot be combined with the format dot; use --from and --to to select a window");
        return EXIT_USAGE;
    }
    if (is_graph || window_has_time(&exporting.window) || needs_fields(&exporting)) {
        int code = trace_open(exporting.from, &exporting.trace);
        if (code != EXIT_DONE)
            return code;
    }
    if (is_graph && trace_refuses_sums(&exporting.trace, "a graph")) {
        trace_close(&exporting.trace);
        return EXIT_NO;
    }
    int code = is_graph ? export_graph(&exporting) : export_events(&exporting);
    trace_close(&exporting.trace);
    return code;
}
