// SPDX-License-Identifier: Apache-2.0
// Which semaphores have values: the driver may be asked for the value of these only, and of others a program may submit any.
// submit.c asks. Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

static struct timeline {
    struct timeline *next;
    struct device *device;
    VkSemaphore handle;
} * timelines; // with the recorder's lock

static bool is_timeline(const VkBaseInStructure *at) {
    for (; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            return ((const VkSemaphoreTypeCreateInfo *)at)->semaphoreType == VK_SEMAPHORE_TYPE_TIMELINE;
    return false;
}

VkResult record_CreateSemaphore(VkDevice handle, const VkSemaphoreCreateInfo *info,
                                const VkAllocationCallbacks *allocator, VkSemaphore *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.CreateSemaphore(handle, info, allocator, out);
    struct timeline *timeline =
        result == VK_SUCCESS && is_timeline(info->pNext) ? calloc(1, sizeof *timeline) : NULL;
    if (!timeline)
        return result; // out of memory: nothing is held back that waits for it
    recorder_lock();
    *timeline = (struct timeline){.next = timelines, .device = device, .handle = *out};
    timelines = timeline;
    recorder_unlock();
    return result;
}

static struct timeline **find_timeline(const struct device *device, VkSemaphore handle) {
    struct timeline **at = &timelines;
    while (*at && !((*at)->device == device && (*at)->handle == handle))
        at = &(*at)->next;
    return at;
}

void record_DestroySemaphore(VkDevice handle, VkSemaphore semaphore, const VkAllocationCallbacks *allocator) {
    struct device *device = device_of(handle);
    recorder_lock();
    struct timeline **at = find_timeline(device, semaphore), *gone = *at;
    if (gone)
        *at = gone->next;
    recorder_unlock();
    free(gone);
    device->next.DestroySemaphore(handle, semaphore, allocator);
}

bool semaphore_has_values(const struct device *device, VkSemaphore semaphore) {
    return *find_timeline(device, semaphore) != NULL;
}
