// SPDX-License-Identifier: Apache-2.0
// What the device supports of images, formats and layouts (check.c): drivers do not ask.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>

#include "replay/vulkan/check.h"

// With the usages that the replay adds (objects.c).
static VkImageUsageFlags usage_of(const VkImageCreateInfo *info) {
    static const VkImageUsageFlags copies = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    return info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT ? info->usage : info->usage | copies;
}

bool check_image(struct vulkan_run *run, const VkImageCreateInfo *info) {
    static const VkImageUsageFlags known = (VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT << 1) - 1;
    const struct vulkan_device *device = run->device;
    VkImageFormatProperties most = {0};
    REQUIRE(info->usage && !(info->usage & ~known), "an image has no usage, or an unknown one");
    REQUIRE(info->initialLayout == VK_IMAGE_LAYOUT_UNDEFINED ||
                info->initialLayout == VK_IMAGE_LAYOUT_PREINITIALIZED,
            "an image begins in a layout that is not allowed");
    REQUIRE(run->execution->GetPhysicalDeviceImageFormatProperties(
                device->physical, info->format, info->imageType, info->tiling, usage_of(info), info->flags,
                &most) == VK_SUCCESS,
            "the device does not support images of this format, type and usage");
    REQUIRE(info->extent.width <= most.maxExtent.width && info->extent.height <= most.maxExtent.height &&
                info->extent.depth <= most.maxExtent.depth && info->mipLevels <= most.maxMipLevels &&
                info->arrayLayers <= most.maxArrayLayers && most.sampleCounts & (uint32_t)info->samples,
            "the device does not support images of this size, or with so many levels, layers or samples");
    return true;
}

bool check_view_format(struct vulkan_run *run, const struct vulkan_live *image, VkFormat format) {
    static const struct {
        VkImageUsageFlags usage;
        VkFormatFeatureFlags feature;
    } rows[] = {
        {VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT},
        {VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT},
        {VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT},
        {VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT, VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT}};
    VkFormatProperties properties = {0};
    if (format == image->image.format)
        return true; // as the image
    REQUIRE(image->image.flags & VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT,
            "a view has another format than its image, which does not allow it");
    REQUIRE(vulkan_format_bytes(format) &&
                vulkan_format_bytes(format) == vulkan_format_bytes(image->image.format),
            "a view has texels of another size than its image");
    run->execution->GetPhysicalDeviceFormatProperties(run->device->physical, format, &properties);
    const VkFormatFeatureFlags features = image->image.tiling == VK_IMAGE_TILING_LINEAR
                                              ? properties.linearTilingFeatures
                                              : properties.optimalTilingFeatures;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        REQUIRE(!(image->usage & rows[i].usage) || features & rows[i].feature,
                "the device does not support a view's format for the usages of its image");
    return true;
}

bool check_buffer_format(struct vulkan_run *run, VkFormat format, VkFormatFeatureFlags features) {
    VkFormatProperties properties = {0};
    run->execution->GetPhysicalDeviceFormatProperties(run->device->physical, format, &properties);
    REQUIRE((properties.bufferFeatures & features) == features,
            "the device does not support this format for buffers of this usage");
    return true;
}

// ---- descriptors of a stage

enum { SAMPLERS, UNIFORMS, STORAGES, SAMPLED, STORED, INPUTS, CLASSES };

// A sampler with an image counts for both.
static uint32_t classes_of(uint32_t type) {
    switch (type) {
    case VK_DESCRIPTOR_TYPE_SAMPLER:
        return 1 << SAMPLERS;
    case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
        return 1 << SAMPLERS | 1 << SAMPLED;
    case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        return 1 << SAMPLED;
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return 1 << STORED;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
        return 1 << UNIFORMS;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return 1 << STORAGES;
    default:
        return 1 << INPUTS;
    }
}

enum { STAGES = 6 }; // from VERTEX to COMPUTE, as bits

void check_count_stages(struct vulkan_live *layout) {
    layout->stage_counts = calloc((size_t)STAGES * CLASSES, sizeof *layout->stage_counts);
    for (uint32_t i = 0; layout->stage_counts && i < layout->binding_count; i++)
        for (uint32_t at = 0; at < STAGES * CLASSES; at++)
            if (layout->bindings[i].stages >> at / CLASSES & 1 &&
                classes_of(layout->bindings[i].type) >> at % CLASSES & 1)
                layout->stage_counts[at] += layout->bindings[i].count;
}

bool check_pipeline_limits(struct vulkan_run *run, const VkPipelineLayoutCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const uint32_t most[CLASSES] = {
        [SAMPLERS] = limits->maxPerStageDescriptorSamplers,
        [UNIFORMS] = limits->maxPerStageDescriptorUniformBuffers,
        [STORAGES] = limits->maxPerStageDescriptorStorageBuffers,
        [SAMPLED] = limits->maxPerStageDescriptorSampledImages,
        [STORED] = limits->maxPerStageDescriptorStorageImages,
        [INPUTS] = limits->maxPerStageDescriptorInputAttachments,
    };
    uint64_t counts[STAGES * CLASSES] = {0};
    for (uint32_t i = 0; i < info->setLayoutCount; i++) {
        const struct vulkan_live *layout =
            vulkan_find_handle(run, (uint64_t)(uintptr_t)info->pSetLayouts[i], VULKAN_SET_LAYOUT);
        if (!info->pSetLayouts[i])
            continue;
        REQUIRE(layout && layout->stage_counts, "a pipeline layout has a set layout that is missing");
        for (uint32_t at = 0; at < STAGES * CLASSES; at++)
            counts[at] += layout->stage_counts[at];
    }
    for (uint32_t at = 0; at < STAGES * CLASSES; at++)
        REQUIRE(counts[at] <= most[at % CLASSES], "a stage has more descriptors than the device allows");
    return true;
}

#endif
