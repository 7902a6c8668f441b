// SPDX-License-Identifier: Apache-2.0
// Queues: what the program submits to them and presents. Rules: agent.h.
#include <string.h>

#include "pending.h"
#include "record.h"

// A call that submits.
struct submission {
    struct call call;
    struct device *device;
    struct object *queue; // NULL: not followed
    uint64_t number;
    int64_t not_before;
    uint32_t wait_count;
    uint64_t waits[VALUES_MAX]; // correlation ids
};

// ---- queues

static void queue_add(struct device *device, VkQueue handle, uint32_t family) {
    struct object *queue = object_find(OBJECT_QUEUE, HANDLE(handle));
    if (!handle || (queue && queue->device == device))
        return;
    queue = object_add(OBJECT_QUEUE, HANDLE(handle), device);
    if (!queue)
        return;
    queue->queue.family = family < FAMILIES_MAX ? family : 0;
    queue->queue.track = record_queue_track(queue);
}

void layer_GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out) {
    struct device *device = device_of(handle);
    struct call call = call_begin(CALL_GetDeviceQueue);
    device->next.GetDeviceQueue(handle, family, index, out);
    record_call_void(&call);
    queue_add(device, *out, family);
}

void layer_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out) {
    struct device *device = device_of(handle);
    struct call call = call_begin(CALL_GetDeviceQueue2);
    device->next.GetDeviceQueue2(handle, info, out);
    record_call_void(&call);
    queue_add(device, *out, info->queueFamilyIndex);
}

// ---- semaphores and fences of a submission

static const struct signal *signal_of(const struct object *semaphore, uint64_t value) {
    const struct signal *best = NULL;
    if (!semaphore->semaphore.timeline)
        return &semaphore->semaphore.signals[0];
    for (uint32_t i = 0; i < VALUES_MAX; i++) {
        const struct signal *at = &semaphore->semaphore.signals[i];
        if (at->value >= value && at->queue && (!best || at->value < best->value))
            best = at;
    }
    return best;
}

static void waits_for(struct submission *submission, VkSemaphore handle, uint64_t value) {
    const struct object *semaphore = object_find(OBJECT_SEMAPHORE, HANDLE(handle));
    const struct signal *signal = semaphore ? signal_of(semaphore, value) : NULL;
    if (signal && signal->correlation && submission->wait_count < VALUES_MAX)
        submission->waits[submission->wait_count++] = signal->correlation;
}

static void signals(const struct submission *submission, VkSemaphore handle, uint64_t value) {
    struct object *semaphore = object_find(OBJECT_SEMAPHORE, HANDLE(handle));
    if (!semaphore)
        return;
    uint32_t at = 0;
    if (semaphore->semaphore.timeline)
        at = semaphore->semaphore.next++ % VALUES_MAX;
    semaphore->semaphore.signals[at] = (struct signal){.queue = submission->queue,
                                                       .submission = submission->number,
                                                       .correlation = submission->call.correlation,
                                                       .value = value};
}

// ---- submitting

static void prepare(VkCommandBuffer handle) {
    struct object *buffer = object_find(OBJECT_BUFFER, HANDLE(handle));
    if (!buffer)
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
    else
        pending_before_submit(buffer);
}

static struct submission submission_begin(enum call_id function, VkQueue handle, VkFence fence_handle) {
    struct submission submission = {.device = device_of(handle)};
    if (!agent_recording())
        return submission;
    submission.queue = object_find(OBJECT_QUEUE, HANDLE(handle));
    submission.call = call_begin(function);
    submission.not_before = clock_trace_now();
    if (agent_on())
        submission.call.correlation = agent_correlation();
    if (!submission.queue)
        return submission;
    struct queue *queue = &submission.queue->queue;
    submission.call.track = queue->track;
    submission.number = queue->submitted + 1;
    if (!fence_handle)
        return submission;
    struct object *fence = object_find(OBJECT_FENCE, HANDLE(fence_handle));
    if (!fence)
        fence = object_add(OBJECT_FENCE, HANDLE(fence_handle), submission.device);
    if (fence)
        fence->fence = (struct signal){.queue = submission.queue,
                                       .submission = submission.number,
                                       .correlation = submission.call.correlation};
    return submission;
}

static void submitted(struct submission *submission, VkResult result) {
    struct queue *queue = submission->queue ? &submission->queue->queue : NULL;
    submission->call.end = agent_tick();
    if (submission->call.function)
        record_call(&submission->call, result);
    if (!queue || result != VK_SUCCESS)
        return;
    queue->submitted = submission->number;
}

static void follow(struct submission *submission, VkFence fence, VkCommandBuffer handle) {
    struct object *buffer = object_find(OBJECT_BUFFER, HANDLE(handle));
    if (!buffer || !submission->queue || !submission->call.correlation || !agent_on())
        return;
    const struct launch launch = {.correlation = submission->call.correlation,
                                  .not_before = (uint64_t)submission->not_before,
                                  .track = submission->call.track,
                                  .host_track = channel_thread_track(agent.channel),
                                  .stack = submission->call.stack,
                                  .returned = submission->call.end};
    pending_add(buffer, submission->queue, submission->number, fence, &launch, submission->wait_count,
                submission->waits);
    submission->wait_count = 0;
}

static const VkTimelineSemaphoreSubmitInfo *values_of(const VkSubmitInfo *info) {
    for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            return (const void *)at;
    return NULL;
}

static void prepare_batch(struct submission *submission, const VkSubmitInfo *info) {
    const VkTimelineSemaphoreSubmitInfo *values = values_of(info);
    for (uint32_t i = 0; i < info->commandBufferCount; i++)
        prepare(info->pCommandBuffers[i]);
    pending_lock();
    for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
        waits_for(submission, info->pWaitSemaphores[i],
                  values && i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0);
    for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
        signals(submission, info->pSignalSemaphores[i],
                values && i < values->signalSemaphoreValueCount ? values->pSignalSemaphoreValues[i] : 0);
    pending_unlock();
}

VkResult layer_QueueSubmit(VkQueue handle, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    struct submission submission = submission_begin(CALL_QueueSubmit, handle, fence);
    for (uint32_t i = 0; submission.queue && i < count; i++)
        prepare_batch(&submission, &infos[i]);
    const VkResult result = submission.device->next.QueueSubmit(handle, count, infos, fence);
    submitted(&submission, result);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
            follow(&submission, fence, infos[i].pCommandBuffers[j]);
    return result;
}

static void prepare_batch2(struct submission *submission, const VkSubmitInfo2 *info) {
    for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
        prepare(info->pCommandBufferInfos[i].commandBuffer);
    pending_lock();
    for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
        waits_for(submission, info->pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value);
    for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
        signals(submission, info->pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value);
    pending_unlock();
}

VkResult layer_QueueSubmit2(VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence) {
    struct submission submission = submission_begin(CALL_QueueSubmit2, handle, fence);
    for (uint32_t i = 0; submission.queue && i < count; i++)
        prepare_batch2(&submission, &infos[i]);
    const VkResult result = submission.device->next.QueueSubmit2(handle, count, infos, fence);
    submitted(&submission, result);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; j++)
            follow(&submission, fence, infos[i].pCommandBufferInfos[j].commandBuffer);
    return result;
}

// ---- presenting

VkResult layer_CreateSwapchainKHR(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                  const VkAllocationCallbacks *allocator, VkSwapchainKHR *out) {
    struct device *device = device_of(handle);
    struct call call = call_begin(CALL_CreateSwapchainKHR);
    const VkResult result = device->next.CreateSwapchainKHR(handle, info, allocator, out);
    record_call(&call, result);
    struct object *swapchain =
        result == VK_SUCCESS ? object_add(OBJECT_SWAPCHAIN, HANDLE(*out), device) : NULL;
    if (swapchain)
        swapchain->swapchain.presented = agent_tick();
    return result;
}

void layer_DestroySwapchainKHR(VkDevice handle, VkSwapchainKHR key, const VkAllocationCallbacks *allocator) {
    struct object *swapchain = object_find(OBJECT_SWAPCHAIN, HANDLE(key));
    struct call call = call_begin(CALL_DestroySwapchainKHR);
    if (swapchain)
        object_remove(swapchain);
    device_of(handle)->next.DestroySwapchainKHR(handle, key, allocator);
    record_call_void(&call);
}

VkResult layer_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info) {
    const struct device *device = device_of(handle);
    const struct object *queue = object_find(OBJECT_QUEUE, HANDLE(handle));
    struct call call = call_begin(CALL_QueuePresentKHR);
    if (agent_on())
        call.correlation = agent_correlation();
    call.track = queue ? queue->queue.track : 0;
    const VkResult result = device->next.QueuePresentKHR(handle, info);
    record_call(&call, result);
    for (uint32_t i = 0; i < info->swapchainCount; i++) {
        struct object *swapchain = object_find(OBJECT_SWAPCHAIN, HANDLE(info->pSwapchains[i]));
        if (swapchain && call.end && result >= VK_SUCCESS)
            record_frame(&call, swapchain);
    }
    return result;
}
