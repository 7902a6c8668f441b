// SPDX-License-Identifier: Apache-2.0
// The layouts of images: what each command buffer expects and leaves, and what an image has after a submission. Copies of content need
// it. An image of which parts have different layouts is `mixed`. Rules: recorder.h.
#include "base/array.h"
#include "recorder.h"

static struct object *find(uint32_t kind, const void *handle) {
    return object_find(kind, (uint64_t)(uintptr_t)handle);
}

void effect_add(struct object *commands, struct object *image, uint32_t plane, VkImageLayout from,
                VkImageLayout to, bool whole) {
    for (size_t i = 0; i < commands->effect_count; i++) {
        struct effect *effect = &commands->effects[i];
        if (effect->image != image || effect->plane != plane)
            continue;
        effect->whole = whole || (effect->whole && effect->to == to);
        effect->to = to;
        return;
    }
    if (ARRAY_RESERVE(commands->effects, commands->effect_capacity, commands->effect_count + 1))
        commands->effects[commands->effect_count++] =
            (struct effect){.image = image, .plane = plane, .from = from, .to = to, .whole = whole};
    else
        words_missing(&commands->words, "out of memory");
}

static const VkImageAspectFlags of_depth = VK_IMAGE_ASPECT_DEPTH_BIT,
                                of_stencil = VK_IMAGE_ASPECT_STENCIL_BIT;

// To the planes of these aspects.
static void add_effects(struct object *commands, struct object *image, VkImageAspectFlags aspects,
                        VkImageLayout from, VkImageLayout to, bool whole) {
    for (uint32_t plane = 0; plane < image->plane_count; plane++)
        if (image->plane_count == 1 || aspects & (plane ? of_stencil : of_depth))
            effect_add(commands, image, plane, from, to, whole);
}

// Whether a view of the image, or a framebuffer with one, is among the first uses of a command buffer: what was in the image may have been
// used then. Of descriptor sets it is known only when they are submitted (submit.c).
static bool is_viewed(const struct object *commands, const struct object *image, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct object *object = commands->uses[i].object;
        for (size_t j = 0; object->kind == VULKAN_FRAMEBUFFER && j < object->use_count; j++)
            if (object->uses[j].object->kind == VULKAN_IMAGE_VIEW && object->uses[j].object->use_count &&
                object->uses[j].object->uses[0].object == image)
                return true;
        if (object->kind == VULKAN_IMAGE_VIEW && object->use_count && object->uses[0].object == image)
            return true;
    }
    return false;
}

bool effect_is_viewed(const struct object *commands, const struct object *image) {
    return is_viewed(commands, image, commands->use_count);
}

// A command names the image itself, and does not write all of it: barriers are none. Other levels and layers may have other layouts.
static void touch(struct object *commands, VkImage handle, VkImageLayout layout) {
    struct object *image = find(VULKAN_IMAGE, handle);
    bool found = false;
    for (size_t i = 0; image && i < commands->effect_count; i++)
        if (commands->effects[i].image == image) {
            commands->effects[i].touched |= !commands->effects[i].fresh;
            found = true;
        }
    if (!image || found || image->plane_count > 1)
        return;
    effect_add(commands, image, 0, layout, layout, image->levels == 1 && image->layers == 1);
    if (commands->effect_count && commands->effects[commands->effect_count - 1].image == image)
        commands->effects[commands->effect_count - 1].touched = true;
}

// What was written last to all texels of an image, in this layout. Commands that do so with both depth and stencil are not looked for.
static void define(struct object *commands, struct object *image, VkImageLayout layout) {
    if (image->plane_count > 1)
        return;
    size_t i = 0;
    while (i < commands->effect_count && commands->effects[i].image != image)
        i++;
    if (i == commands->effect_count)
        effect_add(commands, image, 0, layout, layout, true);
    if (i == commands->effect_count || commands->effects[i].image != image)
        return; // out of memory
    commands->effects[i].defines = true;
    commands->effects[i].fresh |=
        !commands->effects[i].touched && !is_viewed(commands, image, commands->used_before);
}

static bool is_whole(const struct object *image, const VkImageSubresourceRange *range) {
    return range->baseMipLevel == 0 && range->baseArrayLayer == 0 && range->levelCount >= image->levels &&
           range->layerCount >= image->layers;
}

// What was written before does not count, nor what a pass writes and does not store.
static void discard(struct object *commands, const struct object *image) {
    for (size_t i = 0; i < commands->effect_count; i++)
        if (commands->effects[i].image == image) {
            commands->effects[i].defines = false;
            commands->effects[i].discards = true;
        }
}

static bool covers(const struct object *image, VkOffset3D from, VkExtent3D size) {
    return image && image->levels == 1 && image->layers == 1 && !from.x && !from.y && !from.z &&
           size.width >= image->extent.width && size.height >= image->extent.height &&
           size.depth >= image->extent.depth;
}

static bool area_covers(const struct object *image, const VkRect2D *area) {
    return covers(image, (VkOffset3D){area->offset.x, area->offset.y, 0},
                  (VkExtent3D){area->extent.width, area->extent.height, 1});
}

static struct object *image_of(const struct object *view) {
    return view && view->use_count ? view->uses[0].object : NULL;
}

// ---- between queue families
//
// One family releases a resource, another acquires it, both with the same barrier. The layout of an image is changed once, in between: here
// and in the recording (VkImageMemoryBarrier's words) by the barrier that acquires.

void transfer_add(struct object *commands, struct object *resource, bool acquires) {
    if (ARRAY_RESERVE(commands->transfers, commands->transfer_capacity, commands->transfer_count + 1))
        commands->transfers[commands->transfer_count++] = (struct transfer){resource, acquires};
    else
        words_missing(&commands->words, "out of memory");
}

// Whether the barrier releases, so that another one changes the layout.
static bool transfers(struct object *commands, uint32_t kind, const void *handle, uint32_t from,
                      uint32_t to) {
    struct object *resource = find(kind, handle);
    if (!resource || !words_family_changes(from, to))
        return false;
    const bool releases = words_family_releases(&commands->words, from, to);
    transfer_add(commands, resource, !releases);
    return releases;
}

static void transfer_buffers(struct object *commands, const struct call_CmdPipelineBarrier *at) {
    for (uint32_t i = 0; i < at->k; i++)
        transfers(commands, VULKAN_BUFFER, at->b[i].buffer, at->b[i].srcQueueFamilyIndex,
                  at->b[i].dstQueueFamilyIndex);
}

static void transfer_buffers2(struct object *commands, const VkDependencyInfo *at) {
    for (uint32_t i = 0; i < at->bufferMemoryBarrierCount; i++)
        transfers(commands, VULKAN_BUFFER, at->pBufferMemoryBarriers[i].buffer,
                  at->pBufferMemoryBarriers[i].srcQueueFamilyIndex,
                  at->pBufferMemoryBarriers[i].dstQueueFamilyIndex);
}

static void barrier(struct object *commands, VkImage handle, VkImageLayout from, VkImageLayout to,
                    const VkImageSubresourceRange *range) {
    struct object *image = find(VULKAN_IMAGE, handle);
    if (image && from != to && from == VK_IMAGE_LAYOUT_UNDEFINED)
        discard(commands, image);
    if (image && from != to)
        add_effects(commands, image, range->aspectMask, from, to, is_whole(image, range));
}

// The image of a view is what the view was made of.
static void attach(struct object *commands, const struct object *view, VkImageAspectFlags aspects,
                   VkImageLayout from, VkImageLayout to) {
    struct object *image = image_of(view);
    if (image && from == VK_IMAGE_LAYOUT_UNDEFINED)
        discard(commands, image);
    if (image)
        add_effects(commands, image, aspects, from, to, is_whole(image, &view->range));
}

// A framebuffer was made of a pass and its views, in this order.
static void begin_pass(struct object *commands, const VkRenderPassBeginInfo *info) {
    const struct object *pass = find(VULKAN_PASS, info->renderPass),
                        *framebuffer = find(VULKAN_FRAMEBUFFER, info->framebuffer);
    if (!pass || !framebuffer)
        return;
    if (framebuffer->use_count != pass->attachment_count + (size_t)1) {
        words_missing(&commands->words, "a framebuffer that has an image twice");
        return;
    }
    for (uint32_t i = 0; i < pass->attachment_count; i++)
        attach(commands, framebuffer->uses[i + 1].object, of_depth | of_stencil, pass->initial[i],
               pass->final[i]);
    for (uint32_t i = 0; i < pass->attachment_count; i++) {
        struct object *image = image_of(framebuffer->uses[i + 1].object);
        if (image && pass->forgets[i])
            discard(commands, image);
        else if (pass->clears[i] && area_covers(image, &info->renderArea))
            define(commands, image, pass->final[i]);
        else if (image && pass->drops[i])
            discard(commands, image);
    }
}

static void begin_rendering(struct object *commands, const VkRect2D *area, VkImageAspectFlags aspect,
                            const VkRenderingAttachmentInfo *attachment) {
    if (!attachment || !attachment->imageView)
        return;
    const bool loads = attachment->loadOp == VK_ATTACHMENT_LOAD_OP_LOAD;
    attach(commands, find(VULKAN_IMAGE_VIEW, attachment->imageView), aspect,
           loads ? attachment->imageLayout : VK_IMAGE_LAYOUT_UNDEFINED, attachment->imageLayout);
    struct object *image = image_of(find(VULKAN_IMAGE_VIEW, attachment->imageView));
    if (image && attachment->storeOp != VK_ATTACHMENT_STORE_OP_STORE)
        discard(commands, image);
    else if (attachment->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR && area_covers(image, area))
        define(commands, image, attachment->imageLayout);
    struct object *resolved = attachment->resolveMode && attachment->resolveImageView
                                  ? find(VULKAN_IMAGE_VIEW, attachment->resolveImageView)
                                  : NULL;
    attach(commands, resolved, aspect, attachment->resolveImageLayout, attachment->resolveImageLayout);
    if (area_covers(image_of(resolved), area))
        define(commands, image_of(resolved), attachment->resolveImageLayout);
}

// Copies from images, and those that write a part of one.
static void touch_images(struct object *commands, uint32_t number, const void *call) {
    if (number == VULKAN_CmdCopyImage) {
        const struct call_CmdCopyImage *at = call;
        touch(commands, at->s, at->l);
        touch(commands, at->d, at->m);
    } else if (number == VULKAN_CmdBlitImage) {
        const struct call_CmdBlitImage *at = call;
        touch(commands, at->s, at->l);
        touch(commands, at->d, at->m);
    } else if (number == VULKAN_CmdResolveImage) {
        const struct call_CmdResolveImage *at = call;
        touch(commands, at->s, at->l);
        touch(commands, at->d, at->m);
    } else if (number == VULKAN_CmdCopyBufferToImage) {
        const struct call_CmdCopyBufferToImage *at = call;
        touch(commands, at->d, at->l);
    } else if (number == VULKAN_CmdCopyImageToBuffer) {
        const struct call_CmdCopyImageToBuffer *at = call;
        touch(commands, at->s, at->l);
    } else if (number == VULKAN_CmdClearColorImage) {
        const struct call_CmdClearColorImage *at = call;
        touch(commands, at->d, at->l);
    }
}

// Transfers that write a whole image.
static void transfer(struct object *commands, uint32_t number, const void *call) {
    if (number == VULKAN_CmdClearDepthStencilImage) {
        const struct call_CmdClearDepthStencilImage *at = call;
        struct object *image = find(VULKAN_IMAGE, at->d);
        if (image && at->n && is_whole(image, &at->r[0]))
            define(commands, image, at->l);
    } else if (number == VULKAN_CmdClearColorImage) {
        const struct call_CmdClearColorImage *at = call;
        struct object *image = find(VULKAN_IMAGE, at->d);
        if (image && at->n && is_whole(image, &at->r[0]))
            define(commands, image, at->l);
    } else if (number == VULKAN_CmdCopyBufferToImage) {
        const struct call_CmdCopyBufferToImage *at = call;
        struct object *image = find(VULKAN_IMAGE, at->d);
        if (image && at->n && covers(image, at->r[0].imageOffset, at->r[0].imageExtent))
            define(commands, image, at->l);
    } else if (number == VULKAN_CmdResolveImage) {
        const struct call_CmdResolveImage *at = call;
        struct object *image = find(VULKAN_IMAGE, at->d);
        if (image && at->n && covers(image, at->r[0].dstOffset, at->r[0].extent))
            define(commands, image, at->m);
    } else if (number == VULKAN_CmdCopyImage) {
        const struct call_CmdCopyImage *at = call;
        struct object *image = find(VULKAN_IMAGE, at->d);
        if (image && at->n && covers(image, at->r[0].dstOffset, at->r[0].extent))
            define(commands, image, at->m);
    }
}

void effects_of(struct object *commands, uint32_t number, const void *call) {
    transfer(commands, number, call);
    touch_images(commands, number, call);
    if (number == VULKAN_CmdBeginRenderPass || number == VULKAN_CmdBeginRendering)
        commands->in_pass = true;
    if (number == VULKAN_CmdEndRenderPass || number == VULKAN_CmdEndRendering)
        commands->in_pass = false;
    switch (number) {
    case VULKAN_CmdPipelineBarrier: {
        const struct call_CmdPipelineBarrier *at = call;
        transfer_buffers(commands, at);
        for (uint32_t i = 0; i < at->l; i++)
            if (!transfers(commands, VULKAN_IMAGE, at->i[i].image, at->i[i].srcQueueFamilyIndex,
                           at->i[i].dstQueueFamilyIndex) ||
                at->i[i].oldLayout == VK_IMAGE_LAYOUT_UNDEFINED)
                barrier(commands, at->i[i].image, at->i[i].oldLayout, at->i[i].newLayout,
                        &at->i[i].subresourceRange);
        break;
    }
    case VULKAN_CmdPipelineBarrier2: {
        const VkDependencyInfo *at = ((const struct call_CmdPipelineBarrier2 *)call)->i;
        transfer_buffers2(commands, at);
        for (uint32_t i = 0; i < at->imageMemoryBarrierCount; i++) {
            const VkImageMemoryBarrier2 *image = &at->pImageMemoryBarriers[i];
            if (!transfers(commands, VULKAN_IMAGE, image->image, image->srcQueueFamilyIndex,
                           image->dstQueueFamilyIndex) ||
                image->oldLayout == VK_IMAGE_LAYOUT_UNDEFINED)
                barrier(commands, image->image, image->oldLayout, image->newLayout, &image->subresourceRange);
        }
        break;
    }
    case VULKAN_CmdBeginRenderPass:
        begin_pass(commands, ((const struct call_CmdBeginRenderPass *)call)->i);
        break;
    case VULKAN_CmdBeginRendering: {
        const VkRenderingInfo *at = ((const struct call_CmdBeginRendering *)call)->i;
        for (uint32_t i = 0; i < at->colorAttachmentCount; i++)
            begin_rendering(commands, &at->renderArea, VK_IMAGE_ASPECT_COLOR_BIT, &at->pColorAttachments[i]);
        begin_rendering(commands, &at->renderArea, of_depth, at->pDepthAttachment);
        begin_rendering(commands, &at->renderArea, of_stencil, at->pStencilAttachment);
        break;
    }
    default:
        break;
    }
    switch (number) {
#define WORK(name, class) case VULKAN_##name:
        VULKAN_WORK_COMMANDS(WORK)
#undef WORK
        commands->works = true;
        break;
    default:
        break;
    }
}

void effects_apply(const struct object *commands) {
    for (size_t i = 0; i < commands->transfer_count; i++)
        commands->transfers[i].resource->in_transfer = !commands->transfers[i].acquires;
    for (size_t i = 0; i < commands->effect_count; i++) {
        const struct effect *effect = &commands->effects[i];
        struct plane *plane = &effect->image->planes[effect->plane];
        plane->mixed = !effect->whole && (plane->mixed || plane->layout != effect->to);
        plane->layout = effect->to;
        if (effect->from == VK_IMAGE_LAYOUT_UNDEFINED || effect->discards || effect->defines)
            effect->image->defined = effect->defines;
    }
}
