// SPDX-License-Identifier: Apache-2.0
// Command buffers, and what the program records into them. Rules: agent.h.
#ifndef VULKAN_COMMANDS_H
#define VULKAN_COMMANDS_H

#include "objects.h"

// The buffer is freed: what the agent has lent to it is given back.
void command_buffer_gone(struct object *buffer);

#endif
