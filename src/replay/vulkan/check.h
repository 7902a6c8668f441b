// SPDX-License-Identifier: Apache-2.0
// What the checks of commands and of objects share. For check*.c alone.
#ifndef REPLAY_VULKAN_CHECK_H
#define REPLAY_VULKAN_CHECK_H

#include "recording/vulkan/formats.h"
#include "replay/vulkan/vulkan.h"

// A value is refused, and why.
static inline bool check_fails(struct vulkan_run *run, const char *reason) {
    if (!run->reason)
        run->reason = reason;
    return false;
}
#define REQUIRE(condition, why)                                                                              \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return check_fails(run, why);                                                                    \
    } while (0)

// ---- check_values.c
// Of a command by itself: masks, layouts, counts, and the usages of what it names.
bool check_values(struct vulkan_run *run, enum vulkan_command number, const void *call);
bool check_layout_used(VkImageLayout layout); // a known one that is not UNDEFINED or PREINITIALIZED
bool check_stages(VkPipelineStageFlags stages);
bool check_accesses(VkAccessFlags accesses);
bool check_viewports(struct vulkan_run *run, const VkViewport *all, uint32_t count);
bool check_scissors(struct vulkan_run *run, const VkRect2D *all, uint32_t count);

// ---- check_state.c
// Of a draw or a dispatch: whether what it uses is bound. Of a command that binds something: that it is bound now.
bool check_state(struct vulkan_run *run, enum vulkan_command number, const void *call);

// ---- set_layouts.c
bool check_same_layout(const struct vulkan_live *left, const struct vulkan_live *right); // of sets
// The binding with the lowest number from this one on that has descriptors; NULL: there is none. The others follow it.
const struct vulkan_binding *check_used_binding(const struct vulkan_live *layout, uint64_t from);

// ---- check_layouts.c
// Before the command: that the images which it uses have the layouts that it says, and those that they have after it.
bool check_layouts(struct vulkan_run *run, enum vulkan_command number, const void *call);
bool check_view_layout(struct vulkan_run *run, uint64_t view, VkImageLayout layout); // by its number

// ---- check_indirect.c
// What the command may write to buffers; the buffer that it reads its numbers from.
bool check_indirect(struct vulkan_run *run, enum vulkan_command number, const void *call);
bool check_may_write(const struct vulkan_binding *binding);
void check_writes_descriptor(struct vulkan_run *run, const struct vulkan_binding *binding, uint64_t number);

// ---- check_dynamic.c: dynamic state besides viewports and scissors
bool check_is_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state);
bool check_knows_dynamic(const struct vulkan_run *run, VkDynamicState state); // the device has it
void check_know_dynamic(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info);
// A command that sets one: its values, and that the device has it.
bool check_dynamic_values(struct vulkan_run *run, enum vulkan_command number, const void *call);
void check_set_dynamic(struct vulkan_bound *bound, enum vulkan_command number, const void *call);
// Of a draw: that what the pipeline needs is set, and fits the attachments of the pass.
bool check_dynamic_state(struct vulkan_run *run, const struct vulkan_needs *needs);

// ---- check_extended.c: what extensions say of a pipeline's state
bool check_extended(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info);
bool check_line_mode(struct vulkan_run *run, VkLineRasterizationModeEXT mode, bool stippled);
bool check_vertex_binding(struct vulkan_run *run, uint32_t binding, uint32_t stride);
bool check_vertex_attribute(struct vulkan_run *run, uint32_t location, VkFormat format, uint32_t offset);

// ---- check_features.c: features that what is made, or a command, needs of the device
bool check_pipeline_features(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info);
bool check_sampler_features(struct vulkan_run *run, const VkSamplerCreateInfo *info);
bool check_view_features(struct vulkan_run *run, const VkImageViewCreateInfo *info);
bool check_shader_features(struct vulkan_run *run, const struct vulkan_shader *shader);
bool check_command_features(struct vulkan_run *run, enum vulkan_command number, const void *call);

// ---- check_support.c: what the device supports
bool check_image(struct vulkan_run *run, const VkImageCreateInfo *info);
bool check_view_format(struct vulkan_run *run, const struct vulkan_live *image, VkFormat format);
bool check_buffer_format(struct vulkan_run *run, VkFormat format, VkFormatFeatureFlags features);
bool check_pipeline_limits(struct vulkan_run *run, const VkPipelineLayoutCreateInfo *info);
void check_count_stages(struct vulkan_live *layout); // of a set

static inline bool check_is_stipple(uint32_t factor) {
    return factor >= 1 && factor <= 256;
}

static inline uint32_t check_index_bytes(VkIndexType type) {
    return type == VK_INDEX_TYPE_UINT8_EXT ? 1 : type == VK_INDEX_TYPE_UINT16 ? 2 : 4;
}

static inline bool is_inside(uint64_t offset, uint64_t size, uint64_t whole) {
    return size <= whole && offset <= whole - size;
}

static inline uint64_t bytes_of(struct vulkan_run *run, VkBuffer buffer) {
    const struct vulkan_live *live = vulkan_find_handle(run, (uint64_t)(uintptr_t)buffer, VULKAN_BUFFER);
    return live ? live->bytes : 0;
}

static inline const struct vulkan_live *image_of(struct vulkan_run *run, VkImage image) {
    return vulkan_find_handle(run, (uint64_t)(uintptr_t)image, VULKAN_IMAGE);
}

static inline const struct vulkan_live *view_of(struct vulkan_run *run, VkImageView view) {
    return vulkan_find_handle(run, (uint64_t)(uintptr_t)view, VULKAN_IMAGE_VIEW);
}

static inline const struct vulkan_live *pass_of(struct vulkan_run *run, VkRenderPass pass) {
    return vulkan_find_handle(run, (uint64_t)(uintptr_t)pass, VULKAN_PASS);
}

static inline uint32_t shrink(uint32_t size, uint32_t level) {
    return size >> level ? size >> level : 1;
}

static inline bool axis_fits(int32_t from, uint32_t size, uint32_t whole) {
    return from >= 0 && is_inside((uint64_t)from, size, whole);
}

static inline bool area_fits(const VkRect2D *area, VkExtent2D whole) {
    return axis_fits(area->offset.x, area->extent.width, whole.width) &&
           axis_fits(area->offset.y, area->extent.height, whole.height);
}

static inline bool range_fits(const struct vulkan_live *live, const VkImageSubresourceRange *range) {
    if (!live)
        return false;
    const VkImageCreateInfo *image = &live->image;
    return range->baseMipLevel < image->mipLevels && range->baseArrayLayer < image->arrayLayers &&
           range->levelCount && range->layerCount &&
           (range->levelCount == VK_REMAINING_MIP_LEVELS ||
            is_inside(range->baseMipLevel, range->levelCount, image->mipLevels)) &&
           (range->layerCount == VK_REMAINING_ARRAY_LAYERS ||
            is_inside(range->baseArrayLayer, range->layerCount, image->arrayLayers));
}

// Some aspects of the format, and no others.
static inline bool aspects_fit(VkFormat format, VkImageAspectFlags aspects) {
    return aspects && !(aspects & ~vulkan_format_aspect(format));
}

#endif
