// SPDX-License-Identifier: Apache-2.0
// The agent of OpenACC, through its profiling interface. The runtime loads it by ACC_PROFLIB and calls it on the thread that executes a
// construct.
//
// A construct is a range of the thread; what the runtime enqueues for it (launches, transfers) and waits for are calls in that range. All
// times are the host's. Kernels and copies with device times come from the agent of the API that the runtime uses (CUDA, ROCm).
//
// Rules: agentkit/agent.h.
#ifndef OPENACC_AGENT_H
#define OPENACC_AGENT_H

#include "abi.h"
#include "agentkit/agent.h"
#include "agentkit/nesting.h"

// Registers shapes and fields.
void record_init(void);
// What ends: a construct, or an operation of the runtime. `event` is that of its begin.
void record_ended(const struct nesting *opened, uint64_t end, enum acc_event event,
                  const struct acc_place *place, const struct acc_operation *operation);

#endif
