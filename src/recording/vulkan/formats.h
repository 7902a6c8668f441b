// SPDX-License-Identifier: Apache-2.0
// How an image's content lies in a recording: level after level, in each the layers one after the other, without padding in rows.
#ifndef RECORDING_VULKAN_FORMATS_H
#define RECORDING_VULKAN_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

enum { VULKAN_LEVELS_MOST = 32 };

bool vulkan_format_known(VkFormat format); // of Vulkan 1.3
// A layout as a replay uses it, which presents nothing: GENERAL for that of a present, MAX_ENUM for one that is not of Vulkan 1.3. That
// may be an unused member.
VkImageLayout vulkan_layout_read(VkImageLayout layout);
// Bytes of a texel; 0: the content of such images is not captured (compressed, several planes, depth with stencil).
uint32_t vulkan_format_bytes(VkFormat format);
VkImageAspectFlags vulkan_format_aspect(VkFormat format);
// The copies of all levels between an image and a buffer, and their number; *bytes: of the buffer, 0 if it is not captured or has
// more than `most`.
uint32_t vulkan_image_copies(VkFormat format, VkExtent3D extent, uint32_t levels, uint32_t layers,
                             uint64_t most, VkBufferImageCopy copies[VULKAN_LEVELS_MOST], uint64_t *bytes);
// All of an image from one layout to another, after all writes and before all accesses.
VkImageMemoryBarrier vulkan_transition(VkImage image, VkFormat format, uint32_t levels, uint32_t layers,
                                       VkImageLayout from, VkImageLayout to);

#endif
