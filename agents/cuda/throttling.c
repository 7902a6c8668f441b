// SPDX-License-Identifier: Apache-2.0
// CUDA's throttling levels: which calls and stacks are left out at each level of `--max-overhead`. The agent's start,
// its control thread and its callbacks call it.
#include "throttling.h"

#include <stdio.h>

static atomic_bool hid_launches;
static _Atomic uint64_t without_stack;

static uint32_t next_level(uint32_t level, double share, double allowed) {
    const uint32_t next = share > allowed && level < THROTTLING_NOTES ? level + 1
                          : share < allowed / 4 && level > 0          ? level - 1
                                                                      : level;
    // Before any launch can go unseen.
    if (next == THROTTLING_NOTES)
        atomic_store(&hid_launches, true);
    return next;
}

static void describe(uint32_t level, char *text, size_t size) {
    static const char *const left_out[] = {
        [THROTTLING_NOTHING] = "everything is recorded",
        [THROTTLING_OTHER_CALLS] = "calls that neither launch, wait, copy, set nor allocate are left out",
        [THROTTLING_DRIVER] = "other calls, and the driver's, are left out",
        [THROTTLING_STACKS] = "other calls, the driver's, and stacks are left out",
        [THROTTLING_CALLS] = "calls and stacks are left out",
        [THROTTLING_NOTES] = "only device work is recorded, not the calls that launched it",
    };
    snprintf(text, size, "%s at the end", left_out[level]);
}

void throttling_start(void) {
    static const struct agent_overhead_rule rule = {
        .key = " (cuda)", .next = next_level, .describe = describe};
    agent_overhead_start(agent.channel, &rule);
}

void throttling_look(bool last) {
    const uint64_t stacks = atomic_exchange(&without_stack, 0);
    if (stacks)
        channel_lose(agent.channel, TSMITH_REASON_NO_STACK, stacks);
    agent_overhead_look(last);
}

bool throttling_hid_launches(void) {
    return atomic_load_explicit(&hid_launches, memory_order_relaxed);
}

void throttling_no_stack(void) {
    atomic_fetch_add_explicit(&without_stack, 1, memory_order_relaxed);
}
