// SPDX-License-Identifier: Apache-2.0
// Measures the cost of recording for each thread and throttles it, by the rule in overhead.h. Rules: agent.h.
#include "overhead.h"

#include <stdio.h>

static void describe(uint32_t level, char *text, size_t size) {
    snprintf(text, size, "1 command in %u recorded", 1u << level);
}

void overhead_start(struct channel *channel) {
    static const struct agent_overhead_rule rule = {
        .key = "", .next = agent_overhead_halve, .describe = describe};
    agent_overhead_start(channel, &rule);
}

bool overhead_admit_slow(void) {
    const uint32_t level = agent_overhead_level();
    if (!agent_overhead_here.cost)
        agent_overhead_claim();
    if (level == 0 || !agent_overhead_here.cost || (++opencl_thread.commands & ((1u << level) - 1)) == 0)
        return true;
    agent_overhead_add(0, 1);
    return false;
}
