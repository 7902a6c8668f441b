// SPDX-License-Identifier: Apache-2.0
// `tracesmith split`: a trace for each rank or process of one trace. `profile` does the same with what it recorded.
#include "split.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/present/terminal.h"

static tsmith_status may_replace(void *context, const char *path, tsmith_error *error) {
    (void)context;
    if (trace_may_replace(path))
        return TSMITH_OK;
    if (error) {
        *error = (tsmith_error){.status = TSMITH_ERROR_BUSY};
        (void)snprintf(error->message, sizeof error->message, "%s was not replaced", path);
    }
    return TSMITH_ERROR_BUSY;
}

static void note_file(void *context, const char *path, uint64_t events) {
    struct split *split = context;
    if (split->list.length)
        text_add_char(&split->list, ',');
    else
        text_add_cstr(&split->first, path);
    text_add_cstr(&split->list, "{\"trace\":");
    text_add_json_cstr(&split->list, path);
    text_add_format(&split->list, ",\"events\":%" PRIu64 "}", events);
}

tsmith_status split_run(struct split *split, const char *path, const char *pattern, tsmith_error *error) {
    const tsmith_sbt_write_options write = {.size = sizeof write, .may_replace = may_replace};
    const tsmith_split_options options = {
        .size = sizeof options, .write = &write, .written = note_file, .context = split};
    *split = (struct split){.result = {.size = sizeof split->result}};
    return tsmith_trace_split(path, pattern, &options, &split->result, error);
}

void split_finish(struct split *split) {
    text_finish(&split->list);
    text_finish(&split->first);
}

const char *split_name(struct split *split, const char *pattern) {
    return split->result.files == 1 ? text_cstr(&split->first) : pattern;
}

void split_add_json(struct text *line, struct split *split) {
    const tsmith_split_result *result = &split->result;
    text_add_format(
        line, "\"files\":[%s],\"ranks\":%" PRIu64 ",\"world_size\":%" PRIu64 ",\"missing\":%" PRIu64,
        split->list.length ? text_cstr(&split->list) : "", result->ranks, result->world, result->missing);
    text_add_cstr(line, ",\"missing_ranks\":");
    text_add_json_cstr(line, result->missing_ranks);
}

void split_add_text(struct text *line, struct split *split, const char *pattern) {
    const tsmith_split_result *result = &split->result;
    text_add_safe(line, text_string(split_name(split, pattern)), 0);
    text_add_cstr(line, ": ");
    text_add_counted(line, result->files, "file", "files");
    if (result->ranks) {
        text_add_cstr(line, " of ");
        text_add_count(line, result->ranks);
        if (result->world) {
            text_add_cstr(line, " of ");
            text_add_count(line, result->world);
        }
        text_add_cstr(line, result->world != 1 || result->ranks != 1 ? " ranks" : " rank");
    }
}

void split_complain(const struct split *split, const char *pattern) {
    const tsmith_split_result *result = &split->result;
    if (result->missing)
        complain(
            "no file of %s %s of %" PRIu64
            ": nothing was recorded of them here. One recording reaches the processes of its own host; for "
            "several hosts let the launcher start tracesmith: 'mpirun ... tracesmith profile -o %s -- "
            "./program'",
            plural(result->missing, "rank", "ranks"), result->missing_ranks, result->world, pattern);
    if (!result->ranks && strstr(pattern, "%r"))
        complain("no process of the trace states a rank: %%r is 'norank'");
}

int command_split(const struct invocation *invocation) {
    const char *path = invocation->operands[0], *pattern = invocation_value(invocation, "output");
    struct split split;
    struct text line = {0};
    tsmith_error error;
    if (!pattern) {
        complain("split needs --output with %%r or %%p in the name, such as 'run.%%r.sbt'");
        return EXIT_USAGE;
    }
    if (trace_is_directory(path))
        return EXIT_DAMAGED;
    const tsmith_status status = split_run(&split, path, pattern, &error);
    if (status >= 0) {
        if (invocation_flag(invocation, "json")) {
            text_add_char(&line, '{');
            split_add_json(&line, &split);
            text_add_format(&line, ",\"events\":%" PRIu64 ",\"complete\":%s}", split.result.events,
                            status == TSMITH_OK ? "true" : "false");
        } else {
            split_add_text(&line, &split, pattern);
            text_add_cstr(&line, ", ");
            text_add_counted(&line, split.result.events, "event", "events");
        }
        text_add_char(&line, '\n');
        output_text(&line);
        if (!invocation_flag(invocation, "json"))
            split_complain(&split, pattern);
    }
    if (status != TSMITH_OK)
        complain("%s", error.message);
    text_finish(&line);
    split_finish(&split);
    return status == TSMITH_OK                       ? EXIT_DONE
           : status == TSMITH_TRUNCATED              ? EXIT_DAMAGED
           : status == TSMITH_ERROR_INVALID_ARGUMENT ? EXIT_USAGE
           : status == TSMITH_ERROR_BUSY             ? EXIT_LACKING
                                                     : exit_code_of_input(status);
}
