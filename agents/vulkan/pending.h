// SPDX-License-Identifier: Apache-2.0
// Command buffers that were submitted, until the program knows that they are complete. Then their queries are read. All under one
// lock, which is held for as long as reading takes. Rules: agent.h.
#ifndef VULKAN_PENDING_H
#define VULKAN_PENDING_H

#include "agent.h"

void pending_lock(void);
void pending_unlock(void);

// The program is about to record or free the buffer: its last execution is complete.
void pending_drain(struct object *buffer);
// The program is about to submit the buffer, which may still be pending if it was begun for simultaneous use: then the execution
// before has no times.
void pending_before_submit(struct object *buffer);
// The buffer was submitted to the queue. Without queries its commands are recorded at once.
void pending_add(struct object *buffer, struct object *queue, uint64_t submission, VkFence fence,
                 const struct command_launch *launch, uint32_t wait_count, const uint64_t *waits);
// The program knows that the queue is complete up to this submission.
void pending_complete(struct object *queue, uint64_t submission);
void pending_device_idle(struct device *device);
// The device is about to be destroyed, and all that the program has left of it.
void pending_device_gone(struct device *device);
// Commands in flight.
uint64_t pending_left(void);

#endif
