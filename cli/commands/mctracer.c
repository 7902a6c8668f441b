// SPDX-License-Identifier: Apache-2.0
// mcTracer writes Chrome JSON, a file per process, into a folder: mcTracer --mctx --odname FOLDER --name NAME PROGRAM... (MACA 3.0 to
// 3.7, as its users call it; it was not available). The folder is our own (0700). It goes when the trace is written, and is
// kept, and named, if that fails or if there are traces of more processes than the one that is imported.
#include "mctracer.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/opened_trace.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "tool.h"

// The largest trace in the folder; how many there are.
static size_t find_trace(const char *folder, struct text *out) {
    struct text pattern = {0};
    size_t count = 0;
    off_t largest = -1;
    glob_t found;
    text_add_format(&pattern, "%s/*.json", folder);
    if (glob(text_cstr(&pattern), GLOB_NOSORT, NULL, &found) == 0) {
        count = found.gl_pathc;
        for (size_t i = 0; i < count; i++) {
            struct stat status;
            if (stat(found.gl_pathv[i], &status) != 0 || status.st_size <= largest)
                continue;
            largest = status.st_size;
            text_clear(out);
            text_add_cstr(out, found.gl_pathv[i]);
        }
        globfree(&found);
    }
    text_finish(&pattern);
    return count;
}

static int record(const struct invocation *invocation, const char *tool, const char *folder) {
    const char *const first[] = {tool, "--mctx", "--odname", folder, "--name", "tracesmith"};
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

// The program's exit code, which mcTracer gives as its own, unless it succeeded and there is no trace.
static int profile_into(const struct invocation *invocation, const char *tool, const char *folder,
                        const char *path) {
    struct text trace = {0};
    const int status = record(invocation, tool, folder);
    int code = status == -1 ? EXIT_LACKING : tool_exit_code(status);
    const size_t count = status == -1 ? 0 : find_trace(folder, &trace);
    const int imported = count ? tool_import(text_cstr(&trace), path, "mcTracer") : EXIT_LACKING;
    if (status != -1 && !count)
        complain("mcTracer exited with status %d and wrote no trace; see its output above", code);
    if (count > 1)
        complain("mcTracer wrote traces of %zu processes; the largest is imported: %s", count,
                 text_cstr(&trace));
    if (count > 1 || (count && imported != EXIT_DONE))
        complain("what mcTracer wrote is kept: %s", folder);
    else
        tool_remove_folder(folder);
    code = code ? code : imported;
    text_finish(&trace);
    return code;
}

int mctracer_profile(const struct invocation *invocation, const char *path) {
    static const char *const places[] = {"/opt/maca/bin/mcTracer", "/opt/maca-*/bin/mcTracer", NULL};
    struct text tool = {0}, folder = {0};
    static const char *const known[] = {"output", "mctracer", NULL};
    int code = EXIT_LACKING;
    if (!tool_options_fit(invocation, known, "--mctracer") || !trace_may_replace(path))
        return EXIT_USAGE;
    const bool found = tool_find("mcTracer", places, &tool);
    if (!found)
        complain("mcTracer was found neither in PATH nor in /opt/maca*/bin: install the MACA SDK, or use "
                 "--api maca to "
                 "record with TraceSmith");
    if (found && tool_make_folder(&folder))
        code = profile_into(invocation, text_cstr(&tool), text_cstr(&folder), path);
    text_finish(&tool);
    text_finish(&folder);
    return code;
}
