// SPDX-License-Identifier: Apache-2.0
// Where answers go: standard output with its errors noticed, what the terminal can show, and messages on
// stderr.
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

// The exit codes of every command. Help, man pages and docs/commands.md are made from this table.
#define EXIT_CODE_TABLE(X)                                                                                   \
    X(EXIT_DONE, 0, "done")                                                                                  \
    X(EXIT_NO, 1, "the answer is \"no\": for example, a launch is missing or there is nothing to draw")      \
    X(EXIT_USAGE, 2, "the command line is invalid")                                                          \
    X(EXIT_DAMAGED, 3, "the input is unreadable or damaged; the readable part was shown")                    \
    X(EXIT_LACKING, 4,                                                                                       \
      "the machine lacks something: a device, an agent, memory (or its limit is too low), disk space or "    \
      "permission to write")

enum {
#define EXIT_CODE(NAME, number, doc) NAME = (number),
    EXIT_CODE_TABLE(EXIT_CODE)
#undef EXIT_CODE
};

// Once, at the start of main.
void terminal_init(void);
void terminal_no_color(void);

bool terminal_color(void);       // colors on standard output?
bool terminal_error_color(void); // and on stderr?
bool terminal_is_output(void);   // is standard output a terminal?
bool terminal_unicode(void);     // may block characters be drawn?
size_t terminal_width(void);     // columns: COLUMNS, the terminal, or 80; between 80 and 200

// Standard output, through one buffer. False once nothing more can be written: the reader is gone (quiet) or
// the disk is full (loud); the caller then stops.
// What comes is CSV or JSON. On a terminal its control characters and those that reorder or hide text are escaped.
void output_for_programs(bool json);
bool output_write(const char *bytes, size_t length);
bool output_text(struct text *text); // writes and clears it
bool output_cstr(const char *cstr);
void output_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool output_flush(void);
// The exit code after all was written: `code`, unless the output was lost (EXIT_LACKING) or the reader has closed it
// any more (EXIT_DONE).
int output_finish(int code);

// "tracesmith: ..." on stderr, made safe, one line.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
// The same with a command in it: of `before` and `after`, the file's name stands between as a word for a shell.
void complain_command(const char *before, const char *path, const char *after);

#endif
