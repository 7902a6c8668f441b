// SPDX-License-Identifier: Apache-2.0
// Where the agent begins.
#ifndef CUDA_WAY_IN_H
#define CUDA_WAY_IN_H

// Attaches and subscribes, once. On a thread of the program, before its first command for a device.
void way_in(void);

#endif
