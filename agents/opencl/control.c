// SPDX-License-Identifier: Apache-2.0
// What the control thread (agentkit/control.h) does here: looks after commands that no thread waits for, and makes the last
// pass at exit. Rules: agent.h. What it may do when: pending.h. Its exit handler runs before those of the driver: these
// are older than our first command. Without a thread, commands are finished where the program waits.
#include "control.h"

#include "agentkit/control.h"
#include "agentkit/overhead.h"
#include "pending.h"

static bool periodic_pass(void) {
    pending_reap_neglected();
    agent_overhead_look(false);
    return true;
}

static void last_pass(void) {
    pending_reap_all(true);
    agent_overhead_look(true);
}

void control_start(void) {
    static const struct agent_control_work work = {
        .look = periodic_pass, .last_pass = last_pass, .period_ms = 20, .last_pass_ms = 1000};
    if (agent_recording())
        agent_control_start(&work, agent.channel);
}
