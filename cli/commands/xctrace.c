// SPDX-License-Identifier: Apache-2.0
// Three steps, each an argument vector and no shell: xctrace record, xctrace export, import. The options are those of its manual page
// (macOS, January 2023); it was not available. Everything it writes is in a folder of our own (0700), which goes when the trace is
// written, and stays, and is named, when a later step fails: the program has run, and may not be run again.
#include "xctrace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/opened_trace.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "tool.h"

static const char default_template[] = "Metal System Trace";

// The tables that are exported: those that the importer knows, of any template. Others of a trace (every event of the operating
// system's kernel) can be hundreds of megabytes.
static const char *const tables[] = {"metal-gpu-intervals",
                                     "metal-application-command-buffer-submissions",
                                     "metal-application-event-interval",
                                     "metal-application-encoders-list",
                                     "metal-shader-compiler-intervals",
                                     "metal-gpu-counter-intervals",
                                     "gpu-counter-value",
                                     "time-profile",
                                     "time-sample",
                                     "cpu-profile",
                                     "os-signpost",
                                     "os-signpost-interval",
                                     "os-log",
                                     "syscall",
                                     "display-surface-swap"};

bool xctrace_wanted(const struct invocation *invocation) {
    return invocation_flag(invocation, "xctrace") || invocation_value(invocation, "xctrace-template") ||
           invocation_flag(invocation, "keep-trace");
}

static int record(const struct invocation *invocation, const char *xctrace, const char *trace) {
    const char *chosen = invocation_value(invocation, "xctrace-template");
    const char *const first[] = {xctrace,       "record",
                                 "--template",  chosen ? chosen : default_template,
                                 "--output",    trace,
                                 "--no-prompt", "--target-stdin",
                                 "-",           "--target-stdout",
                                 "-",           "--launch",
                                 "--"};
    enum { FIRST = sizeof first / sizeof *first };
    char **words = calloc(FIRST + invocation->operand_count + 1, sizeof *words);
    // The vector is of strings that are not changed.
    if (words)
        memcpy(words, first, sizeof first);
    if (words)
        memcpy(words + FIRST, invocation->operands, invocation->operand_count * sizeof *words);
    const int status = words ? tool_run(words, -1) : -1;
    free(words);
    return status;
}

static bool export_tables(const char *xctrace, const char *trace, const char *xml) {
    struct text query = {0};
    text_add_cstr(&query, "/trace-toc/run/data/table[");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        text_add_format(&query, "%s@schema=\"%s\"", i ? " or " : "", tables[i]);
    text_add_cstr(&query, "]");
    const char *const words[] = {xctrace,           "export",   "--input", trace, "--xpath",
                                 text_cstr(&query), "--output", xml,       NULL};
    char *copy[sizeof words / sizeof *words];
    memcpy(copy, words, sizeof words);
    const int status = tool_run(copy, -1);
    text_finish(&query);
    return status != -1 && tool_exit_code(status) == 0;
}

// Where the trace of Instruments is written: in the folder, or next to the output, without its .sbt.
static void name_trace(const struct invocation *invocation, const char *folder, const char *path,
                       struct text *out) {
    const size_t length = strlen(path);
    const bool ends = length > 4 && strcmp(path + length - 4, ".sbt") == 0;
    if (invocation_flag(invocation, "keep-trace"))
        text_add_format(out, "%.*s.trace", (int)(ends ? length - 4 : length), path);
    else
        text_add_format(out, "%s/run.trace", folder);
}

// The exit code of xctrace, of which its manual does not say what it has to do with that of the program, unless it succeeded and there
// is no trace.
static int profile_into(const struct invocation *invocation, const char *xctrace, const char *folder,
                        const char *trace, const char *path) {
    struct stat info;
    struct text xml = {0};
    const int status = record(invocation, xctrace, trace);
    int code = status == -1 ? EXIT_LACKING : tool_exit_code(status);
    const bool is_recorded = status != -1 && stat(trace, &info) == 0;
    if (status != -1 && !is_recorded)
        complain("xctrace exited with status %d and wrote no trace; see its output above", code);
    text_add_format(&xml, "%s/run.xml", folder);
    int imported = EXIT_LACKING;
    if (is_recorded && !export_tables(xctrace, trace, text_cstr(&xml)))
        complain("xctrace could not export its trace; see its output above");
    else if (is_recorded)
        imported = tool_import(text_cstr(&xml), path, "Instruments");
    if (is_recorded && (imported != EXIT_DONE || invocation_flag(invocation, "keep-trace")))
        complain("the trace of Instruments is kept: %s", trace);
    if (!is_recorded || imported == EXIT_DONE || invocation_flag(invocation, "keep-trace"))
        tool_remove_folder(folder);
    text_finish(&xml);
    return code ? code : imported;
}

int xctrace_profile(const struct invocation *invocation, const char *path) {
    static const char *const places[] = {"/Applications/Xcode*.app/Contents/Developer/usr/bin/xctrace", NULL};
    static const char *const known[] = {"output", "xctrace", "xctrace-template", "keep-trace", NULL};
    struct text tool = {0}, folder = {0}, trace = {0};
    struct stat info;
    int code = EXIT_LACKING;
    if (!tool_options_fit(invocation, known, "--xctrace") || !trace_may_replace(path))
        return EXIT_USAGE;
    const bool found = tool_find("xctrace", places, &tool);
    if (!found)
        complain("xctrace was found neither in PATH nor in /Applications/Xcode.app: it comes with Xcode, for "
                 "macOS only");
    const bool made = found && tool_make_folder(&folder);
    if (made)
        name_trace(invocation, text_cstr(&folder), path, &trace);
    if (made && stat(text_cstr(&trace), &info) == 0) {
        complain("%s exists already, and xctrace does not replace it", text_cstr(&trace));
        tool_remove_folder(text_cstr(&folder));
        code = EXIT_USAGE;
    } else if (made) {
        code = profile_into(invocation, text_cstr(&tool), text_cstr(&folder), text_cstr(&trace), path);
    }
    text_finish(&tool);
    text_finish(&folder);
    text_finish(&trace);
    return code;
}
