// SPDX-License-Identifier: Apache-2.0
// How an image's content lies in a recording: level after level, in each the layers one after the other, without padding in rows. Of an
// image with both depth and stencil first all of the depth.
#ifndef RECORDING_VULKAN_FORMATS_H
#define RECORDING_VULKAN_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

enum { VULKAN_LEVELS_MOST = 32, VULKAN_COPIES_MOST = 2 * VULKAN_LEVELS_MOST };

bool vulkan_format_known(VkFormat format); // of Vulkan 1.3
// A layout as a replay uses it, which presents nothing: GENERAL for that of a present, MAX_ENUM for one that is not of Vulkan 1.3. That
// may be an unused member.
VkImageLayout vulkan_layout_read(VkImageLayout layout);
// The layouts of an image with its content, as one value: of its depth or color, and of its stencil where it has another one.
static inline uint64_t vulkan_layouts_put(VkImageLayout layout, VkImageLayout stencil) {
    return (uint64_t)(uint32_t)layout | (stencil != layout ? (uint64_t)stencil << 32 : 0);
}
static inline VkImageLayout vulkan_layouts_get(uint64_t value, bool stencil) {
    return vulkan_layout_read((VkImageLayout)(uint32_t)(stencil && value >> 32 ? value >> 32 : value));
}
// Bytes of a texel; 0: compressed, of several planes, or depth with stencil.
uint32_t vulkan_format_bytes(VkFormat format);
// The same in a copy of one aspect; 0: the content of such images is not captured.
uint32_t vulkan_aspect_bytes(VkFormat format, VkImageAspectFlags aspect);
VkImageAspectFlags vulkan_format_aspect(VkFormat format);
bool vulkan_format_both(VkFormat format); // depth and stencil
struct vulkan_texels {
    VkFormat format;
    VkExtent3D extent;
    uint32_t levels, layers;
};
// The copies of all levels between an image and a buffer, and their number; *bytes: of the buffer, 0 if it is not captured or has
// more than `most`.
uint32_t vulkan_image_copies(const struct vulkan_texels *texels, uint64_t most,
                             VkBufferImageCopy copies[VULKAN_COPIES_MOST], uint64_t *bytes);
// What is in no texel of a copy may be anything, and becomes 0: a byte of each depth of 24 bits, and what is between the levels.
void vulkan_clear_unused(VkFormat format, const VkBufferImageCopy *copies, uint32_t count, uint8_t *bytes,
                         uint64_t size);
// All of an image from one layout to another, after all writes and before all accesses.
VkImageMemoryBarrier vulkan_transition(VkImage image, VkFormat format, uint32_t levels, uint32_t layers,
                                       VkImageLayout from, VkImageLayout to);

#endif
