// SPDX-License-Identifier: Apache-2.0
// The structs of Vulkan's resources and commands as words.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "recording/vulkan/structs.h"

#include <string.h>

const void *words_in_chain(const void *chain, VkStructureType type) {
    const VkBaseInStructure *at = chain;
    while (at && at->sType != type)
        at = at->pNext;
    return at;
}

void words_chain(struct words *words, const char *name, const void *chain, VkStructureType known) {
    words_chain_of(words, name, chain, &known, 1);
}

static bool is_one_of(VkStructureType type, const VkStructureType *known, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (known[i] == type)
            return true;
    return false;
}

void words_chain_of(struct words *words, const char *name, const void *chain, const VkStructureType *known,
                    size_t count) {
    for (const VkBaseInStructure *at = chain; at; at = at->pNext)
        if (!is_one_of(at->sType, known, count) &&
            at->sType != VK_STRUCTURE_TYPE_IMAGE_FORMAT_LIST_CREATE_INFO &&
            at->sType != VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT &&
            at->sType != VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO &&
            // A replay does not share its memory.
            at->sType != VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO &&
            at->sType != VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO)
            words_missing(words, "structure type %d in the chain of %s", (int)at->sType, name);
}

// ---- numbers

// What is written may be constants of the program, in memory that cannot be written.
void words_uint32_t(struct words *words, uint32_t *s) {
    const uint64_t value = words_value(words, words->reading ? 0 : *s);
    if (words->reading)
        *s = (uint32_t)value;
}

void words_VkDeviceSize(struct words *words, VkDeviceSize *s) {
    const uint64_t value = words_value(words, words->reading ? 0 : *s);
    if (words->reading)
        *s = value;
}

void words_float(struct words *words, float *s) {
    uint32_t bits = 0;
    memcpy(&bits, s, sizeof bits);
    bits = (uint32_t)words_value(words, bits);
    if (words->reading)
        memcpy(s, &bits, sizeof bits);
}

// ---- structs without a chain

#define VALUES(type, ...)                                                                                    \
    void words_##type(struct words *words, type *s) {                                                        \
        __VA_ARGS__                                                                                          \
    }
#define V(field) WORD(field);
#define XYZ(field)                                                                                           \
    WORD(field.x);                                                                                           \
    WORD(field.y);                                                                                           \
    WORD(field.z);
#define EXTENT(field)                                                                                        \
    WORD(field.width);                                                                                       \
    WORD(field.height);                                                                                      \
    WORD(field.depth);
#define RECT(field)                                                                                          \
    WORD(field.offset.x);                                                                                    \
    WORD(field.offset.y);                                                                                    \
    WORD(field.extent.width);                                                                                \
    WORD(field.extent.height);
#define LAYERS(field)                                                                                        \
    WORD(field.aspectMask);                                                                                  \
    WORD(field.mipLevel);                                                                                    \
    WORD(field.baseArrayLayer);                                                                              \
    WORD(field.layerCount);
#define RANGE(field)                                                                                         \
    WORD(field.aspectMask);                                                                                  \
    WORD(field.baseMipLevel);                                                                                \
    WORD(field.levelCount);                                                                                  \
    WORD(field.baseArrayLayer);                                                                              \
    WORD(field.layerCount);

VALUES(VkViewport, FLOAT(x); FLOAT(y); FLOAT(width); FLOAT(height); FLOAT(minDepth); FLOAT(maxDepth);)
VALUES(VkRect2D, V(offset.x) V(offset.y) V(extent.width) V(extent.height))
VALUES(VkBufferCopy, V(srcOffset) V(dstOffset) V(size))
VALUES(VkImageCopy,
       LAYERS(srcSubresource) XYZ(srcOffset) LAYERS(dstSubresource) XYZ(dstOffset) EXTENT(extent))
VALUES(VkImageResolve,
       LAYERS(srcSubresource) XYZ(srcOffset) LAYERS(dstSubresource) XYZ(dstOffset) EXTENT(extent))
VALUES(VkImageBlit, LAYERS(srcSubresource) XYZ(srcOffsets[0]) XYZ(srcOffsets[1]) LAYERS(dstSubresource)
                        XYZ(dstOffsets[0]) XYZ(dstOffsets[1]))
VALUES(VkBufferImageCopy, V(bufferOffset) V(bufferRowLength) V(bufferImageHeight) LAYERS(imageSubresource)
                              XYZ(imageOffset) EXTENT(imageExtent))
VALUES(VkClearColorValue, V(uint32[0]) V(uint32[1]) V(uint32[2]) V(uint32[3]))
VALUES(VkClearDepthStencilValue, FLOAT(depth); V(stencil))
VALUES(VkImageSubresourceRange, V(aspectMask) V(baseMipLevel) V(levelCount) V(baseArrayLayer) V(layerCount))
VALUES(VkClearAttachment,
       V(aspectMask) V(colorAttachment) V(clearValue.color.uint32[0]) V(clearValue.color.uint32[1])
           V(clearValue.color.uint32[2]) V(clearValue.color.uint32[3]))
VALUES(VkClearRect, RECT(rect) V(baseArrayLayer) V(layerCount))

// ---- barriers

VALUES(VkMemoryBarrier, HEAD(VkMemoryBarrier, MEMORY_BARRIER); V(srcAccessMask) V(dstAccessMask))

// A replay has one queue: nothing changes its queue family.
#define FAMILIES                                                                                             \
    if (words->reading)                                                                                      \
        s->srcQueueFamilyIndex = s->dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;

// The layout that a barrier leaves.
static VkImageLayout left_layout(const struct words *words, VkImageLayout from, VkImageLayout to,
                                 uint32_t family, uint32_t other) {
    return from != VK_IMAGE_LAYOUT_UNDEFINED && words_family_releases(words, family, other) ? from : to;
}
#define NEW_LAYOUT                                                                                           \
    do {                                                                                                     \
        const uint64_t word_ = words_value(                                                                  \
            words, words->reading ? 0                                                                        \
                                  : (uint64_t)left_layout(words, s->oldLayout, s->newLayout,                 \
                                                          s->srcQueueFamilyIndex, s->dstQueueFamilyIndex));  \
        if (words->reading)                                                                                  \
            s->newLayout = vulkan_layout_read((VkImageLayout)word_);                                         \
        else if (s->newLayout == VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT)                       \
            words_missing(words, "a layout of VK_EXT_attachment_feedback_loop_layout");                      \
    } while (0)

VALUES(VkBufferMemoryBarrier, HEAD(VkBufferMemoryBarrier, BUFFER_MEMORY_BARRIER);
       V(srcAccessMask) V(dstAccessMask) FAMILIES HANDLE(BUFFER, buffer); V(offset) V(size))
VALUES(VkImageMemoryBarrier, HEAD(VkImageMemoryBarrier, IMAGE_MEMORY_BARRIER);
       V(srcAccessMask) V(dstAccessMask) LAYOUT(oldLayout); NEW_LAYOUT; FAMILIES HANDLE(IMAGE, image);
       RANGE(subresourceRange))

static VALUES(VkMemoryBarrier2, HEAD(VkMemoryBarrier2, MEMORY_BARRIER_2);
              V(srcStageMask) V(srcAccessMask) V(dstStageMask)
                  V(dstAccessMask)) static VALUES(VkBufferMemoryBarrier2,
                                                  HEAD(VkBufferMemoryBarrier2, BUFFER_MEMORY_BARRIER_2);
                                                  V(srcStageMask) V(srcAccessMask) V(dstStageMask)
                                                      V(dstAccessMask) FAMILIES HANDLE(BUFFER, buffer);
                                                  V(offset)
                                                      V(size)) static VALUES(VkImageMemoryBarrier2,
                                                                             HEAD(VkImageMemoryBarrier2,
                                                                                  IMAGE_MEMORY_BARRIER_2);
                                                                             V(srcStageMask) V(srcAccessMask)
                                                                                 V(dstStageMask)
                                                                                     V(dstAccessMask)
                                                                                         LAYOUT(oldLayout);
                                                                             NEW_LAYOUT;
                                                                             FAMILIES HANDLE(IMAGE, image);
                                                                             RANGE(subresourceRange))

    void words_VkDependencyInfo(struct words *words, VkDependencyInfo *s) {
    HEAD(VkDependencyInfo, DEPENDENCY_INFO);
    WORD(dependencyFlags);
    WORD(memoryBarrierCount);
    ITEMS(VkMemoryBarrier2, s->memoryBarrierCount, pMemoryBarriers);
    WORD(bufferMemoryBarrierCount);
    ITEMS(VkBufferMemoryBarrier2, s->bufferMemoryBarrierCount, pBufferMemoryBarriers);
    WORD(imageMemoryBarrierCount);
    ITEMS(VkImageMemoryBarrier2, s->imageMemoryBarrierCount, pImageMemoryBarriers);
}

// ---- render passes that begin

static VALUES(VkClearValue, V(color.uint32[0]) V(color.uint32[1]) V(color.uint32[2]) V(color.uint32[3]))

    void words_VkRenderPassBeginInfo(struct words *words, VkRenderPassBeginInfo *s) {
    HEAD(VkRenderPassBeginInfo, RENDER_PASS_BEGIN_INFO);
    HANDLE(PASS, renderPass);
    HANDLE_OF(FRAMEBUFFER, framebuffer, true, false);
    RECT(renderArea)
    WORD(clearValueCount);
    ITEMS(VkClearValue, s->clearValueCount, pClearValues);
}

static void words_VkRenderingAttachmentInfo(struct words *words, VkRenderingAttachmentInfo *s) {
    HEAD(VkRenderingAttachmentInfo, RENDERING_ATTACHMENT_INFO);
    HANDLE_OF(IMAGE_VIEW, imageView, true, true);
    LAYOUT(imageLayout);
    WORD(resolveMode);
    HANDLE_OF(IMAGE_VIEW, resolveImageView, true, true);
    LAYOUT(resolveImageLayout);
    ENUM(loadOp, VK_ATTACHMENT_LOAD_OP_DONT_CARE);
    WORD(storeOp);
    words_VkClearValue(words, &s->clearValue);
}

void words_VkRenderingInfo(struct words *words, VkRenderingInfo *s) {
    HEAD(VkRenderingInfo, RENDERING_INFO);
    WORD(flags);
    if (words->reading) // commands of secondary buffers are in the primary
        s->flags &= ~(VkRenderingFlags)VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT;
    RECT(renderArea)
    WORD(layerCount);
    WORD(viewMask);
    WORD(colorAttachmentCount);
    ITEMS(VkRenderingAttachmentInfo, s->colorAttachmentCount, pColorAttachments);
    ITEMS_OF(VkRenderingAttachmentInfo, 1, pDepthAttachment, true);
    ITEMS_OF(VkRenderingAttachmentInfo, 1, pStencilAttachment, true);
}

// ---- resources

// The queue families are those of the program; a replay has one queue.
#define EXCLUSIVE                                                                                            \
    if (words->reading)                                                                                      \
        s->sharingMode = VK_SHARING_MODE_EXCLUSIVE;

void words_VkBufferCreateInfo(struct words *words, VkBufferCreateInfo *s) {
    HEAD(VkBufferCreateInfo, BUFFER_CREATE_INFO);
    WORD(flags);
    WORD(size);
    WORD(usage);
    if (words->reading) // for commands that are not recorded
        s->usage &= ~(VkBufferUsageFlags)(VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_BUFFER_BIT_EXT |
                                          VK_BUFFER_USAGE_TRANSFORM_FEEDBACK_COUNTER_BUFFER_BIT_EXT |
                                          VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT |
                                          VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    EXCLUSIVE
    if (s->flags)
        words_missing(words, "a sparse or protected buffer");
}

void words_VkBufferViewCreateInfo(struct words *words, VkBufferViewCreateInfo *s) {
    HEAD(VkBufferViewCreateInfo, BUFFER_VIEW_CREATE_INFO);
    HANDLE(BUFFER, buffer);
    FORMAT(format);
    WORD(offset);
    WORD(range);
}

void words_VkImageCreateInfo(struct words *words, VkImageCreateInfo *s) {
    static const VkImageCreateFlags known = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT |
                                            VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT |
                                            VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT |
                                            VK_IMAGE_CREATE_EXTENDED_USAGE_BIT | VK_IMAGE_CREATE_ALIAS_BIT;
    HEAD(VkImageCreateInfo, IMAGE_CREATE_INFO);
    WORD(flags);
    ENUM(imageType, VK_IMAGE_TYPE_3D);
    FORMAT(format);
    EXTENT(extent)
    WORD(mipLevels);
    WORD(arrayLayers);
    SAMPLES(samples);
    ENUM(tiling, VK_IMAGE_TILING_LINEAR);
    WORD(usage);
    if (words->reading) // for layouts that are not recorded
        s->usage &= ~(VkImageUsageFlags)VK_IMAGE_USAGE_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT;
    EXCLUSIVE
    ENUM(initialLayout, VK_IMAGE_LAYOUT_PREINITIALIZED);
    if (words->reading) // each image has memory of its own
        s->flags &= ~(VkImageCreateFlags)VK_IMAGE_CREATE_ALIAS_BIT;
    if ((uint32_t)s->tiling > VK_IMAGE_TILING_LINEAR)
        words_missing(words, "an image with a tiling of an extension");
    if (s->flags & ~known)
        words_missing(words, "an image with flags 0x%x", (unsigned)(s->flags & ~known));
    if (!vulkan_format_bytes(s->format) && vulkan_format_aspect(s->format) == VK_IMAGE_ASPECT_COLOR_BIT)
        words_missing(words, "a compressed image, or one of several planes");
}

void words_VkImageViewCreateInfo(struct words *words, VkImageViewCreateInfo *s) {
    HEAD(VkImageViewCreateInfo, IMAGE_VIEW_CREATE_INFO);
    WORD(flags);
    HANDLE(IMAGE, image);
    ENUM(viewType, VK_IMAGE_VIEW_TYPE_CUBE_ARRAY);
    FORMAT(format);
    ENUM(components.r, VK_COMPONENT_SWIZZLE_A);
    ENUM(components.g, VK_COMPONENT_SWIZZLE_A);
    ENUM(components.b, VK_COMPONENT_SWIZZLE_A);
    ENUM(components.a, VK_COMPONENT_SWIZZLE_A);
    RANGE(subresourceRange)
}

void words_VkSamplerCreateInfo(struct words *words, VkSamplerCreateInfo *s) {
    HEAD(VkSamplerCreateInfo, SAMPLER_CREATE_INFO);
    WORD(flags);
    if (!words->reading && s->flags & ~(VkSamplerCreateFlags)VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT)
        words_missing(words, "a sampler with flags 0x%x", (unsigned)s->flags);
    ENUM(magFilter, VK_FILTER_LINEAR);
    ENUM(minFilter, VK_FILTER_LINEAR);
    ENUM(mipmapMode, VK_SAMPLER_MIPMAP_MODE_LINEAR);
    ENUM(addressModeU, VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE);
    ENUM(addressModeV, VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE);
    ENUM(addressModeW, VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE);
    FLOAT(mipLodBias);
    WORD(anisotropyEnable);
    FLOAT(maxAnisotropy);
    WORD(compareEnable);
    UNUSED_ENUM(compareOp, VK_COMPARE_OP_ALWAYS);
    FLOAT(minLod);
    FLOAT(maxLod);
    UNUSED_ENUM(borderColor, VK_BORDER_COLOR_INT_OPAQUE_WHITE);
    WORD(unnormalizedCoordinates);
}

// ---- descriptors

static void words_VkDescriptorSetLayoutBinding(struct words *words, VkDescriptorSetLayoutBinding *s) {
    WORD(binding);
    ENUM(descriptorType, VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT);
    WORD(descriptorCount);
    WORD(stageFlags);
    uint64_t samplers = words_value(words, s->pImmutableSamplers != NULL);
    if (samplers)
        HANDLES(SAMPLER, VkSampler, s->descriptorCount, pImmutableSamplers, false, false);
}

// The struct without flags says nothing.
static void refuse_binding_flags(struct words *words, const VkDescriptorSetLayoutCreateInfo *s) {
    const VkDescriptorSetLayoutBindingFlagsCreateInfo *flags =
        words_in_chain(s->pNext, VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    for (uint32_t i = 0; flags && i < flags->bindingCount; i++)
        if (flags->pBindingFlags[i])
            words_missing(words, "a descriptor set layout with flags 0x%x of a binding",
                          (unsigned)flags->pBindingFlags[i]);
}

void words_VkDescriptorSetLayoutCreateInfo(struct words *words, VkDescriptorSetLayoutCreateInfo *s) {
    static const VkDescriptorSetLayoutCreateFlags pushed =
        VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    HEAD_WITH(VkDescriptorSetLayoutCreateInfo, DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
              VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO);
    if (!words->reading)
        refuse_binding_flags(words, s);
    WORD(flags);
    WORD(bindingCount);
    ITEMS(VkDescriptorSetLayoutBinding, s->bindingCount, pBindings);
    if (words->reading) // a replay binds a set of its own for what is pushed
        s->flags &= ~(VkDescriptorSetLayoutCreateFlags)pushed;
    if (s->flags & ~(VkDescriptorSetLayoutCreateFlags)pushed)
        words_missing(words, "a descriptor set layout with flags 0x%x", (unsigned)s->flags);
}

static VALUES(VkPushConstantRange, V(stageFlags) V(offset) V(size))

    // A layout of a part of a pipeline may leave sets out, which have other parts. A replay has whole pipelines.
    void words_VkPipelineLayoutCreateInfo(struct words *words, VkPipelineLayoutCreateInfo *given) {
    VkPipelineLayoutCreateInfo copy = *given, *s = words->reading ? given : &copy;
    HEAD(VkPipelineLayoutCreateInfo, PIPELINE_LAYOUT_CREATE_INFO);
    if (!words->reading)
        s->flags &= ~(VkPipelineLayoutCreateFlags)VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT;
    WORD(flags);
    WORD(setLayoutCount);
    HANDLES(SET_LAYOUT, VkDescriptorSetLayout, s->setLayoutCount, pSetLayouts, false, true);
    WORD(pushConstantRangeCount);
    ITEMS(VkPushConstantRange, s->pushConstantRangeCount, pPushConstantRanges);
}

static bool is_written(VkDescriptorType type) {
    return type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER ||
           type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC ||
           type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

// A member that the type does not use may be anything.
static void words_image(struct words *words, VkDescriptorImageInfo *given, VkDescriptorType type) {
    VkDescriptorImageInfo copy = *given, *s = words->reading ? given : &copy;
    if (type != VK_DESCRIPTOR_TYPE_SAMPLER && type != VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)
        s->sampler = VK_NULL_HANDLE;
    if (type == VK_DESCRIPTOR_TYPE_SAMPLER)
        s->imageView = VK_NULL_HANDLE;
    HANDLE_OF(SAMPLER, sampler, false, true);
    HANDLE_OF(IMAGE_VIEW, imageView, is_written(type), true);
    LAYOUT(imageLayout);
}

// Without a buffer: a null descriptor, as one of an image without a view. A replay's device may not have them.
static void words_buffer(struct words *words, VkDescriptorBufferInfo *s, bool written) {
    HANDLE_OF(BUFFER, buffer, written, true);
    WORD(offset);
    WORD(range);
}

// The type that the elements of the array are of; the set is not part of it.
void words_VkWriteDescriptorSet(struct words *words, VkWriteDescriptorSet *s) {
    HEAD(VkWriteDescriptorSet, WRITE_DESCRIPTOR_SET);
    WORD(dstBinding);
    WORD(dstArrayElement);
    WORD(descriptorCount);
    WORD(descriptorType);
    const bool written = is_written(s->descriptorType);
    switch (s->descriptorType) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT: {
        VkDescriptorImageInfo *items =
            words_items(words, s->pImageInfo, s->descriptorCount, sizeof *items, false);
        if (words->reading)
            s->pImageInfo = items;
        for (uint32_t i = 0; items && i < s->descriptorCount && !words->failed; i++)
            words_image(words, &items[i], s->descriptorType);
        break;
    }
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        HANDLES(BUFFER_VIEW, VkBufferView, s->descriptorCount, pTexelBufferView, written, true);
        break;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC: {
        VkDescriptorBufferInfo *items =
            words_items(words, s->pBufferInfo, s->descriptorCount, sizeof *items, false);
        if (words->reading)
            s->pBufferInfo = items;
        for (uint32_t i = 0; items && i < s->descriptorCount && !words->failed; i++)
            words_buffer(words, &items[i], written);
        break;
    }
    default:
        words_missing(words, "a descriptor of type %d", (int)s->descriptorType);
        words->failed |= words->reading;
    }
}

#endif
