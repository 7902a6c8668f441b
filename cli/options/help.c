// SPDX-License-Identifier: Apache-2.0
// `tracesmith help`, and --help everywhere.
#include "help.h"

#include <string.h>

#include "cli/present/terminal.h"

enum { COLUMNS = 80, OPTION_COLUMNS = 26, WORD_COLUMNS = 28, WORD_DOC_COLUMNS = 42, LIST_COLUMNS = 18 };

#define BOLD "\x1b[1m"
#define PLAIN "\x1b[0m"

const char *const help_summary =
    "TraceSmith records what programs do on a GPU and shows where the time is spent.";

const struct help_exit_code help_exit_codes[] = {
#define EXIT_CODE(NAME, number, doc) {NAME, doc},
    EXIT_CODE_TABLE(EXIT_CODE)
#undef EXIT_CODE
        {0, NULL}};

void help_add_synopsis(struct text *text, const struct command *command) {
    text_add_cstr(text, command->name);
    if (command->options[0].name)
        text_add_cstr(text, " [OPTION...]");
    if (command->operands)
        text_add_format(text, " %s", command->operands);
}

void help_each_paragraph(const char *about, void (*each)(void *context, const char *bytes, size_t length),
                         void *context) {
    for (const char *at = about;;) {
        const char *end = strstr(at, "\n\n");
        each(context, at, end ? (size_t)(end - at) : strlen(at));
        if (!end)
            return;
        at = end + 2;
    }
}

static void add_wrapped(struct text *text, const char *at, size_t length, size_t indent, size_t column) {
    text_add_wrapped(text, (tsmith_string){at, length}, indent, column, COLUMNS);
}

static void add_heading(struct text *text, const char *heading) {
    text_add_format(text, "\n%s%s%s\n", terminal_color() ? BOLD : "", heading, terminal_color() ? PLAIN : "");
}

// Words without descriptions share their lines.
static void add_bare_words(struct text *text, const struct option *option) {
    struct text words = {0};
    for (size_t i = 0; option->word(i); i++)
        text_add_format(&words, "%s%s", i ? ", " : "", option->word(i));
    text_add_repeat(text, ' ', WORD_COLUMNS);
    add_wrapped(text, words.bytes, words.length, WORD_COLUMNS, WORD_COLUMNS);
    text_finish(&words);
}

static void add_words(struct text *text, const struct option *option) {
    if (option->word && !option->word_doc) {
        add_bare_words(text, option);
        return;
    }
    for (size_t i = 0; option->word && option->word(i); i++) {
        const char *word = option->word(i), *doc = option->word_doc(i);
        text_add_repeat(text, ' ', WORD_COLUMNS);
        text_add_format(text, "%-*s", WORD_DOC_COLUMNS - WORD_COLUMNS, word);
        size_t column = WORD_COLUMNS + strlen(word);
        if (column + 1 > WORD_DOC_COLUMNS) {
            text_add_char(text, '\n');
            text_add_repeat(text, ' ', WORD_DOC_COLUMNS);
        }
        add_wrapped(text, doc, strlen(doc), WORD_DOC_COLUMNS, WORD_DOC_COLUMNS);
    }
}

static void add_option(struct text *text, const struct option *option) {
    size_t from = text->length;
    text_add_cstr(text, "  ");
    if (option->letter)
        text_add_format(text, "-%c, ", option->letter);
    else
        text_add_cstr(text, "    ");
    text_add_format(text, "--%s", option->name);
    if (option->argument)
        text_add_format(text, option->optional ? "[=%s]" : " %s", option->argument);
    size_t column = text->length - from;
    if (column + 2 > OPTION_COLUMNS) {
        text_add_char(text, '\n');
        column = 0;
    }
    text_add_repeat(text, ' ', OPTION_COLUMNS - column);
    add_wrapped(text, option->doc, strlen(option->doc), OPTION_COLUMNS, OPTION_COLUMNS);
    add_words(text, option);
}

static void add_options(struct text *text, const struct option *options) {
    for (; options->name; options++)
        add_option(text, options);
}

static void add_examples(struct text *text, const struct example *examples) {
    for (; examples->line; examples++)
        text_add_format(text, "  # %s\n  %s\n", examples->doc, examples->line);
}

static void add_paragraph(void *context, const char *bytes, size_t length) {
    struct text *text = context;
    text_add_char(text, '\n');
    add_wrapped(text, bytes, length, 0, 0);
}

static void add_list(struct text *text, const struct command *command) {
    if (!command->list_word)
        return;
    add_heading(text, command->list_heading);
    for (size_t i = 0; command->list_word(i); i++) {
        const char *doc = command->list_doc(i);
        text_add_format(text, "  %-*s", LIST_COLUMNS - 2, command->list_word(i));
        add_wrapped(text, doc, strlen(doc), LIST_COLUMNS, LIST_COLUMNS);
    }
}

void help_write_command(const struct command *command) {
    struct text text = {0};
    text_add_cstr(&text, "Usage: tracesmith ");
    help_add_synopsis(&text, command);
    text_add_char(&text, '\n');
    help_each_paragraph(command->about, add_paragraph, &text);
    add_list(&text, command);
    add_heading(&text, "Options");
    add_options(&text, command->options);
    add_options(&text, global_options);
    add_heading(&text, "Examples");
    add_examples(&text, command->examples);
    output_text(&text);
    text_finish(&text);
}

void help_write_overview(void) {
    struct text text = {0};
    text_add_cstr(&text, "Usage: tracesmith COMMAND [OPTION...]\n\n");
    add_wrapped(&text, help_summary, strlen(help_summary), 0, 0);
    add_heading(&text, "Commands");
    for (size_t i = 0; commands[i]; i++)
        text_add_format(&text, "  %-12s%s\n", commands[i]->name, commands[i]->doc);
    add_heading(&text, "Options");
    add_options(&text, global_options);
    add_heading(&text, "Exit codes");
    for (const struct help_exit_code *code = help_exit_codes; code->doc; code++) {
        text_add_format(&text, "  %d  ", code->code);
        add_wrapped(&text, code->doc, strlen(code->doc), 5, 5);
    }
    add_heading(&text, "To begin");
    text_add_cstr(&text, "  tracesmith profile -- ./program\n"
                         "  tracesmith view trace.sbt --timeline\n"
                         "  tracesmith analyze trace.sbt\n"
                         "  tracesmith help profile\n");
    output_text(&text);
    text_finish(&text);
}

static bool write_document(const char *form, const struct command *command) {
    struct text text = {0};
    if (strcmp(form, "man") == 0)
        help_add_man(&text, command);
    else if (strcmp(form, "markdown") == 0)
        help_add_markdown(&text);
    else if (strcmp(form, "events") == 0)
        help_add_events(&text);
    else if (strcmp(form, "bash") == 0)
        help_add_bash(&text);
    else if (strcmp(form, "zsh") == 0)
        help_add_zsh(&text);
    else if (strcmp(form, "fish") == 0)
        help_add_fish(&text);
    else
        return false;
    output_text(&text);
    text_finish(&text);
    return true;
}

int command_help(const struct invocation *invocation) {
    const char *form = invocation_value(invocation, "as");
    const char *name = invocation->operands[0];
    const struct command *command = name ? command_find(name) : NULL;
    if (name && !command) {
        const char *near = nearest(name, command_name_at);
        if (near)
            complain("unknown command '%s'; did you mean '%s'?", name, near);
        else
            complain("unknown command '%s'; see 'tracesmith help'", name);
        return EXIT_USAGE;
    }
    if (form && write_document(form, command))
        return EXIT_DONE;
    if (command)
        help_write_command(command);
    else
        help_write_overview();
    return EXIT_DONE;
}
