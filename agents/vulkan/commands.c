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

static struct command *append(struct object *object, int class, tsmith_operation operation, uint32_t name) {
    struct buffer *buffer = object->buffer;
    struct command *commands =
        memory_grow(buffer->commands, buffer->count, &buffer->capacity, COMMANDS_FIRST, sizeof *commands);
    if (!commands) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return NULL;
    }
    buffer->commands = commands;
    struct command *command = &commands[buffer->count++];
    *command = (struct command){.facts = {.class = (uint8_t) class,
                                          .operation = (uint8_t)operation,
                                          .name = name,
                                          .stack = stacks_capture()},
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
    if (!recording.object || !(recording.command = append(recording.object, (int)class, operation, name)))
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
        command_begin(handle, COMMAND_KERNEL, TSMITH_OPERATION_NDRANGE, record_call_names[CALL_CmdDispatch]);
    const struct object *pipeline = recording.command ? recording.object->buffer->pipeline : NULL;
    if (!pipeline)
        return recording;
    struct command_facts *facts = &recording.command->facts;
    if (pipeline->pipeline.name)
        facts->name = pipeline->pipeline.name;
    for (int i = 0; i < 3; i++) {
        facts->local[i] = pipeline->pipeline.local[i];
        facts->global[i] = groups ? (uint64_t)groups[i] * pipeline->pipeline.local[i] : 0;
    }
    return recording;
}

#define DISPATCH(name, parameters, arguments, groups)                                                        \
    void layer_##name parameters {                                                                           \
        const struct recording recording = dispatch_begin(c, groups);                                        \
        recording.next->name arguments;                                                                      \
        command_end(&recording);                                                                             \
    }
VULKAN_DISPATCH_CALLS(DISPATCH)

// A barrier has no time of its own. The next command says how many came before it.
#define COUNT(name, parameters, arguments, number)                                                           \
    void layer_##name parameters {                                                                           \
        const struct recording recording = recording_of(c);                                                  \
        if (recording.object)                                                                                \
            recording.object->buffer->number++;                                                              \
        recording.next->name arguments;                                                                      \
    }
VULKAN_COUNTED_CALLS(COUNT)

// ---- render passes

// As the program's innermost label calls it, or by its size.
static uint32_t pass_name(const struct buffer *buffer, const VkRect2D *area) {
    char text[64];
    if (buffer->label_count && buffer->label_count <= LABELS_MAX && buffer->labels[buffer->label_count - 1])
        return buffer->labels[buffer->label_count - 1];
    snprintf(text, sizeof text, "render pass %ux%u", area->extent.width, area->extent.height);
    return texts_id(text);
}

// Between a pass that is suspended and the one that resumes it, in another command buffer maybe, no commands are allowed: neither
// has times.
static struct recording pass_begin(VkCommandBuffer handle, const VkRect2D *area, VkRenderingFlags flags,
                                   bool is_inline) {
    struct recording recording = recording_of(handle);
    if (!recording.object)
        return recording;
    struct buffer *buffer = recording.object->buffer;
    buffer->suspended |= (flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT)) != 0;
    buffer->resumes = !(flags & VK_RENDERING_SUSPENDING_BIT);
    recording = command_begin(handle, COMMAND_PASS, TSMITH_OPERATION_NONE, 0);
    if (recording.command)
        recording.command->facts.name = pass_name(buffer, area);
    buffer->pass = recording.command ? buffer->count - 1 : UINT32_MAX;
    buffer->in_pass = true;
    buffer->inline_ = is_inline;
    buffer->draws = 0;
    buffer->subpasses = 0;
    return recording;
}

// llvmpipe executes the commands of a pass for one tile of the image after the other, and a timestamp outside of passes is a
// run over all tiles of its own. Within the pass it costs nothing, and each tile executes it after the draws before it, whatever its
// stage: so it is the time at which the last tile was drawn. Only inline subpasses allow it.
static void pass_ending(struct recording *recording) {
    struct buffer *buffer = recording->object ? recording->object->buffer : NULL;
    if (!buffer || buffer->pass >= buffer->count)
        return;
    struct command *command = &buffer->commands[buffer->pass];
    command->draws = buffer->draws;
    if (!recording->object->device->ends_inside || !buffer->inline_ || buffer->subpasses ||
        buffer->suspended || command->query == NO_QUERY)
        return;
    queries_write(recording->object, command->query + 1, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT);
    buffer->pass = UINT32_MAX;
}

static void pass_end(struct recording *recording) {
    struct buffer *buffer = recording->object ? recording->object->buffer : NULL;
    if (!buffer)
        return;
    buffer->in_pass = false;
    if (buffer->pass < buffer->count) {
        recording->command = &buffer->commands[buffer->pass];
        if (!buffer->suspended)
            command_end(recording);
    }
    buffer->suspended &= !buffer->resumes;
}

#define BEGIN(name, parameters, arguments, flags, is_inline)                                                 \
    void layer_##name parameters {                                                                           \
        const struct recording recording = pass_begin(c, &i->renderArea, flags, is_inline);                  \
        recording.next->name arguments;                                                                      \
    }
#define END(name, parameters, arguments)                                                                     \
    void layer_##name parameters {                                                                           \
        struct recording recording = recording_of(c);                                                        \
        pass_ending(&recording);                                                                             \
        recording.next->name arguments;                                                                      \
        pass_end(&recording);                                                                                \
    }
VULKAN_PASS_CALLS(BEGIN, END)

// ---- transfers

static const uint64_t UNKNOWN = VK_WHOLE_SIZE;

#define REGION_BYTES(name, type)                                                                             \
    static uint64_t name(uint32_t count, const type *regions) {                                              \
        uint64_t bytes = 0;                                                                                  \
        for (uint32_t i = 0; i < count; i++)                                                                 \
            bytes += regions[i].size;                                                                        \
        return bytes;                                                                                        \
    }
REGION_BYTES(region_bytes, VkBufferCopy)
REGION_BYTES(region_bytes2, VkBufferCopy2)

// Up to the end of a buffer words are filled; up to three bytes are left over.
static uint64_t fill_bytes(VkBuffer handle, VkDeviceSize offset, VkDeviceSize bytes) {
    if (bytes != VK_WHOLE_SIZE)
        return bytes;
    const uint64_t size = size_of_buffer(handle);
    return offset < size ? (size - offset) / 4 * 4 : UNKNOWN;
}

static struct recording transfer_begin(VkCommandBuffer handle, enum call_id function,
                                       enum command_class class, tsmith_operation operation, uint64_t bytes) {
    struct recording recording = command_begin(handle, class, operation, record_call_names[function]);
    if (recording.command && bytes != UNKNOWN) {
        recording.command->facts.has_bytes = true;
        recording.command->facts.bytes = bytes;
    }
    if (recording.command && operation == TSMITH_OPERATION_WRITE)
        recording.command->facts.direction = TSMITH_DIRECTION_HOST_TO_DEVICE;
    return recording;
}

#define TRANSFER(name, parameters, arguments, class, operation, bytes)                                       \
    void layer_##name parameters {                                                                           \
        const struct recording recording =                                                                   \
            transfer_begin(c, CALL_##name, COMMAND_##class, TSMITH_OPERATION_##operation, bytes);            \
        recording.next->name arguments;                                                                      \
        command_end(&recording);                                                                             \
    }
VULKAN_TRANSFER_CALLS(TRANSFER)

// ---- other buffers, labels

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
        command->secondary_generation = secondary->handle.generation;
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
