// SPDX-License-Identifier: Apache-2.0
// How the program learns that submissions are complete: fences, semaphores, idle queues and devices. Rules: agent.h.
#include "pending.h"
#include "record.h"

static void signal_reached(const struct signal *signal) {
    if (signal->queue)
        pending_complete(signal->queue, signal->submission);
}

static void fence_reached(VkFence handle) {
    const struct object *fence = object_find(OBJECT_FENCE, HANDLE(handle));
    if (fence)
        signal_reached(&fence->fence);
}

static void semaphore_reached(VkSemaphore handle, uint64_t value) {
    struct object *semaphore = object_find(OBJECT_SEMAPHORE, HANDLE(handle));
    struct signal reached[VALUES_MAX];
    uint32_t count = 0;
    if (!semaphore || !semaphore->semaphore.timeline)
        return;
    pending_lock();
    for (uint32_t i = 0; i < VALUES_MAX; i++)
        if (semaphore->semaphore.signals[i].queue && semaphore->semaphore.signals[i].value <= value)
            reached[count++] = semaphore->semaphore.signals[i];
    pending_unlock();
    for (uint32_t i = 0; i < count; i++)
        signal_reached(&reached[i]);
}

// ---- fences

VkResult layer_WaitForFences(VkDevice handle, uint32_t count, const VkFence *fences, VkBool32 all,
                             uint64_t timeout) {
    uint64_t waits[VALUES_MAX];
    uint32_t wait_count = 0;
    for (uint32_t i = 0; i < count && wait_count < VALUES_MAX; i++) {
        const struct object *fence = object_find(OBJECT_FENCE, HANDLE(fences[i]));
        if (fence && fence->fence.correlation)
            waits[wait_count++] = fence->fence.correlation;
    }
    CALLED(WaitForFences, handle, count, fences, all, timeout);
    if (timeout && call.end)
        call_record_wait(&call, TSMITH_OPERATION_WAIT, wait_count, waits);
    for (uint32_t i = 0; result == VK_SUCCESS && (all || count == 1) && i < count; i++)
        fence_reached(fences[i]);
    return result;
}

// Programs may ask without end: only the answer that it is signaled is recorded.
VkResult layer_GetFenceStatus(VkDevice handle, VkFence fence) {
    struct agent_call call = call_begin(CALL_GetFenceStatus);
    const VkResult result = device_of(handle)->next.GetFenceStatus(handle, fence);
    if (result == VK_NOT_READY)
        return result;
    record_call(&call, result);
    if (result == VK_SUCCESS)
        fence_reached(fence);
    return result;
}

// The fence says nothing of its submission any more.
static void fence_over(VkFence handle) {
    struct object *fence = object_find(OBJECT_FENCE, HANDLE(handle));
    pending_lock(); // it is not asked for any more
    if (fence)
        fence->fence = (struct signal){.queue = NULL};
    pending_unlock();
}

VkResult layer_ResetFences(VkDevice handle, uint32_t count, const VkFence *fences) {
    for (uint32_t i = 0; i < count; i++)
        fence_over(fences[i]);
    CALLED(ResetFences, handle, count, fences);
    return result;
}

void layer_DestroyFence(VkDevice handle, VkFence key, const VkAllocationCallbacks *allocator) {
    struct object *fence = object_find(OBJECT_FENCE, HANDLE(key));
    fence_over(key);
    if (fence)
        object_remove(fence);
    CALLED_VOID(DestroyFence, handle, key, allocator);
}

// ---- semaphores

static void semaphore_created(struct object *semaphore, const VkSemaphoreCreateInfo *info,
                              const struct agent_call *call) {
    (void)call;
    for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO)
            semaphore->semaphore.timeline =
                ((const VkSemaphoreTypeCreateInfo *)(const void *)at)->semaphoreType ==
                VK_SEMAPHORE_TYPE_TIMELINE;
}
CREATE_WRAPPER(CreateSemaphore, VkSemaphoreCreateInfo, VkSemaphore, OBJECT_SEMAPHORE, semaphore_created)

VkResult layer_WaitSemaphores(VkDevice handle, const VkSemaphoreWaitInfo *info, uint64_t timeout) {
    const bool all = info->semaphoreCount == 1 || !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT);
    CALLED(WaitSemaphores, handle, info, timeout);
    if (timeout && call.end)
        call_record_wait(&call, TSMITH_OPERATION_WAIT, 0, NULL);
    for (uint32_t i = 0; result == VK_SUCCESS && all && i < info->semaphoreCount; i++)
        semaphore_reached(info->pSemaphores[i], info->pValues[i]);
    return result;
}

VkResult layer_GetSemaphoreCounterValue(VkDevice handle, VkSemaphore semaphore, uint64_t *out) {
    const VkResult result = device_of(handle)->next.GetSemaphoreCounterValue(handle, semaphore, out);
    if (result == VK_SUCCESS)
        semaphore_reached(semaphore, *out);
    return result;
}

// ---- whole queues

VkResult layer_QueueWaitIdle(VkQueue handle) {
    struct object *queue = object_find(OBJECT_QUEUE, HANDLE(handle));
    struct agent_call call = call_begin(CALL_QueueWaitIdle);
    call.track = queue ? queue->queue.track : 0;
    const VkResult result = device_of(handle)->next.QueueWaitIdle(handle);
    record_call(&call, result);
    if (call.end)
        call_record_wait(&call, TSMITH_OPERATION_FINISH, 0, NULL);
    if (queue && result == VK_SUCCESS)
        pending_complete(queue, queue->queue.submitted);
    return result;
}

VkResult layer_DeviceWaitIdle(VkDevice handle) {
    struct agent_call call = call_begin(CALL_DeviceWaitIdle);
    const VkResult result = device_of(handle)->next.DeviceWaitIdle(handle);
    record_call(&call, result);
    if (call.end)
        call_record_wait(&call, TSMITH_OPERATION_DEVICE_SYNC, 0, NULL);
    if (result == VK_SUCCESS)
        pending_device_idle(device_of(handle));
    return result;
}
