// SPDX-License-Identifier: Apache-2.0
// `profile --mctracer`: MetaX's mcTracer records, and what it recorded becomes one of our traces.
#ifndef CLI_MCTRACER_H
#define CLI_MCTRACER_H

#include "cli/options/command.h"

// Runs the program under mcTracer and imports its trace into `path`. The exit code of `profile`.
int mctracer_profile(const struct invocation *invocation, const char *path);

#endif
