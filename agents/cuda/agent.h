// SPDX-License-Identifier: Apache-2.0
// The CUDA agent: CUDA's driver itself loads it into every process that uses CUDA (CUDA_INJECTION64_PATH), and CUPTI
// reports to it.
//
// The rules of agentkit/agent.h apply to every file of this folder. In addition:
//   1. A tool that already uses CUPTI keeps it: the agent then records without it and reports that. A later tool is served by us (sharing.h).
//   2. The callbacks on the program's threads (launches.c) take no lock, allocate nothing, make no system call.
//   3. No lock of ours is held while CUPTI is called, and none is waited for that another thread holds while it is in
//      CUPTI: buffers come from a pool by one atomic operation.
//   4. The driver is asked for nothing but its version. CUPTI is called from InitializeInjection, from the callbacks it
//      makes, from the control thread, and from a program that stops its own profiler; never from a destructor.
//   5. CUDA does not work in forked children: the agent is silent there.
//
// How a kernel goes (files): agent.c attaches inside cuInit; subscribe.c asks CUPTI for what is to be recorded. At a
// launch CUPTI calls launches.c on the program's thread, which notes who launched and when. CUPTI writes its records
// into buffers of the pool (buffers.c) and hands them back filled, late and in any order; records.c turns each record
// into one of a ring, on its queue's track (tracks.c), at its time on the trace clock (agentkit/foreign_clock.h). control.c sees to
// it that this happens every 100 ms, and once more at the end.
#ifndef CUDA_AGENT_H
#define CUDA_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentkit/agent.h"
#include "vendor.h"
#include "wire/agent_options.h"

// The options of this agent: CUDA_OPTION_GRAPHS, ...
enum cuda_option {
#define CUDA_OPTION_ENUM(NAME, key, ...) CUDA_OPTION_##NAME,
    CUDA_OPTION_TABLE(CUDA_OPTION_ENUM)
#undef CUDA_OPTION_ENUM
};
// As agent_option.
const char *cuda_option(enum cuda_option option);

#endif
