// SPDX-License-Identifier: Apache-2.0
// The CUDA agent: CUDA's driver itself loads it into every process that uses CUDA (CUDA_INJECTION64_PATH), and CUPTI
// tells it what happens.
//
// Rules inside somebody else's process, for every file of this folder
//   1. Nothing the program can see changes. Whoever has CUPTI already keeps it: we step aside and say so. Whoever comes later
//      is served by us (sharing.h).
//   2. The callbacks on the program's threads (launches.c) take no lock, allocate nothing, make no system call.
//   3. No lock of ours is held while CUPTI is called, and none is waited for that another thread holds while it is in
//      CUPTI: buffers come from a pool by one atomic operation.
//   4. Nothing here ends the process, raises or handles a signal. What cannot be recorded is counted.
//   5. The driver is asked for nothing but its version. CUPTI is called from InitializeInjection, from the callbacks it makes, from the control
//      thread, and from a program that stops its own profiler; never from a destructor.
//   6. After fork the child owns nothing of the parent's, and CUDA does not work there: the agent is silent.
//
// How a kernel goes (files): agent.c attaches inside cuInit; subscribe.c asks CUPTI for what is to be recorded. At a
// launch CUPTI calls launches.c on the program's thread, which notes who launched and when. CUPTI writes its records
// into buffers of the pool (buffers.c) and hands them back filled, late and in any order; records.c turns each record
// into one of a ring, on its queue's track (tracks.c), at its time on the trace clock (timebase.c). control.c sees to
// it that this happens every 100 ms, and once more at the end.
#ifndef CUDA_AGENT_H
#define CUDA_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/channel.h"

#define AGENT_API "cuda"
#define AGENT_EXPORT __attribute__((visibility("default")))

// The process's one agent. Written while it attaches; read only afterwards, but for `silent`.
struct agent {
    struct channel *channel; // NULL: no session
    bool tsc;
    uint64_t correlation_base; // added to CUPTI's correlation ids, so that they are nobody else's
    atomic_bool silent;        // in a forked child, or when the session is over
};
extern struct agent agent __attribute__((visibility("hidden")));

// Attaches to the session that the environment names, at the first call; later ones only say whether it did. For
// everything that brings this library into a process: CUDA, NVTX, NCCL. Any thread.
bool agent_attach(void);

static inline bool agent_recording(void) {
    return agent.channel && !atomic_load_explicit(&agent.silent, memory_order_relaxed);
}

static inline uint64_t agent_tick(void) {
    return clock_tick(agent.tsc);
}

// An option of CUDA's that the user gave (INJECTION_CUDA_OPTIONS): what follows its name, which begins with ':', ',' or is
// at its end; NULL when it was not given.
const char *agent_option(const char *name);

// Says something to whoever reads the trace, in one line: what, and what to do. It is an attribute of the trace that
// `profile` prints when it is done. The last of several holds.
void agent_notice(const char *text);

#endif
