// SPDX-License-Identifier: Apache-2.0
// Everything that is written from the table of commands.
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/present/text.h"
#include "command.h"

// --help, to standard output.
void help_write_overview(void);
void help_write_command(const struct command *command);

// "view [OPTION...] FILE"
void help_add_synopsis(struct text *text, const struct command *command);
// The paragraphs of `about`, each as one line, to `each`.
void help_each_paragraph(const char *about, void (*each)(void *context, const char *bytes, size_t length),
                         void *context);

// Documents: a man page (of tracesmith when `command` is NULL), docs/commands.md, docs/events.md.
void help_add_man(struct text *text, const struct command *command);
void help_add_markdown(struct text *text);
void help_add_events(struct text *text);

// Shell completions.
void help_add_bash(struct text *text);
void help_add_zsh(struct text *text);
void help_add_fish(struct text *text);

// What every command's exit codes mean, for all forms of help.
struct help_exit_code {
    int code;
    const char *doc; // NULL ends the list
};
extern const struct help_exit_code help_exit_codes[];
extern const char *const help_summary; // what tracesmith is, one sentence

#endif
