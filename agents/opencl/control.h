// SPDX-License-Identifier: Apache-2.0
// The control thread of pending.h. Rules: agent.h.
#ifndef OPENCL_CONTROL_H
#define OPENCL_CONTROL_H

// At a thread's first command: makes the control thread and its end at exit, once per process.
void control_start(void);

#endif
