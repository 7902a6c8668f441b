// SPDX-License-Identifier: Apache-2.0
// What the program records into command buffers, and the timestamps around it. Rules: agent.h.
//
// Dispatches and transfers have times of their own, and render passes as a whole: inside them no queries can be reset, and timestamps
// would split the work of tiling devices.
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "agentkit/texts.h"
#include "queries.h"
#include "record.h"
#include "wire/memory.h"

enum { COMMANDS_FIRST = 32 };

// A command while it is being recorded. `command` is NULL if it is not followed.
struct recording {
    const struct next *next;
    struct object *object;
    struct command *command;
};

static struct command *append(struct object *object, enum command_class class, tsmith_operation operation,
                              uint32_t name) {
    struct buffer *buffer = object->buffer;
    if (buffer->count == buffer->capacity) {
        const uint32_t capacity = buffer->capacity ? buffer->capacity * 2 : COMMANDS_FIRST;
        struct command *commands = memory_take(capacity * sizeof *commands);
        if (!commands) {
            channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
            return NULL;
        }
        if (buffer->commands) {
            memcpy(commands, buffer->commands, buffer->count * sizeof *commands);
            munmap(buffer->commands, buffer->capacity * sizeof *commands);
        }
        buffer->commands = commands;
        buffer->capacity = capacity;
    }
    struct command *command = &buffer->commands[buffer->count++];
    *command = (struct command){.class = (uint8_t) class,
                                .operation = (uint8_t)operation,
                                .name = name,
                                .stack = stacks_capture(),
                                .query = NO_QUERY,
                                .barriers = buffer->barriers};
    buffer->barriers = 0;
    return command;
}

static struct recording recording_of(VkCommandBuffer handle) {
    return (struct recording){.next = &device_of(handle)->next,
                              .object =
                                  agent_recording() ? object_find(OBJECT_BUFFER, HANDLE(handle)) : NULL};
}

static struct recording command_begin(VkCommandBuffer handle, enum command_class class,
                                      tsmith_operation operation, uint32_t name) {
    struct recording recording = recording_of(handle);
    if (!recording.object || !(recording.command = append(recording.object, class, operation, name)))
        return recording;
    recording.command->query = queries_take(recording.object);
    if (recording.command->query != NO_QUERY)
        queries_write(recording.object, recording.command->query, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    return recording;
}

static void command_end(const struct recording *recording) {
    const struct command *command = recording->command;
    if (command && command->query != NO_QUERY)
        queries_write(recording->object, command->query + 1, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
}

// ---- dispatches

void layer_CmdBindPipeline(VkCommandBuffer handle, VkPipelineBindPoint point, VkPipeline pipeline) {
    const struct recording recording = recording_of(handle);
    if (recording.object && point == VK_PIPELINE_BIND_POINT_COMPUTE)
        recording.object->buffer->pipeline = object_find(OBJECT_PIPELINE, HANDLE(pipeline));
    recording.next->CmdBindPipeline(handle, point, pipeline);
}

static struct recording dispatch_begin(VkCommandBuffer handle, const uint32_t *groups) {
    struct recording recording =
        command_begin(handle, CLASS_DISPATCH, TSMITH_OPERATION_NDRANGE, record_call_name(CALL_CmdDispatch));
    const struct object *pipeline = recording.command ? recording.object->buffer->pipeline : NULL;
    if (!pipeline)
        return recording;
    if (pipeline->pipeline.name)
        recording.command->name = pipeline->pipeline.name;
    for (int i = 0; i < 3; i++) {
        recording.command->local[i] = pipeline->pipeline.local[i];
        recording.command->global[i] = groups ? groups[i] * pipeline->pipeline.local[i] : 0;
    }
    return recording;
}

void layer_CmdDispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z) {
    const struct recording recording = dispatch_begin(handle, (const uint32_t[]){x, y, z});
    recording.next->CmdDispatch(handle, x, y, z);
    command_end(&recording);
}

void layer_CmdDispatchBase(VkCommandBuffer handle, uint32_t base_x, uint32_t base_y, uint32_t base_z,
                           uint32_t x, uint32_t y, uint32_t z) {
    const struct recording recording = dispatch_begin(handle, (const uint32_t[]){x, y, z});
    recording.next->CmdDispatchBase(handle, base_x, base_y, base_z, x, y, z);
    command_end(&recording);
}

// The number of groups is in memory, and is read by the device.
void layer_CmdDispatchIndirect(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset) {
    const struct recording recording = dispatch_begin(handle, NULL);
    recording.next->CmdDispatchIndirect(handle, buffer, offset);
    command_end(&recording);
}

// ---- render passes

#define DRAW(name, parameters, arguments)                                                                    \
    void layer_##name parameters {                                                                           \
        const struct recording recording = recording_of(handle);                                             \
        if (recording.object)                                                                                \
            recording.object->buffer->draws++;                                                               \
        recording.next->name arguments;                                                                      \
    }
DRAW(CmdDraw, (VkCommandBuffer handle, uint32_t v, uint32_t i, uint32_t fv, uint32_t fi),
     (handle, v, i, fv, fi))
DRAW(CmdDrawIndexed, (VkCommandBuffer handle, uint32_t n, uint32_t i, uint32_t fi, int32_t v, uint32_t ff),
     (handle, n, i, fi, v, ff))
DRAW(CmdDrawIndirect, (VkCommandBuffer handle, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s),
     (handle, b, o, n, s))
DRAW(CmdDrawIndexedIndirect, (VkCommandBuffer handle, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s),
     (handle, b, o, n, s))
DRAW(CmdDrawIndirectCount,
     (VkCommandBuffer handle, VkBuffer b, VkDeviceSize o, VkBuffer c, VkDeviceSize p, uint32_t n, uint32_t s),
     (handle, b, o, c, p, n, s))
DRAW(CmdDrawIndexedIndirectCount,
     (VkCommandBuffer handle, VkBuffer b, VkDeviceSize o, VkBuffer c, VkDeviceSize p, uint32_t n, uint32_t s),
     (handle, b, o, c, p, n, s))

// As the program's innermost label calls it, or by its size.
static uint32_t pass_name(const struct buffer *buffer, const VkRect2D *area) {
    char text[64];
    if (buffer->label_count && buffer->label_count <= LABELS_MAX && buffer->labels[buffer->label_count - 1])
        return buffer->labels[buffer->label_count - 1];
    snprintf(text, sizeof text, "render pass %ux%u", area->extent.width, area->extent.height);
    return texts_id(text);
}

static struct recording pass_begin(VkCommandBuffer handle, const VkRect2D *area) {
    struct recording recording = command_begin(handle, CLASS_PASS, TSMITH_OPERATION_NONE, 0);
    if (!recording.object)
        return recording;
    struct buffer *buffer = recording.object->buffer;
    if (recording.command)
        recording.command->name = pass_name(buffer, area);
    buffer->pass = recording.command ? buffer->count - 1 : UINT32_MAX;
    buffer->in_pass = true;
    buffer->draws = 0;
    return recording;
}

static void pass_end(struct recording *recording) {
    struct buffer *buffer = recording->object ? recording->object->buffer : NULL;
    if (!buffer)
        return;
    buffer->in_pass = false;
    if (buffer->pass >= buffer->count)
        return;
    recording->command = &buffer->commands[buffer->pass];
    recording->command->draws = buffer->draws;
    if (!buffer->suspended)
        command_end(recording);
}

void layer_CmdBeginRenderPass(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
                              VkSubpassContents contents) {
    const struct recording recording = pass_begin(handle, &info->renderArea);
    recording.next->CmdBeginRenderPass(handle, info, contents);
}

void layer_CmdBeginRenderPass2(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
                               const VkSubpassBeginInfo *begin) {
    const struct recording recording = pass_begin(handle, &info->renderArea);
    recording.next->CmdBeginRenderPass2(handle, info, begin);
}

void layer_CmdEndRenderPass(VkCommandBuffer handle) {
    struct recording recording = recording_of(handle);
    recording.next->CmdEndRenderPass(handle);
    pass_end(&recording);
}

void layer_CmdEndRenderPass2(VkCommandBuffer handle, const VkSubpassEndInfo *end) {
    struct recording recording = recording_of(handle);
    recording.next->CmdEndRenderPass2(handle, end);
    pass_end(&recording);
}

// Between a pass that is suspended and the one that resumes it, in another command buffer maybe, no commands are allowed: neither
// has times.
void layer_CmdBeginRendering(VkCommandBuffer handle, const VkRenderingInfo *info) {
    struct recording recording = recording_of(handle);
    const bool parts = info->flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT);
    if (recording.object && parts)
        recording.object->buffer->suspended = true;
    pass_begin(handle, &info->renderArea);
    if (recording.object)
        recording.object->buffer->resumes = !(info->flags & VK_RENDERING_SUSPENDING_BIT);
    recording.next->CmdBeginRendering(handle, info);
}

void layer_CmdEndRendering(VkCommandBuffer handle) {
    struct recording recording = recording_of(handle);
    recording.next->CmdEndRendering(handle);
    pass_end(&recording);
    if (recording.object && recording.object->buffer->resumes)
        recording.object->buffer->suspended = false;
}

// ---- transfers

#define TRANSFER(name, class, operation, parameters, arguments, more)                                        \
    void layer_##name parameters {                                                                           \
        const struct recording recording =                                                                   \
            command_begin(handle, class, TSMITH_OPERATION_##operation, record_call_name(CALL_##name));       \
        struct command *command = recording.command;                                                         \
        if (command) {                                                                                       \
            more;                                                                                            \
        }                                                                                                    \
        recording.next->name arguments;                                                                      \
        command_end(&recording);                                                                             \
    }
#define BYTES(amount) (command->has_bytes = true, command->bytes = (amount))
#define NO_MORE (void)command

static uint64_t region_bytes(uint32_t count, const VkBufferCopy *regions) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += regions[i].size;
    return bytes;
}

static uint64_t region_bytes2(uint32_t count, const VkBufferCopy2 *regions) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += regions[i].size;
    return bytes;
}

TRANSFER(CmdCopyBuffer, CLASS_COPY, COPY,
         (VkCommandBuffer handle, VkBuffer s, VkBuffer d, uint32_t n, const VkBufferCopy *r),
         (handle, s, d, n, r), BYTES(region_bytes(n, r)))
TRANSFER(CmdCopyBuffer2, CLASS_COPY, COPY, (VkCommandBuffer handle, const VkCopyBufferInfo2 *i), (handle, i),
         BYTES(region_bytes2(i->regionCount, i->pRegions)))
TRANSFER(CmdUpdateBuffer, CLASS_COPY, WRITE,
         (VkCommandBuffer handle, VkBuffer d, VkDeviceSize o, VkDeviceSize n, const void *p),
         (handle, d, o, n, p), BYTES(n);
         command->direction = TSMITH_DIRECTION_HOST_TO_DEVICE)
TRANSFER(CmdFillBuffer, CLASS_FILL, FILL,
         (VkCommandBuffer handle, VkBuffer d, VkDeviceSize o, VkDeviceSize n, uint32_t v),
         (handle, d, o, n, v), if (n != VK_WHOLE_SIZE) BYTES(n))
// The size of an image's element is not known: no bytes.
TRANSFER(CmdCopyImage, CLASS_COPY, COPY_IMAGE,
         (VkCommandBuffer handle, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n,
          const VkImageCopy *r),
         (handle, s, l, d, m, n, r), NO_MORE)
TRANSFER(CmdCopyImage2, CLASS_COPY, COPY_IMAGE, (VkCommandBuffer handle, const VkCopyImageInfo2 *i),
         (handle, i), NO_MORE)
TRANSFER(CmdCopyBufferToImage, CLASS_COPY, COPY_BUFFER_TO_IMAGE,
         (VkCommandBuffer handle, VkBuffer s, VkImage d, VkImageLayout l, uint32_t n,
          const VkBufferImageCopy *r),
         (handle, s, d, l, n, r), NO_MORE)
TRANSFER(CmdCopyBufferToImage2, CLASS_COPY, COPY_BUFFER_TO_IMAGE,
         (VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *i), (handle, i), NO_MORE)
TRANSFER(CmdCopyImageToBuffer, CLASS_COPY, COPY_IMAGE_TO_BUFFER,
         (VkCommandBuffer handle, VkImage s, VkImageLayout l, VkBuffer d, uint32_t n,
          const VkBufferImageCopy *r),
         (handle, s, l, d, n, r), NO_MORE)
TRANSFER(CmdCopyImageToBuffer2, CLASS_COPY, COPY_IMAGE_TO_BUFFER,
         (VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *i), (handle, i), NO_MORE)
TRANSFER(CmdBlitImage, CLASS_COPY, COPY_IMAGE,
         (VkCommandBuffer handle, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n,
          const VkImageBlit *r, VkFilter f),
         (handle, s, l, d, m, n, r, f), NO_MORE)
TRANSFER(CmdBlitImage2, CLASS_COPY, COPY_IMAGE, (VkCommandBuffer handle, const VkBlitImageInfo2 *i),
         (handle, i), NO_MORE)
TRANSFER(CmdResolveImage, CLASS_COPY, COPY_IMAGE,
         (VkCommandBuffer handle, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n,
          const VkImageResolve *r),
         (handle, s, l, d, m, n, r), NO_MORE)
TRANSFER(CmdResolveImage2, CLASS_COPY, COPY_IMAGE, (VkCommandBuffer handle, const VkResolveImageInfo2 *i),
         (handle, i), NO_MORE)
TRANSFER(CmdClearColorImage, CLASS_FILL, FILL_IMAGE,
         (VkCommandBuffer handle, VkImage d, VkImageLayout l, const VkClearColorValue *v, uint32_t n,
          const VkImageSubresourceRange *r),
         (handle, d, l, v, n, r), NO_MORE)
TRANSFER(CmdClearDepthStencilImage, CLASS_FILL, FILL_IMAGE,
         (VkCommandBuffer handle, VkImage d, VkImageLayout l, const VkClearDepthStencilValue *v, uint32_t n,
          const VkImageSubresourceRange *r),
         (handle, d, l, v, n, r), NO_MORE)

// ---- barriers, other buffers, labels

// A barrier has no time of its own. The next command says how many came before it.
static struct recording barrier(VkCommandBuffer handle) {
    const struct recording recording = recording_of(handle);
    if (recording.object)
        recording.object->buffer->barriers++;
    return recording;
}

void layer_CmdPipelineBarrier(VkCommandBuffer handle, VkPipelineStageFlags from, VkPipelineStageFlags to,
                              VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier *barriers,
                              uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                              uint32_t image_count, const VkImageMemoryBarrier *images) {
    barrier(handle).next->CmdPipelineBarrier(handle, from, to, flags, count, barriers, buffer_count, buffers,
                                             image_count, images);
}

void layer_CmdPipelineBarrier2(VkCommandBuffer handle, const VkDependencyInfo *info) {
    barrier(handle).next->CmdPipelineBarrier2(handle, info);
}

void layer_CmdExecuteCommands(VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *buffers) {
    const struct recording recording = recording_of(handle);
    for (uint32_t i = 0; recording.object && i < count; i++) {
        struct object *secondary = object_find(OBJECT_BUFFER, HANDLE(buffers[i]));
        struct buffer *buffer = recording.object->buffer;
        if (!secondary)
            continue;
        if (buffer->in_pass) {
            buffer->draws += secondary->buffer->draws;
            continue;
        }
        struct command *command = append(recording.object, CLASS_SECONDARY, TSMITH_OPERATION_NONE, 0);
        if (!command)
            continue;
        command->secondary = secondary;
        command->secondary_generation = secondary->generation;
        secondary->buffer->primary = recording.object;
    }
    recording.next->CmdExecuteCommands(handle, count, buffers);
}

void layer_CmdBeginDebugUtilsLabelEXT(VkCommandBuffer handle, const VkDebugUtilsLabelEXT *label) {
    const struct recording recording = recording_of(handle);
    if (recording.object) {
        struct buffer *buffer = recording.object->buffer;
        if (buffer->label_count < LABELS_MAX)
            buffer->labels[buffer->label_count] = texts_id(label->pLabelName);
        buffer->label_count++;
    }
    recording.next->CmdBeginDebugUtilsLabelEXT(handle, label);
}

void layer_CmdEndDebugUtilsLabelEXT(VkCommandBuffer handle) {
    const struct recording recording = recording_of(handle);
    if (recording.object && recording.object->buffer->label_count)
        recording.object->buffer->label_count--;
    recording.next->CmdEndDebugUtilsLabelEXT(handle);
}
