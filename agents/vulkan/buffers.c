// SPDX-License-Identifier: Apache-2.0
// Command pools and the life of command buffers: allocated, begun, ended, reset, freed. Rules: agent.h.
#include "agentkit/agent.h"

#include "commands.h"
#include "pending.h"
#include "queries.h"
#include "record.h"
#include "wire/memory.h"

// ---- pools

static void pool_created(struct object *pool, const VkCommandPoolCreateInfo *info,
                         const struct agent_call *call) {
    const struct device *device = pool->device;
    (void)call;
    const uint32_t family = info->queueFamilyIndex;
    // Only queues of these kinds can reset queries, and only what is not protected can be read.
    pool->pool.can_time = device->timed && family < device->family_count && device->family_mask[family] &&
                          device->family_flags[family] & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT) &&
                          !(info->flags & VK_COMMAND_POOL_CREATE_PROTECTED_BIT);
    pool->pool.family = family;
}
CREATE_WRAPPER(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool, OBJECT_POOL, pool_created)

void command_buffer_gone(struct object *object) {
    pending_drain(object);
    queries_free(object);
    object->buffer->pool = NULL;
    object->buffer->count = object->buffer->queries = 0;
    object->buffer->primary = NULL;
    object_remove(object);
}

void layer_DestroyCommandPool(VkDevice handle, VkCommandPool key, const VkAllocationCallbacks *allocator) {
    struct object *pool = object_find(OBJECT_POOL, HANDLE(key));
    for (struct object *at = pool ? pool->pool.first : NULL, *next; at; at = next) {
        next = at->buffer->next_of_pool;
        command_buffer_gone(at);
    }
    if (pool)
        object_remove(pool);
    CALLED_VOID(DestroyCommandPool, handle, key, allocator);
}

static void forget_commands(struct object *object) {
    struct buffer *buffer = object->buffer;
    pending_drain(object);
    atomic_fetch_add(&object->handle.generation, 1);
    buffer->count = buffer->queries = buffer->draws = buffer->barriers = buffer->label_count = 0;
    buffer->pipeline = NULL;
}

VkResult layer_ResetCommandPool(VkDevice handle, VkCommandPool key, VkCommandPoolResetFlags flags) {
    struct object *pool = object_find(OBJECT_POOL, HANDLE(key));
    for (struct object *at = pool ? pool->pool.first : NULL; at; at = at->buffer->next_of_pool)
        forget_commands(at);
    CALLED(ResetCommandPool, handle, key, flags);
    return result;
}

// ---- buffers

static void buffer_add(struct device *device, struct object *pool, VkCommandBuffer handle,
                       VkCommandBufferLevel level) {
    struct object *object = object_add(OBJECT_BUFFER, HANDLE(handle), device);
    if (!object)
        return;
    if (!object->buffer && !(object->buffer = memory_take(sizeof *object->buffer))) {
        object_remove(object);
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return;
    }
    struct buffer *buffer = object->buffer;
    *buffer = (struct buffer){.pool = pool,
                              .next_of_pool = pool->pool.first,
                              .level = level,
                              .commands = buffer->commands,
                              .capacity = buffer->capacity};
    pool->pool.first = object;
}

VkResult layer_AllocateCommandBuffers(VkDevice handle, const VkCommandBufferAllocateInfo *info,
                                      VkCommandBuffer *out) {
    CALLED(AllocateCommandBuffers, handle, info, out);
    struct object *pool = object_find(OBJECT_POOL, HANDLE(info->commandPool));
    for (uint32_t i = 0; pool && result == VK_SUCCESS && i < info->commandBufferCount; i++)
        buffer_add(device_of(handle), pool, out[i], info->level);
    return result;
}

void layer_FreeCommandBuffers(VkDevice handle, VkCommandPool key, uint32_t count,
                              const VkCommandBuffer *buffers) {
    struct object *pool = object_find(OBJECT_POOL, HANDLE(key));
    for (uint32_t i = 0; pool && i < count; i++) {
        struct object *gone = object_find(OBJECT_BUFFER, HANDLE(buffers[i]));
        struct object **at = &pool->pool.first;
        while (gone && *at && *at != gone)
            at = &(*at)->buffer->next_of_pool;
        if (gone && *at) {
            *at = gone->buffer->next_of_pool;
            command_buffer_gone(gone);
        }
    }
    CALLED_VOID(FreeCommandBuffers, handle, key, count, buffers);
}

VkResult layer_BeginCommandBuffer(VkCommandBuffer handle, const VkCommandBufferBeginInfo *info) {
    const struct device *device = device_of(handle);
    struct object *object = object_find(OBJECT_BUFFER, HANDLE(handle));
    if (object)
        forget_commands(object);
    CALLED(BeginCommandBuffer, handle, info);
    if (!object)
        return result;
    struct buffer *buffer = object->buffer;
    buffer->in_pass = buffer->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY &&
                      info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT;
    // Executions of it may overlap, and write the same queries. On one queue they do so one after the other (the reset waits for
    // the writes before it), and the times of the last are those that are read.
    buffer->simultaneous = info->flags & VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    buffer->can_time = buffer->pool->pool.can_time &&
                       (!buffer->simultaneous || (buffer->level == VK_COMMAND_BUFFER_LEVEL_PRIMARY &&
                                                  device->family_queues[buffer->pool->pool.family] == 1));
    buffer->suspended = false;
    return result;
}

VkResult layer_EndCommandBuffer(VkCommandBuffer handle) {
    const struct device *device = device_of(handle);
    struct object *object = device->reading_waits ? object_find(OBJECT_BUFFER, HANDLE(handle)) : NULL;
    if (object)
        queries_copy(object);
    struct agent_call call = call_begin(CALL_EndCommandBuffer);
    const VkResult result = device->next.EndCommandBuffer(handle);
    record_call(&call, result);
    return result;
}

VkResult layer_ResetCommandBuffer(VkCommandBuffer handle, VkCommandBufferResetFlags flags) {
    struct object *object = object_find(OBJECT_BUFFER, HANDLE(handle));
    if (object)
        forget_commands(object);
    CALLED(ResetCommandBuffer, handle, flags);
    return result;
}
