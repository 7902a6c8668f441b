// SPDX-License-Identifier: Apache-2.0
// `tracesmith diff`: what changed between two sides of traces, and gates on it for CI.
#include "tracesmith/diff.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/convert.h"
#include "cli/opened_trace.h"
#include "cli/options/command.h"
#include "cli/options/quantity.h"
#include "cli/page.h"
#include "cli/present/out_file.h"
#include "cli/present/terminal.h"

struct differing {
    char *const *files; // the base's, then the new side's
    size_t base_count, file_count;
    char *list;          // --base, cut at its commas: then the base's files are these
    const char **listed; // of it
    size_t rows;         // of a table in text
    bool json, csv, truncated;
    tsmith_diff *diff;
    tsmith_gate *gates;
    size_t gate_count;
};

// ---- what is asked for

// Cuts the list of --base at its commas.
static bool read_base(struct differing *differing, const char *base) {
    size_t count = 1;
    for (const char *at = base; *at; at++)
        count += *at == ',';
    differing->list = strdup(base);
    differing->listed = calloc(count, sizeof *differing->listed);
    if (!differing->list || !differing->listed)
        return false;
    differing->base_count = 0;
    for (char *at = differing->list, *rest = NULL; (at = strtok_r(at, ",", &rest)); at = NULL)
        differing->listed[differing->base_count++] = at;
    return true;
}

static bool read_sides(const struct invocation *invocation, struct differing *differing) {
    const char *base = invocation_value(invocation, "base");
    size_t count = invocation->operand_count;
    differing->files = invocation->operands;
    differing->file_count = count;
    if (base && !read_base(differing, base)) {
        complain("out of memory");
        return false;
    }
    if (base) {
        size_t inputs = 0;
        for (size_t i = 0; i < differing->base_count; i++)
            inputs += strcmp(differing->listed[i], "-") == 0;
        for (size_t i = 0; i < count; i++)
            inputs += strcmp(differing->files[i], "-") == 0;
        if (differing->base_count && count)
            return command_reads_stdin_once(invocation->command, inputs);
        complain(
            "--base needs at least one file, and the new side needs one too; see 'tracesmith help diff'");
        return false;
    }
    differing->base_count = invocation->operands_before_dashes;
    if (count == 2 && differing->base_count > count)
        differing->base_count = 1;
    if (differing->base_count && differing->base_count < count)
        return true;
    complain(count < 2
                 ? "diff needs two traces: see 'tracesmith help diff'"
                 : "more than two traces need a separator; write 'diff A1 A2 -- B1 B2', or --base A1,A2");
    return false;
}

static bool read_options(const struct invocation *invocation, struct differing *differing,
                         tsmith_diff_options *options) {
    const char *rows = invocation_value(invocation, "rows");
    const char *confidence = invocation_value(invocation, "confidence");
    uint64_t count = 0;
    char *end = NULL;
    differing->json = invocation_flag(invocation, "json");
    differing->csv = invocation_flag(invocation, "csv");
    if (differing->json && differing->csv) {
        complain("--json and --csv cannot be combined");
        return false;
    }
    if (rows && (differing->json || differing->csv || !quantity_count(rows, &count) || !count)) {
        complain(differing->json || differing->csv ? "--rows applies to text only; JSON and CSV have all rows"
                                                   : "--rows: '%s' is not a number of rows",
                 rows);
        return false;
    }
    differing->rows = (size_t)count;
    if (confidence) {
        options->confidence = strtod(confidence, &end) / 100;
        if (*end || !(options->confidence > 0 && options->confidence < 1)) {
            complain("--confidence: '%s' is not a percentage between 0 and 100", confidence);
            return false;
        }
    }
    return true;
}

// ---- reading

static const char *file_at(const struct differing *differing, size_t index) {
    if (differing->listed)
        return index < differing->base_count ? differing->listed[index]
                                             : differing->files[index - differing->base_count];
    return differing->files[index];
}

static size_t run_count(const struct differing *differing) {
    return differing->file_count + (differing->listed ? differing->base_count : 0);
}

static int read_run(struct differing *differing, const char *path, tsmith_diff_side side) {
    struct convert convert;
    tsmith_source *source = NULL;
    convert_init(&convert, "reading");
    tsmith_status status = tsmith_trace_stream(path, &convert.options, &source, &convert.error);
    if (status == TSMITH_OK)
        status = tsmith_diff_add(differing->diff, side, source, &convert.error);
    progress_clear(&convert.progress);
    tsmith_source_destroy(source);
    int code = EXIT_DONE;
    if (status == TSMITH_TRUNCATED) {
        complain("%s", convert.error.message);
        differing->truncated = true;
    } else if (status != TSMITH_OK) {
        complain("%s", convert.error.message);
        code = exit_code_of_input(status);
    }
    convert_finish(&convert);
    return code;
}

static int read_runs(struct differing *differing) {
    size_t count = run_count(differing);
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code == EXIT_DONE; i++)
        code = read_run(differing, file_at(differing, i),
                        i < differing->base_count ? TSMITH_DIFF_BASE : TSMITH_DIFF_NEW);
    return code;
}

// ---- answering

static int check_gates(const struct invocation *invocation, struct differing *differing) {
    const char *gate;
    tsmith_error error;
    for (size_t cursor = 0; invocation_next(invocation, "gate", &cursor);)
        differing->gate_count++;
    differing->gates = calloc(differing->gate_count + 1, sizeof *differing->gates);
    if (!differing->gates) {
        complain("out of memory");
        return EXIT_LACKING;
    }
    for (size_t i = 0, cursor = 0; (gate = invocation_next(invocation, "gate", &cursor)); i++) {
        differing->gates[i].size = sizeof differing->gates[i];
        if (tsmith_diff_gate(differing->diff, gate, &differing->gates[i], &error) != TSMITH_OK) {
            complain("--gate: %s", error.message);
            return EXIT_USAGE;
        }
    }
    return EXIT_DONE;
}

static void add_gates(const struct differing *differing, struct text *text) {
    for (size_t i = 0; i < differing->gate_count; i++) {
        const tsmith_gate *gate = &differing->gates[i];
        tsmith_string name = {gate->gate, strlen(gate->gate)};
        if (differing->json) {
            text_add_cstr(text, i ? ",\n  {\"gate\":" : "\n  {\"gate\":");
            text_add_json(text, name);
            text_add_format(text, ",\"passed\":%s,\"message\":", gate->passed ? "true" : "false");
            text_add_json_cstr(text, gate->message);
            text_add_char(text, '}');
        } else {
            text_add_cstr(text, gate->passed ? "passed  " : "FAILED  ");
            text_add_safe(text, name, 0);
            text_add_format(text, ": %s\n", gate->message);
        }
    }
}

static int put_report(const struct differing *differing) {
    const tsmith_report *report = tsmith_diff_report(differing->diff);
    struct text text = {0};
    char *bytes = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&bytes, &length);
    tsmith_status status = TSMITH_ERROR_NO_MEMORY;
    if (memory && differing->json)
        status = tsmith_report_write_json(report, memory, NULL);
    else if (memory && differing->csv)
        status = tsmith_report_write_csv(report, memory, NULL);
    else if (memory)
        status = tsmith_report_write_text(report, differing->rows, terminal_width(), memory, NULL);
    if (!memory || fclose(memory) != 0 || status != TSMITH_OK) {
        complain("out of memory");
        free(bytes);
        return EXIT_LACKING;
    }
    if (differing->json)
        output_cstr("{\"diff\":");
    output_write(bytes, length);
    if (differing->json)
        text_add_cstr(&text, ",\"gates\":[");
    if (!differing->csv)
        add_gates(differing, &text);
    if (differing->json)
        text_add_cstr(&text, "]}\n");
    output_text(&text);
    text_finish(&text);
    free(bytes);
    return EXIT_DONE;
}

static int put_junit(const struct differing *differing, const char *path) {
    tsmith_error error = {.message = ""};
    struct out_file out;
    int code = out_file_open(&out, path);
    if (code != EXIT_DONE)
        return code;
    code = out_file_end(
        &out, tsmith_gates_write_junit(differing->gates, differing->gate_count, out.file, &error), &error);
    const int closed = out_file_close(&out);
    return code == EXIT_DONE ? closed : code;
}

static int answer(const struct invocation *invocation, struct differing *differing) {
    const char *junit = invocation_value(invocation, "junit");
    tsmith_error error;
    int code = read_runs(differing);
    if (code != EXIT_DONE)
        return code;
    if (tsmith_diff_finish(differing->diff, &error) != TSMITH_OK) {
        complain("%s", error.message);
        return EXIT_LACKING;
    }
    code = check_gates(invocation, differing);
    if (code == EXIT_DONE)
        code = put_report(differing);
    if (code == EXIT_DONE && junit)
        code = put_junit(differing, junit);
    if (code == EXIT_DONE)
        code = page_write(invocation, tsmith_diff_report(differing->diff), NULL);
    for (size_t i = 0; code == EXIT_DONE && i < differing->gate_count; i++)
        code = differing->gates[i].passed ? EXIT_DONE : EXIT_NO;
    return code == EXIT_DONE && differing->truncated ? EXIT_DAMAGED : code;
}

int command_diff(const struct invocation *invocation) {
    struct differing differing = {0};
    tsmith_diff_options options = {.size = sizeof options};
    tsmith_error error;
    const char *junit = invocation_value(invocation, "junit");
    int code = EXIT_USAGE;
    if (!read_sides(invocation, &differing) || !read_options(invocation, &differing, &options))
        goto done;
    for (size_t i = 0; i < run_count(&differing); i++)
        if (!page_may_replace(invocation, file_at(&differing, i)) ||
            (junit && !convert_may_replace(file_at(&differing, i), junit)))
            goto done;
    code = EXIT_LACKING;
    if (tsmith_diff_create(&options, &differing.diff, &error) != TSMITH_OK) {
        complain("%s", error.message);
        goto done;
    }
    code = answer(invocation, &differing);
done:
    tsmith_diff_destroy(differing.diff);
    free(differing.gates);
    free(differing.listed);
    free(differing.list);
    return code;
}
