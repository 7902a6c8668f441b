// SPDX-License-Identifier: Apache-2.0
// What recording costs the program, and keeping it below what the user allows (profile --max-overhead P). Rules: agent.h.
//
// The cost of a thread is the time its commands spend in this library around the driver's call, and the time it spends
// in its own waiting calls on finishing commands. The former is measured of one command in some 32, at distances that
// vary, and stands for those since the last one measured; the latter each time. Every 50 ms the control thread takes the
// share of that time that the costliest thread lost to us, writes an OVERHEAD event for every thread, and applies the rule:
//
//     share > P       of the commands one in 2^k is recorded, with the least k that would bring the share below P
//     share < P / 4   k is made one less
//
// A command that is passed over is passed to the driver as it is: neither its call nor the command is recorded, and the
// ledger counts one loss, `thinned`. Waits, memory, programs and queues are always recorded. k is at most 20, so a P that
// cannot be kept leaves one command in a million; what it came to is said in the trace's attribute overhead.PID.
// Without the option none of this runs, but for a test of a flag at every command.
#ifndef OPENCL_OVERHEAD_H
#define OPENCL_OVERHEAD_H

#include "agent.h"

// Of a thread. Written by it alone, read by the control thread.
struct overhead_cost {
    _Atomic uint32_t owned;
    _Atomic uint32_t track;
    _Atomic uint64_t ticks;            // ours, estimated
    _Atomic uint64_t skipped;          // commands
    uint64_t seen_ticks, seen_skipped; // the control thread's: the same at its last look
};

struct overhead {
    bool on;
    _Atomic uint32_t level; // k
};
extern struct overhead overhead;

// As the environment says; before any call can come.
void overhead_start(struct channel *channel);
// The calling thread's, NULL when there are too many threads: then it is neither measured nor thinned.
struct overhead_cost *overhead_claim(void);
// The control thread's look; `last` at the end of the process.
void overhead_look(bool last);
void overhead_after_fork_child(void);

bool overhead_admit_slow(void);
uint32_t overhead_next_sample(void);

// Whether a command is to be recorded.
static inline bool overhead_admit(void) {
    return __builtin_expect(!overhead.on, 1) || overhead_admit_slow();
}

// A tick when this command is to be measured, else 0.
static inline uint64_t overhead_entered(void) {
    if (__builtin_expect(!overhead.on, 1) || agent_thread.unmeasured++ < agent_thread.measure_at)
        return 0;
    return agent_tick();
}

static inline void overhead_add(uint64_t ticks) {
    struct overhead_cost *cost = agent_thread.cost ? agent_thread.cost : overhead_claim();
    if (cost)
        atomic_store_explicit(&cost->ticks, atomic_load_explicit(&cost->ticks, memory_order_relaxed) + ticks,
                              memory_order_relaxed);
}

// A command that was measured is over: what lies outside the driver's call [start, end] was ours.
static inline void overhead_left(uint64_t entered, uint64_t start, uint64_t end) {
    const uint64_t now = agent_tick();
    overhead_add(((start - entered) + (now - end)) * agent_thread.unmeasured);
    agent_thread.unmeasured = 0;
    agent_thread.measure_at = overhead_next_sample();
}

#endif
