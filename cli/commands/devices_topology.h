// SPDX-License-Identifier: Apache-2.0
// `devices --topology`.
#ifndef CLI_DEVICES_TOPOLOGY_H
#define CLI_DEVICES_TOPOLOGY_H

#include "cli/options/command.h"
#include "cli/present/text.h"
#include "tracesmith/dictionary.h"

// Prints the matrix, or JSON; the exit code. LACKING when there is no GPU.
int devices_topology(const struct invocation *invocation);
// Adds what kinds of paths the GPUs of the machine of a trace have, in one line; false if the trace does not state them.
bool topology_add_summary(struct text *line, const tsmith_dictionary *dictionary);

#endif
