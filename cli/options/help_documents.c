// SPDX-License-Identifier: Apache-2.0
// Documents written from the tables: man pages, docs/commands.md, docs/events.md.
#include <string.h>

#include "cli/present/terminal.h"
#include "help.h"
#include "tracesmith/schema.h"
#include "tracesmith/version.h"

// ---- man pages

// Text for roff: hyphens stay hyphens, nothing begins a request.
static void add_roff(struct text *text, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool at_line_start = !text->length || text->bytes[text->length - 1] == '\n';
        if (bytes[i] == '\\')
            text_add_cstr(text, "\\e");
        else if (bytes[i] == '-')
            text_add_cstr(text, "\\-");
        else if (at_line_start && (bytes[i] == '.' || bytes[i] == '\''))
            text_add_format(text, "\\&%c", bytes[i]);
        else
            text_add_char(text, bytes[i]);
    }
}

static void add_roff_cstr(struct text *text, const char *cstr) {
    add_roff(text, cstr, strlen(cstr));
}

static void add_roff_paragraph(void *context, const char *bytes, size_t length) {
    struct text *text = context;
    text_add_cstr(text, ".PP\n");
    add_roff(text, bytes, length);
    text_add_char(text, '\n');
}

static void add_roff_options(struct text *text, const struct option *options) {
    for (; options->name; options++) {
        text_add_cstr(text, ".TP\n");
        if (options->letter)
            text_add_format(text, "\\fB\\-%c\\fR, ", options->letter);
        text_add_cstr(text, "\\fB\\-\\-");
        add_roff_cstr(text, options->name);
        text_add_cstr(text, "\\fR");
        if (options->argument)
            text_add_format(text, options->optional ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", options->argument);
        text_add_char(text, '\n');
        add_roff_cstr(text, options->doc);
        text_add_cstr(text, ".\n");
        for (size_t i = 0; options->word && options->word(i); i++) {
            text_add_cstr(text, ".br\n\\fB");
            add_roff_cstr(text, options->word(i));
            text_add_cstr(text, options->word_doc ? "\\fR: " : "\\fR");
            add_roff_cstr(text, options->word_doc ? options->word_doc(i) : "");
            text_add_char(text, '\n');
        }
    }
}

static void add_roff_end(struct text *text, const struct example *examples) {
    text_add_cstr(text, ".SH EXIT STATUS\n");
    for (const struct help_exit_code *code = help_exit_codes; code->doc; code++) {
        text_add_format(text, ".TP\n%d\n", code->code);
        add_roff_cstr(text, code->doc);
        text_add_char(text, '\n');
    }
    if (!examples)
        return;
    text_add_cstr(text, ".SH EXAMPLES\n");
    for (; examples->line; examples++) {
        text_add_cstr(text, ".PP\n");
        add_roff_cstr(text, examples->doc);
        text_add_cstr(text, ":\n.PP\n.RS 4\n.nf\n");
        add_roff_cstr(text, examples->line);
        text_add_cstr(text, "\n.fi\n.RE\n");
    }
}

static void add_roff_list(struct text *text, const struct command *command) {
    for (size_t i = 0; command->list_word && command->list_word(i); i++) {
        if (i == 0) {
            text_add_cstr(text, ".SH ");
            for (const char *c = command->list_heading; *c; c++)
                text_add_char(text, *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c);
            text_add_char(text, '\n');
        }
        text_add_cstr(text, ".TP\n.B ");
        add_roff_cstr(text, command->list_word(i));
        text_add_char(text, '\n');
        add_roff_cstr(text, command->list_doc(i));
        text_add_cstr(text, ".\n");
    }
}

static void add_command_man(struct text *text, const struct command *command) {
    text_add_format(text, ".TH TRACESMITH\\-");
    for (const char *c = command->name; *c; c++)
        text_add_char(text, (char)(*c - 'a' + 'A'));
    text_add_format(text, " 1 \"\" \"TraceSmith %s\"\n.SH NAME\ntracesmith\\-%s \\- ", TSMITH_VERSION_STRING,
                    command->name);
    add_roff_cstr(text, command->doc);
    text_add_cstr(text, "\n.SH SYNOPSIS\n.B tracesmith ");
    struct text synopsis = {0};
    help_add_synopsis(&synopsis, command);
    add_roff_cstr(text, text_cstr(&synopsis));
    text_finish(&synopsis);
    text_add_cstr(text, "\n.SH DESCRIPTION\n");
    help_each_paragraph(command->about, add_roff_paragraph, text);
    add_roff_list(text, command);
    text_add_cstr(text, ".SH OPTIONS\n");
    add_roff_options(text, command->options);
    add_roff_options(text, global_options);
    add_roff_end(text, command->examples);
    text_add_cstr(text, ".SH SEE ALSO\n.BR tracesmith (1)\n");
}

static void add_overview_man(struct text *text) {
    text_add_format(
        text,
        ".TH TRACESMITH 1 \"\" \"TraceSmith %s\"\n.SH NAME\ntracesmith \\- record and explain what "
        "programs do on a GPU\n.SH SYNOPSIS\n.B tracesmith\n\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n"
        ".SH DESCRIPTION\n",
        TSMITH_VERSION_STRING);
    add_roff_cstr(text, help_summary);
    text_add_cstr(text, "\n.SH COMMANDS\n");
    for (size_t i = 0; commands[i]; i++) {
        const struct command *command = commands[i];
        text_add_format(text, ".TP\n.BR tracesmith\\-%s (1)\n", command->name);
        add_roff_cstr(text, command->doc);
        text_add_cstr(text, ".\n");
    }
    text_add_cstr(text, ".SH OPTIONS\n");
    add_roff_options(text, global_options);
    add_roff_end(text, NULL);
}

void help_add_man(struct text *text, const struct command *command) {
    if (command)
        add_command_man(text, command);
    else
        add_overview_man(text);
}

// ---- docs/commands.md

// A cell of a table: a bar would end it.
static void add_cell(struct text *text, const char *cstr) {
    for (; *cstr; cstr++) {
        if (*cstr == '|')
            text_add_char(text, '\\');
        text_add_char(text, *cstr);
    }
}

static void add_markdown_paragraph(void *context, const char *bytes, size_t length) {
    struct text *text = context;
    text_add(text, bytes, length);
    text_add_cstr(text, "\n\n");
}

static void add_markdown_option(struct text *text, const struct option *option) {
    text_add_cstr(text, "| ");
    if (option->letter)
        text_add_format(text, "`-%c`, ", option->letter);
    text_add_format(text, "`--%s", option->name);
    if (option->argument)
        text_add_format(text, option->optional ? "[=%s]" : " %s", option->argument);
    text_add_cstr(text, "` | ");
    add_cell(text, option->doc);
    text_add_char(text, '.');
    for (size_t i = 0; option->word && option->word(i); i++) {
        text_add_format(text, "<br>`%s`", option->word(i));
        if (option->word_doc) {
            text_add_cstr(text, ": ");
            add_cell(text, option->word_doc(i));
        }
    }
    text_add_cstr(text, " |\n");
}

static void add_markdown_list(struct text *text, const struct command *command) {
    for (size_t i = 0; command->list_word && command->list_word(i); i++) {
        if (i == 0)
            text_add_format(text, "| %s | what it is |\n|---|---|\n", command->list_heading);
        text_add_format(text, "| `%s` | ", command->list_word(i));
        add_cell(text, command->list_doc(i));
        text_add_cstr(text, ". |\n");
    }
    if (command->list_word)
        text_add_char(text, '\n');
}

static void add_markdown_command(struct text *text, const struct command *command) {
    text_add_format(text, "## %s\n\n%s.\n\n```\ntracesmith ", command->name, command->doc);
    help_add_synopsis(text, command);
    text_add_cstr(text, "\n```\n\n");
    help_each_paragraph(command->about, add_markdown_paragraph, text);
    add_markdown_list(text, command);
    if (command->options[0].name)
        text_add_cstr(text, "| option | what it does |\n|---|---|\n");
    for (const struct option *option = command->options; option->name; option++)
        add_markdown_option(text, option);
    text_add_cstr(text, "\n```sh\n");
    for (const struct example *example = command->examples; example->line; example++)
        text_add_format(text, "# %s\n%s\n", example->doc, example->line);
    text_add_cstr(text, "```\n\n");
}

void help_add_markdown(struct text *text) {
    text_add_cstr(
        text, "# Commands\n\n"
              "Made by `tracesmith help --as markdown` from the table in `cli/options/`; a test compares. "
              "The same table makes `--help`, the man pages and the shell completions.\n\n"
              "| command | what it does |\n|---|---|\n");
    for (size_t i = 0; commands[i]; i++)
        text_add_format(text, "| [`%s`](#%s) | %s |\n", commands[i]->name, commands[i]->name,
                        commands[i]->doc);
    text_add_cstr(text, "\nEvery command also has:\n\n| option | what it does |\n|---|---|\n");
    for (const struct option *option = global_options; option->name; option++)
        add_markdown_option(text, option);
    text_add_cstr(text, "\n| exit code | meaning |\n|---|---|\n");
    for (const struct help_exit_code *code = help_exit_codes; code->doc; code++)
        text_add_format(text, "| %d | %s |\n", code->code, code->doc);
    text_add_cstr(
        text, "\nAnswers go to standard output, everything else to standard error. An answer states if its "
              "trace has lost events or is damaged. Of a damaged file the readable part is used.\n\n");
    for (size_t i = 0; commands[i]; i++)
        add_markdown_command(text, commands[i]);
    // One newline at the end of the file.
    if (text->length && !text->failed)
        text->length--;
}

// ---- docs/events.md

static void add_row(struct text *text, unsigned number, const char *name, const char *doc) {
    text_add_format(text, "| %u | `%s` | ", number, name);
    add_cell(text, doc);
    text_add_cstr(text, " |\n");
}

static void add_fields(struct text *text) {
    text_add_cstr(
        text, "\n## Fields\n\nAn event has a value for a field or it has none; a value that is not known is "
              "never 0.\n\n| number | field | type | unit | meaning |\n|---|---|---|---|---|\n");
    for (uint32_t field = 1; field < TSMITH_FIELD_LIMIT; field++) {
        const tsmith_field_info *info = tsmith_field_describe(field);
        if (!info)
            continue;
        text_add_format(text, "| %u | `%s` | %s | %s | ", field, info->name, tsmith_type_name(info->type),
                        info->unit);
        add_cell(text, info->doc);
        text_add_cstr(text, " |\n");
    }
    text_add_format(text, "| %u and up | | | | fields a trace brings with it, described in the trace |\n",
                    (unsigned)TSMITH_FIELD_DYNAMIC);
}

void help_add_events(struct text *text) {
#define ROW(NAME, number, name, doc) add_row(text, number, name, doc);
    text_add_cstr(
        text, "# Events\n\nEvery kind of event and every field an event can have, made by `tracesmith help "
              "--as events` from `include/tracesmith/schema.h`; a test compares. Numbers are stored in "
              "files and never change their meaning.\n\n## Kinds\n\n| number | kind | meaning "
              "|\n|---|---|---|\n");
    TSMITH_KIND_TABLE(ROW)
    add_fields(text);
    text_add_cstr(text, "\n## Types\n\n| number | type | meaning |\n|---|---|---|\n");
#define TYPE_ROW(NAME, number, ctype, doc) add_row(text, number, tsmith_type_name(TSMITH_TYPE_##NAME), doc);
    TSMITH_TYPE_TABLE(TYPE_ROW)
    text_add_cstr(text, "\n## Operations\n\n| number | operation | meaning |\n|---|---|---|\n");
    TSMITH_OPERATION_TABLE(ROW)
    text_add_cstr(text, "\n## Directions\n\n| number | direction | meaning |\n|---|---|---|\n");
    TSMITH_DIRECTION_TABLE(ROW)
    text_add_cstr(text, "\n## Reasons for a loss\n\n| number | reason | meaning |\n|---|---|---|\n");
    TSMITH_REASON_TABLE(ROW)
    text_add_cstr(text,
                  "\n## Certainties\n\n| number | certainty | the times of the event are |\n|---|---|---|\n");
    TSMITH_CERTAINTY_TABLE(ROW)
#undef TYPE_ROW
#undef ROW
}
