// SPDX-License-Identifier: Apache-2.0
// `profile --xctrace`: Apple's Instruments records, and what xctrace exports of it becomes one of our traces.
#ifndef CLI_XCTRACE_H
#define CLI_XCTRACE_H

#include <stdbool.h>

#include "cli/options/command.h"

bool xctrace_wanted(const struct invocation *invocation);
// Runs the program under xctrace and imports its trace into `path`. The exit code of `profile`.
int xctrace_profile(const struct invocation *invocation, const char *path);

#endif
