// SPDX-License-Identifier: Apache-2.0
// The agent of SYCL, through XPTI, the tracing framework of DPC++. The runtime loads the framework (XPTI_FRAMEWORK_DISPATCHER), if it
// is asked to trace (XPTI_TRACE_ENABLE), and the framework loads this library, one of a list (XPTI_SUBSCRIBERS).
//
// A submission is a range of the thread that gives the command to the backend, a wait is a call. Their times are the host's. Commands with
// device times come from the agent of the backend (OpenCL, Level Zero, CUDA), whose calls lie in the range, on the same thread.
//
// Rules: agentkit/agent.h. In addition: XPTI calls while the runtime may hold its locks, so nothing of the runtime is called, and of the
// framework only what looks something up.
#ifndef SYCL_AGENT_H
#define SYCL_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "agentkit/agent.h"
#include "agentkit/nesting.h"

// Registers shapes and fields.
void record_init(void);
// `file` 0: its place is unknown. `queue` below 1: it has none, or it is unknown.
void record_submission(const struct nesting *opened, uint64_t end, uint32_t name, uint32_t file,
                       uint32_t line, int64_t queue);
void record_wait(const struct nesting *opened, uint64_t end, uint32_t name);

#endif
