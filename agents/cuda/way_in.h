// SPDX-License-Identifier: Apache-2.0
// Where the agent begins.
#ifndef CUDA_WAY_IN_H
#define CUDA_WAY_IN_H

#include <stdbool.h>
#include <stddef.h>

// Attaches and subscribes, once. On a thread of the program, before its first command for a device.
void way_in(void);
// The same in a program that runs already (late.c), on a thread of the agent's own. False with the reason in `why`: nothing is recorded.
bool way_in_late(const char *session_directory, const char *options, char *why, size_t size);

#endif
