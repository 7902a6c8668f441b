// SPDX-License-Identifier: Apache-2.0
// The one table of commands and options (commands.c lists them, commands_*.c has them). From it come parsing, --help, the completions, the man
// pages and docs/commands.md; nothing about an option is written anywhere else.
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

enum { OPTIONS_MAX = 48 };
enum { REPEATED_MAX = 64 };

// What a value or operand is, for completion.
enum value_kind {
    VALUE_NONE, // free text
    VALUE_FILE,
    VALUE_TRACE,   // a .sbt file
    VALUE_COMMAND, // one of our commands
    VALUE_PROGRAM  // a program and its arguments
};

struct option {
    const char *name;     // without the dashes; NULL ends a list
    char letter;          // 0: there is no short form
    const char *argument; // what --help calls the value; NULL: a flag
    const char *doc;      // one sentence without its end
    enum value_kind kind;
    bool optional;                         // the value may be left out; given, it is attached with '='
    bool list;                             // several words, separated by commas
    bool repeated;                         // may be given several times: invocation_next has them all
    bool assigned;                         // a word may be followed by '=' and a value
    const char *(*word)(size_t index);     // the words allowed, NULL after the last; NULL: any value
    const char *(*word_doc)(size_t index); // what each means; may be NULL
};

struct invocation;

struct example {
    const char *line; // NULL ends a list
    const char *doc;
};

struct command {
    const char *name;
    const char *operands; // as in the synopsis; NULL: none
    const char *doc;      // one line
    const char *about;    // paragraphs, separated by empty lines
    // A list that stands behind it, NULL after the last; NULL: there is none. Its heading is one word.
    const char *list_heading;
    const char *(*list_word)(size_t index);
    const char *(*list_doc)(size_t index);
    size_t operands_least;
    size_t operands_most;
    enum value_kind operand_kind; // VALUE_PROGRAM: everything from the first operand on is the program's
    const char *(*operand_word)(size_t index); // what else an operand may be; NULL after the last
    const struct option *options;
    const struct example *examples;
    int (*run)(const struct invocation *invocation); // returns the exit code
};

// One command line, understood.
struct invocation {
    const struct command *command;
    const char *values[OPTIONS_MAX]; // by index into command->options; "" for a flag that is given
    char *const *operands;           // NULL-terminated
    size_t operand_count;
    size_t operands_before_dashes; // SIZE_MAX: there is no "--"
    struct {
        const struct option *option;
        const char *value;
    } repeated[REPEATED_MAX]; // in the order given
    size_t repeated_count;
    bool help, version, no_cache; // asked for by a global option
    // The last option whose value was a word of its own, and that word; NULL: none
    const struct option *took_option;
    const char *took_word;
    // The last option whose value may be left out and was, and the word behind it, which may have been meant as the value; NULL: none
    const struct option *bare_option;
    const char *bare_word;
};

extern const struct command *const commands[]; // NULL after the last
extern const struct option global_options[];

const struct command *command_find(const char *name);
// The value of an option of the command, NULL when it was not given.
const char *invocation_value(const struct invocation *invocation, const char *option);
// The values of a repeated option one by one, in the order given: from *cursor, 0 at first, which moves on; NULL after the
// last.
const char *invocation_next(const struct invocation *invocation, const char *option, size_t *cursor);
static inline bool invocation_flag(const struct invocation *invocation, const char *option) {
    return invocation_value(invocation, option) != NULL;
}

// Adds to a complaint about operands how the one behind an option whose value was left out is given as the value, if there is one.
// `room` is for the text that is returned.
const char *invocation_hint(const struct invocation *invocation, char *room, size_t size);

// Understands what follows `command` in argv. The words are permuted in place. False after a complaint.
bool command_parse(const struct command *command, char **words, struct invocation *out);
// Whether standard input is named at most once among the inputs; complains if not, because who reads it second finds it empty.
bool command_reads_stdin_once(const struct command *command, size_t count);
// The name nearest to `wrong` among what `name_at` gives (NULL after the last); NULL when none is near.
const char *nearest(const char *wrong, const char *(*name_at)(size_t index));
const char *command_name_at(size_t index);

// Splits a comma list given for an option and hands over the index of each word; false after a complaint.
bool option_each_word(const struct option *option, const char *list,
                      void (*each)(void *context, size_t index), void *context);
const struct option *command_option(const struct command *command, const char *name);

// The commands, in the order of help: an entry in commands_*.c, and what runs it, in its own file.
#define COMMAND_TABLE(X)                                                                                     \
    X(profile)                                                                                               \
    X(top)                                                                                                   \
    X(record)                                                                                                \
    X(attach)                                                                                                \
    X(trigger)                                                                                               \
    X(view)                                                                                                  \
    X(info)                                                                                                  \
    X(analyze)                                                                                               \
    X(report)                                                                                                \
    X(studio)                                                                                                \
    X(diff)                                                                                                  \
    X(import)                                                                                                \
    X(merge)                                                                                                 \
    X(split)                                                                                                 \
    X(simulate)                                                                                              \
    X(replay)                                                                                                \
    X(export)                                                                                                \
    X(query)                                                                                                 \
    X(recover)                                                                                               \
    X(devices)                                                                                               \
    X(benchmark)                                                                                             \
    X(version)                                                                                               \
    X(help)

#define COMMAND_DECLARE(name)                                                                                \
    extern const struct command name##_entry;                                                                \
    int command_##name(const struct invocation *invocation);
COMMAND_TABLE(COMMAND_DECLARE)
#undef COMMAND_DECLARE

#endif
