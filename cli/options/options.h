// SPDX-License-Identifier: Apache-2.0
// The common parts of the entries of several commands. An entry (options, examples, `struct command`) is in one of
// commands_*.c, next to similar commands; commands.c lists them.
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "command.h"

#define JSON_OPTION                                                                                          \
    { .name = "json", .doc = "Print one JSON document" }
#define FROM_OPTION                                                                                          \
    {                                                                                                        \
        .name = "from", .argument = "TIME",                                                                  \
        .doc = "Only events at or after TIME (1.5ms, 2s, 300us) since the start of the trace"                \
    }
#define TO_OPTION                                                                                            \
    {                                                                                                        \
        .name = "to", .argument = "TIME",                                                                    \
        .doc = "Only events that begin before TIME since the start of the trace"                             \
    }
#define TYPE_OPTION                                                                                          \
    {                                                                                                        \
        .name = "type", .letter = 't', .argument = "TYPES", .word = option_kind_word,                        \
        .word_doc = option_kind_doc, .list = true, .doc = "Only events of these kinds, separated by commas"  \
    }
#define BINARY_OPTION                                                                                        \
    {                                                                                                        \
        .name = "binary", .argument = "PROGRAM", .kind = VALUE_FILE,                                         \
        .doc = "For an XRay log: the program that wrote it, which has the function names; default "          \
               "TRACESMITH_BINARY"                                                                           \
    }
#define EXACT_OPTION                                                                                         \
    {                                                                                                        \
        .name = "exact",                                                                                     \
        .doc = "With CSV: do not escape texts that a spreadsheet would take for a formula; by default "      \
               "those that begin with = + - @ ' or a tab get a ' before them"                                \
    }
#define HIDE_INTERPRETER_OPTION(where)                                                                       \
    {                                                                                                        \
        .name = "hide-interpreter",                                                                          \
        .doc = where ": leave out the C functions of the Python interpreter (python3, ctypes, libffi) in "   \
                     "stacks that have Python functions"                                                     \
    }
#define PAGE_OPTIONS(what)                                                                                   \
    {.name = "html",                                                                                         \
     .argument = "OUT",                                                                                      \
     .kind = VALUE_FILE,                                                                                     \
     .doc = what " to this file, as an HTML page that loads nothing"},                                       \
    {                                                                                                        \
        .name = "markdown", .argument = "OUT", .kind = VALUE_FILE,                                           \
        .doc = what " to this file, as Markdown for a pull request"                                          \
    }
#define END_OF_OPTIONS                                                                                       \
    { .name = NULL }

// The kinds of events.
const char *option_kind_word(size_t index);
const char *option_kind_doc(size_t index);

// The formats of `export`.
const char *option_export_word(size_t index);
const char *option_export_doc(size_t index);

// The formats of `report`.
const char *option_report_word(size_t index);
const char *option_report_doc(size_t index);

// The formats that are read.
const char *option_import_word(size_t index);
const char *option_import_doc(size_t index);

#endif
