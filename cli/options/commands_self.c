// SPDX-License-Identifier: Apache-2.0
// The commands about the command itself.
#include "options.h"

// ---- words

static const char *help_word(size_t index) {
    static const char *const names[] = {"text", "man", "markdown", "events", "bash", "zsh", "fish", NULL};
    return names[index];
}

static const char *help_word_doc(size_t index) {
    static const char *const docs[] = {
        "the text that --help prints",
        "a man page of COMMAND, or of tracesmith",
        "docs/commands.md",
        "docs/events.md: every kind of event and every field",
        "completion for bash",
        "completion for zsh",
        "completion for fish",
    };
    return docs[index];
}

// ---- version

static const struct option version_options[] = {JSON_OPTION, END_OF_OPTIONS};
static const struct example version_examples[] = {{"tracesmith version --json", "For a bug report"},
                                                  {NULL, NULL}};

const struct command version_entry = {
    .name = "version",
    .doc = "Print the version",
    .about = "Prints the version of the command and of the library.",
    .options = version_options,
    .examples = version_examples,
    .run = command_version,
};

// ---- help

static const struct option help_options[] = {{.name = "as",
                                              .argument = "FORM",
                                              .word = help_word,
                                              .word_doc = help_word_doc,
                                              .doc = "Output format; default text"},
                                             END_OF_OPTIONS};
static const struct example help_examples[] = {
    {"tracesmith help view", "The options of a command"},
    {"tracesmith help --as bash > ~/.local/share/bash-completion/completions/tracesmith",
     "Install the completion"},
    {NULL, NULL}};

const struct command help_entry = {
    .name = "help",
    .operands = "[COMMAND]",
    .doc = "Explain a command",
    .about = "Also writes the man pages, the reference and the shell completions, all from the same table.",
    .operands_most = 1,
    .operand_kind = VALUE_COMMAND,
    .options = help_options,
    .examples = help_examples,
    .run = command_help,
};
