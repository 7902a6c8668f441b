// SPDX-License-Identifier: Apache-2.0
// Measures the cost of recording for each thread and throttles it, by the rule in throttling.h. Rules: agent.h. library.c starts it,
// wrappers.c asks it.
#include "throttling.h"

#include <stdio.h>

#include "agentkit/control.h"

static __thread uint32_t calls __attribute__((tls_model("initial-exec")));

static void describe(uint32_t level, char *text, size_t size) {
    snprintf(text, size, "1 call in %u recorded at the end", 1u << level);
}

static bool look_again(void) {
    agent_overhead_look(false);
    return true;
}

static void look_last(void) {
    agent_overhead_look(true);
}

void throttling_start(void) {
    static const struct agent_overhead_rule rule = {
        .key = " (mpi)", .next = agent_overhead_halve, .describe = describe};
    agent_overhead_start(agent.channel, &rule);
}

void throttling_watch(void) {
    static const struct agent_control_work work = {
        .look = look_again, .last_pass = look_last, .period_ms = 20, .last_pass_ms = 1000};
    if (agent_overhead.on)
        agent_control_start(&work, agent.channel);
}

static struct comm *subject_of(const struct said *said) {
    return said->file ? file_find(said->file) : said->win ? win_find(said->win) : comm_find(said->comm);
}

// One number in 2^level, and 0 in any case: those whose multiple of the golden ratio has so small a fraction. No rhythm of the program's
// is always or never met, and what a level keeps, a smaller one keeps too.
static bool is_kept(uint64_t number, uint32_t level) {
    return (number * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - level) == 0;
}

bool throttling_admits(enum left_out rule, const struct said *said) {
    const uint32_t level = agent_overhead_level();
    if (!agent_overhead_here.cost)
        agent_overhead_claim();
    if (rule == LEFT_OUT_NONE || level == 0 || !agent_overhead_here.cost)
        return true;
    struct comm *comm = rule == LEFT_OUT_COLLECTIVE ? subject_of(said) : NULL;
    const uint64_t number = comm ? atomic_load_explicit(&comm->sequence, memory_order_relaxed) : ++calls;
    if (is_kept(number, level))
        return true;
    agent_overhead_add(0, 1);
    return false;
}

bool throttling_enter(struct entry *entry, enum left_out rule, const struct said *said) {
    entry->entered = agent_overhead_entered();
    entry->is_on = throttling_admits(rule, said);
    return entry->is_on;
}

void throttling_left(const struct entry *entry) {
    agent_overhead_measured((entry->called - entry->entered) + (agent_tick() - entry->returned));
}
