// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver that executes nothing, for replays of hostile recordings. It trusts its caller as real drivers do: a handle that is
// none ends the process by abort(), a pointer by the sanitizer, because everything that a call is given is read. Programs are answerable
// for values; of these it judges some on its own, and aborts if one is not allowed:
//   - offsets and sizes of vkCmdCopyBuffer, vkCmdUpdateBuffer, vkCmdFillBuffer and vkCmdPushConstants; level, layers, x and y of
//     vkCmdCopyImage and of copies between an image and a buffer, and of the latter the first and the last texel in the buffer;
//   - usages of the buffers of copies, vertices, indexes, indirect dispatches and counted draws, and the ranges of the latter; formats, samples and usages of images;
//   - stages and accesses of vkCmdPipelineBarrier; viewports, scissors, cull modes and faces of dynamic state;
//   - that dispatches and draws have a pipeline, draws are within a pass, and indexes are within their buffer;
//   - that a set is of the layout that the pipeline layout has at its place; numbers of work-groups.
// It judges nothing else of what check*.c check: not z, not resolves, blits, clears, descriptors that are written, passes or shaders.
#ifndef FUZZ_VULKAN_DOUBLE_H
#define FUZZ_VULKAN_DOUBLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan_core.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/words.h"

enum {
    DOUBLE_ALLOC_MOST = 1 << 16, // bytes of one object
    DOUBLE_LIMIT = 256,          // of sizes and counts of the device
    DOUBLE_COLORS = 8,           // attachments
    DOUBLE_ALIGNMENT = 16,       // of descriptors
    DOUBLE_MEMORY = VULKAN_KIND_LIMIT,
    DOUBLE_OTHER,
    DOUBLE_NUMBERS = 32
};

struct double_object {
    uint32_t kind;
    bool alive, bound;
    VkDevice device; // of sets and command buffers, which end with it
    struct double_object *next;
    uint64_t size; // of buffers and memory
    uint8_t *bytes;
    VkImageCreateInfo image;
    VkFlags usage; // of buffers
    uint32_t numbers
        [DOUBLE_NUMBERS]; // of a set layout: a sum of its bindings; of a pipeline layout: those of its sets
    uint32_t number_count;
    // Command buffers
    struct double_object *pipelines[2];
    bool in_pass, has_index;
    uint64_t index_bytes;
    VkIndexType index_type;
};

static struct {
    struct double_object *objects;
    unsigned fail_at, calls; // the creation that fails; 0: none
    unsigned copies;         // of descriptors
    unsigned copy_calls;     // those that copied them, one by one
    uint32_t fill;           // each word of memory that is new
    bool plain;              // it has no extensions
    bool sized;              // it has Vulkan 1.3, and subgroups of 4 to 32 in compute shaders
    VkPhysicalDeviceFeatures features;
} vulkan_double;

static void double_expect(bool good) {
    if (!good)
        abort();
}

static struct double_object *double_object(uint64_t handle, uint32_t kind) {
    struct double_object *object = vulkan_double.objects;
    while (object && (uint64_t)(uintptr_t)object != handle)
        object = object->next;
    double_expect(object && object->alive && object->kind == kind);
    return object;
}
#define OBJECT(handle, KIND) double_object((uint64_t)(uintptr_t)(handle), KIND)

static struct double_object *double_make(uint32_t kind) {
    struct double_object *object = calloc(1, sizeof *object);
    double_expect(object);
    *object = (struct double_object){.kind = kind, .alive = true, .next = vulkan_double.objects};
    return vulkan_double.objects = object;
}

static bool double_fails(void) {
    return ++vulkan_double.calls == vulkan_double.fail_at;
}

// Frees all; whether something was left alive.
static bool double_finish(void) {
    bool alive = false;
    while (vulkan_double.objects) {
        struct double_object *object = vulkan_double.objects;
        vulkan_double.objects = object->next;
        alive |= object->alive;
        free(object->bytes);
        free(object);
    }
    vulkan_double.fail_at = vulkan_double.calls = 0;
    return alive;
}

static uint64_t double_number(void *context, enum vulkan_kind kind, uint64_t handle, bool written) {
    (void)context, (void)written;
    return (uint64_t)(uintptr_t)double_object(handle, kind);
}

// Writing a struct reads all of it.
#define READ(function, value)                                                                                \
    do {                                                                                                     \
        struct words words_ = {.translate = double_number};                                                  \
        function(&words_, value);                                                                            \
        double_expect(!words_.failed);                                                                       \
        free(words_.bytes);                                                                                  \
    } while (0)

// ---- objects

// Formats of up to 16 bytes that are not compressed.
static bool double_supports(VkFormat format) {
    return format >= VK_FORMAT_R8_UNORM && format <= VK_FORMAT_D32_SFLOAT_S8_UINT &&
           (format < VK_FORMAT_R64_UINT || format > VK_FORMAT_R64G64B64A64_SFLOAT);
}

static void double_know_VkBufferCreateInfo(struct double_object *object, const VkBufferCreateInfo *info) {
    object->size = info->size;
    object->usage = info->usage;
    double_expect(info->usage && info->usage < 0x200);
}
static void double_know_VkImageCreateInfo(struct double_object *object, const VkImageCreateInfo *info) {
    object->image = *info;
    double_expect(double_supports(info->format) && (info->samples == 1 || info->samples == 4) &&
                  info->usage && info->usage < 0x100);
}
// The same for bindings in another order; those without descriptors are none.
static void double_know_VkDescriptorSetLayoutCreateInfo(struct double_object *object,
                                                        const VkDescriptorSetLayoutCreateInfo *info) {
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *at = &info->pBindings[i];
        const uint32_t samplers = at->pImmutableSamplers ? 77777 : 1;
        if (at->descriptorCount)
            object->numbers[0] += (at->binding * 31 + (uint32_t)at->descriptorType * 1009 + 7) *
                                  (at->descriptorCount * 65599 + at->stageFlags * 131 + 3) * samplers;
    }
}
static void double_know_VkPipelineLayoutCreateInfo(struct double_object *object,
                                                   const VkPipelineLayoutCreateInfo *info) {
    double_expect(info->setLayoutCount <= DOUBLE_NUMBERS);
    for (uint32_t i = 0; i < info->setLayoutCount; i++)
        object->numbers[object->number_count++] = OBJECT(info->pSetLayouts[i], VULKAN_SET_LAYOUT)->numbers[0];
}
static bool double_is_store(VkAttachmentStoreOp store) {
    return (uint32_t)store <= VK_ATTACHMENT_STORE_OP_DONT_CARE || store == VK_ATTACHMENT_STORE_OP_NONE;
}
static void double_know_VkRenderPassCreateInfo(struct double_object *object,
                                               const VkRenderPassCreateInfo *info) {
    (void)object;
    for (uint32_t i = 0; i < info->attachmentCount; i++)
        double_expect(double_is_store(info->pAttachments[i].storeOp) &&
                      double_is_store(info->pAttachments[i].stencilStoreOp));
}
#define KNOWS_NOTHING(type)                                                                                  \
    static void double_know_##type(struct double_object *object, const type *info) {                         \
        (void)object, (void)info;                                                                            \
    }
KNOWS_NOTHING(VkBufferViewCreateInfo)
KNOWS_NOTHING(VkImageViewCreateInfo)
KNOWS_NOTHING(VkSamplerCreateInfo)
KNOWS_NOTHING(VkShaderModuleCreateInfo)
KNOWS_NOTHING(VkFramebufferCreateInfo)

#define CREATE(name, type, KIND, handle)                                                                     \
    static VkResult double_##name(VkDevice device, const type *info, const VkAllocationCallbacks *unused,    \
                                  handle *out) {                                                             \
        type copy = *info;                                                                                   \
        (void)device, (void)unused;                                                                          \
        READ(words_##type, &copy);                                                                           \
        if (double_fails())                                                                                  \
            return VK_ERROR_OUT_OF_DEVICE_MEMORY;                                                            \
        struct double_object *object = double_make(VULKAN_##KIND);                                           \
        double_know_##type(object, info);                                                                    \
        *out = (handle)(uintptr_t)object;                                                                    \
        return VK_SUCCESS;                                                                                   \
    }
VULKAN_CREATE_CALLS(CREATE)

enum { VULKAN_CreateGraphicsPipelines = 0, VULKAN_CreateComputePipelines = 1 }; // bind points

#define PIPELINES(name, type)                                                                                \
    static VkResult double_##name(VkDevice device, VkPipelineCache cache, uint32_t count, const type *infos, \
                                  const VkAllocationCallbacks *unused, VkPipeline *out) {                    \
        (void)device, (void)cache, (void)unused;                                                             \
        for (uint32_t i = 0; i < count; i++) {                                                               \
            type copy = infos[i];                                                                            \
            READ(words_##type, &copy);                                                                       \
            struct double_object *object = double_make(VULKAN_PIPELINE);                                     \
            object->usage = VULKAN_##name;                                                                   \
            out[i] = (VkPipeline)(uintptr_t)object;                                                          \
        }                                                                                                    \
        return VK_SUCCESS;                                                                                   \
    }
VULKAN_PIPELINE_CALLS(PIPELINES)

#define DESTROY(name, KIND, type)                                                                            \
    static void double_##name(VkDevice device, type handle, const VkAllocationCallbacks *unused) {           \
        (void)device, (void)unused;                                                                          \
        if (handle)                                                                                          \
            OBJECT(handle, VULKAN_##KIND)->alive = false;                                                    \
    }
VULKAN_DESTROY_CALLS(DESTROY)

// ---- commands

static bool double_within(uint64_t offset, uint64_t size, uint64_t whole) {
    return offset <= whole && size <= whole - offset;
}

static bool double_region(const struct double_object *image, VkImageSubresourceLayers at, VkOffset3D from,
                          VkExtent3D size) {
    const VkExtent3D whole = image->image.extent;
    const uint64_t x = (uint64_t)from.x, y = (uint64_t)from.y; // a negative one is large
    const uint64_t width = at.mipLevel < 32 ? whole.width >> at.mipLevel : 0,
                   height = at.mipLevel < 32 ? whole.height >> at.mipLevel : 0;
    return at.mipLevel < image->image.mipLevels &&
           double_within(at.baseArrayLayer, at.layerCount, image->image.arrayLayers) &&
           double_within(x, size.width, width ? width : 1) &&
           double_within(y, size.height, height ? height : 1);
}

// The last texel of a copy is within the buffer; texels have a byte or more. Sizes and counts are small: the image has been judged.
static bool double_copy(const struct double_object *image, const struct double_object *buffer,
                        const VkBufferImageCopy *copy) {
    const VkExtent3D size = copy->imageExtent;
    const uint64_t row = copy->bufferRowLength ? copy->bufferRowLength : size.width,
                   rows = copy->bufferImageHeight ? copy->bufferImageHeight : size.height,
                   slices = image->image.imageType == VK_IMAGE_TYPE_3D ? size.depth
                                                                       : copy->imageSubresource.layerCount;
    if (!double_region(image, copy->imageSubresource, copy->imageOffset, size) ||
        copy->bufferOffset > buffer->size)
        return false;
    if (!size.width || !size.height || !slices)
        return true;
    const uint64_t lines = (slices - 1) * rows + size.height - 1;
    return (!lines || row <= buffer->size / lines) &&
           copy->bufferOffset + lines * row + size.width - 1 < buffer->size;
}

static void double_judge_barrier(const struct call_CmdPipelineBarrier *at) {
    VkAccessFlags accesses = 0;
    for (uint32_t i = 0; i < at->n; i++)
        accesses |= at->m[i].srcAccessMask | at->m[i].dstAccessMask;
    for (uint32_t i = 0; i < at->k; i++)
        accesses |= at->b[i].srcAccessMask | at->b[i].dstAccessMask;
    for (uint32_t i = 0; i < at->l; i++)
        accesses |= at->i[i].srcAccessMask | at->i[i].dstAccessMask;
    double_expect(!((accesses | at->f | at->t) >> 17));
}

static void double_judge_viewports(const VkViewport *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        double_expect(all[i].width <= DOUBLE_LIMIT && all[i].x >= -DOUBLE_LIMIT && all[i].y <= DOUBLE_LIMIT &&
                      all[i].height <= DOUBLE_LIMIT && all[i].height >= -DOUBLE_LIMIT);
}

static void double_judge_scissors(const VkRect2D *all, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        double_expect(all[i].offset.x >= 0 && all[i].offset.y >= 0 &&
                      (uint64_t)all[i].offset.x + all[i].extent.width <= INT32_MAX &&
                      (uint64_t)all[i].offset.y + all[i].extent.height <= INT32_MAX);
}

static void double_judge_sets(const struct call_CmdBindDescriptorSets *at) {
    const struct double_object *layout = OBJECT(at->l, VULKAN_LAYOUT);
    for (uint32_t i = 0; i < at->n; i++)
        double_expect(at->f + i < layout->number_count &&
                      OBJECT(at->s[i], VULKAN_SET)->numbers[0] == layout->numbers[at->f + i]);
}

// What a command buffer has bound, and what its work needs.
static void double_judge_state(struct double_object *commands, uint32_t number, const void *call) {
    switch (number) {
    case VULKAN_CmdBindPipeline: {
        const struct call_CmdBindPipeline *at = call;
        struct double_object *pipeline = OBJECT(at->h, VULKAN_PIPELINE);
        double_expect(pipeline->usage == (VkFlags)at->p);
        commands->pipelines[at->p] = pipeline;
        break;
    }
    case VULKAN_CmdBindIndexBuffer: {
        const struct call_CmdBindIndexBuffer *at = call;
        const struct double_object *buffer = OBJECT(at->b, VULKAN_BUFFER);
        double_expect(buffer->usage & VK_BUFFER_USAGE_INDEX_BUFFER_BIT && at->o <= buffer->size);
        commands->has_index = true;
        commands->index_bytes = buffer->size - at->o;
        commands->index_type = at->t;
        break;
    }
    case VULKAN_CmdBeginRenderPass:
    case VULKAN_CmdBeginRendering:
        commands->in_pass = true;
        break;
    case VULKAN_CmdEndRenderPass:
    case VULKAN_CmdEndRendering:
        commands->in_pass = false;
        break;
    case VULKAN_CmdDispatch:
    case VULKAN_CmdDispatchBase:
    case VULKAN_CmdDispatchIndirect:
        double_expect(!commands->in_pass && commands->pipelines[1]);
        break;
    case VULKAN_CmdDrawIndexed: {
        const struct call_CmdDrawIndexed *at = call;
        const uint64_t size = commands->index_type == VK_INDEX_TYPE_UINT8_EXT ? 1
                              : commands->index_type == VK_INDEX_TYPE_UINT16  ? 2
                                                                              : 4;
        double_expect(commands->has_index && ((uint64_t)at->fi + at->n) * size <= commands->index_bytes);
    } // fall through
    case VULKAN_CmdDraw:
    case VULKAN_CmdDrawIndirect:
    case VULKAN_CmdDrawIndexedIndirect:
    case VULKAN_CmdDrawIndirectCount:
    case VULKAN_CmdDrawIndexedIndirectCount:
        double_expect(commands->in_pass && commands->pipelines[0]);
        break;
    default:
        break;
    }
}

static void double_judge_counted(const struct call_CmdDrawIndirectCount *at, uint64_t size) {
    const struct double_object *draws = OBJECT(at->b, VULKAN_BUFFER), *counter = OBJECT(at->d, VULKAN_BUFFER);
    double_expect(draws->usage & counter->usage & VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT && at->p % 4 == 0 &&
                  double_within(at->p, 4, counter->size) && at->s >= size &&
                  (!at->n || ((uint64_t)at->n - 1) * at->s + at->o + size <= draws->size));
}

// Those of Vulkan 1.2 and later.
static void double_judge_newer(uint32_t number, const void *call) {
    switch (number) {
    case VULKAN_CmdBindVertexBuffers2: {
        const struct call_CmdBindVertexBuffers2 *at = call;
        for (uint32_t i = 0; i < at->n; i++) {
            const struct double_object *buffer = OBJECT(at->b[i], VULKAN_BUFFER);
            double_expect(
                buffer->usage & VK_BUFFER_USAGE_VERTEX_BUFFER_BIT && at->o[i] <= buffer->size &&
                (!at->s || at->s[i] <= DOUBLE_LIMIT) &&
                (!at->z || at->z[i] == VK_WHOLE_SIZE || double_within(at->o[i], at->z[i], buffer->size)));
        }
        break;
    }
    case VULKAN_CmdDrawIndirectCount:
        double_judge_counted(call, sizeof(VkDrawIndirectCommand));
        break;
    case VULKAN_CmdDrawIndexedIndirectCount: {
        const struct call_CmdDrawIndexedIndirectCount *at = call;
        double_judge_counted(
            &(struct call_CmdDrawIndirectCount){
                .b = at->b, .o = at->o, .d = at->d, .p = at->p, .n = at->n, .s = at->s},
            sizeof(VkDrawIndexedIndirectCommand));
        break;
    }
    default:
        break;
    }
}

// Of extensions: a driver has an array of attachments, and one of bindings.
static void double_judge_extended(uint32_t number, const void *call) {
    switch (number) {
    case VULKAN_CmdSetColorWriteEnableEXT:
        double_expect(((const struct call_CmdSetColorWriteEnableEXT *)call)->n <= DOUBLE_COLORS);
        break;
    case VULKAN_CmdSetColorBlendEnableEXT: {
        const struct call_CmdSetColorBlendEnableEXT *at = call;
        double_expect(double_within(at->f, at->n, DOUBLE_COLORS));
        break;
    }
    case VULKAN_CmdSetColorBlendEquationEXT: {
        const struct call_CmdSetColorBlendEquationEXT *at = call;
        double_expect(double_within(at->f, at->n, DOUBLE_COLORS));
        break;
    }
    case VULKAN_CmdSetColorWriteMaskEXT: {
        const struct call_CmdSetColorWriteMaskEXT *at = call;
        double_expect(double_within(at->f, at->n, DOUBLE_COLORS));
        break;
    }
    case VULKAN_CmdSetVertexInputEXT: {
        const struct call_CmdSetVertexInputEXT *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(at->b[i].binding < DOUBLE_LIMIT && at->b[i].stride <= DOUBLE_LIMIT);
        for (uint32_t i = 0; i < at->k; i++)
            double_expect(at->a[i].location < DOUBLE_LIMIT && at->a[i].binding < DOUBLE_LIMIT);
        break;
    }
    case VULKAN_CmdSetDepthClampEnableEXT:
        double_expect(vulkan_double.features.depthClamp ||
                      !((const struct call_CmdSetDepthClampEnableEXT *)call)->v);
        break;
    case VULKAN_CmdSetPolygonModeEXT:
        double_expect(vulkan_double.features.fillModeNonSolid ||
                      ((const struct call_CmdSetPolygonModeEXT *)call)->v == VK_POLYGON_MODE_FILL);
        break;
    default:
        break;
    }
}

static void double_judge_values(uint32_t number, const void *call) {
    switch (number) {
    case VULKAN_CmdPipelineBarrier:
        double_judge_barrier(call);
        break;
    case VULKAN_CmdBindDescriptorSets:
        double_judge_sets(call);
        break;
    case VULKAN_CmdSetViewport:
        double_judge_viewports(((const struct call_CmdSetViewport *)call)->r,
                               ((const struct call_CmdSetViewport *)call)->n);
        break;
    case VULKAN_CmdSetScissor:
        double_judge_scissors(((const struct call_CmdSetScissor *)call)->r,
                              ((const struct call_CmdSetScissor *)call)->n);
        break;
    case VULKAN_CmdSetCullMode:
        double_expect(((const struct call_CmdSetCullMode *)call)->v <= 3);
        break;
    case VULKAN_CmdSetStencilReference: {
        const VkStencilFaceFlags faces = ((const struct call_CmdSetStencilReference *)call)->f;
        double_expect(faces >= 1 && faces <= 3);
        break;
    }
    case VULKAN_CmdDispatch: {
        const struct call_CmdDispatch *at = call;
        double_expect(at->x <= DOUBLE_LIMIT && at->y <= DOUBLE_LIMIT && at->z <= DOUBLE_LIMIT);
        break;
    }
    case VULKAN_CmdBindVertexBuffers: {
        const struct call_CmdBindVertexBuffers *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(OBJECT(at->b[i], VULKAN_BUFFER)->usage & VK_BUFFER_USAGE_VERTEX_BUFFER_BIT);
        break;
    }
    case VULKAN_CmdCopyBuffer: {
        const struct call_CmdCopyBuffer *at = call;
        double_expect(OBJECT(at->s, VULKAN_BUFFER)->usage & VK_BUFFER_USAGE_TRANSFER_SRC_BIT &&
                      OBJECT(at->d, VULKAN_BUFFER)->usage & VK_BUFFER_USAGE_TRANSFER_DST_BIT);
        break;
    }
    case VULKAN_CmdDispatchIndirect:
        double_expect(OBJECT(((const struct call_CmdDispatchIndirect *)call)->b, VULKAN_BUFFER)->usage &
                      VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
        break;
    default:
        break;
    }
}

static void double_judge_regions(uint32_t number, const void *call) {
    if (number == VULKAN_CmdCopyBuffer) {
        const struct call_CmdCopyBuffer *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(
                double_within(at->r[i].srcOffset, at->r[i].size, OBJECT(at->s, VULKAN_BUFFER)->size) &&
                double_within(at->r[i].dstOffset, at->r[i].size, OBJECT(at->d, VULKAN_BUFFER)->size));
    } else if (number == VULKAN_CmdUpdateBuffer) {
        const struct call_CmdUpdateBuffer *at = call;
        double_expect(double_within(at->o, at->n, OBJECT(at->d, VULKAN_BUFFER)->size));
    } else if (number == VULKAN_CmdFillBuffer) {
        const struct call_CmdFillBuffer *at = call;
        double_expect(at->n == VK_WHOLE_SIZE ||
                      double_within(at->o, at->n, OBJECT(at->d, VULKAN_BUFFER)->size));
    } else if (number == VULKAN_CmdCopyImage) {
        const struct call_CmdCopyImage *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(double_region(OBJECT(at->s, VULKAN_IMAGE), at->r[i].srcSubresource,
                                        at->r[i].srcOffset, at->r[i].extent) &&
                          double_region(OBJECT(at->d, VULKAN_IMAGE), at->r[i].dstSubresource,
                                        at->r[i].dstOffset, at->r[i].extent));
    } else if (number == VULKAN_CmdCopyBufferToImage) {
        const struct call_CmdCopyBufferToImage *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(double_copy(OBJECT(at->d, VULKAN_IMAGE), OBJECT(at->s, VULKAN_BUFFER), &at->r[i]));
    } else if (number == VULKAN_CmdCopyImageToBuffer) {
        const struct call_CmdCopyImageToBuffer *at = call;
        for (uint32_t i = 0; i < at->n; i++)
            double_expect(double_copy(OBJECT(at->s, VULKAN_IMAGE), OBJECT(at->d, VULKAN_BUFFER), &at->r[i]));
    } else if (number == VULKAN_CmdPushConstants) {
        const struct call_CmdPushConstants *at = call;
        double_expect(double_within(at->o, at->n, DOUBLE_LIMIT));
    }
}

#define SET_V(type, name) call.name = name;
#define SET_F(name) call.name = name;
#define SET_H(KIND, type, name) call.name = name;
#define SET_M(KIND, type, name, count) call.name = name;
#define SET_A(type, name, count) call.name = name;
#define SET_P(type, name) call.name = name;
#define SET_B(name, count) call.name = name;
#define COMMAND(function, number)                                                                            \
    static void double_##function(VkCommandBuffer c_ PARAMETERS(function)) {                                 \
        struct call_##function call = {.end = 0};                                                            \
        CALL_##function(SET_V, SET_F, SET_H, SET_H, SET_M, SET_A, SET_P,                                     \
                        SET_B) struct double_object *commands = OBJECT(c_, VULKAN_COMMANDS);                 \
        READ(words_call_##function, &call);                                                                  \
        double_judge_regions(VULKAN_##function, &call);                                                      \
        double_judge_values(VULKAN_##function, &call);                                                       \
        double_judge_newer(VULKAN_##function, &call);                                                        \
        double_judge_extended(VULKAN_##function, &call);                                                     \
        double_judge_state(commands, VULKAN_##function, &call);                                              \
    }
VULKAN_FRAME_COMMANDS(COMMAND)

// ---- the rest of a device

#define CREATE_OTHER(name, info_type, type)                                                                  \
    static VkResult double_##name(VkDevice device, const info_type *info,                                    \
                                  const VkAllocationCallbacks *unused, type *out) {                          \
        (void)device, (void)info, (void)unused;                                                              \
        *out = (type)(uintptr_t)double_make(DOUBLE_OTHER);                                                   \
        return VK_SUCCESS;                                                                                   \
    }
CREATE_OTHER(CreateFence, VkFenceCreateInfo, VkFence)
CREATE_OTHER(CreateCommandPool, VkCommandPoolCreateInfo, VkCommandPool)
CREATE_OTHER(CreateDescriptorPool, VkDescriptorPoolCreateInfo, VkDescriptorPool)
#define DESTROY_OTHER(name, type, KIND)                                                                      \
    static void double_##name(VkDevice device, type handle, const VkAllocationCallbacks *unused) {           \
        (void)device, (void)unused;                                                                          \
        OBJECT(handle, KIND)->alive = false;                                                                 \
    }
DESTROY_OTHER(DestroyFence, VkFence, DOUBLE_OTHER)
DESTROY_OTHER(DestroyCommandPool, VkCommandPool, DOUBLE_OTHER)
DESTROY_OTHER(DestroyDescriptorPool, VkDescriptorPool, DOUBLE_OTHER)
DESTROY_OTHER(FreeMemory, VkDeviceMemory, DOUBLE_MEMORY)

static void double_DestroyDevice(VkDevice device, const VkAllocationCallbacks *unused) {
    (void)unused;
    OBJECT(device, DOUBLE_OTHER)->alive = false;
    for (struct double_object *object = vulkan_double.objects; object; object = object->next)
        if (object->device == device)
            object->alive = false;
}
static void double_GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index, VkQueue *out) {
    (void)family, (void)index;
    *out = (VkQueue)(uintptr_t)device;
}
static VkResult double_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    (void)queue;
    (void)OBJECT(fence, DOUBLE_OTHER);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
            (void)OBJECT(infos[i].pCommandBuffers[j], VULKAN_COMMANDS);
    return double_fails() ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}
static VkResult double_DeviceWaitIdle(VkDevice device) {
    (void)device;
    return VK_SUCCESS;
}
static VkResult double_ResetFences(VkDevice device, uint32_t count, const VkFence *fences) {
    (void)device, (void)count, (void)fences;
    return VK_SUCCESS;
}
static VkResult double_WaitForFences(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                     uint64_t timeout) {
    (void)device, (void)count, (void)fences, (void)all, (void)timeout;
    return VK_SUCCESS;
}
static VkResult double_AllocateCommandBuffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                              VkCommandBuffer *out) {
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        struct double_object *object = double_make(VULKAN_COMMANDS);
        object->device = device;
        out[i] = (VkCommandBuffer)(uintptr_t)object;
    }
    return VK_SUCCESS;
}
static void double_FreeCommandBuffers(VkDevice device, VkCommandPool pool, uint32_t count,
                                      const VkCommandBuffer *all) {
    (void)device, (void)pool;
    for (uint32_t i = 0; i < count; i++)
        OBJECT(all[i], VULKAN_COMMANDS)->alive = false;
}
static VkResult double_BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo *info) {
    (void)info;
    (void)OBJECT(commands, VULKAN_COMMANDS);
    return VK_SUCCESS;
}
static VkResult double_EndCommandBuffer(VkCommandBuffer commands) {
    (void)OBJECT(commands, VULKAN_COMMANDS);
    return VK_SUCCESS;
}
static VkResult double_AllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                      const VkAllocationCallbacks *unused, VkDeviceMemory *out) {
    (void)device, (void)unused;
    if (info->allocationSize > DOUBLE_ALLOC_MOST || double_fails())
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    struct double_object *object = double_make(DOUBLE_MEMORY);
    object->size = info->allocationSize;
    object->bytes = calloc(1, object->size + 1);
    double_expect(object->bytes);
    for (uint64_t at = 0; at + sizeof vulkan_double.fill <= object->size; at += sizeof vulkan_double.fill)
        memcpy(object->bytes + at, &vulkan_double.fill, sizeof vulkan_double.fill);
    *out = (VkDeviceMemory)(uintptr_t)object;
    return VK_SUCCESS;
}
static VkResult double_MapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                 VkDeviceSize size, VkMemoryMapFlags flags, void **out) {
    (void)device, (void)offset, (void)size, (void)flags;
    *out = OBJECT(memory, DOUBLE_MEMORY)->bytes;
    return VK_SUCCESS;
}
static void double_GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out) {
    (void)device;
    *out = (VkMemoryRequirements){OBJECT(buffer, VULKAN_BUFFER)->size, 1, 1};
}
static void double_GetImageMemoryRequirements(VkDevice device, VkImage image, VkMemoryRequirements *out) {
    (void)device;
    (void)OBJECT(image, VULKAN_IMAGE);
    *out = (VkMemoryRequirements){1, 1, 1};
}
#define BIND(name, type, KIND)                                                                               \
    static VkResult double_##name(VkDevice device, type handle, VkDeviceMemory memory, VkDeviceSize at) {    \
        struct double_object *object = OBJECT(handle, KIND);                                                 \
        (void)device, (void)at;                                                                              \
        (void)OBJECT(memory, DOUBLE_MEMORY);                                                                 \
        double_expect(!object->bound);                                                                       \
        object->bound = true;                                                                                \
        return VK_SUCCESS;                                                                                   \
    }
BIND(BindBufferMemory, VkBuffer, VULKAN_BUFFER)
BIND(BindImageMemory, VkImage, VULKAN_IMAGE)
static VkResult double_AllocateDescriptorSets(VkDevice device, const VkDescriptorSetAllocateInfo *info,
                                              VkDescriptorSet *out) {
    (void)OBJECT(info->descriptorPool, DOUBLE_OTHER);
    for (uint32_t i = 0; i < info->descriptorSetCount; i++) {
        struct double_object *object = double_make(VULKAN_SET);
        object->numbers[0] = OBJECT(info->pSetLayouts[i], VULKAN_SET_LAYOUT)->numbers[0];
        object->device = device;
        out[i] = (VkDescriptorSet)(uintptr_t)object;
    }
    return VK_SUCCESS;
}
static void double_UpdateDescriptorSets(VkDevice device, uint32_t count, const VkWriteDescriptorSet *writes,
                                        uint32_t copy_count, const VkCopyDescriptorSet *copies) {
    (void)device;
    for (uint32_t i = 0; i < copy_count; i++) {
        const bool one = OBJECT(copies[i].srcSet, VULKAN_SET) == OBJECT(copies[i].dstSet, VULKAN_SET);
        const uint64_t from = copies[i].srcArrayElement, to = copies[i].dstArrayElement,
                       size = copies[i].descriptorCount;
        double_expect(size && (!one || copies[i].srcBinding != copies[i].dstBinding || from + size <= to ||
                               to + size <= from));
        vulkan_double.copies += copies[i].descriptorCount;
        vulkan_double.copy_calls++;
    }
    for (uint32_t i = 0; i < count; i++) {
        VkWriteDescriptorSet copy = writes[i];
        (void)OBJECT(copy.dstSet, VULKAN_SET);
        READ(words_VkWriteDescriptorSet, &copy);
    }
}

#endif
