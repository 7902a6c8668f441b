// SPDX-License-Identifier: Apache-2.0
// `profile --nsys`: Nsight Systems records, and what it recorded becomes one of our traces.
#ifndef CLI_NSYS_H
#define CLI_NSYS_H

#include <stdbool.h>

#include "command.h"

bool nsys_wanted(const struct invocation *invocation);
// Runs the program under nsys and imports its report into `path`. The exit code of `profile`.
int nsys_profile(const struct invocation *invocation, const char *path);

#endif
