// SPDX-License-Identifier: Apache-2.0
// Writing records: calls, waits, memory, compilations, frames, and commands of the device. Rules: agent.h.
#ifndef VULKAN_RECORD_H
#define VULKAN_RECORD_H

#include "agent.h"

void record_init(void);

// The API event of a call that returns now, if it is recorded: it has begun while recording was on.
static inline bool record_ends(struct agent_call *call) {
    if (agent_on() && !call->end)
        call->end = agent_tick();
    return agent_on();
}
static inline void record_call(struct agent_call *call, VkResult result) {
    if (record_ends(call))
        call_record(call, result);
}
static inline void record_call_void(struct agent_call *call) {
    if (record_ends(call))
        call_record_void(call);
}
// A frame from the last one's end, which becomes the end of this one.
void record_frame(const struct agent_call *call, struct object *swapchain);

// A command that ran, and the correlation ids that it waited for.
void record_command(const struct command *command, const struct command_launch *launch, uint32_t wait_count,
                    const uint64_t *waits, const struct command_times *times);

uint32_t record_queue_track(const struct object *queue);

#endif
