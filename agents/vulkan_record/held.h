// SPDX-License-Identifier: Apache-2.0
// Submissions of a captured frame that wait for a value of a semaphore which is signaled later, by another queue or by the host: they are
// held back until it is, so that each submission can be complete before the next. submit.c decides, waits.c asks. Rules: recorder.h; with the lock held.
#ifndef VULKAN_RECORD_HELD_H
#define VULKAN_RECORD_HELD_H

#include "recorder.h"

// A call of vkQueueSubmit or vkQueueSubmit2.
struct given {
    VkQueue queue;
    bool second; // vkQueueSubmit2
    uint32_t count;
    const void *infos; // VkSubmitInfo or VkSubmitInfo2
    VkFence fence;
    uint64_t correlation; // of the call in the trace
    uint64_t frame;       // 0: not decided yet
};

struct held {
    struct held *next;
    struct given given; // in memory of its own
    void *kept[512];
    size_t kept_count;
    bool failed;
};

// Adds a copy at the end of the device's. False: out of memory, or there are structs that are not known.
bool held_add(struct device *device, const struct given *given);
// Takes it out of the list, to be freed with held_free.
void held_take(struct device *device, struct held *held);
void held_free(struct held *held);
bool held_has(const struct device *device, VkQueue queue);
// Whether one that comes before `until` (NULL: any) signals the semaphore.
bool held_signals(const struct device *device, const struct held *until, VkSemaphore semaphore);

// ---- submit.c
struct queue *queue_find(struct device *device, VkQueue handle); // NULL: not known
// All, as they are: the driver lets them wait. The frame is not captured.
void held_release_all(struct device *device);
void held_release_ready(struct device *device); // those whose values are there

#endif
