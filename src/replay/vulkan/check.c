// SPDX-License-Identifier: Apache-2.0
// Values of a recording that drivers trust, because Vulkan makes programs answerable for them: regions, offsets, ranges and references,
// against the objects that they are for and the limits of the device. Here regions of commands, passes and descriptors. check_values.c has
// what commands have by themselves, check_state.c what draws and dispatches need, check_objects.c objects, check_support.c what the device
// supports, check_shader.c what shaders use. Enumerations are checked where they are read (recording/vulkan).
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/check.h"

static bool fits_items(uint64_t offset, uint64_t count, uint64_t stride, uint64_t size, uint64_t whole) {
    uint64_t length = 0;
    return !count || (!__builtin_mul_overflow(count - 1, stride, &length) &&
                      !__builtin_add_overflow(length, size, &length) && is_inside(offset, length, whole));
}

// ---- images

static bool layers_fit(const struct vulkan_live *live, const VkImageSubresourceLayers *at) {
    return live && at->mipLevel < live->image.mipLevels && at->layerCount &&
           aspects_fit(live->image.format, at->aspectMask) &&
           is_inside(at->baseArrayLayer, at->layerCount, live->image.arrayLayers);
}

static bool is_deep(const struct vulkan_live *live) {
    return live->image.imageType == VK_IMAGE_TYPE_3D;
}

// The layers of an image that is not of three dimensions may count as the depth of one that is.
static bool region_fits(const struct vulkan_live *live, const VkImageSubresourceLayers *at, VkOffset3D from,
                        VkExtent3D size) {
    if (!layers_fit(live, at))
        return false;
    const VkExtent3D whole = live->image.extent;
    const uint32_t depth = is_deep(live) ? shrink(whole.depth, at->mipLevel) : at->layerCount;
    return axis_fits(from.x, size.width, shrink(whole.width, at->mipLevel)) &&
           axis_fits(from.y, size.height, shrink(whole.height, at->mipLevel)) &&
           axis_fits(from.z, size.depth, depth);
}

static uint32_t texel_bytes(const struct vulkan_live *live, VkImageAspectFlags aspect) {
    return vulkan_aspect_bytes(live->image.format, aspect);
}

// Bytes from the first texel of a copy to the end of its last one: the last row of the last slice is not padded.
static bool copy_bytes(const VkBufferImageCopy *copy, uint64_t slices, uint32_t texel, uint64_t *bytes) {
    const VkExtent3D size = copy->imageExtent;
    const uint64_t row = copy->bufferRowLength ? copy->bufferRowLength : size.width,
                   rows = copy->bufferImageHeight ? copy->bufferImageHeight : size.height;
    uint64_t count;
    *bytes = 0;
    if (row < size.width || rows < size.height)
        return false;
    if (!slices || !size.width || !size.height)
        return true;
    return !__builtin_mul_overflow(slices - 1, rows, &count) &&
           !__builtin_add_overflow(count, size.height - 1, &count) &&
           !__builtin_mul_overflow(count, row, &count) &&
           !__builtin_add_overflow(count, size.width, &count) && !__builtin_mul_overflow(count, texel, bytes);
}

static bool copy_fits(struct vulkan_run *run, VkImage image, VkBuffer buffer, const VkBufferImageCopy *copy) {
    const struct vulkan_live *live = image_of(run, image);
    if (!region_fits(live, &copy->imageSubresource, copy->imageOffset, copy->imageExtent))
        return false;
    const VkImageAspectFlags aspect = copy->imageSubresource.aspectMask;
    const uint32_t texel = texel_bytes(live, aspect);
    const uint64_t slices = is_deep(live) ? copy->imageExtent.depth : copy->imageSubresource.layerCount;
    uint64_t bytes;
    return texel && !(aspect & (aspect - 1)) && (is_deep(live) || copy->imageExtent.depth <= 1) &&
           live->image.samples == VK_SAMPLE_COUNT_1_BIT && copy_bytes(copy, slices, texel, &bytes) &&
           is_inside(copy->bufferOffset, bytes, bytes_of(run, buffer));
}

// ---- commands: each gets the struct of its parameters as `at`

#define CHECK(name) static bool check_##name(struct vulkan_run *run, const struct call_##name *at)

CHECK(CmdCopyBuffer) {
    const uint64_t from = bytes_of(run, at->s), to = bytes_of(run, at->d);
    for (uint32_t i = 0; i < at->n; i++)
        if (!is_inside(at->r[i].srcOffset, at->r[i].size, from) ||
            !is_inside(at->r[i].dstOffset, at->r[i].size, to))
            return false;
    return true;
}

CHECK(CmdUpdateBuffer) {
    enum { MOST = 65536 };
    return at->n && at->n <= MOST && at->n % 4 == 0 && at->o % 4 == 0 &&
           is_inside(at->o, at->n, bytes_of(run, at->d));
}

CHECK(CmdFillBuffer) {
    const uint64_t whole = bytes_of(run, at->d);
    return at->o % 4 == 0 && (at->n == VK_WHOLE_SIZE ? at->o < whole : is_inside(at->o, at->n, whole));
}

// As many layers in both; slices of an image of three dimensions count as layers.
static bool is_as_deep(const struct vulkan_live *from, const VkImageSubresourceLayers *source,
                       const struct vulkan_live *to, const VkImageSubresourceLayers *target, uint32_t depth) {
    if (is_deep(from) != is_deep(to))
        return depth == (is_deep(from) ? target->layerCount : source->layerCount);
    return is_deep(from) || (source->layerCount == target->layerCount && depth <= 1);
}

// The same aspects; with depth or stencil the same format.
static bool is_alike(const struct vulkan_live *from, VkImageAspectFlags source, const struct vulkan_live *to,
                     VkImageAspectFlags target) {
    return source == target &&
           (source == VK_IMAGE_ASPECT_COLOR_BIT || from->image.format == to->image.format);
}

CHECK(CmdCopyImage) {
    const struct vulkan_live *from = image_of(run, at->s), *to = image_of(run, at->d);
    for (uint32_t i = 0; i < at->n; i++) {
        const VkImageCopy *copy = &at->r[i];
        const VkImageSubresourceLayers *source = &copy->srcSubresource, *target = &copy->dstSubresource;
        if (!region_fits(from, source, copy->srcOffset, copy->extent) ||
            !region_fits(to, target, copy->dstOffset, copy->extent) ||
            !is_as_deep(from, source, to, target, copy->extent.depth) ||
            !is_alike(from, source->aspectMask, to, target->aspectMask) ||
            !texel_bytes(from, source->aspectMask) ||
            texel_bytes(from, source->aspectMask) != texel_bytes(to, target->aspectMask) ||
            from->image.samples != to->image.samples)
            return false;
    }
    return true;
}

CHECK(CmdResolveImage) {
    const struct vulkan_live *from = image_of(run, at->s), *to = image_of(run, at->d);
    for (uint32_t i = 0; i < at->n; i++) {
        const VkImageResolve *copy = &at->r[i];
        const VkImageSubresourceLayers *source = &copy->srcSubresource, *target = &copy->dstSubresource;
        if (!region_fits(from, source, copy->srcOffset, copy->extent) ||
            !region_fits(to, target, copy->dstOffset, copy->extent) ||
            source->aspectMask != target->aspectMask || source->layerCount != target->layerCount ||
            copy->extent.depth > 1 || from->image.format != to->image.format ||
            from->image.samples == VK_SAMPLE_COUNT_1_BIT || to->image.samples != VK_SAMPLE_COUNT_1_BIT)
            return false;
    }
    return true;
}

static bool corner_fits(const struct vulkan_live *live, const VkImageSubresourceLayers *at,
                        VkOffset3D corner) {
    return region_fits(live, at, corner, (VkExtent3D){0, 0, 0}) && (is_deep(live) || corner.z <= 1);
}

CHECK(CmdBlitImage) {
    const struct vulkan_live *from = image_of(run, at->s), *to = image_of(run, at->d);
    for (uint32_t i = 0; i < at->n; i++) {
        const VkImageSubresourceLayers *source = &at->r[i].srcSubresource, *target = &at->r[i].dstSubresource;
        for (int j = 0; j < 2; j++)
            if (!corner_fits(from, source, at->r[i].srcOffsets[j]) ||
                !corner_fits(to, target, at->r[i].dstOffsets[j]))
                return false;
        if (source->layerCount != target->layerCount ||
            !is_alike(from, source->aspectMask, to, target->aspectMask) ||
            from->image.samples != VK_SAMPLE_COUNT_1_BIT || to->image.samples != VK_SAMPLE_COUNT_1_BIT)
            return false;
    }
    return true;
}

CHECK(CmdCopyBufferToImage) {
    for (uint32_t i = 0; i < at->n; i++)
        if (!copy_fits(run, at->d, at->s, &at->r[i]))
            return false;
    return true;
}

CHECK(CmdCopyImageToBuffer) {
    for (uint32_t i = 0; i < at->n; i++)
        if (!copy_fits(run, at->s, at->d, &at->r[i]))
            return false;
    return true;
}

#define RANGES(name, aspects)                                                                                \
    CHECK(name) {                                                                                            \
        const struct vulkan_live *live = image_of(run, at->d);                                               \
        for (uint32_t i = 0; i < at->n; i++)                                                                 \
            if (!range_fits(live, &at->r[i]) || !aspects_fit(live->image.format, at->r[i].aspectMask) ||     \
                (at->r[i].aspectMask & ~(VkImageAspectFlags)(aspects)))                                      \
                return false;                                                                                \
        return true;                                                                                         \
    }
RANGES(CmdClearColorImage, VK_IMAGE_ASPECT_COLOR_BIT)
RANGES(CmdClearDepthStencilImage, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)

// Depth and stencil together, unless the device tells them apart.
static bool barrier_fits(struct vulkan_run *run, VkImage image, const VkImageSubresourceRange *range) {
    const struct vulkan_live *live = image_of(run, image);
    if (!range_fits(live, range) || !aspects_fit(live->image.format, range->aspectMask))
        return false;
    REQUIRE(run->device->v12.separateDepthStencilLayouts ||
                range->aspectMask == vulkan_format_aspect(live->image.format),
            "a barrier names depth or stencil alone, which the device does not have");
    return true;
}

CHECK(CmdPipelineBarrier) {
    for (uint32_t i = 0; i < at->l; i++)
        if (!barrier_fits(run, at->i[i].image, &at->i[i].subresourceRange))
            return false;
    return true;
}

CHECK(CmdPipelineBarrier2) {
    for (uint32_t i = 0; i < at->i->imageMemoryBarrierCount; i++)
        if (!barrier_fits(run, at->i->pImageMemoryBarriers[i].image,
                          &at->i->pImageMemoryBarriers[i].subresourceRange))
            return false;
    return true;
}

CHECK(CmdBindIndexBuffer) {
    return at->o <= bytes_of(run, at->b);
}

CHECK(CmdBindVertexBuffers) {
    for (uint32_t i = 0; i < at->n; i++)
        if (at->o[i] > bytes_of(run, at->b[i]))
            return false;
    return is_inside(at->f, at->n, run->device->limits.maxVertexInputBindings);
}

CHECK(CmdBindVertexBuffers2) {
    for (uint32_t i = 0; i < at->n; i++) {
        const uint64_t whole = bytes_of(run, at->b[i]);
        if (at->z && at->z[i] != VK_WHOLE_SIZE ? !is_inside(at->o[i], at->z[i], whole) : at->o[i] > whole)
            return false;
    }
    return is_inside(at->f, at->n, run->device->limits.maxVertexInputBindings);
}

CHECK(CmdDrawIndirect) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndirectCommand), bytes_of(run, at->b));
}

CHECK(CmdDrawIndexedIndirect) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndexedIndirectCommand), bytes_of(run, at->b));
}

// As many draws as there may be are in the buffer.
CHECK(CmdDrawIndirectCount) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndirectCommand), bytes_of(run, at->b)) &&
           is_inside(at->p, sizeof(uint32_t), bytes_of(run, at->d));
}

CHECK(CmdDrawIndexedIndirectCount) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndexedIndirectCommand), bytes_of(run, at->b)) &&
           is_inside(at->p, sizeof(uint32_t), bytes_of(run, at->d));
}

CHECK(CmdDispatchIndirect) {
    return is_inside(at->o, sizeof(VkDispatchIndirectCommand), bytes_of(run, at->b));
}

CHECK(CmdPushConstants) {
    return is_inside(at->o, at->n, run->device->limits.maxPushConstantsSize);
}

CHECK(CmdSetViewport) {
    return is_inside(at->f, at->n, run->device->limits.maxViewports);
}

CHECK(CmdSetScissor) {
    return is_inside(at->f, at->n, run->device->limits.maxViewports);
}

CHECK(CmdSetViewportWithCount) {
    return at->n <= run->device->limits.maxViewports;
}

CHECK(CmdSetScissorWithCount) {
    return at->n <= run->device->limits.maxViewports;
}

// A driver takes as many dynamic offsets as the sets have dynamic buffers.
CHECK(CmdBindDescriptorSets) {
    uint64_t dynamic = 0;
    for (uint32_t i = 0; i < at->n; i++) {
        const struct vulkan_live *set = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->s[i], VULKAN_SET);
        const struct vulkan_live *layout = set ? vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT) : NULL;
        if (!layout)
            return false;
        dynamic += (uint64_t)layout->descriptors[VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC] +
                   layout->descriptors[VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC];
    }
    const struct vulkan_live *all = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->l, VULKAN_LAYOUT);
    return all && dynamic == at->k && is_inside(at->f, at->n, all->set_count);
}

// ---- render passes

static bool begin_subpass(struct vulkan_run *run, const struct vulkan_live *pass, uint32_t subpass) {
    if (!pass || subpass >= pass->subpasses || !pass->parts)
        return false;
    run->now.subpass = subpass;
    run->now.part = pass->parts[subpass];
    run->now.colors = pass->parts[subpass].colors;
    return true;
}

CHECK(CmdBeginRenderPass) {
    const VkRenderPassBeginInfo *info = at->i;
    const struct vulkan_live *pass = pass_of(run, info->renderPass),
                             *frame = vulkan_find_handle(run, (uint64_t)(uintptr_t)info->framebuffer,
                                                         VULKAN_FRAMEBUFFER);
    if (!pass || !frame || frame->attachments != pass->attachments ||
        !area_fits(&info->renderArea, frame->extent) || info->clearValueCount < pass->clear_values)
        return false;
    for (uint32_t i = 0; i < pass->attachments; i++)
        if (!pass->surfaces || !frame->surfaces || pass->surfaces[i].format != frame->surfaces[i].format ||
            pass->surfaces[i].samples != frame->surfaces[i].samples)
            return false;
    run->now = (struct vulkan_now){
        .place = VULKAN_IN_PASS, .pass = pass->number, .layers = frame->layers, .area = info->renderArea};
    return begin_subpass(run, pass, 0);
}

CHECK(CmdNextSubpass) {
    (void)at;
    return run->now.place == VULKAN_IN_PASS &&
           begin_subpass(run, vulkan_find(run, run->now.pass, VULKAN_PASS), run->now.subpass + 1);
}

static bool end_place(struct vulkan_run *run, enum vulkan_place place) {
    const bool good = run->now.place == place;
    run->now.place = VULKAN_OUTSIDE;
    return good;
}

CHECK(CmdEndRenderPass) {
    (void)at;
    return end_place(run, VULKAN_IN_PASS);
}

CHECK(CmdEndRendering) {
    (void)at;
    return end_place(run, VULKAN_IN_RENDERING);
}

CHECK(CmdClearAttachments) {
    static const VkImageAspectFlags others = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    for (uint32_t i = 0; i < at->n; i++) {
        const VkClearAttachment *clear = &at->a[i];
        if (clear->aspectMask == VK_IMAGE_ASPECT_COLOR_BIT
                ? clear->colorAttachment >= run->now.colors && clear->colorAttachment != VK_ATTACHMENT_UNUSED
                : !clear->aspectMask || clear->aspectMask & ~others)
            return false;
    }
    const VkRect2D *area = &run->now.area;
    for (uint32_t i = 0; i < at->k; i++) {
        VkRect2D rect = at->r[i].rect;
        if (rect.offset.x < area->offset.x || rect.offset.y < area->offset.y || !at->r[i].layerCount ||
            !is_inside(at->r[i].baseArrayLayer, at->r[i].layerCount, run->now.layers))
            return false;
        rect.offset.x -= area->offset.x; // both are from 0 on
        rect.offset.y -= area->offset.y;
        if (!area_fits(&rect, area->extent))
            return false;
    }
    return true;
}

struct rendering {
    const VkRect2D *area;
    uint32_t layers, samples; // 0 samples: none seen yet
};

static bool surface_fits(struct vulkan_run *run, const struct rendering *all, VkImageView view,
                         VkImageAspectFlags aspect, uint32_t *samples) {
    const struct vulkan_live *live = view ? view_of(run, view) : NULL;
    if (!view)
        return true;
    if (!live || !area_fits(all->area, live->extent) || live->image.arrayLayers < all->layers ||
        !(vulkan_format_aspect(live->image.format) & aspect) ||
        (*samples && *samples != (uint32_t)live->image.samples))
        return false;
    *samples = live->image.samples;
    return true;
}

static bool attachment_fits(struct vulkan_run *run, struct rendering *all,
                            const VkRenderingAttachmentInfo *at, VkImageAspectFlags aspect) {
    uint32_t one = VK_SAMPLE_COUNT_1_BIT;
    if (!at || !at->imageView)
        return true;
    return surface_fits(run, all, at->imageView, aspect, &all->samples) &&
           (!at->resolveMode ||
            (at->resolveImageView && surface_fits(run, all, at->resolveImageView, aspect, &one) &&
             at->resolveMode <= VK_RESOLVE_MODE_MAX_BIT && all->samples != VK_SAMPLE_COUNT_1_BIT));
}

static VkFormat format_of(struct vulkan_run *run, const VkRenderingAttachmentInfo *at) {
    const struct vulkan_live *view = at && at->imageView ? view_of(run, at->imageView) : NULL;
    return view ? view->image.format : VK_FORMAT_UNDEFINED;
}

static void begin_part(struct vulkan_run *run, const VkRenderingInfo *info, uint32_t samples) {
    struct vulkan_part *part = &run->now.part;
    *part = (struct vulkan_part){.colors = info->colorAttachmentCount,
                                 .samples = samples,
                                 .depth = format_of(run, info->pDepthAttachment),
                                 .stencil = format_of(run, info->pStencilAttachment)};
    for (uint32_t i = 0; i < info->colorAttachmentCount && i < VULKAN_COLORS_MOST; i++)
        part->formats[i] = format_of(run, &info->pColorAttachments[i]);
}

CHECK(CmdBeginRendering) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const VkRenderingInfo *info = at->i;
    const uint32_t layers = info->viewMask ? 32 - (uint32_t)__builtin_clz(info->viewMask) : info->layerCount;
    struct rendering all = {.area = &info->renderArea, .layers = layers};
    const VkExtent2D most = {limits->maxFramebufferWidth, limits->maxFramebufferHeight};
    if (!layers || layers > limits->maxFramebufferLayers || !area_fits(&info->renderArea, most) ||
        info->colorAttachmentCount > limits->maxColorAttachments)
        return false;
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
        if (!attachment_fits(run, &all, &info->pColorAttachments[i], VK_IMAGE_ASPECT_COLOR_BIT))
            return false;
    run->now = (struct vulkan_now){.place = VULKAN_IN_RENDERING,
                                   .colors = info->colorAttachmentCount,
                                   .layers = info->viewMask ? 1 : layers,
                                   .area = info->renderArea};
    if (!attachment_fits(run, &all, info->pDepthAttachment, VK_IMAGE_ASPECT_DEPTH_BIT) ||
        !attachment_fits(run, &all, info->pStencilAttachment, VK_IMAGE_ASPECT_STENCIL_BIT))
        return false;
    begin_part(run, info, all.samples);
    return true;
}

// Draws are within a render pass, other work is outside of one.
static bool is_in_place(const struct vulkan_run *run, enum vulkan_command number) {
    const bool inside = run->now.place != VULKAN_OUTSIDE;
    if (number == VULKAN_CmdClearAttachments)
        return inside;
#define WORK(name, class)                                                                                    \
    case VULKAN_##name:                                                                                      \
        return inside == ((class) == 'w');
    switch (number) {
        VULKAN_WORK_COMMANDS(WORK)
    default:
        return true;
    }
#undef WORK
}

static bool check_regions(struct vulkan_run *run, enum vulkan_command number, const void *call) {
#define ROW(name)                                                                                            \
    case VULKAN_##name:                                                                                      \
        return check_##name(run, call);
    switch (number) {
        ROW(CmdCopyBuffer)
        ROW(CmdUpdateBuffer)
        ROW(CmdFillBuffer)
        ROW(CmdCopyImage)
        ROW(CmdResolveImage)
        ROW(CmdBlitImage)
        ROW(CmdCopyBufferToImage)
        ROW(CmdCopyImageToBuffer)
        ROW(CmdClearColorImage)
        ROW(CmdClearDepthStencilImage)
        ROW(CmdPipelineBarrier)
        ROW(CmdPipelineBarrier2)
        ROW(CmdBindIndexBuffer)
        ROW(CmdBindVertexBuffers)
        ROW(CmdBindVertexBuffers2)
        ROW(CmdDrawIndirect)
        ROW(CmdDrawIndexedIndirect)
        ROW(CmdDrawIndirectCount)
        ROW(CmdDrawIndexedIndirectCount)
        ROW(CmdDispatchIndirect)
        ROW(CmdPushConstants)
        ROW(CmdSetViewport)
        ROW(CmdSetScissor)
        ROW(CmdSetViewportWithCount)
        ROW(CmdSetScissorWithCount)
        ROW(CmdBindDescriptorSets)
        ROW(CmdBeginRenderPass)
        ROW(CmdNextSubpass)
        ROW(CmdEndRenderPass)
        ROW(CmdBeginRendering)
        ROW(CmdEndRendering)
        ROW(CmdClearAttachments)
    default:
        return true;
    }
#undef ROW
}

bool vulkan_check_command(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    run->reason = NULL;
    if (!is_in_place(run, number))
        return check_fails(run, "it is within a render pass and must not be, or the other way round");
    return check_command_features(run, number, call) && check_values(run, number, call) &&
           check_layouts(run, number, call) && check_regions(run, number, call) &&
           check_indirect(run, number, call) && check_state(run, number, call);
}

// ---- descriptors

// The usage of a buffer, an image or what a view is of, of which a descriptor of this type may be.
static uint32_t usage_of(VkDescriptorType type) {
    switch (type) {
    case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
        return VK_IMAGE_USAGE_STORAGE_BIT;
    case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
        return VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT;
    case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
        return VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT;
    case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
        return VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
        return VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
        return VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    default:
        return VK_IMAGE_USAGE_SAMPLED_BIT;
    }
}

static const char no_null[] = "a descriptor names nothing, which the device does not have";
static const char other_usage[] = "a descriptor is of a buffer or an image that is not made for it";

static bool write_buffers_fit(struct vulkan_run *run, const VkWriteDescriptorSet *write) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const uint32_t usage = usage_of(write->descriptorType);
    const bool uniform = usage == VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
    const uint64_t unit = uniform ? limits->minUniformBufferOffsetAlignment
                                  : limits->minStorageBufferOffsetAlignment,
                   most = uniform ? limits->maxUniformBufferRange : limits->maxStorageBufferRange;
    for (uint32_t i = 0; i < write->descriptorCount && write->pBufferInfo; i++) {
        const VkDescriptorBufferInfo *info = &write->pBufferInfo[i];
        if (!info->buffer) {
            REQUIRE(run->device->extras.robustness.nullDescriptor, no_null);
            REQUIRE(!info->offset && info->range == VK_WHOLE_SIZE,
                    "a descriptor without a buffer has a range");
            continue;
        }
        const struct vulkan_live *buffer =
            vulkan_find_handle(run, (uint64_t)(uintptr_t)info->buffer, VULKAN_BUFFER);
        const uint64_t whole = buffer ? buffer->bytes : 0;
        if (info->range == VK_WHOLE_SIZE ? info->offset >= whole
                                         : !is_inside(info->offset, info->range, whole))
            return false;
        REQUIRE(buffer->usage & usage, other_usage);
        REQUIRE(!unit || info->offset % unit == 0, "the offset of a descriptor is not aligned");
        REQUIRE((info->range == VK_WHOLE_SIZE ? whole - info->offset : info->range) <= most,
                "the range of a descriptor is larger than the device allows");
    }
    return true;
}

static bool write_views_fit(struct vulkan_run *run, const VkWriteDescriptorSet *write) {
    for (uint32_t i = 0; i < write->descriptorCount && write->pTexelBufferView; i++) {
        if (!write->pTexelBufferView[i]) {
            REQUIRE(run->device->extras.robustness.nullDescriptor, no_null);
            continue;
        }
        const struct vulkan_live *view =
            vulkan_find_handle(run, (uint64_t)(uintptr_t)write->pTexelBufferView[i], VULKAN_BUFFER_VIEW);
        REQUIRE(view && view->usage & usage_of(write->descriptorType), other_usage);
    }
    return true;
}

// Views and samplers that the type has are there.
static bool write_images_fit(struct vulkan_run *run, const VkWriteDescriptorSet *write, bool has_samplers) {
    const VkDescriptorType type = write->descriptorType;
    const bool samples =
        type == VK_DESCRIPTOR_TYPE_SAMPLER || type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
    for (uint32_t i = 0; i < write->descriptorCount && write->pImageInfo; i++) {
        const VkDescriptorImageInfo *info = &write->pImageInfo[i];
        if (samples && !has_samplers && !info->sampler)
            return false;
        if (type == VK_DESCRIPTOR_TYPE_SAMPLER)
            continue;
        if (!info->imageView && type != VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT) {
            REQUIRE(run->device->extras.robustness.nullDescriptor, no_null);
            continue;
        }
        const struct vulkan_live *view = info->imageView ? view_of(run, info->imageView) : NULL;
        REQUIRE(view, "a descriptor of an image has no view");
        REQUIRE(view->usage & usage_of(type), other_usage);
        REQUIRE(check_layout_used(info->imageLayout),
                "a descriptor of an image has a layout that is unknown or not allowed");
    }
    return true;
}

// Descriptors beyond the end of a binding are those of the next one that has any, if it is of the same kind.
bool vulkan_check_write(struct vulkan_run *run, const struct vulkan_live *set,
                        const VkWriteDescriptorSet *write) {
    const struct vulkan_live *layout = vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT);
    const struct vulkan_binding *binding = layout ? check_used_binding(layout, write->dstBinding) : NULL;
    if (!binding || binding->binding != write->dstBinding || write->dstArrayElement >= binding->count ||
        binding->type != (uint32_t)write->descriptorType)
        return false;
    const struct vulkan_binding first = *binding;
    uint64_t room = binding->count - write->dstArrayElement;
    while (room < write->descriptorCount) {
        binding = check_used_binding(layout, (uint64_t)binding->binding + 1);
        if (!binding || binding->type != first.type || binding->stages != first.stages ||
            binding->has_samplers != first.has_samplers)
            return false;
        room += binding->count;
    }
    return write_buffers_fit(run, write) && write_views_fit(run, write) &&
           write_images_fit(run, write, first.has_samplers);
}

#endif
