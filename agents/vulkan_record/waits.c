// SPDX-License-Identifier: Apache-2.0
// Calls that use a queue, or wait, besides submissions: what ends frames, and what must not wait in the driver for a submission that is held
// back, or for a device that is lost. Rules: recorder.h.
#include <time.h>

#include "held.h"
#include "recorder.h"

// What a call returns: an error of its own first.
static VkResult or_lost(const struct device *device, VkResult result) {
    return result >= VK_SUCCESS && device->lost ? VK_ERROR_DEVICE_LOST : result;
}

// ---- what ends frames

static void end_wait(void) {
    recorder_lock();
    frames_waited();
    recorder_unlock();
}

// While the program uses the queue without the recorder's lock, which it may need for a long time. NULL: not known, or the device is lost.
// `waits`: until the queue is idle. What still runs on it may wait for any that is held back.
static struct queue *begin_use(struct device *device, VkQueue handle, bool waits) {
    recorder_lock();
    struct queue *queue = queue_find(device, handle);
    if (held_has(device, handle) || (waits && (!queue || queue->busy)))
        held_release_all(device);
    recorder_unlock();
    if (device->lost)
        return NULL; // another thread may wait for the queue without end
    if (queue)
        pthread_mutex_lock(&queue->lock);
    return queue;
}

// What is no submission of commands may wait for a signal that is held back. Of a semaphore with values the driver lets it wait.
static void release_waited(struct device *device, const VkSemaphore *semaphores, uint32_t count) {
    bool waits = false;
    recorder_lock();
    for (uint32_t i = 0; i < count && device->held; i++)
        waits |= !semaphore_has_values(device, semaphores[i]) && held_signals(device, NULL, semaphores[i]);
    if (waits)
        held_release_all(device);
    recorder_unlock();
}

static void end_use(struct queue *queue) {
    if (queue)
        pthread_mutex_unlock(&queue->lock);
}

// The driver does not know that the device is lost, and work that waits for what it refused never ends in it. Work that does end
// is waited for as the program asks, but not for long, because all of a lost device may be destroyed at once. No queue: all.
static VkResult wait_lost(struct device *device, VkQueue only) {
    static const uint64_t patience = 1000000000;
    bool good = true;
    recorder_lock();
    for (uint32_t i = 0; i < device->queue_count && good; i++)
        if (!only || device->queues[i].handle == only)
            good = content_wait(device, &device->queues[i], patience);
    frames_waited();
    recorder_unlock();
    return VK_ERROR_DEVICE_LOST;
}

// While a thread waits for one queue, what another thread submits to a second one may be refused when it is no longer held back. A wait in
// the driver would not notice: a fence behind the queue's work is waited for in parts. The driver keeps a fence that never comes.
static VkResult wait_queue(const struct device *device, VkQueue handle) {
    static const uint64_t part = 100000000;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    if (device->queue_count < 2 ||
        device->next.CreateFence(device->handle, &info, NULL, &fence) != VK_SUCCESS)
        return device->next.QueueWaitIdle(handle);
    VkResult result = device->next.QueueSubmit(handle, 0, NULL, fence);
    const bool given = result == VK_SUCCESS;
    do
        result = given ? device->next.WaitForFences(device->handle, 1, &fence, VK_TRUE, part) : result;
    while (result == VK_TIMEOUT && !device->lost);
    if (result == VK_TIMEOUT)
        return VK_ERROR_DEVICE_LOST;
    device->next.DestroyFence(device->handle, fence, NULL);
    return result == VK_SUCCESS ? device->next.QueueWaitIdle(handle) : result;
}

VkResult record_QueueWaitIdle(VkQueue handle) {
    struct device *device = device_of(handle);
    struct queue *queue = begin_use(device, handle, true);
    if (device->lost && !queue)
        return wait_lost(device, handle);
    const VkResult result = wait_queue(device, handle);
    end_use(queue);
    end_wait();
    return or_lost(device, result);
}

VkResult record_QueueBindSparse(VkQueue handle, uint32_t count, const VkBindSparseInfo *infos,
                                VkFence fence) {
    struct device *device = device_of(handle);
    for (uint32_t i = 0; i < count; i++)
        release_waited(device, infos[i].pWaitSemaphores, infos[i].waitSemaphoreCount);
    struct queue *queue = begin_use(device, handle, false);
    const VkResult result =
        device->lost ? VK_ERROR_DEVICE_LOST : device->next.QueueBindSparse(handle, count, infos, fence);
    end_use(queue);
    return result;
}

VkResult record_DeviceWaitIdle(VkDevice handle) {
    struct device *device = device_of(handle);
    recorder_lock();
    const uint32_t count = device->queue_count;
    held_release_all(device);
    recorder_unlock();
    if (device->lost)
        return wait_lost(device, VK_NULL_HANDLE);
    for (uint32_t i = 0; i < count; i++)
        pthread_mutex_lock(&device->queues[i].lock);
    const VkResult result = device->next.DeviceWaitIdle(handle);
    for (uint32_t i = count; i-- > 0;)
        pthread_mutex_unlock(&device->queues[i].lock);
    end_wait();
    return or_lost(device, result);
}

// Submissions that are held back may wait for what no call of this device says: work of an earlier frame that was not captured, another
// device, sparse bindings. So their values are read again while the program waits or asks; nothing else might come. Whether any are left.
static bool look_at_held(struct device *device) {
    recorder_lock();
    held_release_ready(device);
    const bool left = device->held != NULL;
    recorder_unlock();
    return left;
}

// The same where the program only asks. The layer above asks too, with a lock of its own: this one is not waited for.
static void try_held(struct device *device) {
    if (pthread_mutex_trylock(&recorder.lock) != 0)
        return;
    held_release_ready(device);
    recorder_unlock();
}

// How long to wait at once, in ns: of a lost device what is signaled already. Another thread may have a submission held back, or
// the device may be lost, after the wait began: a wait without end would not notice.
static uint64_t part_of_wait(struct device *device, uint64_t left) {
    const uint64_t part = look_at_held(device) ? 5000000 : 100000000;
    if (device->lost)
        return 0;
    return left > part ? part : left;
}

VkResult record_WaitForFences(VkDevice handle, uint32_t count, const VkFence *fences, VkBool32 all,
                              uint64_t timeout) {
    struct device *device = device_of(handle);
    VkResult result;
    uint64_t left = timeout, part;
    do {
        part = part_of_wait(device, left);
        result = device->next.WaitForFences(handle, count, fences, all, part);
        left -= part;
    } while (result == VK_TIMEOUT && left && !device->lost);
    if (timeout)
        end_wait();
    return result == VK_TIMEOUT ? or_lost(device, result) : result;
}

VkResult record_WaitSemaphores(VkDevice handle, const VkSemaphoreWaitInfo *info, uint64_t timeout) {
    struct device *device = device_of(handle);
    VkResult result;
    uint64_t left = timeout, part;
    do {
        part = part_of_wait(device, left);
        result = device->next.WaitSemaphores(handle, info, part);
        left -= part;
    } while (result == VK_TIMEOUT && left && !device->lost);
    if (timeout)
        end_wait();
    return result == VK_TIMEOUT ? or_lost(device, result) : result;
}

VkResult record_GetFenceStatus(VkDevice handle, VkFence fence) {
    struct device *device = device_of(handle);
    try_held(device);
    const VkResult result = device->next.GetFenceStatus(handle, fence);
    return result == VK_NOT_READY ? or_lost(device, result) : result;
}

VkResult record_GetSemaphoreCounterValue(VkDevice handle, VkSemaphore semaphore, uint64_t *out) {
    struct device *device = device_of(handle);
    try_held(device);
    return or_lost(device, device->next.GetSemaphoreCounterValue(handle, semaphore, out));
}

VkResult record_GetEventStatus(VkDevice handle, VkEvent event) {
    struct device *device = device_of(handle);
    try_held(device);
    const VkResult result = device->next.GetEventStatus(handle, event);
    return result == VK_EVENT_RESET ? or_lost(device, result) : result;
}

// Waits for results as long as the device is not lost, by asking again. Once they are there, the program's own call does not wait. A device
// of one queue cannot be lost meanwhile. Some drivers do not wait without end for queries that were never begun: after a while it is theirs
// to say, as without the recorder.
static VkResult wait_results(struct device *device, VkQueryPool pool, uint32_t first, uint32_t count,
                             size_t bytes, void *out, VkDeviceSize stride, VkQueryResultFlags flags) {
    enum { MOST = 1000000 };
    static const VkQueryResultFlags asked =
        VK_QUERY_RESULT_WAIT_BIT | VK_QUERY_RESULT_PARTIAL_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
    const PFN_vkGetQueryPoolResults ask = device->next.GetQueryPoolResults;
    struct timespec pause = {.tv_nsec = 10000};
    uint64_t waited = 0;
    while (device->queue_count > 1 && !device->lost && waited < content_patience &&
           ask(device->handle, pool, first, count, bytes, out, stride, flags & ~asked) == VK_NOT_READY) {
        nanosleep(&pause, NULL);
        waited += (uint64_t)pause.tv_nsec;
        pause.tv_nsec = pause.tv_nsec < MOST / 2 ? 2 * pause.tv_nsec : MOST;
    }
    if (device->lost)
        flags &= ~(VkQueryResultFlags)VK_QUERY_RESULT_WAIT_BIT;
    return ask(device->handle, pool, first, count, bytes, out, stride, flags);
}

// A wait for results needs the driver to have all.
VkResult record_GetQueryPoolResults(VkDevice handle, VkQueryPool pool, uint32_t first, uint32_t count,
                                    size_t bytes, void *out, VkDeviceSize stride, VkQueryResultFlags flags) {
    struct device *device = device_of(handle);
    if (flags & VK_QUERY_RESULT_WAIT_BIT) {
        recorder_lock();
        held_release_all(device);
        recorder_unlock();
    } else {
        try_held(device);
    }
    const VkResult result =
        flags & VK_QUERY_RESULT_WAIT_BIT
            ? wait_results(device, pool, first, count, bytes, out, stride, flags)
            : device->next.GetQueryPoolResults(handle, pool, first, count, bytes, out, stride, flags);
    return result == VK_NOT_READY ? or_lost(device, result) : result;
}

VkResult record_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info) {
    struct device *device = device_of(handle);
    release_waited(device, info->pWaitSemaphores, info->waitSemaphoreCount);
    struct queue *queue = begin_use(device, handle, false);
    const VkResult result = device->lost ? VK_ERROR_DEVICE_LOST : device->next.QueuePresentKHR(handle, info);
    end_use(queue);
    recorder_lock();
    if (result >= VK_SUCCESS)
        frames_presented();
    recorder_unlock();
    return result;
}
