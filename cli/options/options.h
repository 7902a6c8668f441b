// SPDX-License-Identifier: Apache-2.0
// What the entries of several commands say alike. An entry (options, examples, `struct command`) stands in one of
// commands_*.c, beside its like; commands.c lists them.
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

#define JSON_OPTION                                                                                          \
    { .name = "json", .doc = "Answer with one JSON document" }
#define FROM_OPTION                                                                                          \
    {                                                                                                        \
        .name = "from", .argument = "TIME",                                                                  \
        .doc = "Only what happens at or after TIME (1.5ms, 2s, 300us) since the start of the trace"          \
    }
#define TO_OPTION                                                                                            \
    { .name = "to", .argument = "TIME", .doc = "Only what begins before TIME since the start of the trace" }
#define TYPE_OPTION                                                                                          \
    {                                                                                                        \
        .name = "type", .letter = 't', .argument = "TYPES", .word = option_kind_word,                        \
        .word_doc = option_kind_doc, .list = true, .doc = "Only events of these kinds, separated by commas"  \
    }
#define BINARY_OPTION                                                                                        \
    {                                                                                                        \
        .name = "binary", .argument = "PROGRAM", .kind = VALUE_FILE,                                         \
        .doc = "The program that wrote a log of XRay: it has the names of its functions; TRACESMITH_BINARY " \
               "when not given"                                                                              \
    }
#define EXACT_OPTION                                                                                         \
    {                                                                                                        \
        .name = "exact",                                                                                     \
        .doc = "With CSV: leave texts as they are that a spreadsheet takes for a formula; otherwise "        \
               "those that begin with = + - @ ' or a tab get a ' before them"                                \
    }
#define HIDE_INTERPRETER_OPTION(where)                                                                       \
    {                                                                                                        \
        .name = "hide-interpreter",                                                                          \
        .doc = where ": leave out the functions of the Python interpreter itself (of python3 and "           \
                     "libpython3), where the trace has the Python functions"                                 \
    }
#define END_OF_OPTIONS                                                                                       \
    { .name = NULL }

// The kinds of events.
const char *option_kind_word(size_t index);
const char *option_kind_doc(size_t index);

// The formats of `export`.
const char *option_export_word(size_t index);
const char *option_export_doc(size_t index);

// The formats that are read.
const char *option_import_word(size_t index);
const char *option_import_doc(size_t index);

#endif
