// SPDX-License-Identifier: Apache-2.0
// Commands of OpenCL in flight: enqueued, and their times not yet asked for. Rules: agent.h; lists, threads and states:
// agentkit/pending.h.
//
// The control thread (control.c) is for programs that never wait. It is made at the first command, blocks every signal, and
// ends in the exit handler, which gives it a bounded time for a last pass: a driver that hangs there delays no thread. What is
// still in flight when the library goes is counted as NO_COMPLETION.
#ifndef OPENCL_PENDING_H
#define OPENCL_PENDING_H

#include "agent.h"
#include "agentkit/pending.h"
#include "objects.h"

// Before the first command.
void pending_begin(void);

// Takes over a command whose queue is known, and our reference on its event: it is recorded and the event released once
// complete. `held`: the program has the event too. False when there is no room: the caller keeps the reference.
struct command;
bool pending_push(const struct command *command, cl_event event, bool held, uint32_t wait_count,
                  const cl_event *waits);

#endif
