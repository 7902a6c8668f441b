// SPDX-License-Identifier: Apache-2.0
// `query --partial`, and `query` on the files that it writes.
#include "query_partial.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/present/out_file.h"
#include "cli/present/terminal.h"
#include "tracesmith/query_partial.h"

enum { SAMPLE = 65536 }; // bytes of the beginning and of the end

// Only of a regular file: reading the beginning of a pipe would take it away.
bool query_is_partial(const char *path) {
    char head[8];
    struct stat status;
    const bool is_regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = strcmp(path, "-") == 0 || !is_regular ? NULL : fopen(path, "rbe");
    const bool is = file && tsmith_query_is_partial(head, fread(head, 1, sizeof head, file));
    if (file)
        (void)fclose(file);
    return is;
}

// ---- adding

// A number of a file's size, beginning and end: the same on every host that has the file.
static uint64_t file_digest(const char *path) {
    uint64_t hash = 0xcbf29ce484222325;
    unsigned char *bytes = malloc(SAMPLE);
    FILE *file = bytes ? fopen(path, "rbe") : NULL;
    for (int part = 0; file && part < 2; part++) {
        if (part && fseeko(file, -SAMPLE, SEEK_END) != 0)
            (void)fseeko(file, 0, SEEK_SET);
        const size_t got = fread(bytes, 1, SAMPLE, file);
        for (size_t i = 0; i < got; i++)
            hash = (hash ^ bytes[i]) * 0x100000001b3;
    }
    if (file && fseeko(file, 0, SEEK_END) == 0)
        hash = (hash ^ (uint64_t)ftello(file)) * 0x100000001b3;
    if (file)
        (void)fclose(file);
    free(bytes);
    return hash;
}

static int complain_status(tsmith_status status, const tsmith_error *error) {
    complain("%s", error->message);
    return status == TSMITH_ERROR_UNSUPPORTED || status == TSMITH_ERROR_INVALID_ARGUMENT ||
                   status == TSMITH_ERROR_STATE
               ? EXIT_USAGE
               : exit_code_of_input(status);
}

static uint64_t count_lost(const struct trace *trace) {
    uint64_t lost = 0;
    for (size_t i = 0; i < TSMITH_SUMMARY_REASONS; i++)
        lost += trace->summary.lost[i];
    return lost;
}

static int add_opened(tsmith_query_partial *partial, struct trace *trace) {
    tsmith_query *query = NULL;
    tsmith_error error;
    tsmith_status status = tsmith_query_open(trace->file, &query, &error);
    if (status >= 0)
        status = tsmith_query_partial_add(partial, trace->path, file_digest(trace->path), count_lost(trace),
                                          query, &error);
    tsmith_query_close(query);
    return status < 0 ? complain_status(status, &error) : trace_report(trace);
}

// A trace that cannot be read is in the partial, with the reason.
static int add_trace(tsmith_query_partial *partial, const char *path) {
    struct trace trace;
    tsmith_error error;
    int code = trace_open(path, &trace);
    if (code == EXIT_DONE) {
        code = add_opened(partial, &trace);
    } else if (code == EXIT_DAMAGED &&
               tsmith_query_partial_add_missing(partial, path, "it could not be read", &error) != TSMITH_OK) {
        code = complain_status(error.status, &error);
    }
    trace_close(&trace);
    return code;
}

static int add_partial(tsmith_query_partial *partial, const char *path) {
    size_t size;
    tsmith_error error;
    char *bytes = convert_read_whole(path, &size);
    if (!bytes) {
        complain("%s cannot be read: %s", path, strerror(errno));
        return EXIT_DAMAGED;
    }
    tsmith_status status = tsmith_query_partial_add_bytes(partial, path, bytes, size, &error);
    free(bytes);
    return status < 0 ? complain_status(status, &error) : EXIT_DONE;
}

// A damaged trace is worth an answer; a wrong statement, or a trace that would count twice, is not.
static int add_files(tsmith_query_partial *partial, char *const *paths, size_t count) {
    int worst = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        const int code =
            query_is_partial(paths[i]) ? add_partial(partial, paths[i]) : add_trace(partial, paths[i]);
        if (code != EXIT_DONE && code != EXIT_DAMAGED)
            return code;
        worst = code > worst ? code : worst;
    }
    return worst;
}

// ---- the output

static int write_partial(tsmith_query_partial *partial, const char *to) {
    tsmith_error error = {.message = ""};
    struct out_file out;
    int code = out_file_open(&out, to);
    if (code != EXIT_DONE)
        return code;
    const tsmith_output output = out_file_output(&out);
    code = out_file_end(&out, tsmith_query_partial_write(partial, &output, &error), &error);
    const int closed = out_file_close(&out);
    return code == EXIT_DONE ? closed : code;
}

static int write_rows(tsmith_query_partial *partial, struct rows *rows) {
    const size_t count = tsmith_query_partial_column_count(partial);
    const char **names = calloc(count + 1, sizeof *names);
    tsmith_sql_value *values = calloc(count + 1, sizeof *values);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    tsmith_error error = {.message = "out of memory"};
    for (size_t i = 0; names && i < count; i++)
        names[i] = tsmith_query_partial_column_name(partial, i);
    bool writing = names && values && rows_begin(rows, names, count);
    while (writing && (status = tsmith_query_partial_next(partial, &error)) == TSMITH_OK) {
        for (size_t i = 0; i < count; i++)
            values[i] = tsmith_query_partial_value(partial, i);
        writing = rows_add(rows, values);
    }
    if (writing)
        rows_end(rows);
    free(names);
    free(values);
    return status < 0 ? complain_status(status, &error) : EXIT_DONE;
}

// What the answer does not have: on stderr, and in JSON.
static int write_missing(tsmith_query_partial *partial, struct text *json) {
    const char *label, *reason;
    uint64_t lost, all_lost = 0;
    size_t count = 0, missing = 0;
    text_add_cstr(json, "\"missing\":[");
    for (; tsmith_query_partial_trace(partial, count, &label, &reason, &lost); count++) {
        all_lost += lost;
        if (!reason)
            continue;
        complain("%s is not in the answer: %s", label, reason);
        text_add_cstr(json, missing++ ? ",\n{\"trace\":" : "{\"trace\":");
        text_add_json_cstr(json, label);
        text_add_cstr(json, ",\"reason\":");
        text_add_json_cstr(json, reason);
        text_add_char(json, '}');
    }
    text_add_format(json, "],\n\"trace_count\":%zu,\"lost_events\":%" PRIu64 "}\n", count - missing,
                    all_lost);
    if (all_lost)
        complain("the traces lost %" PRIu64 " events", all_lost);
    return missing ? EXIT_DAMAGED : EXIT_DONE;
}

static int write_answer(tsmith_query_partial *partial, struct rows *rows) {
    struct text end = {0};
    const bool json = rows->format == ROWS_JSON;
    if (json)
        output_cstr("{\"results\":[");
    int code = write_rows(partial, rows);
    if (code == EXIT_DONE) {
        code = write_missing(partial, &end);
        if (json) {
            output_cstr("\n],\n");
            output_text(&end);
        }
    }
    text_finish(&end);
    return code;
}

int query_partials(const struct invocation *invocation, struct rows *rows) {
    char *const *operands = invocation->operands;
    const bool partial = invocation_flag(invocation, "partial");
    const char *to = invocation_value(invocation, "output");
    size_t count = invocation->operand_count;
    const bool has_sql = !query_is_partial(operands[count - 1]);
    tsmith_query_partial *state = NULL;
    tsmith_error error;
    if (partial ? !to : to != NULL) {
        complain(partial ? "--partial needs --output; a partial is not text"
                         : "--output is for --partial; redirect the answer");
        return EXIT_USAGE;
    }
    if (has_sql && (!partial || count < 2)) {
        complain("%s is no partial; run SQL on a trace with 'tracesmith query FILE SQL', and make partials "
                 "with --partial",
                 operands[count - 1]);
        return EXIT_USAGE;
    }
    tsmith_status status = tsmith_query_partial_create(has_sql ? operands[count - 1] : NULL, &state, &error);
    if (status < 0)
        return complain_status(status, &error);
    int code = add_files(state, operands, count - has_sql);
    if (code == EXIT_DONE || code == EXIT_DAMAGED) {
        const int written = partial ? write_partial(state, to) : write_answer(state, rows);
        code = written > code ? written : code;
    }
    tsmith_query_partial_destroy(state);
    return code;
}
