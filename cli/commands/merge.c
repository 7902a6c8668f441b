// SPDX-License-Identifier: Apache-2.0
// `tracesmith merge`: one trace of the traces of several ranks.
#include <inttypes.h>
#include <sys/stat.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"
#include "tracesmith/merge.h"

static void write_answer(const struct invocation *invocation, const char *path,
                         const tsmith_combine_result *result, bool is_whole) {
    struct text line = {0};
    struct stat file = {0};
    (void)stat(path, &file);
    if (invocation_flag(invocation, "json")) {
        text_add_cstr(&line, "{\"trace\":");
        text_add_json_cstr(&line, path);
        text_add_format(&line,
                        ",\"traces\":%zu,\"events\":%" PRIu64 ",\"complete\":%s,\"damaged\":%" PRIu64
                        ",\"by_wall_clock\":%" PRIu64 ",\"unrelated_clocks\":%" PRIu64
                        ",\"compared_clocks\":%" PRIu64 ",\"contradictions\":%" PRIu64 "}\n",
                        invocation->operand_count, result->events, is_whole ? "true" : "false",
                        result->damaged, result->by_wall_clock, result->unrelated, result->compared,
                        result->contradictions);
    } else {
        text_add_safe(&line, text_string(path), 0);
        text_add_cstr(&line, ": ");
        text_add_counted(&line, result->events, "event", "events");
        text_add_format(&line, " of %zu traces, ", invocation->operand_count);
        text_add_bytes(&line, (double)file.st_size);
        text_add_char(&line, '\n');
    }
    output_text(&line);
    text_finish(&line);
    if (invocation_flag(invocation, "json"))
        return;
    if (result->by_wall_clock)
        complain(
            "%" PRIu64
            " %s of other machines: their clocks are related to the first trace's by the wall clocks of the "
            "machines, within an unknown bound (tracesmith info)",
            result->by_wall_clock, plural(result->by_wall_clock, "trace is", "traces are"));
    if (result->contradictions)
        complain("%" PRIu64 " %s of clocks exclude each other and were not used (tracesmith analyze --ranks)",
                 result->contradictions, plural(result->contradictions, "pair", "pairs"));
    if (result->unrelated)
        complain("how the clocks of %" PRIu64
                 " %s and of the first trace relate is not known: do not compare their times",
                 result->unrelated, plural(result->unrelated, "trace", "traces"));
}

int command_merge(const struct invocation *invocation) {
    const char *given = invocation_value(invocation, "output"), *path = given ? given : "merged.sbt";
    const tsmith_sbt_write_options options = {.size = sizeof options};
    tsmith_combine_result result = {.size = sizeof result};
    tsmith_error error;
    for (size_t i = 0; i < invocation->operand_count; i++) {
        if (convert_is_same_file(invocation->operands[i], path)) {
            complain("%s is also an input and would be overwritten; choose another file with --output", path);
            return EXIT_USAGE;
        }
        if (trace_is_directory(invocation->operands[i]))
            return EXIT_DAMAGED;
    }
    if (!trace_may_replace(path))
        return EXIT_USAGE;
    const tsmith_status status =
        tsmith_traces_combine((const char *const *)invocation->operands, invocation->operand_count, path,
                              &options, &result, &error);
    if (status >= 0)
        write_answer(invocation, path, &result, status == TSMITH_OK);
    if (status != TSMITH_OK)
        complain("%s", error.message);
    return status == TSMITH_OK                       ? EXIT_DONE
           : status == TSMITH_TRUNCATED              ? EXIT_DAMAGED
           : status == TSMITH_ERROR_INVALID_ARGUMENT ? EXIT_USAGE
                                                     : exit_code_of_input(status);
}
