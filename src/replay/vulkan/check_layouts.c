// SPDX-License-Identifier: Apache-2.0
// The layouts that images have (check.c), by level and layer, in the order of the commands. A command that uses an image in another one is
// refused. An image of which the frame has no content is moved to the layout that is asked for first: nothing is in it. Depth and stencil
// of an image that has both are two planes, with layouts of their own.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/vulkan/check.h"

// What a render pass does in between is its own.
static const VkImageLayout any = VK_IMAGE_LAYOUT_MAX_ENUM;

struct part {
    struct vulkan_live *image; // NULL: nothing that is known
    uint32_t level, levels, layer, layers;
    uint32_t first, planes;
};

static const VkImageAspectFlags of_depth = VK_IMAGE_ASPECT_DEPTH_BIT,
                                of_stencil = VK_IMAGE_ASPECT_STENCIL_BIT,
                                of_all = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;

static uint32_t planes_of(const struct vulkan_live *image) {
    return vulkan_format_both(image->image.format) ? 2 : 1;
}

static bool is_stencil(const struct vulkan_live *image, uint32_t plane) {
    return plane || vulkan_format_aspect(image->image.format) == of_stencil;
}

static struct vulkan_live *find_image(struct vulkan_run *run, VkImage handle) {
    const struct vulkan_live *found = image_of(run, handle);
    return found ? vulkan_find(run, found->number, VULKAN_IMAGE) : NULL;
}

static uint32_t rest_of(uint32_t first, uint32_t count, uint32_t all) {
    return count == VK_REMAINING_MIP_LEVELS && first < all ? all - first : count;
}

// Levels or layers that the image does not have are refused elsewhere.
static struct part part_of(struct vulkan_live *image, VkImageAspectFlags aspects, uint32_t level,
                           uint32_t levels, uint32_t layer, uint32_t layers) {
    if (!image || !image->handle)
        return (struct part){0};
    const bool both = planes_of(image) > 1;
    const uint32_t first = both && !(aspects & of_depth);
    if (both && !(aspects & of_all))
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
    return (struct part){
        image, level, levels, layer, layers, first, both && (aspects & of_all) == of_all ? 2 : 1};
}

static struct part part_of_range(struct vulkan_live *image, const VkImageSubresourceRange *range) {
    return part_of(image, range->aspectMask, range->baseMipLevel, range->levelCount, range->baseArrayLayer,
                   range->layerCount);
}

static struct part part_of_layers(struct vulkan_live *image, const VkImageSubresourceLayers *at) {
    return part_of(image, at->aspectMask, at->mipLevel, 1, at->baseArrayLayer, at->layerCount);
}

static struct part part_of_view(struct vulkan_run *run, const struct vulkan_live *view,
                                VkImageAspectFlags aspects) {
    return view && view->handle ? part_of(vulkan_find(run, view->of, VULKAN_IMAGE), aspects, view->base_level,
                                          view->image.mipLevels, view->base_layer, view->image.arrayLayers)
                                : (struct part){0};
}

static VkImageLayout *layouts_of(struct vulkan_run *run, struct vulkan_live *image) {
    if (!image->layouts && ARRAY_RESERVE(run->laid_out, run->laid_out_capacity, run->laid_out_count + 1)) {
        image->layouts = calloc((size_t)planes_of(image) * image->image.mipLevels * image->image.arrayLayers,
                                sizeof *image->layouts);
        if (image->layouts)
            run->laid_out[run->laid_out_count++] = (size_t)(image - run->lives);
    }
    return image->layouts; // UNDEFINED is 0
}

// Once they are there.
static VkImageLayout *layout_at(const struct vulkan_live *image, uint32_t plane, uint32_t level,
                                uint32_t layer) {
    return &image->layouts[((size_t)plane * image->image.mipLevels + level) * image->image.arrayLayers +
                           layer];
}

// Layouts with names for one aspect, and for any, are the same for that aspect.
static VkImageLayout plain(VkImageLayout layout, bool stencil) {
    switch (layout) {
    case VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL:
        return stencil ? VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL : VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL;
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL:
        return stencil ? VK_IMAGE_LAYOUT_READ_ONLY_OPTIMAL : VK_IMAGE_LAYOUT_ATTACHMENT_OPTIMAL;
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
    for (uint32_t plane = part->first; layouts && plane < part->first + part->planes; plane++)
        for (uint32_t i = 0; i < part->levels; i++)
            for (uint32_t j = 0; j < part->layers; j++)
                *layout_at(part->image, plane, part->level + i, part->layer + j) = layout;
}

static void move_aspects(struct vulkan_run *run, const struct vulkan_live *image, VkImageAspectFlags aspects,
                         uint32_t level, uint32_t layer, VkImageLayout to) {
    VkImageMemoryBarrier barrier = vulkan_transition((VkImage)(uintptr_t)image->handle, image->image.format,
                                                     1, 1, VK_IMAGE_LAYOUT_UNDEFINED, to);
    barrier.subresourceRange.aspectMask = aspects;
    barrier.subresourceRange.baseMipLevel = level;
    barrier.subresourceRange.baseArrayLayer = layer;
    run->device->CmdPipelineBarrier(run->into, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

static bool use_layer(struct vulkan_run *run, struct vulkan_live *image, uint32_t plane, uint32_t level,
                      uint32_t layer, VkImageLayout layout) {
    const bool stencil = is_stencil(image, plane);
    VkImageLayout *now = layout_at(image, plane, level, layer);
    if (*now == any || plain(*now, stencil) == plain(layout, stencil))
        return true;
    REQUIRE(*now == VK_IMAGE_LAYOUT_UNDEFINED && run->now.place == VULKAN_OUTSIDE &&
                check_layout_used(layout),
            "an image is used in another layout than it has");
    // Of two planes a device may have to move both at once.
    const bool both = planes_of(image) > 1, one = both && run->device->v12.separateDepthStencilLayouts;
    VkImageLayout *other = both && !one ? layout_at(image, !plane, level, layer) : now;
    REQUIRE(*other == VK_IMAGE_LAYOUT_UNDEFINED, "an image is used in another layout than it has");
    move_aspects(run, image,
                 one ? (plane ? of_stencil : of_depth) : vulkan_format_aspect(image->image.format), level,
                 layer, layout);
    *now = *other = layout;
    return true;
}

// A part of an image is used in this layout.
static bool use_part(struct vulkan_run *run, const struct part *part, VkImageLayout layout) {
    VkImageLayout *layouts = part->image ? layouts_of(run, part->image) : NULL;
    REQUIRE(!part->image || layouts, "out of memory");
    for (uint32_t plane = part->first; layouts && plane < part->first + part->planes; plane++)
        for (uint32_t i = 0; i < part->levels; i++)
            for (uint32_t j = 0; j < part->layers; j++)
                if (!use_layer(run, part->image, plane, part->level + i, part->layer + j, layout))
                    return false;
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
    if (run->now.place != VULKAN_OUTSIDE || (from == to && plain(from, false) == VK_IMAGE_LAYOUT_UNDEFINED))
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
    return part_of_view(run, frame->numbers ? vulkan_find(run, frame->numbers[i], VULKAN_IMAGE_VIEW) : NULL,
                        of_all);
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

static bool use_attachment(struct vulkan_run *run, const VkRenderingAttachmentInfo *at,
                           VkImageAspectFlags aspect) {
    if (!at || !at->imageView)
        return true;
    const struct part part = part_of_view(run, view_of(run, at->imageView), aspect),
                      resolved = part_of_view(
                          run, at->resolveMode ? view_of(run, at->resolveImageView) : NULL, aspect);
    return use_part(run, &part, at->imageLayout) && use_part(run, &resolved, at->resolveImageLayout);
}

CHECK(CmdBeginRendering) {
    for (uint32_t i = 0; i < at->i->colorAttachmentCount; i++)
        if (!use_attachment(run, &at->i->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT))
            return false;
    return use_attachment(run, at->i->pDepthAttachment, of_depth) &&
           use_attachment(run, at->i->pStencilAttachment, of_stencil);
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

bool check_view_layout(struct vulkan_run *run, uint64_t number, VkImageLayout layout) {
    const struct vulkan_live *view = vulkan_find(run, number, VULKAN_IMAGE_VIEW);
    const struct part part = part_of_view(run, view, view ? view->aspects : 0);
    return use_part(run, &part, layout);
}

bool vulkan_layouts_are(struct vulkan_run *run, struct vulkan_live *image, const VkImageLayout layouts[2]) {
    if (!layouts_of(run, image))
        return false;
    const size_t count = (size_t)image->image.mipLevels * image->image.arrayLayers;
    for (uint32_t plane = 0; plane < planes_of(image); plane++)
        for (size_t i = 0; i < count; i++)
            if (plain(image->layouts[plane * count + i], is_stencil(image, plane)) !=
                plain(layouts[plane], is_stencil(image, plane)))
                return false;
    return true;
}

void vulkan_layouts_set(struct vulkan_run *run, struct vulkan_live *image, const VkImageLayout layouts[2]) {
    static const VkImageAspectFlags aspects[2] = {VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT};
    for (uint32_t plane = 0; plane < planes_of(image); plane++) {
        const struct part all =
            part_of(image, aspects[plane], 0, image->image.mipLevels, 0, image->image.arrayLayers);
        set_layout(run, &all, layouts[plane]);
    }
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
