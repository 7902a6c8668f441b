// SPDX-License-Identifier: Apache-2.0
// Running another profiler in place of ours (nsys.c, mctracer.c, xctrace.c). What is documented here is in nsys.c.
#ifndef CLI_TOOL_H
#define CLI_TOOL_H

#include <stdbool.h>

struct text;
struct invocation;

// Whether no options of `profile` are given but these (ended by NULL): the other profiler knows nothing of the rest. False: a message
// that ends with `advice` was printed.
bool tool_options_fit(const struct invocation *invocation, const char *const *known, const char *advice);

// The path of a program: in PATH, or the newest of the first pattern in `places` (ended by NULL) that matches.
bool tool_find(const char *program, const char *const *places, struct text *out);
// A private folder for what it writes, and its end, with all that is in it. False: a message was printed.
bool tool_make_folder(struct text *out);
void tool_remove_folder(const char *path);
// The wait status of a program that was run, -1 if it could not be; its standard output goes to a descriptor, if that is not
// negative. Signals that are sent to the command are passed on.
int tool_run(char *const *words, int stdout_to);
int tool_exit_code(int status);
// Imports what a tool of this name wrote into a trace. The exit code.
int tool_import(const char *from, const char *to, const char *tool);

#endif
