// SPDX-License-Identifier: Apache-2.0
// Writing records: calls, waits, memory, compilations, frames, and commands of the device. Rules: agent.h.
#ifndef VULKAN_RECORD_H
#define VULKAN_RECORD_H

#include "agent.h"

void record_init(void);

uint32_t record_call_name(enum call_id function);

// The API event of a call that returns now, if it is recorded: it has begun while recording was on.
void record_call(struct call *call, VkResult result);
void record_call_void(struct call *call);
// It waited, for these submissions.
void record_wait(const struct call *call, tsmith_operation operation, uint32_t count, const uint64_t *waits);
void record_memory(const struct call *call, tsmith_kind kind, const struct object *memory, uint64_t live);
void record_compile(const struct call *call, uint32_t name, VkResult result);
// A frame from the last one's end, which becomes the end of this one.
void record_frame(const struct call *call, struct object *swapchain);

// A command that ran. On the trace clock; times of 0: they are not known, which is counted.
void record_command(const struct command *command, const struct launch *launch, uint32_t wait_count,
                    const uint64_t *waits, uint64_t start, uint64_t end, bool inferred);

uint32_t record_queue_track(const struct object *queue);

#endif
