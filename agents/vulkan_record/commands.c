// SPDX-License-Identifier: Apache-2.0
// Command buffers: what the program records into them, in words. Rules: recorder.h.
//
// Commands of a secondary buffer become commands of the primary that executes it: they cannot change afterwards.
#include <stdlib.h>

#include "recorder.h"

static struct object *find(VkCommandBuffer commands) {
    return object_find(VULKAN_COMMANDS, (uint64_t)(uintptr_t)commands);
}

void commands_reset(struct object *commands) {
    uses_drop(&commands->uses, &commands->use_count, &commands->use_capacity);
    free(commands->words.bytes);
    commands->words = (struct words){.family = commands->parent ? commands->parent->family + 1 : 0};
    commands->effect_count = commands->transfer_count = 0;
    commands->works = commands->in_pass = false;
    commands->changed = true;
}

// ---- the commands

#define SET_V(type, name) call.name = name;
#define SET_F(name) call.name = name;
#define SET_H(KIND, type, name) call.name = name;
#define SET_M(KIND, type, name, count) call.name = name;
#define SET_A(type, name, count) call.name = name;
#define SET_P(type, name) call.name = name;
#define SET_B(name, count) call.name = name;
#define ARGUMENT_V(type, name) , name
#define ARGUMENT_F(name) , name
#define ARGUMENT_H(KIND, type, name) , name
#define ARGUMENT_M(KIND, type, name, count) , name
#define ARGUMENT_A(type, name, count) , name
#define ARGUMENT_P(type, name) , name
#define ARGUMENT_B(name, count) , name

#define PUT(function, number)                                                                                \
    void commands_put_##function(struct object *commands, const struct call_##function *given) {             \
        struct describing describing;                                                                        \
        struct call_##function call = *given;                                                                \
        commands->used_before = commands->use_count;                                                         \
        describe_more(&describing, commands);                                                                \
        words_value(&describing.words, number);                                                              \
        words_call_##function(&describing.words, &call);                                                     \
        describe_end(&describing, commands);                                                                 \
        effects_of(commands, number, &call);                                                                 \
    }
VULKAN_FRAME_COMMANDS(PUT)

#define COMMAND(function, number)                                                                            \
    void record_##function(VkCommandBuffer c_ PARAMETERS(function)) {                                        \
        struct call_##function call = {.end = 0};                                                            \
        CALL_##function(SET_V, SET_F, SET_H, SET_H, SET_M, SET_A, SET_P, SET_B) recorder_lock();             \
        struct object *commands = find(c_);                                                                  \
        if (commands)                                                                                        \
            commands_put_##function(commands, &call);                                                        \
        recorder_unlock();                                                                                   \
        device_of(c_)->next.function(c_ CALL_##function(ARGUMENT_V, ARGUMENT_F, ARGUMENT_H, ARGUMENT_H,      \
                                                        ARGUMENT_M, ARGUMENT_A, ARGUMENT_P, ARGUMENT_B));    \
    }
VULKAN_FRAME_COMMANDS(COMMAND)

#define REFUSED(function, parameters, arguments)                                                             \
    void record_##function parameters {                                                                      \
        recorder_lock();                                                                                     \
        struct object *commands = find(c);                                                                   \
        if (commands)                                                                                        \
            words_missing(&commands->words, "vk" #function);                                                 \
        recorder_unlock();                                                                                   \
        device_of(c)->next.function arguments;                                                               \
    }
VULKAN_REFUSED_COMMANDS(REFUSED)

// ---- events
//
// In a replay, as in a capture, one queue executes one submission after the other: the commands that set an event are earlier ones. A
// barrier after them waits for all that the event is set after, and more, so waits are recorded as barriers, and nothing is
// recorded of commands that set or reset events. What the host does before it sets an event has no such place: it may set the event
// after the submission, which would never be complete within the call. A wait for such an event names the host as its source.

static struct object *find_for_wait(VkCommandBuffer handle, bool for_host) {
    struct object *commands = find(handle);
    if (commands && commands->in_pass) {
        words_missing(&commands->words, "vkCmdWaitEvents within a render pass");
        return NULL;
    }
    if (commands && for_host) {
        words_missing(&commands->words, "vkCmdWaitEvents for the host");
        return NULL;
    }
    return commands;
}

void record_CmdWaitEvents(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                          VkPipelineStageFlags from, VkPipelineStageFlags to, uint32_t memory_count,
                          const VkMemoryBarrier *memory, uint32_t buffer_count,
                          const VkBufferMemoryBarrier *buffers, uint32_t image_count,
                          const VkImageMemoryBarrier *images) {
    const struct call_CmdPipelineBarrier call = {.f = from,
                                                 .t = to,
                                                 .n = memory_count,
                                                 .m = memory,
                                                 .k = buffer_count,
                                                 .b = buffers,
                                                 .l = image_count,
                                                 .i = images};
    recorder_lock();
    struct object *commands = find_for_wait(handle, from & VK_PIPELINE_STAGE_HOST_BIT);
    if (commands)
        commands_put_CmdPipelineBarrier(commands, &call);
    recorder_unlock();
    device_of(handle)->next.CmdWaitEvents(handle, count, events, from, to, memory_count, memory, buffer_count,
                                          buffers, image_count, images);
}

// One without barriers names no stages at all: it may be for the host.
static bool names_host(const VkDependencyInfo *info) {
    VkPipelineStageFlags2 from = 0;
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
        from |= info->pMemoryBarriers[i].srcStageMask;
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++)
        from |= info->pBufferMemoryBarriers[i].srcStageMask;
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++)
        from |= info->pImageMemoryBarriers[i].srcStageMask;
    return from & VK_PIPELINE_STAGE_2_HOST_BIT || !from;
}

void record_CmdWaitEvents2(VkCommandBuffer handle, uint32_t count, const VkEvent *events,
                           const VkDependencyInfo *infos) {
    bool for_host = false;
    for (uint32_t i = 0; i < count; i++)
        for_host |= names_host(&infos[i]);
    recorder_lock();
    struct object *commands = find_for_wait(handle, for_host);
    for (uint32_t i = 0; commands && i < count; i++)
        commands_put_CmdPipelineBarrier2(commands, &(struct call_CmdPipelineBarrier2){.i = &infos[i]});
    recorder_unlock();
    device_of(handle)->next.CmdWaitEvents2(handle, count, events, infos);
}

// ---- secondary buffers

static bool has_effect(const struct object *commands, const struct effect *effect) {
    for (size_t i = 0; i < commands->effect_count; i++)
        if (commands->effects[i].image == effect->image && commands->effects[i].plane == effect->plane)
            return true;
    return false;
}

static void execute(struct object *primary, const struct object *secondary) {
    words_bytes(&primary->words, secondary->words.bytes, secondary->words.length);
    if (secondary->words.missing[0])
        words_missing(&primary->words, "%s", secondary->words.missing);
    for (size_t i = 0; i < secondary->use_count; i++)
        if (!uses_add(&primary->uses, &primary->use_count, &primary->use_capacity, secondary->uses[i].object,
                      secondary->uses[i].written))
            primary->words.failed = true;
    for (size_t i = 0; i < secondary->effect_count; i++) {
        const struct effect *effect = &secondary->effects[i];
        if (effect->whole || effect->from != effect->to ||
            !has_effect(primary, effect)) // a layout is changed
            effect_add(primary, effect->image, effect->plane, effect->from, effect->to, effect->whole);
        for (size_t j = 0; j < primary->effect_count; j++)
            if (primary->effects[j].image == effect->image && primary->effects[j].plane == effect->plane) {
                primary->effects[j].defines =
                    effect->defines || (primary->effects[j].defines && !effect->discards);
                primary->effects[j].discards |= effect->discards;
                primary->effects[j].touched |= !primary->effects[j].fresh; // it is not known in which order
            }
    }
    for (size_t i = 0; i < secondary->transfer_count; i++)
        transfer_add(primary, secondary->transfers[i].resource, secondary->transfers[i].acquires);
    primary->works |= secondary->works;
}

void record_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *buffers) {
    recorder_lock();
    struct object *primary = find(handle);
    for (uint32_t i = 0; primary && i < count; i++) {
        const struct object *secondary = find(buffers[i]);
        if (secondary)
            execute(primary, secondary);
        else
            words_missing(&primary->words, "a command buffer that is not known");
    }
    recorder_unlock();
    device_of(handle)->next.CmdExecuteCommands(handle, count, buffers);
}

// ---- the buffers

VkResult record_CreateCommandPool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                  const VkAllocationCallbacks *allocator, VkCommandPool *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.CreateCommandPool(handle, info, allocator, out);
    recorder_lock();
    struct object *pool =
        result == VK_SUCCESS ? object_add(device, KIND_POOL, (uint64_t)(uintptr_t)*out, "vkCreateCommandPool")
                             : NULL;
    if (pool)
        pool->family = info->queueFamilyIndex;
    recorder_unlock();
    return result;
}

void record_DestroyCommandPool(VkDevice handle, VkCommandPool pool, const VkAllocationCallbacks *allocator) {
    recorder_lock();
    object_end(object_find(KIND_POOL, (uint64_t)(uintptr_t)pool));
    recorder_unlock();
    device_of(handle)->next.DestroyCommandPool(handle, pool, allocator);
}

VkResult record_AllocateCommandBuffers(VkDevice handle, const VkCommandBufferAllocateInfo *info,
                                       VkCommandBuffer *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.AllocateCommandBuffers(handle, info, out);
    recorder_lock();
    struct object *pool = object_find(KIND_POOL, (uint64_t)(uintptr_t)info->commandPool);
    for (uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; i++) {
        struct object *commands =
            object_add(device, VULKAN_COMMANDS, (uint64_t)(uintptr_t)out[i], "vkAllocateCommandBuffers");
        if (commands)
            commands->parent = pool;
    }
    recorder_unlock();
    return result;
}

void record_FreeCommandBuffers(VkDevice handle, VkCommandPool pool, uint32_t count,
                               const VkCommandBuffer *buffers) {
    recorder_lock();
    for (uint32_t i = 0; i < count; i++)
        object_end(find(buffers[i]));
    recorder_unlock();
    device_of(handle)->next.FreeCommandBuffers(handle, pool, count, buffers);
}

VkResult record_BeginCommandBuffer(VkCommandBuffer handle, const VkCommandBufferBeginInfo *info) {
    recorder_lock();
    struct object *commands = find(handle);
    if (commands) {
        commands_reset(commands);
        commands->in_pass =
            info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT; // of a secondary one
    }
    recorder_unlock();
    return device_of(handle)->next.BeginCommandBuffer(handle, info);
}

VkResult record_ResetCommandBuffer(VkCommandBuffer handle, VkCommandBufferResetFlags flags) {
    recorder_lock();
    struct object *commands = find(handle);
    if (commands)
        commands_reset(commands);
    recorder_unlock();
    return device_of(handle)->next.ResetCommandBuffer(handle, flags);
}
