// SPDX-License-Identifier: Apache-2.0
// `tracesmith import`: a trace of any format into a .sbt file; several into a folder.
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/present/terminal.h"
#include "nsys.h"
#include "tracesmith/merge.h"

enum { LEVEL_USUAL = 7, LEVEL_MOST = 19 };

struct importing {
    const char *to; // at the moment
    tsmith_sbt_write_options options;
    bool json;
    const char *join; // the file whose records are joined; NULL: none
    tsmith_join_result joined;
};

static bool read_level(const struct invocation *invocation, tsmith_sbt_write_options *options) {
    const char *value = invocation_value(invocation, "level");
    uint64_t level = LEVEL_USUAL;
    *options = (tsmith_sbt_write_options){.size = sizeof *options};
    if (value && (!quantity_count(value, &level) || level < 1 || level > LEVEL_MOST)) {
        complain("--level: '%s' is not a number from 1 to %d", value, LEVEL_MOST);
        return false;
    }
    options->compression_level = (int)level;
    return true;
}

static void write_joined(const struct importing *importing, struct text *line) {
    const tsmith_join_result *joined = &importing->joined;
    if (!importing->join)
        return;
    if (importing->json) {
        text_add_cstr(line, ",\"join\":{\"file\":");
        text_add_json_cstr(line, importing->join);
        text_add_format(line,
                        ",\"records\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"ambiguous\":%" PRIu64
                        ",\"missing\":%" PRIu64 "}",
                        joined->records, joined->joined, joined->ambiguous, joined->missing);
        return;
    }
    text_add_safe(line, text_string(importing->join), 0);
    text_add_format(line, ": %" PRIu64 " of ", joined->joined);
    text_add_counted(line, joined->records, "record", "records");
    text_add_cstr(line, " joined");
    if (joined->ambiguous)
        text_add_format(line, "; %" PRIu64 " not, because several events could be meant", joined->ambiguous);
    if (joined->missing)
        text_add_format(line, "; %" PRIu64 " belong to no event of the trace", joined->missing);
    text_add_char(line, '\n');
}

static void write_answer(const struct importing *importing, struct convert *convert, const char *from,
                         const char *to) {
    struct text line = {0};
    struct stat before, after;
    bool sized = stat(to, &after) == 0 && S_ISREG(after.st_mode);
    bool compared = sized && stat(from, &before) == 0 && S_ISREG(before.st_mode) && after.st_size > 0;
    if (importing->json) {
        text_add_cstr(&line, "{\"from\":");
        text_add_json_cstr(&line, from);
        text_add_cstr(&line, ",\"trace\":");
        text_add_json_cstr(&line, to);
        text_add_cstr(&line, ",\"format\":");
        text_add_json_cstr(&line, text_cstr(&convert->format));
        if (convert->origin.length) {
            text_add_cstr(&line, ",\"origin\":");
            text_add_json_cstr(&line, text_cstr(&convert->origin));
        }
        text_add_format(&line, ",\"events\":%" PRIu64 ",\"complete\":%s", convert->events,
                        convert->status == TSMITH_OK ? "true" : "false");
        if (sized)
            text_add_format(&line, ",\"bytes\":%" PRIu64, (uint64_t)after.st_size);
        write_joined(importing, &line);
        text_add_cstr(&line, "}\n");
    } else {
        text_add_safe(&line, text_string(to), 0);
        text_add_cstr(&line, ": ");
        text_add_counted(&line, convert->events, "event", "events");
        text_add_format(&line, " from %s", text_cstr(&convert->format));
        if (convert->origin.length)
            text_add_format(&line, " (from %s at first)", text_cstr(&convert->origin));
        if (sized) {
            text_add_cstr(&line, ", ");
            text_add_bytes(&line, (double)after.st_size);
        }
        if (compared && before.st_size >= after.st_size)
            text_add_format(&line, " (%.1f times smaller)", (double)before.st_size / (double)after.st_size);
        else if (compared && before.st_size)
            text_add_format(&line, " (%.1f times larger)", (double)after.st_size / (double)before.st_size);
        text_add_char(&line, '\n');
        write_joined(importing, &line);
    }
    output_text(&line);
    text_finish(&line);
}

static tsmith_status open_sink(void *context, tsmith_sink **out, tsmith_error *error) {
    struct importing *importing = context;
    if (strcmp(importing->to, "-") == 0)
        return tsmith_sbt_writer_open_fd(STDOUT_FILENO, &importing->options, out, error);
    return tsmith_sbt_writer_open(importing->to, &importing->options, out, error);
}

// The trace and the file that is joined with it.
static int import_joined(struct importing *importing, const char *from, const char *to) {
    struct convert convert;
    tsmith_source *source = NULL;
    tsmith_trace *trace = NULL;
    importing->joined = (tsmith_join_result){.size = sizeof importing->joined};
    convert_init(&convert, "importing");
    convert.status = tsmith_trace_open(from, &convert.options, &trace, &convert.error);
    convert.named = trace ? tsmith_trace_format(trace) : NULL;
    if (convert.status == TSMITH_OK)
        convert.status =
            tsmith_trace_join(trace, importing->join, &importing->joined, &source, &convert.error);
    if (convert.status == TSMITH_OK) {
        convert_run(&convert, source, open_sink, importing);
        if (convert.status == TSMITH_OK)
            convert.status = tsmith_trace_ended(trace, &convert.error);
    }
    if (convert.status >= 0 && strcmp(to, "-") != 0)
        write_answer(importing, &convert, from, to);
    losses_complain(&convert.losses, from);
    const int code = convert_exit_code(&convert);
    tsmith_trace_close(trace);
    convert_finish(&convert);
    return code;
}

static int import_one(struct importing *importing, const char *from, const char *to) {
    struct convert convert;
    struct text folder = {0}, database = {0};
    tsmith_source *source = NULL;
    if (convert_is_same_file(from, to)) {
        complain("%s is also the input and would be overwritten; choose another file with --output", from);
        return EXIT_USAGE;
    }
    if (strcmp(to, "-") != 0 && !trace_may_replace(to))
        return EXIT_USAGE;
    if (trace_is_directory(from))
        return EXIT_DAMAGED;
    importing->to = to;
    if (importing->join)
        return import_joined(importing, from, to);
    convert_init(&convert, "importing");
    convert.status = tsmith_trace_stream(from, &convert.options, &source, &convert.error);
    // A report of Nsight Systems can be read by nsys alone.
    if (convert.status == TSMITH_ERROR_FORMAT && nsys_is_report(from)) {
        convert_finish(&convert);
        convert_init(&convert, "importing");
        convert.status = TSMITH_ERROR_FORMAT;
        if (!nsys_export(from, &folder, &database)) {
            nsys_forget(&folder, &database);
            convert_finish(&convert);
            return EXIT_LACKING;
        }
        convert.status = tsmith_trace_stream(text_cstr(&database), &convert.options, &source, &convert.error);
    }
    if (convert.status >= 0)
        convert_run(&convert, source, open_sink, importing);
    if (convert.status >= 0 && strcmp(to, "-") != 0)
        write_answer(importing, &convert, from, to);
    losses_complain(&convert.losses, from);
    int code = convert_exit_code(&convert);
    convert_finish(&convert);
    nsys_forget(&folder, &database);
    return code;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// Into `folder` (NULL: the current one), each by its own name.
static int import_each(struct importing *importing, const struct invocation *invocation, const char *folder) {
    int worst = EXIT_DONE;
    struct text path = {0};
    for (size_t i = 0; i < invocation->operand_count; i++) {
        text_clear(&path);
        if (folder)
            text_add_format(&path, "%s/", folder);
        convert_add_name(&path, invocation->operands[i], ".sbt");
        int code = import_one(importing, invocation->operands[i], text_cstr(&path));
        worst = code > worst ? code : worst;
    }
    text_finish(&path);
    return worst;
}

int command_import(const struct invocation *invocation) {
    const char *to = invocation_value(invocation, "output");
    struct importing importing = {.json = invocation_flag(invocation, "json"),
                                  .join = invocation_value(invocation, "join")};
    if (!read_level(invocation, &importing.options))
        return EXIT_USAGE;
    if (!to || is_folder(to))
        return import_each(&importing, invocation, to);
    if (invocation->operand_count == 1)
        return import_one(&importing, invocation->operands[0], to);
    complain("%s is not a directory; --output must name a directory if there are several input files", to);
    return EXIT_USAGE;
}
