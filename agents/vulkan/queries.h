// SPDX-License-Identifier: Apache-2.0
// Queries for timestamps, lent to command buffers in chunks that stay with the buffer until it is freed. Rules: agent.h.
#ifndef VULKAN_QUERIES_H
#define VULKAN_QUERIES_H

#include "objects.h"

// At most this many queries in the process; 0: the default.
void queries_begin(uint32_t limit);
// Two queries for the next command of the buffer, which is outside of a render pass. NO_QUERY: there are none.
uint32_t queries_take(struct object *buffer);
// Records the writing of one.
void queries_write(const struct object *buffer, uint32_t query, VkPipelineStageFlagBits stage);
// The recording ends: on a device whose reading waits, the results are copied by the device.
void queries_copy(const struct object *buffer);
// The results of the chunk that has this query: a value and whether it is there, for each. NULL: the driver has none.
// Only when the device is done with them. Under the lock of pending.c.
const uint64_t (*queries_read(const struct object *buffer, uint32_t query))[2];
void queries_free(struct object *buffer);

#endif
