// SPDX-License-Identifier: Apache-2.0
// Values of a recording that drivers trust, because Vulkan makes programs answerable for them: regions, offsets, ranges and references,
// against the objects that they are for and the limits of the device. Enumerations are checked where they are read
// (recording/vulkan). Shaders are not checked.
#if __has_include(<vulkan/vulkan_core.h>)

#include "recording/vulkan/formats.h"
#include "replay/vulkan/vulkan.h"

static bool is_inside(uint64_t offset, uint64_t size, uint64_t whole) {
    return size <= whole && offset <= whole - size;
}

static bool fits_items(uint64_t offset, uint64_t count, uint64_t stride, uint64_t size, uint64_t whole) {
    uint64_t length = 0;
    return !count || (!__builtin_mul_overflow(count - 1, stride, &length) &&
                      !__builtin_add_overflow(length, size, &length) && is_inside(offset, length, whole));
}

static uint64_t bytes_of(struct vulkan_run *run, VkBuffer buffer) {
    const struct vulkan_live *live = vulkan_find_handle(run, (uint64_t)(uintptr_t)buffer, VULKAN_BUFFER);
    return live ? live->bytes : 0;
}

static const struct vulkan_live *image_of(struct vulkan_run *run, VkImage image) {
    return vulkan_find_handle(run, (uint64_t)(uintptr_t)image, VULKAN_IMAGE);
}

// ---- images

static uint32_t shrink(uint32_t size, uint32_t level) {
    return size >> level ? size >> level : 1;
}

static bool range_fits(const struct vulkan_live *live, const VkImageSubresourceRange *range) {
    if (!live)
        return false;
    const VkImageCreateInfo *image = &live->image;
    return range->baseMipLevel < image->mipLevels && range->baseArrayLayer < image->arrayLayers &&
           (range->levelCount == VK_REMAINING_MIP_LEVELS ||
            is_inside(range->baseMipLevel, range->levelCount, image->mipLevels)) &&
           (range->layerCount == VK_REMAINING_ARRAY_LAYERS ||
            is_inside(range->baseArrayLayer, range->layerCount, image->arrayLayers));
}

static bool axis_fits(int32_t from, uint32_t size, uint32_t whole) {
    return from >= 0 && is_inside((uint64_t)from, size, whole);
}

static bool layers_fit(const struct vulkan_live *live, const VkImageSubresourceLayers *at) {
    return live && at->mipLevel < live->image.mipLevels && at->layerCount && at->aspectMask &&
           !(at->aspectMask & ~vulkan_format_aspect(live->image.format)) &&
           is_inside(at->baseArrayLayer, at->layerCount, live->image.arrayLayers);
}

// The layers of an image that is not of three dimensions may count as the depth of one that is.
static bool region_fits(const struct vulkan_live *live, const VkImageSubresourceLayers *at, VkOffset3D from,
                        VkExtent3D size) {
    if (!layers_fit(live, at))
        return false;
    const VkExtent3D whole = live->image.extent;
    const uint32_t depth =
        live->image.imageType == VK_IMAGE_TYPE_3D ? shrink(whole.depth, at->mipLevel) : at->layerCount;
    return axis_fits(from.x, size.width, shrink(whole.width, at->mipLevel)) &&
           axis_fits(from.y, size.height, shrink(whole.height, at->mipLevel)) &&
           axis_fits(from.z, size.depth, depth);
}

static uint32_t texel_bytes(const struct vulkan_live *live, VkImageAspectFlags aspect) {
    const VkFormat format = live->image.format;
    if (aspect == VK_IMAGE_ASPECT_STENCIL_BIT)
        return 1;
    if (format == VK_FORMAT_D16_UNORM_S8_UINT)
        return 2;
    if (format == VK_FORMAT_D24_UNORM_S8_UINT || format == VK_FORMAT_D32_SFLOAT_S8_UINT)
        return 4;
    return vulkan_format_bytes(format);
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
    const bool deep = live->image.imageType == VK_IMAGE_TYPE_3D;
    const uint64_t slices = deep ? copy->imageExtent.depth : copy->imageSubresource.layerCount;
    uint64_t bytes;
    return texel && !(aspect & (aspect - 1)) && (deep || copy->imageExtent.depth <= 1) &&
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

#define BOTH(name)                                                                                           \
    CHECK(name) {                                                                                            \
        const struct vulkan_live *from = image_of(run, at->s), *to = image_of(run, at->d);                   \
        for (uint32_t i = 0; i < at->n; i++)                                                                 \
            if (!region_fits(from, &at->r[i].srcSubresource, at->r[i].srcOffset, at->r[i].extent) ||         \
                !region_fits(to, &at->r[i].dstSubresource, at->r[i].dstOffset, at->r[i].extent) ||           \
                texel_bytes(from, at->r[i].srcSubresource.aspectMask) !=                                     \
                    texel_bytes(to, at->r[i].dstSubresource.aspectMask))                                     \
                return false;                                                                                \
        return true;                                                                                         \
    }
BOTH(CmdCopyImage)
BOTH(CmdResolveImage)

static bool corner_fits(const struct vulkan_live *live, const VkImageSubresourceLayers *at,
                        VkOffset3D corner) {
    return region_fits(live, at, corner, (VkExtent3D){0, 0, 0});
}

CHECK(CmdBlitImage) {
    const struct vulkan_live *from = image_of(run, at->s), *to = image_of(run, at->d);
    for (uint32_t i = 0; i < at->n; i++)
        for (int j = 0; j < 2; j++)
            if (!corner_fits(from, &at->r[i].srcSubresource, at->r[i].srcOffsets[j]) ||
                !corner_fits(to, &at->r[i].dstSubresource, at->r[i].dstOffsets[j]))
                return false;
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

#define RANGES(name)                                                                                         \
    CHECK(name) {                                                                                            \
        for (uint32_t i = 0; i < at->n; i++)                                                                 \
            if (!range_fits(image_of(run, at->d), &at->r[i]))                                                \
                return false;                                                                                \
        return true;                                                                                         \
    }
RANGES(CmdClearColorImage)
RANGES(CmdClearDepthStencilImage)

CHECK(CmdPipelineBarrier) {
    for (uint32_t i = 0; i < at->l; i++)
        if (!range_fits(image_of(run, at->i[i].image), &at->i[i].subresourceRange))
            return false;
    return true;
}

CHECK(CmdPipelineBarrier2) {
    for (uint32_t i = 0; i < at->i->imageMemoryBarrierCount; i++)
        if (!range_fits(image_of(run, at->i->pImageMemoryBarriers[i].image),
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

CHECK(CmdDrawIndirect) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndirectCommand), bytes_of(run, at->b));
}

CHECK(CmdDrawIndexedIndirect) {
    return fits_items(at->o, at->n, at->s, sizeof(VkDrawIndexedIndirectCommand), bytes_of(run, at->b));
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
    return dynamic == at->k && is_inside(at->f, at->n, run->device->limits.maxBoundDescriptorSets);
}

static bool area_fits(const VkRect2D *area, VkExtent2D whole) {
    return axis_fits(area->offset.x, area->extent.width, whole.width) &&
           axis_fits(area->offset.y, area->extent.height, whole.height);
}

CHECK(CmdBeginRenderPass) {
    const VkRenderPassBeginInfo *info = at->i;
    const struct vulkan_live *pass =
                                 vulkan_find_handle(run, (uint64_t)(uintptr_t)info->renderPass, VULKAN_PASS),
                             *frame = vulkan_find_handle(run, (uint64_t)(uintptr_t)info->framebuffer,
                                                         VULKAN_FRAMEBUFFER);
    return pass && frame && frame->attachments == pass->attachments &&
           area_fits(&info->renderArea, frame->extent);
}

static bool view_fits(struct vulkan_run *run, VkImageView view, const VkRect2D *area) {
    const struct vulkan_live *live =
        view ? vulkan_find_handle(run, (uint64_t)(uintptr_t)view, VULKAN_IMAGE_VIEW) : NULL;
    return !view || (live && area_fits(area, live->extent));
}

static bool attachment_fits(struct vulkan_run *run, const VkRenderingAttachmentInfo *at,
                            const VkRect2D *area) {
    return !at || (view_fits(run, at->imageView, area) && view_fits(run, at->resolveImageView, area));
}

CHECK(CmdBeginRendering) {
    const VkRect2D *area = &at->i->renderArea;
    for (uint32_t i = 0; i < at->i->colorAttachmentCount; i++)
        if (!attachment_fits(run, &at->i->pColorAttachments[i], area))
            return false;
    return attachment_fits(run, at->i->pDepthAttachment, area) &&
           attachment_fits(run, at->i->pStencilAttachment, area) &&
           at->i->colorAttachmentCount <= run->device->limits.maxColorAttachments;
}

bool vulkan_check_command(struct vulkan_run *run, enum vulkan_command number, const void *call) {
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
        ROW(CmdDrawIndirect)
        ROW(CmdDrawIndexedIndirect)
        ROW(CmdDispatchIndirect)
        ROW(CmdPushConstants)
        ROW(CmdSetViewport)
        ROW(CmdSetScissor)
        ROW(CmdSetViewportWithCount)
        ROW(CmdSetScissorWithCount)
        ROW(CmdBindDescriptorSets)
        ROW(CmdBeginRenderPass)
        ROW(CmdBeginRendering)
    default:
        return true;
    }
#undef ROW
}

// ---- descriptors

static bool write_buffers_fit(struct vulkan_run *run, const VkWriteDescriptorSet *write) {
    for (uint32_t i = 0; i < write->descriptorCount && write->pBufferInfo; i++) {
        const VkDescriptorBufferInfo *info = &write->pBufferInfo[i];
        const uint64_t whole = bytes_of(run, info->buffer);
        if (info->range == VK_WHOLE_SIZE ? info->offset >= whole
                                         : !is_inside(info->offset, info->range, whole))
            return false;
    }
    return true;
}

// The binding with the lowest number from this one on that has descriptors; NULL: there is none.
static const struct vulkan_binding *used_binding(const struct vulkan_live *layout, uint64_t from) {
    const struct vulkan_binding *found = NULL;
    for (uint32_t i = 0; i < layout->binding_count; i++) {
        const struct vulkan_binding *binding = &layout->bindings[i];
        if (binding->count && binding->binding >= from && (!found || binding->binding < found->binding))
            found = binding;
    }
    return found;
}

// Descriptors beyond the end of a binding are those of the next one that has any, if it is of the same kind.
bool vulkan_check_write(struct vulkan_run *run, const struct vulkan_live *set,
                        const VkWriteDescriptorSet *write) {
    const struct vulkan_live *layout = vulkan_find(run, set->made_of, VULKAN_SET_LAYOUT);
    const struct vulkan_binding *binding = layout ? used_binding(layout, write->dstBinding) : NULL;
    if (!binding || binding->binding != write->dstBinding || write->dstArrayElement >= binding->count ||
        binding->type != (uint32_t)write->descriptorType)
        return false;
    const struct vulkan_binding first = *binding;
    uint64_t room = binding->count - write->dstArrayElement;
    while (room < write->descriptorCount) {
        binding = used_binding(layout, (uint64_t)binding->binding + 1);
        if (!binding || binding->type != first.type || binding->stages != first.stages ||
            binding->has_samplers != first.has_samplers)
            return false;
        room += binding->count;
    }
    return write_buffers_fit(run, write);
}

// ---- objects

bool vulkan_check_VkBufferCreateInfo(struct vulkan_run *run, const VkBufferCreateInfo *info) {
    (void)run;
    return info->size > 0;
}

bool vulkan_check_VkBufferViewCreateInfo(struct vulkan_run *run, const VkBufferViewCreateInfo *info) {
    const uint64_t whole = bytes_of(run, info->buffer);
    return info->range == VK_WHOLE_SIZE ? info->offset < whole : is_inside(info->offset, info->range, whole);
}

bool vulkan_check_VkImageCreateInfo(struct vulkan_run *run, const VkImageCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const VkExtent3D size = info->extent;
    const uint32_t most = info->imageType == VK_IMAGE_TYPE_1D   ? limits->maxImageDimension1D
                          : info->imageType == VK_IMAGE_TYPE_2D ? limits->maxImageDimension2D
                                                                : limits->maxImageDimension3D;
    uint32_t largest = size.width > size.height ? size.width : size.height, levels = 1;
    largest = largest > size.depth ? largest : size.depth;
    for (uint32_t rest = largest; rest > 1; rest >>= 1)
        levels++;
    return info->format && size.width && size.height && size.depth && largest <= most && info->mipLevels &&
           info->mipLevels <= levels && info->arrayLayers &&
           info->arrayLayers <= limits->maxImageArrayLayers &&
           (info->imageType != VK_IMAGE_TYPE_1D || size.height == 1) &&
           (info->imageType == VK_IMAGE_TYPE_3D ? info->arrayLayers == 1 : size.depth == 1) &&
           (info->samples == VK_SAMPLE_COUNT_1_BIT ||
            (info->imageType == VK_IMAGE_TYPE_2D && info->mipLevels == 1));
}

// A view of the slices of an image of three dimensions counts them as layers.
bool vulkan_check_VkImageViewCreateInfo(struct vulkan_run *run, const VkImageViewCreateInfo *info) {
    const struct vulkan_live *live = image_of(run, info->image);
    if (!live || !info->format)
        return false;
    struct vulkan_live slices = *live;
    if (live->image.imageType == VK_IMAGE_TYPE_3D && info->viewType != VK_IMAGE_VIEW_TYPE_3D)
        slices.image.arrayLayers = shrink(live->image.extent.depth, info->subresourceRange.baseMipLevel & 31);
    return range_fits(&slices, &info->subresourceRange);
}

static bool references_fit(const VkAttachmentReference *all, uint32_t count, uint32_t attachments) {
    for (uint32_t i = 0; all && i < count; i++)
        if (all[i].attachment >= attachments && all[i].attachment != VK_ATTACHMENT_UNUSED)
            return false;
    return true;
}

bool vulkan_check_VkRenderPassCreateInfo(struct vulkan_run *run, const VkRenderPassCreateInfo *info) {
    const uint32_t most = run->device->limits.maxColorAttachments, count = info->attachmentCount;
    for (uint32_t i = 0; i < info->subpassCount; i++) {
        const VkSubpassDescription *pass = &info->pSubpasses[i];
        if (pass->colorAttachmentCount > most ||
            !references_fit(pass->pInputAttachments, pass->inputAttachmentCount, count) ||
            !references_fit(pass->pColorAttachments, pass->colorAttachmentCount, count) ||
            !references_fit(pass->pResolveAttachments, pass->colorAttachmentCount, count) ||
            !references_fit(pass->pDepthStencilAttachment, 1, count))
            return false;
        for (uint32_t j = 0; j < pass->preserveAttachmentCount; j++)
            if (pass->pPreserveAttachments[j] >= count)
                return false;
    }
    for (uint32_t i = 0; i < info->dependencyCount; i++)
        if ((info->pDependencies[i].srcSubpass >= info->subpassCount &&
             info->pDependencies[i].srcSubpass != VK_SUBPASS_EXTERNAL) ||
            (info->pDependencies[i].dstSubpass >= info->subpassCount &&
             info->pDependencies[i].dstSubpass != VK_SUBPASS_EXTERNAL))
            return false;
    return info->subpassCount > 0;
}

bool vulkan_check_VkFramebufferCreateInfo(struct vulkan_run *run, const VkFramebufferCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const struct vulkan_live *pass =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->renderPass, VULKAN_PASS);
    const VkRect2D all = {.extent = {info->width, info->height}};
    for (uint32_t i = 0; i < info->attachmentCount; i++)
        if (!view_fits(run, info->pAttachments[i], &all))
            return false;
    return pass && pass->attachments == info->attachmentCount && info->width && info->height &&
           info->layers && info->width <= limits->maxFramebufferWidth &&
           info->height <= limits->maxFramebufferHeight && info->layers <= limits->maxFramebufferLayers;
}

bool vulkan_check_VkGraphicsPipelineCreateInfo(struct vulkan_run *run,
                                               const VkGraphicsPipelineCreateInfo *info) {
    const struct vulkan_live *pass =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->renderPass, VULKAN_PASS);
    return info->stageCount && (!info->renderPass || (pass && info->subpass < pass->subpasses));
}

#endif
