// SPDX-License-Identifier: Apache-2.0
// The layout of images' content. The recorder and the replay call it.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "recording/vulkan/formats.h"

#include <stddef.h>
#include <string.h>

uint32_t vulkan_format_bytes(VkFormat format) {
    static const struct {
        VkFormat last; // of those with this many bytes, after the row before
        uint32_t bytes;
    } rows[] = {{VK_FORMAT_UNDEFINED, 0},
                {VK_FORMAT_R4G4_UNORM_PACK8, 1},
                {VK_FORMAT_A1R5G5B5_UNORM_PACK16, 2},
                {VK_FORMAT_R8_SRGB, 1},
                {VK_FORMAT_R8G8_SRGB, 2},
                {VK_FORMAT_B8G8R8_SRGB, 3},
                {VK_FORMAT_A2B10G10R10_SINT_PACK32, 4},
                {VK_FORMAT_R16_SFLOAT, 2},
                {VK_FORMAT_R16G16_SFLOAT, 4},
                {VK_FORMAT_R16G16B16_SFLOAT, 6},
                {VK_FORMAT_R16G16B16A16_SFLOAT, 8},
                {VK_FORMAT_R32_SFLOAT, 4},
                {VK_FORMAT_R32G32_SFLOAT, 8},
                {VK_FORMAT_R32G32B32_SFLOAT, 12},
                {VK_FORMAT_R32G32B32A32_SFLOAT, 16},
                {VK_FORMAT_R64_SFLOAT, 8},
                {VK_FORMAT_R64G64_SFLOAT, 16},
                {VK_FORMAT_R64G64B64_SFLOAT, 24},
                {VK_FORMAT_R64G64B64A64_SFLOAT, 32},
                {VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, 4},
                {VK_FORMAT_D16_UNORM, 2},
                {VK_FORMAT_D32_SFLOAT, 4},
                {VK_FORMAT_S8_UINT, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((uint32_t)format <= (uint32_t)rows[i].last)
            return rows[i].bytes;
    return 0;
}

bool vulkan_format_known(VkFormat format) {
    static const struct {
        VkFormat first, last;
    } ranges[] = {{VK_FORMAT_UNDEFINED, VK_FORMAT_ASTC_12x12_SRGB_BLOCK},
                  {VK_FORMAT_ASTC_4x4_SFLOAT_BLOCK, VK_FORMAT_ASTC_12x12_SFLOAT_BLOCK},
                  {VK_FORMAT_G8B8G8R8_422_UNORM, VK_FORMAT_G16_B16_R16_3PLANE_444_UNORM},
                  {VK_FORMAT_G8_B8R8_2PLANE_444_UNORM, VK_FORMAT_G16_B16R16_2PLANE_444_UNORM},
                  {VK_FORMAT_A4R4G4B4_UNORM_PACK16, VK_FORMAT_A4B4G4R4_UNORM_PACK16}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if ((uint32_t)format >= (uint32_t)ranges[i].first && (uint32_t)format <= (uint32_t)ranges[i].last)
            return true;
    return false;
}

VkImageLayout vulkan_layout_read(VkImageLayout layout) {
    static const struct {
        VkImageLayout first, last;
    } ranges[] = {{VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_PREINITIALIZED},
                  {VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL,
                   VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL},
                  {VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL},
                  {VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL, VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL}};
    if (layout == VK_IMAGE_LAYOUT_PRESENT_SRC_KHR)
        return VK_IMAGE_LAYOUT_GENERAL;
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if ((uint32_t)layout >= (uint32_t)ranges[i].first && (uint32_t)layout <= (uint32_t)ranges[i].last)
            return layout;
    return VK_IMAGE_LAYOUT_MAX_ENUM;
}

VkImageAspectFlags vulkan_format_aspect(VkFormat format) {
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT:
        return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_S8_UINT:
        return VK_IMAGE_ASPECT_STENCIL_BIT;
    case VK_FORMAT_D16_UNORM_S8_UINT:
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default:
        return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

static uint32_t shrink(uint32_t size, uint32_t level) {
    return level < 32 && size >> level ? size >> level : 1;
}

bool vulkan_format_both(VkFormat format) {
    return vulkan_format_aspect(format) == (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
}

uint32_t vulkan_aspect_bytes(VkFormat format, VkImageAspectFlags aspect) {
    if (!vulkan_format_both(format))
        return vulkan_format_bytes(format);
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return 1;
    return format == VK_FORMAT_D16_UNORM_S8_UINT ? 2 : 4;
}

// What is copied of one aspect, from byte *at on. False: more than `most`.
static bool add_copies(const struct vulkan_texels *texels, VkImageAspectFlags aspect, uint64_t most,
                       VkBufferImageCopy *copies, uint64_t *at) {
    const uint64_t texel = vulkan_aspect_bytes(texels->format, aspect);
    for (uint32_t level = 0; level < texels->levels; level++) {
        const VkExtent3D size = {shrink(texels->extent.width, level), shrink(texels->extent.height, level),
                                 shrink(texels->extent.depth, level)};
        uint64_t length;
        *at = (*at + texel * 4 - 1) / (texel * 4) *
              (texel * 4); // offsets are multiples of a texel and of 4 bytes
        copies[level] = (VkBufferImageCopy){
            .bufferOffset = *at, .imageSubresource = {aspect, level, 0, texels->layers}, .imageExtent = size};
        if (__builtin_mul_overflow((uint64_t)size.width * size.height, size.depth, &length) ||
            __builtin_mul_overflow(length, texels->layers * texel, &length) || *at > most ||
            length > most - *at)
            return false;
        *at += length;
    }
    return true;
}

uint32_t vulkan_image_copies(const struct vulkan_texels *texels, uint64_t most,
                             VkBufferImageCopy copies[VULKAN_COPIES_MOST], uint64_t *bytes) {
    const bool both = vulkan_format_both(texels->format);
    const VkImageAspectFlags aspect = both ? VK_IMAGE_ASPECT_DEPTH_BIT : vulkan_format_aspect(texels->format);
    uint64_t at = 0;
    *bytes = 0;
    if (!vulkan_aspect_bytes(texels->format, aspect) || texels->levels > VULKAN_LEVELS_MOST ||
        !add_copies(texels, aspect, most, copies, &at) ||
        (both && !add_copies(texels, VK_IMAGE_ASPECT_STENCIL_BIT, most, copies + texels->levels, &at)))
        return 0;
    *bytes = at;
    return both ? 2 * texels->levels : texels->levels;
}

void vulkan_clear_unused(VkFormat format, const VkBufferImageCopy *copies, uint32_t count, uint8_t *bytes,
                         uint64_t size) {
    const bool has_24 = format == VK_FORMAT_D24_UNORM_S8_UINT || format == VK_FORMAT_X8_D24_UNORM_PACK32;
    for (uint32_t i = 0; i < count; i++) {
        const VkImageSubresourceLayers *part = &copies[i].imageSubresource;
        const VkExtent3D extent = copies[i].imageExtent;
        const uint64_t begin = copies[i].bufferOffset,
                       next = i + 1 < count ? copies[i + 1].bufferOffset : size,
                       end = begin + (uint64_t)extent.width * extent.height * extent.depth *
                                         part->layerCount * vulkan_aspect_bytes(format, part->aspectMask);
        if (end > next || next > size)
            return; // not those of these bytes
        for (uint64_t at = begin + 3; has_24 && part->aspectMask == VK_IMAGE_ASPECT_DEPTH_BIT && at < end;
             at += 4)
            bytes[at] = 0;
        memset(bytes + end, 0, next - end);
    }
}

VkImageMemoryBarrier vulkan_transition(VkImage image, VkFormat format, uint32_t levels, uint32_t layers,
                                       VkImageLayout from, VkImageLayout to) {
    return (VkImageMemoryBarrier){.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
                                  .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
                                  .oldLayout = from,
                                  .newLayout = to,
                                  .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                  .image = image,
                                  .subresourceRange = {vulkan_format_aspect(format), 0, levels, 0, layers}};
}

#endif
