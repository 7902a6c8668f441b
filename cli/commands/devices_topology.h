// SPDX-License-Identifier: Apache-2.0
// `devices --topology`.
#ifndef CLI_DEVICES_TOPOLOGY_H
#define CLI_DEVICES_TOPOLOGY_H

#include "cli/options/command.h"

// Prints the matrix, or JSON; the exit code. LACKING when there is no GPU.
int devices_topology(const struct invocation *invocation);

#endif
