// SPDX-License-Identifier: Apache-2.0
// What the layer and the agent in a program that runs already have in common. Rules: agent.h.
#ifndef OPENCL_LATE_H
#define OPENCL_LATE_H

#include "agentkit/agent.h"

const struct agent_spec *layer_spec(void);
// Fills entry_table by what opencl_next has.
void layer_fill(void);
// In a forked child: its driver's table is as it was.
void late_after_fork_child(void);

#endif
