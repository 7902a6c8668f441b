// SPDX-License-Identifier: Apache-2.0
// The layouts that images have (check.c), by level and layer, in the order of the commands. A command that uses an image in another one is
// refused. An image of which the frame has no content is moved to the layout that is asked for first: nothing is in it. Images with both
// depth and stencil, whose content is not captured, are left out.
#if __has_include(<vulkan/vulkan_core.h>)

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/vulkan/check.h"

// What a render pass does in between is its own.
static const VkImageLayout any = VK_IMAGE_LAYOUT_MAX_ENUM;

struct part {
    struct vulkan_live *image; // NULL: nothing that is known
    uint32_t level, levels, layer, layers;
};

static bool is_known(const struct vulkan_live *image) {
    static const VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    return image && image->handle && (vulkan_format_aspect(image->image.format) & both) != both;
}

static struct vulkan_live *find_image(struct vulkan_run *run, VkImage handle) {
    const struct vulkan_live *found = image_of(run, handle);
    return found ? vulkan_find(run, found->number, VULKAN_IMAGE) : NULL;
}

static uint32_t rest_of(uint32_t first, uint32_t count, uint32_t all) {
    return count == VK_REMAINING_MIP_LEVELS && first < all ? all - first : count;
}

// Levels or layers that the image does not have are refused elsewhere.
static struct part part_of(struct vulkan_live *image, uint32_t level, uint32_t levels, uint32_t layer,
                           uint32_t layers) {
    if (!is_known(image))
        return (struct part){0};
    if (image->image.imageType == VK_IMAGE_TYPE_3D) { // slices have no layouts of their own
        layer = 0;
        layers = 1;
    }
    levels = rest_of(level, levels, image->image.mipLevels);
    layers = rest_of(layer, layers, image->image.arrayLayers);
    if (!is_inside(level, levels, image->image.mipLevels) ||
        !is_inside(layer, layers, image->image.arrayLayers))
        return (struct part){0};
    return (struct part){image, level, levels, layer, layers};
}

static struct part part_of_range(struct vulkan_live *image, const VkImageSubresourceRange *range) {
    return part_of(image, range->baseMipLevel, range->levelCount, range->baseArrayLayer, range->layerCount);
}

static struct part part_of_layers(struct vulkan_live *image, const VkImageSubresourceLayers *at) {
    return part_of(image, at->mipLevel, 1, at->baseArrayLayer, at->layerCount);
}

static struct part part_of_view(struct vulkan_run *run, const struct vulkan_live *view) {
    return view && view->handle ? part_of(vulkan_find(run, view->of, VULKAN_IMAGE), view->base_level,
                                          view->image.mipLevels, view->base_layer, view->image.arrayLayers)
                                : (struct part){0};
}

static VkImageLayout *layouts_of(struct vulkan_run *run, struct vulkan_live *image) {
    if (!image->layouts && ARRAY_RESERVE(run->laid_out, run->laid_out_capacity, run->laid_out_count + 1)) {
        image->layouts =
            calloc((size_t)image->image.mipLevels * image->image.arrayLayers, sizeof *image->layouts);
        if (image->layouts)
            run->laid_out[run->laid_out_count++] = (size_t)(image - run->lives);
    }
    return image->layouts; // UNDEFINED is 0
}

// Layouts with names for one aspect, and for any, are the same for an image that has one.
static VkImageLayout plain(VkImageLayout layout) {
    switch (layout) {
    case VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL:
        return VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL;
    case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL:
    case VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL:
        return VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL;
    case VK_IMAGE_LAYOUT_PREINITIALIZED:
        return VK_IMAGE_LAYOUT_UNDEFINED;
    default:
        return layout;
    }
}

static void set_layout(struct vulkan_run *run, const struct part *part, VkImageLayout layout) {
    VkImageLayout *layouts = part->image ? layouts_of(run, part->image) : NULL;
    for (uint32_t i = 0; layouts && i < part->levels; i++)
        for (uint32_t j = 0; j < part->layers; j++)
            layouts[(size_t)(part->level + i) * part->image->image.arrayLayers + part->layer + j] = layout;
}

static void move_layer(struct vulkan_run *run, const struct vulkan_live *image, uint32_t level,
                       uint32_t layer, VkImageLayout to) {
    VkImageMemoryBarrier barrier = vulkan_transition((VkImage)(uintptr_t)image->handle, image->image.format,
                                                     1, 1, VK_IMAGE_LAYOUT_UNDEFINED, to);
    barrier.subresourceRange.baseMipLevel = level;
    barrier.subresourceRange.baseArrayLayer = layer;
    run->device->CmdPipelineBarrier(run->into, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

// A part of an image is used in this layout.
static bool use_part(struct vulkan_run *run, const struct part *part, VkImageLayout layout) {
    VkImageLayout *layouts = part->image ? layouts_of(run, part->image) : NULL;
    REQUIRE(!part->image || layouts, "out of memory");
    for (uint32_t i = 0; layouts && i < part->levels; i++)
        for (uint32_t j = 0; j < part->layers; j++) {
            const uint32_t level = part->level + i, layer = part->layer + j;
            VkImageLayout *now = &layouts[(size_t)level * part->image->image.arrayLayers + layer];
            if (*now == any || plain(*now) == plain(layout))
                continue;
            REQUIRE(*now == VK_IMAGE_LAYOUT_UNDEFINED && run->now.place == VULKAN_OUTSIDE &&
                        check_layout_used(layout),
                    "an image is used in another layout than it has");
            move_layer(run, part->image, level, layer, layout);
            *now = layout;
        }
    return true;
}

// ---- commands

#define CHECK(name) static bool layouts_##name(struct vulkan_run *run, const struct call_##name *at)

static bool use_layers(struct vulkan_run *run, VkImage image, const VkImageSubresourceLayers *layers,
                       VkImageLayout layout) {
    const struct part part = part_of_layers(find_image(run, image), layers);
    return use_part(run, &part, layout);
}

// From one image to another.
#define COPIES(name)                                                                                         \
    CHECK(name) {                                                                                            \
        for (uint32_t i = 0; i < at->n; i++)                                                                 \
            if (!use_layers(run, at->s, &at->r[i].srcSubresource, at->l) ||                                  \
                !use_layers(run, at->d, &at->r[i].dstSubresource, at->m))                                    \
                return false;                                                                                \
        return true;                                                                                         \
    }
COPIES(CmdCopyImage)
COPIES(CmdBlitImage)
COPIES(CmdResolveImage)

CHECK(CmdCopyBufferToImage) {
    for (uint32_t i = 0; i < at->n; i++)
        if (!use_layers(run, at->d, &at->r[i].imageSubresource, at->l))
            return false;
    return true;
}
CHECK(CmdCopyImageToBuffer) {
    for (uint32_t i = 0; i < at->n; i++)
        if (!use_layers(run, at->s, &at->r[i].imageSubresource, at->l))
            return false;
    return true;
}

static bool clear(struct vulkan_run *run, VkImage image, VkImageLayout layout, uint32_t count,
                  const VkImageSubresourceRange *ranges) {
    for (uint32_t i = 0; i < count; i++) {
        const struct part part = part_of_range(find_image(run, image), &ranges[i]);
        if (!use_part(run, &part, layout))
            return false;
    }
    return true;
}
CHECK(CmdClearColorImage) {
    return clear(run, at->d, at->l, at->n, at->r);
}
CHECK(CmdClearDepthStencilImage) {
    return clear(run, at->d, at->l, at->n, at->r);
}

// Within a pass a barrier changes no layout.
static bool change_range(struct vulkan_run *run, VkImage image, const VkImageSubresourceRange *range,
                         VkImageLayout from, VkImageLayout to) {
    const struct part part = part_of_range(find_image(run, image), range);
    if (run->now.place != VULKAN_OUTSIDE || (from == to && plain(from) == VK_IMAGE_LAYOUT_UNDEFINED))
        return true;
    if (from != VK_IMAGE_LAYOUT_UNDEFINED && !use_part(run, &part, from))
        return false;
    set_layout(run, &part, to);
    return true;
}
CHECK(CmdPipelineBarrier) {
    for (uint32_t i = 0; i < at->l; i++)
        if (!change_range(run, at->i[i].image, &at->i[i].subresourceRange, at->i[i].oldLayout,
                          at->i[i].newLayout))
            return false;
    return true;
}
CHECK(CmdPipelineBarrier2) {
    for (uint32_t i = 0; i < at->i->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *barrier = &at->i->pImageMemoryBarriers[i];
        if (!change_range(run, barrier->image, &barrier->subresourceRange, barrier->oldLayout,
                          barrier->newLayout))
            return false;
    }
    return true;
}

// ---- passes

static struct part attachment_part(struct vulkan_run *run, const struct vulkan_live *frame, uint32_t i) {
    return part_of_view(run, frame->numbers ? vulkan_find(run, frame->numbers[i], VULKAN_IMAGE_VIEW) : NULL);
}

CHECK(CmdBeginRenderPass) {
    const struct vulkan_live *pass = pass_of(run, at->i->renderPass),
                             *frame = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->i->framebuffer,
                                                         VULKAN_FRAMEBUFFER);
    if (!pass || !frame || !pass->surfaces || frame->attachments != pass->attachments)
        return true; // it is refused elsewhere
    for (uint32_t i = 0; i < pass->attachments; i++) {
        const struct part part = attachment_part(run, frame, i);
        if (pass->surfaces[i].initial != VK_IMAGE_LAYOUT_UNDEFINED &&
            !use_part(run, &part, pass->surfaces[i].initial))
            return false;
    }
    for (uint32_t i = 0; i < pass->attachments; i++) {
        const struct part part = attachment_part(run, frame, i);
        set_layout(run, &part, any);
    }
    run->framebuffer = frame->number;
    return true;
}

CHECK(CmdEndRenderPass) {
    const struct vulkan_live *pass = vulkan_find(run, run->now.pass, VULKAN_PASS),
                             *frame = vulkan_find(run, run->framebuffer, VULKAN_FRAMEBUFFER);
    (void)at;
    for (uint32_t i = 0; run->now.place == VULKAN_IN_PASS && pass && frame && pass->surfaces &&
                         i < pass->attachments && i < frame->attachments;
         i++) {
        const struct part part = attachment_part(run, frame, i);
        set_layout(run, &part, pass->surfaces[i].final);
    }
    return true;
}

static bool use_attachment(struct vulkan_run *run, const VkRenderingAttachmentInfo *at) {
    if (!at || !at->imageView)
        return true;
    const struct part part = part_of_view(run, view_of(run, at->imageView)),
                      resolved =
                          part_of_view(run, at->resolveMode ? view_of(run, at->resolveImageView) : NULL);
    return use_part(run, &part, at->imageLayout) && use_part(run, &resolved, at->resolveImageLayout);
}

CHECK(CmdBeginRendering) {
    for (uint32_t i = 0; i < at->i->colorAttachmentCount; i++)
        if (!use_attachment(run, &at->i->pColorAttachments[i]))
            return false;
    return use_attachment(run, at->i->pDepthAttachment) && use_attachment(run, at->i->pStencilAttachment);
}

bool check_layouts(struct vulkan_run *run, enum vulkan_command number, const void *call) {
#define ROW(name)                                                                                            \
    case VULKAN_##name:                                                                                      \
        return layouts_##name(run, call);
    switch (number) {
        ROW(CmdCopyImage)
        ROW(CmdBlitImage)
        ROW(CmdResolveImage)
        ROW(CmdCopyBufferToImage)
        ROW(CmdCopyImageToBuffer)
        ROW(CmdClearColorImage)
        ROW(CmdClearDepthStencilImage)
        ROW(CmdPipelineBarrier)
        ROW(CmdPipelineBarrier2)
        ROW(CmdBeginRenderPass)
        ROW(CmdEndRenderPass)
        ROW(CmdBeginRendering)
    default:
        return true;
    }
#undef ROW
}

// ---- the replay's own

bool check_view_layout(struct vulkan_run *run, uint64_t view, VkImageLayout layout) {
    const struct part part = part_of_view(run, vulkan_find(run, view, VULKAN_IMAGE_VIEW));
    return use_part(run, &part, layout);
}

bool vulkan_layout_is(struct vulkan_run *run, struct vulkan_live *image, VkImageLayout layout) {
    VkImageLayout *layouts = is_known(image) ? layouts_of(run, image) : NULL;
    const size_t count = layouts ? (size_t)image->image.mipLevels * image->image.arrayLayers : 0;
    for (size_t i = 0; i < count; i++)
        if (plain(layouts[i]) != plain(layout))
            return false;
    return true;
}

void vulkan_layout_set(struct vulkan_run *run, struct vulkan_live *image, VkImageLayout layout) {
    const struct part all = part_of(image, 0, image->image.mipLevels, 0, image->image.arrayLayers);
    set_layout(run, &all, layout);
}

void vulkan_layouts_forget(struct vulkan_run *run) {
    for (size_t i = 0; i < run->laid_out_count; i++) {
        struct vulkan_live *image = &run->lives[run->laid_out[i]];
        free(image->layouts);
        image->layouts = NULL;
    }
    run->laid_out_count = 0;
}

#endif
