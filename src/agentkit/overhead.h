// SPDX-License-Identifier: Apache-2.0
// Measures what recording costs the program, and keeps it below the user's limit (profile --max-overhead P). For agents;
// one per library. Each agent measures the time that its own calls take from a thread, and has its own rule for what
// a level of throttling leaves out; the rest is the same for all agents and is here:
//
// Every 50 ms or so the control thread takes the share of that time that the costliest thread lost to us, writes an
// OVERHEAD event for every thread, and lets the rule choose the next level. Commands that are left out are counted in
// the ledger as `thinned`. The result is in the trace's attribute overhead.PID.
//
// Without the option, the only cost is the test of a flag.
#ifndef AGENTKIT_OVERHEAD_H
#define AGENTKIT_OVERHEAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "wire/channel.h"

// Per thread. Written by that thread only, read by the control thread.
struct agent_overhead_cost {
    _Atomic uint32_t owned;
    _Atomic uint32_t track;
    _Atomic uint64_t ticks;            // ours, estimated
    _Atomic uint64_t skipped;          // events passed over
    uint64_t seen_ticks, seen_skipped; // the control thread's: the same at its last look
};

// What a thread has of its own.
struct agent_overhead_thread {
    struct agent_overhead_cost *cost;
    uint32_t unmeasured; // calls since the last one that was measured
    uint32_t measure_at;
    uint32_t random;
    bool unclaimed; // there were too many threads: this one is neither measured nor throttled
};
extern __thread struct agent_overhead_thread agent_overhead_here
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

struct agent_overhead_rule {
    const char *key; // what follows overhead.PID in the attribute's name
    // The level after a window in which that share was lost. Control thread.
    uint32_t (*next)(uint32_t level, double share, double allowed);
    // What a level leaves out, for people.
    void (*describe)(uint32_t level, char *text, size_t size);
};

struct agent_overhead {
    bool on, tsc;
    _Atomic uint32_t level; // 0: everything is recorded
};
extern struct agent_overhead agent_overhead __attribute__((visibility("hidden")));

// The rule `next` of agents that record one event in 2^level: the least level that would bring the share below what is allowed, and one
// less where it is below a quarter of that.
uint32_t agent_overhead_halve(uint32_t level, double share, double allowed);
// Reads the environment; before any call can come.
void agent_overhead_start(struct channel *channel, const struct agent_overhead_rule *rule);
// The calling thread's, NULL when there are too many threads.
struct agent_overhead_cost *agent_overhead_claim(void);
// The control thread's look; `last` at the end of the process.
void agent_overhead_look(bool last);
// How many calls until one is measured: from 16 to 47, so that no rhythm of the program's is always or never met.
uint32_t agent_overhead_next_sample(void);

static inline uint32_t agent_overhead_level(void) {
    return agent_overhead.on ? atomic_load_explicit(&agent_overhead.level, memory_order_relaxed) : 0;
}

static inline void agent_overhead_add(uint64_t ticks, uint64_t skipped) {
    struct agent_overhead_cost *cost =
        agent_overhead_here.cost ? agent_overhead_here.cost : agent_overhead_claim();
    if (!cost)
        return;
    atomic_store_explicit(&cost->ticks, atomic_load_explicit(&cost->ticks, memory_order_relaxed) + ticks,
                          memory_order_relaxed);
    atomic_store_explicit(&cost->skipped,
                          atomic_load_explicit(&cost->skipped, memory_order_relaxed) + skipped,
                          memory_order_relaxed);
}

// A tick when this call is to be measured, else 0.
static inline uint64_t agent_overhead_entered(void) {
    if (__builtin_expect(!agent_overhead.on, 1) ||
        agent_overhead_here.unmeasured++ < agent_overhead_here.measure_at)
        return 0;
    return clock_tick(agent_overhead.tsc);
}

// The measured call took this many ticks of the agent: they count for all calls since the last measured one.
static inline void agent_overhead_measured(uint64_t ticks) {
    agent_overhead_add(ticks * agent_overhead_here.unmeasured, 0);
    agent_overhead_here.unmeasured = 0;
    agent_overhead_here.measure_at = agent_overhead_next_sample();
}

#endif
