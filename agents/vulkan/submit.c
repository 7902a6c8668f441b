// SPDX-License-Identifier: Apache-2.0
// Queues: what the program submits to them and presents. Rules: agent.h.
#include <string.h>

#include "pending.h"
#include "record.h"

// A call that submits.
struct submission {
    struct agent_call call;
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
    CALLED_VOID(GetDeviceQueue, handle, family, index, out);
    queue_add(device_of(handle), *out, family);
}

void layer_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out) {
    CALLED_VOID(GetDeviceQueue2, handle, info, out);
    queue_add(device_of(handle), *out, info->queueFamilyIndex);
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
    if (submission->call.start)
        record_call(&submission->call, result);
    if (!queue || result != VK_SUCCESS)
        return;
    queue->submitted = submission->number;
}

static void follow_buffer(struct submission *submission, VkFence fence, VkCommandBuffer handle) {
    struct object *buffer = object_find(OBJECT_BUFFER, HANDLE(handle));
    if (!buffer || !submission->queue || !submission->call.correlation || !agent_on())
        return;
    const struct command_launch launch = {.correlation = submission->call.correlation,
                                          .not_before = (uint64_t)submission->not_before,
                                          .track = submission->call.track,
                                          .host_track = channel_thread_track(agent.channel),
                                          .stack = submission->call.stack,
                                          .not_after = submission->call.end};
    pending_add(buffer, submission->queue, submission->number, fence, &launch, submission->wait_count,
                submission->waits);
    submission->wait_count = 0;
}

static const VkTimelineSemaphoreSubmitInfo *values_of(const VkBaseInStructure *at) {
    for (; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
            return (const void *)at;
    return NULL;
}

// vkQueueSubmit and vkQueueSubmit2 give the same things in other structs: the rest are expressions of `info`, `values` and `i`.
#define SUBMIT(name, type, buffer_count, buffer, wait_count, wait, wait_value, signal_count, signal,         \
               signal_value)                                                                                 \
    static void prepare_##name(struct submission *submission, const type *info,                              \
                               const VkTimelineSemaphoreSubmitInfo *values) {                                \
        (void)values;                                                                                        \
        for (uint32_t i = 0; i < info->buffer_count; i++)                                                    \
            prepare(info->buffer);                                                                           \
        pending_lock();                                                                                      \
        for (uint32_t i = 0; i < info->wait_count; i++)                                                      \
            waits_for(submission, info->wait, wait_value);                                                   \
        for (uint32_t i = 0; i < info->signal_count; i++)                                                    \
            signals(submission, info->signal, signal_value);                                                 \
        pending_unlock();                                                                                    \
    }                                                                                                        \
    VkResult layer_##name(VkQueue handle, uint32_t count, const type *infos, VkFence fence) {                \
        struct submission submission = submission_begin(CALL_##name, handle, fence);                         \
        for (uint32_t j = 0; submission.queue && j < count; j++)                                             \
            prepare_##name(&submission, &infos[j], values_of(infos[j].pNext));                               \
        const VkResult result = submission.device->next.name(handle, count, infos, fence);                   \
        submitted(&submission, result);                                                                      \
        for (uint32_t j = 0; result == VK_SUCCESS && j < count; j++)                                         \
            for (uint32_t i = 0; i < infos[j].buffer_count; i++)                                             \
                follow_buffer(&submission, fence, infos[j].buffer);                                          \
        return result;                                                                                       \
    }
SUBMIT(QueueSubmit, VkSubmitInfo, commandBufferCount, pCommandBuffers[i], waitSemaphoreCount,
       pWaitSemaphores[i], values &&i < values->waitSemaphoreValueCount ? values->pWaitSemaphoreValues[i] : 0,
       signalSemaphoreCount, pSignalSemaphores[i],
       values &&i < values->signalSemaphoreValueCount ? values->pSignalSemaphoreValues[i] : 0)
SUBMIT(QueueSubmit2, VkSubmitInfo2, commandBufferInfoCount, pCommandBufferInfos[i].commandBuffer,
       waitSemaphoreInfoCount, pWaitSemaphoreInfos[i].semaphore, info->pWaitSemaphoreInfos[i].value,
       signalSemaphoreInfoCount, pSignalSemaphoreInfos[i].semaphore, info->pSignalSemaphoreInfos[i].value)

// ---- presenting

static void swapchain_created(struct object *swapchain, const VkSwapchainCreateInfoKHR *info,
                              const struct agent_call *call) {
    (void)info, (void)call;
    swapchain->swapchain.presented = agent_tick();
}
CREATE_WRAPPER(CreateSwapchainKHR, VkSwapchainCreateInfoKHR, VkSwapchainKHR, OBJECT_SWAPCHAIN,
               swapchain_created)

VkResult layer_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info) {
    const struct device *device = device_of(handle);
    const struct object *queue = object_find(OBJECT_QUEUE, HANDLE(handle));
    struct agent_call call = call_begin(CALL_QueuePresentKHR);
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
