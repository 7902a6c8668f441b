// SPDX-License-Identifier: Apache-2.0
// `profile --nsys`: Nsight Systems records, and what it recorded becomes one of our traces.
#ifndef CLI_NSYS_H
#define CLI_NSYS_H

#include <stdbool.h>

#include "cli/options/command.h"

bool nsys_wanted(const struct invocation *invocation);
// Runs the program under nsys and imports its report into `path`. The exit code of `profile`.
int nsys_profile(const struct invocation *invocation, const char *path);

// Exports a report of Nsight Systems into a database in a private folder, both of which nsys_forget removes. False,
// after a message, if that fails. Prints the command that is run.
struct text;
bool nsys_export(const char *report, struct text *folder, struct text *database);
void nsys_forget(struct text *folder, struct text *database);
// Whether the file is called as a report is.
bool nsys_is_report(const char *path);

#endif
