// SPDX-License-Identifier: Apache-2.0
// What recording costs the program, and keeping it below what the user allows (agentkit/overhead.h). Rules: agent.h.
//
// The cost of a thread is the time its commands spend in this library around the driver's call, and the time it
// spends in its own waiting calls on finishing commands. The former is measured of one command in some 32, at
// distances that vary, and counts for all since the last one measured; the latter each time. The rule:
//
//     share > P       one command in 2^k is recorded, with the smallest k that would bring the share below P
//     share < P / 4   k is made one less
//
// A command that is passed over is passed to the driver as it is: neither its call nor the command is recorded, and
// the ledger counts one loss, `thinned`. Waits, memory, programs and queues are always recorded. k is at most 20, so
// a P that cannot be kept leaves one command in a million.
#ifndef OPENCL_OVERHEAD_H
#define OPENCL_OVERHEAD_H

#include "agent.h"
#include "agentkit/overhead.h"

// Reads the environment; before any call can come.
void overhead_start(struct channel *channel);
bool overhead_admit_slow(void);

// Whether a command is to be recorded.
static inline bool overhead_admit(void) {
    return __builtin_expect(!agent_overhead.on, 1) || overhead_admit_slow();
}

// A measured command is over: the time outside the driver's call [start, end] was the agent's.
static inline void overhead_left(uint64_t entered, uint64_t start, uint64_t end) {
    agent_overhead_measured((start - entered) + (agent_tick() - end));
}

#endif
