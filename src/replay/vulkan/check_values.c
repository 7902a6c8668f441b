// SPDX-License-Identifier: Apache-2.0
// Values of commands by themselves (check.c): masks, layouts, counts of work, dynamic state, and the usages of buffers and images that
// they name.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <math.h>

#include "replay/vulkan/check.h"

// ---- masks and layouts of Vulkan 1.3; those of extensions are for devices that are not captured

bool check_layout_used(VkImageLayout layout) {
    return layout != VK_IMAGE_LAYOUT_MAX_ENUM && layout != VK_IMAGE_LAYOUT_UNDEFINED &&
           layout != VK_IMAGE_LAYOUT_PREINITIALIZED;
}

static const uint32_t stages_1_0 = (VK_PIPELINE_STAGE_ALL_COMMANDS_BIT << 1) - 1,
                      accesses_1_0 = (VK_ACCESS_MEMORY_WRITE_BIT << 1) - 1;

bool check_stages(VkPipelineStageFlags stages) {
    return !(stages & ~stages_1_0);
}

bool check_accesses(VkAccessFlags accesses) {
    return !(accesses & ~accesses_1_0);
}

static bool are_stages2(VkPipelineStageFlags2 stages) {
    static const VkPipelineStageFlags2 more =
        (VK_PIPELINE_STAGE_2_PRE_RASTERIZATION_SHADERS_BIT << 1) - VK_PIPELINE_STAGE_2_COPY_BIT;
    return !(stages & ~(stages_1_0 | more));
}

static bool are_accesses2(VkAccessFlags2 accesses) {
    static const VkAccessFlags2 more =
        (VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT << 1) - VK_ACCESS_2_SHADER_SAMPLED_READ_BIT;
    return !(accesses & ~(accesses_1_0 | more));
}

static bool are_dependencies(VkDependencyFlags flags) {
    return !(flags & ~(VkDependencyFlags)(VK_DEPENDENCY_BY_REGION_BIT | VK_DEPENDENCY_VIEW_LOCAL_BIT |
                                          VK_DEPENDENCY_DEVICE_GROUP_BIT));
}

static const char unknown_mask[] = "a barrier has unknown stages, accesses or flags",
                  unknown_layout[] = "a barrier changes an image to a layout that is unknown or not allowed",
                  beyond_buffer[] = "a barrier's range is beyond the end of its buffer";

// A transition may be from any layout.
static bool is_transition(VkImageLayout from, VkImageLayout to) {
    return from != VK_IMAGE_LAYOUT_MAX_ENUM && (from == to || check_layout_used(to)) &&
           to != VK_IMAGE_LAYOUT_MAX_ENUM;
}

static bool is_part(struct vulkan_run *run, VkBuffer buffer, uint64_t offset, uint64_t size) {
    const uint64_t whole = bytes_of(run, buffer);
    return size == VK_WHOLE_SIZE ? offset < whole : is_inside(offset, size, whole);
}

// ---- usages

static bool buffer_has(struct vulkan_run *run, VkBuffer buffer, VkBufferUsageFlags usage) {
    const struct vulkan_live *live = vulkan_find_handle(run, (uint64_t)(uintptr_t)buffer, VULKAN_BUFFER);
    REQUIRE(live && live->usage & usage, "a buffer is not made for this usage");
    return true;
}

// Of an image that is copied, also the layout.
static bool image_has(struct vulkan_run *run, VkImage image, VkImageUsageFlags usage, VkImageLayout layout) {
    const struct vulkan_live *live = image_of(run, image);
    const VkImageLayout optimal = usage == VK_IMAGE_USAGE_TRANSFER_SRC_BIT
                                      ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL
                                      : VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    REQUIRE(live && live->usage & usage, "an image is not made for this usage");
    REQUIRE(layout == optimal || layout == VK_IMAGE_LAYOUT_GENERAL,
            "an image is copied in a layout that is not one of copies");
    return true;
}

#define CHECK(name) static bool values_##name(struct vulkan_run *run, const struct call_##name *at)
#define SOURCE VK_BUFFER_USAGE_TRANSFER_SRC_BIT
#define TARGET VK_BUFFER_USAGE_TRANSFER_DST_BIT
#define FROM VK_IMAGE_USAGE_TRANSFER_SRC_BIT
#define TO VK_IMAGE_USAGE_TRANSFER_DST_BIT

CHECK(CmdCopyBuffer) {
    return buffer_has(run, at->s, SOURCE) && buffer_has(run, at->d, TARGET);
}
CHECK(CmdUpdateBuffer) {
    return buffer_has(run, at->d, TARGET);
}
CHECK(CmdFillBuffer) {
    return buffer_has(run, at->d, TARGET);
}
CHECK(CmdCopyImage) {
    return image_has(run, at->s, FROM, at->l) && image_has(run, at->d, TO, at->m);
}
CHECK(CmdBlitImage) {
    return image_has(run, at->s, FROM, at->l) && image_has(run, at->d, TO, at->m);
}
CHECK(CmdResolveImage) {
    return image_has(run, at->s, FROM, at->l) && image_has(run, at->d, TO, at->m);
}
CHECK(CmdCopyBufferToImage) {
    return buffer_has(run, at->s, SOURCE) && image_has(run, at->d, TO, at->l);
}
CHECK(CmdCopyImageToBuffer) {
    return buffer_has(run, at->d, TARGET) && image_has(run, at->s, FROM, at->l);
}
CHECK(CmdClearColorImage) {
    return image_has(run, at->d, TO, at->l);
}
CHECK(CmdClearDepthStencilImage) {
    return image_has(run, at->d, TO, at->l);
}

CHECK(CmdBindIndexBuffer) {
    const uint64_t size = check_index_bytes(at->t);
    REQUIRE(size > 1 || run->device->extras.bytes.indexTypeUint8, "the device has no indexes of a byte");
    REQUIRE(at->o % size == 0, "the offset of an index buffer is not a multiple of an index");
    return buffer_has(run, at->b, VK_BUFFER_USAGE_INDEX_BUFFER_BIT);
}
CHECK(CmdBindVertexBuffers) {
    for (uint32_t i = 0; i < at->n; i++)
        if (!buffer_has(run, at->b[i], VK_BUFFER_USAGE_VERTEX_BUFFER_BIT))
            return false;
    return true;
}
CHECK(CmdBindVertexBuffers2) {
    for (uint32_t i = 0; i < at->n; i++) {
        REQUIRE(!at->s || at->s[i] <= run->device->limits.maxVertexInputBindingStride,
                "the stride of vertices is larger than the device allows");
        if (!buffer_has(run, at->b[i], VK_BUFFER_USAGE_VERTEX_BUFFER_BIT))
            return false;
    }
    return true;
}

// ---- work

static bool indirect_fits(struct vulkan_run *run, VkBuffer buffer, uint64_t offset, uint32_t count,
                          uint32_t stride, uint32_t size) {
    REQUIRE(offset % 4 == 0 && (count < 2 || (stride % 4 == 0 && stride >= size)),
            "the offset or the stride of an indirect command is not aligned, or too small");
    REQUIRE(count <= 1 || count <= run->device->limits.maxDrawIndirectCount,
            "more indirect draws than the device allows");
    return buffer_has(run, buffer, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
}
CHECK(CmdDrawIndirect) {
    return indirect_fits(run, at->b, at->o, at->n, at->s, sizeof(VkDrawIndirectCommand));
}
CHECK(CmdDrawIndexedIndirect) {
    return indirect_fits(run, at->b, at->o, at->n, at->s, sizeof(VkDrawIndexedIndirectCommand));
}

// The number of draws in the buffer is the device's to limit (check_indirect.c).
static bool counted_fits(struct vulkan_run *run, VkBuffer buffer, uint64_t offset, VkBuffer counter,
                         uint64_t at, uint32_t stride, uint32_t size) {
    REQUIRE(run->device->v12.drawIndirectCount, "the device has no draws whose number is in a buffer");
    REQUIRE(offset % 4 == 0 && at % 4 == 0 && stride % 4 == 0 && stride >= size,
            "the offset or the stride of an indirect command is not aligned, or too small");
    return buffer_has(run, buffer, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT) &&
           buffer_has(run, counter, VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
}
CHECK(CmdDrawIndirectCount) {
    return counted_fits(run, at->b, at->o, at->d, at->p, at->s, sizeof(VkDrawIndirectCommand));
}
CHECK(CmdDrawIndexedIndirectCount) {
    return counted_fits(run, at->b, at->o, at->d, at->p, at->s, sizeof(VkDrawIndexedIndirectCommand));
}
CHECK(CmdDispatchIndirect) {
    return indirect_fits(run, at->b, at->o, 1, 0, 0);
}

static bool groups_fit(struct vulkan_run *run, const uint32_t first[3], const uint32_t count[3]) {
    for (int i = 0; i < 3; i++)
        REQUIRE(is_inside(first[i], count[i], run->device->limits.maxComputeWorkGroupCount[i]),
                "a dispatch has more work-groups than the device allows");
    return true;
}
CHECK(CmdDispatch) {
    return groups_fit(run, (const uint32_t[]){0, 0, 0}, (const uint32_t[]){at->x, at->y, at->z});
}
CHECK(CmdDispatchBase) {
    return groups_fit(run, (const uint32_t[]){at->i, at->j, at->k}, (const uint32_t[]){at->x, at->y, at->z});
}

// Every stage that it names has the whole range in the layout.
CHECK(CmdPushConstants) {
    const struct vulkan_live *layout = vulkan_find_handle(run, (uint64_t)(uintptr_t)at->l, VULKAN_LAYOUT);
    VkShaderStageFlags left = at->s;
    REQUIRE(layout && left && at->n && at->o % 4 == 0 && at->n % 4 == 0,
            "push constants without a stage, or that are not aligned");
    for (uint32_t i = 0; i < layout->range_count; i++) {
        const VkPushConstantRange *range = &layout->ranges[i];
        if (at->o >= range->offset && is_inside(at->o - range->offset, at->n, range->size))
            left &= ~range->stageFlags;
    }
    REQUIRE(!left, "push constants that their pipeline layout does not have");
    return true;
}

// ---- dynamic state

bool check_viewports(struct vulkan_run *run, const VkViewport *all, uint32_t count) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    for (uint32_t i = 0; i < count; i++) {
        const VkViewport *at = &all[i];
        REQUIRE(at->width >= 0 && at->width <= (float)limits->maxViewportDimensions[0] &&
                    fabsf(at->height) <= (float)limits->maxViewportDimensions[1] &&
                    at->x >= limits->viewportBoundsRange[0] &&
                    at->x + at->width <= limits->viewportBoundsRange[1] &&
                    at->y >= limits->viewportBoundsRange[0] && at->y <= limits->viewportBoundsRange[1] &&
                    at->y + at->height >= limits->viewportBoundsRange[0] &&
                    at->y + at->height <= limits->viewportBoundsRange[1] && at->minDepth >= 0 &&
                    at->minDepth <= 1 && at->maxDepth >= 0 && at->maxDepth <= 1,
                "a viewport is out of the bounds of the device, or not a number");
    }
    return true;
}
bool check_scissors(struct vulkan_run *run, const VkRect2D *all, uint32_t count) {
    const VkExtent2D most = {INT32_MAX, INT32_MAX};
    for (uint32_t i = 0; i < count; i++)
        REQUIRE(area_fits(&all[i], most), "a scissor is out of bounds");
    return true;
}
CHECK(CmdSetViewport) {
    return check_viewports(run, at->r, at->n);
}
CHECK(CmdSetViewportWithCount) {
    return check_viewports(run, at->r, at->n);
}
CHECK(CmdSetScissor) {
    return check_scissors(run, at->r, at->n);
}
CHECK(CmdSetScissorWithCount) {
    return check_scissors(run, at->r, at->n);
}
CHECK(CmdSetLineWidth) {
    REQUIRE(isfinite(at->w) && at->w > 0, "a line has no width");
    return true;
}
CHECK(CmdSetDepthBias) {
    REQUIRE(isfinite(at->x) && isfinite(at->y) && isfinite(at->z), "a depth bias is not a number");
    return true;
}
CHECK(CmdSetDepthBounds) {
    REQUIRE(at->l >= 0 && at->l <= 1 && at->m >= 0 && at->m <= 1, "depth bounds are not from 0 to 1");
    return true;
}
static bool faces_fit(struct vulkan_run *run, VkStencilFaceFlags faces) {
    REQUIRE(faces && !(faces & ~(VkStencilFaceFlags)VK_STENCIL_FACE_FRONT_AND_BACK),
            "unknown faces of a stencil");
    return true;
}
CHECK(CmdSetStencilCompareMask) {
    return faces_fit(run, at->f);
}
CHECK(CmdSetStencilWriteMask) {
    return faces_fit(run, at->f);
}
CHECK(CmdSetStencilReference) {
    return faces_fit(run, at->f);
}
CHECK(CmdSetStencilOp) {
    return faces_fit(run, at->f);
}
CHECK(CmdSetCullMode) {
    REQUIRE(!(at->v & ~(VkCullModeFlags)VK_CULL_MODE_FRONT_AND_BACK), "an unknown cull mode");
    return true;
}

// ---- barriers

CHECK(CmdPipelineBarrier) {
    REQUIRE(check_stages(at->f) && check_stages(at->t) && are_dependencies(at->y), unknown_mask);
    for (uint32_t i = 0; i < at->n; i++)
        REQUIRE(check_accesses(at->m[i].srcAccessMask) && check_accesses(at->m[i].dstAccessMask),
                unknown_mask);
    for (uint32_t i = 0; i < at->k; i++) {
        REQUIRE(check_accesses(at->b[i].srcAccessMask) && check_accesses(at->b[i].dstAccessMask),
                unknown_mask);
        REQUIRE(is_part(run, at->b[i].buffer, at->b[i].offset, at->b[i].size), beyond_buffer);
    }
    for (uint32_t i = 0; i < at->l; i++) {
        REQUIRE(check_accesses(at->i[i].srcAccessMask) && check_accesses(at->i[i].dstAccessMask),
                unknown_mask);
        REQUIRE(is_transition(at->i[i].oldLayout, at->i[i].newLayout), unknown_layout);
    }
    return true;
}

#define KNOWN2(barrier)                                                                                      \
    (are_stages2((barrier)->srcStageMask) && are_stages2((barrier)->dstStageMask) &&                         \
     are_accesses2((barrier)->srcAccessMask) && are_accesses2((barrier)->dstAccessMask))
CHECK(CmdPipelineBarrier2) {
    const VkDependencyInfo *info = at->i;
    REQUIRE(are_dependencies(info->dependencyFlags), unknown_mask);
    for (uint32_t i = 0; i < info->memoryBarrierCount; i++)
        REQUIRE(KNOWN2(&info->pMemoryBarriers[i]), unknown_mask);
    for (uint32_t i = 0; i < info->bufferMemoryBarrierCount; i++) {
        const VkBufferMemoryBarrier2 *barrier = &info->pBufferMemoryBarriers[i];
        REQUIRE(KNOWN2(barrier), unknown_mask);
        REQUIRE(is_part(run, barrier->buffer, barrier->offset, barrier->size), beyond_buffer);
    }
    for (uint32_t i = 0; i < info->imageMemoryBarrierCount; i++) {
        const VkImageMemoryBarrier2 *barrier = &info->pImageMemoryBarriers[i];
        REQUIRE(KNOWN2(barrier), unknown_mask);
        REQUIRE(is_transition(barrier->oldLayout, barrier->newLayout), unknown_layout);
    }
    return true;
}

// ---- passes

// What a pass draws to is still there.
CHECK(CmdBeginRenderPass) {
    const struct vulkan_live *frame =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)at->i->framebuffer, VULKAN_FRAMEBUFFER);
    for (uint32_t i = 0; frame && i < frame->attachments; i++) {
        const struct vulkan_live *view =
            frame->numbers ? vulkan_find(run, frame->numbers[i], VULKAN_IMAGE_VIEW) : NULL;
        const struct vulkan_live *image =
            view && view->handle ? vulkan_find(run, view->of, VULKAN_IMAGE) : NULL;
        REQUIRE(image && image->handle, "a framebuffer has an image or a view that is gone");
    }
    return true;
}

static bool is_store(VkAttachmentStoreOp store) {
    return store == VK_ATTACHMENT_STORE_OP_STORE || store == VK_ATTACHMENT_STORE_OP_DONT_CARE ||
           store == VK_ATTACHMENT_STORE_OP_NONE;
}

static bool target_fits(struct vulkan_run *run, VkImageView handle, VkImageLayout layout,
                        VkImageUsageFlags usage) {
    const struct vulkan_live *view = view_of(run, handle),
                             *image = view ? vulkan_find(run, view->of, VULKAN_IMAGE) : NULL;
    REQUIRE(image && image->handle, "an attachment is a view of an image that is gone");
    REQUIRE(view->usage & usage, "an image is not made for this usage");
    REQUIRE(check_layout_used(layout), "an attachment has a layout that is unknown or not allowed");
    return true;
}

static bool attachment_fits(struct vulkan_run *run, const VkRenderingAttachmentInfo *at,
                            VkImageUsageFlags usage) {
    if (!at || !at->imageView)
        return true;
    REQUIRE(is_store(at->storeOp), "an attachment has an unknown store operation");
    return target_fits(run, at->imageView, at->imageLayout, usage) &&
           (!at->resolveMode || !at->resolveImageView ||
            target_fits(run, at->resolveImageView, at->resolveImageLayout, usage));
}

CHECK(CmdBeginRendering) {
    const VkRenderingInfo *info = at->i;
    static const VkRenderingFlags known = VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT;
    REQUIRE(!(info->flags & ~known), "a pass begins with unknown flags");
    REQUIRE(info->colorAttachmentCount <= VULKAN_COLORS_MOST,
            "a pass has more attachments than are supported");
    for (uint32_t i = 0; i < info->colorAttachmentCount; i++)
        if (!attachment_fits(run, &info->pColorAttachments[i], VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT))
            return false;
    return attachment_fits(run, info->pDepthAttachment, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT) &&
           attachment_fits(run, info->pStencilAttachment, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
}

bool check_values(struct vulkan_run *run, enum vulkan_command number, const void *call) {
#define ROW(name)                                                                                            \
    case VULKAN_##name:                                                                                      \
        return values_##name(run, call);
    switch (number) {
        ROW(CmdCopyBuffer)
        ROW(CmdUpdateBuffer)
        ROW(CmdFillBuffer)
        ROW(CmdCopyImage)
        ROW(CmdBlitImage)
        ROW(CmdResolveImage)
        ROW(CmdCopyBufferToImage)
        ROW(CmdCopyImageToBuffer)
        ROW(CmdClearColorImage)
        ROW(CmdClearDepthStencilImage)
        ROW(CmdBindIndexBuffer)
        ROW(CmdBindVertexBuffers)
        ROW(CmdBindVertexBuffers2)
        ROW(CmdDrawIndirect)
        ROW(CmdDrawIndexedIndirect)
        ROW(CmdDrawIndirectCount)
        ROW(CmdDrawIndexedIndirectCount)
        ROW(CmdDispatchIndirect)
        ROW(CmdDispatch)
        ROW(CmdDispatchBase)
        ROW(CmdPushConstants)
        ROW(CmdSetViewport)
        ROW(CmdSetViewportWithCount)
        ROW(CmdSetScissor)
        ROW(CmdSetScissorWithCount)
        ROW(CmdSetLineWidth)
        ROW(CmdSetDepthBias)
        ROW(CmdSetDepthBounds)
        ROW(CmdSetStencilCompareMask)
        ROW(CmdSetStencilWriteMask)
        ROW(CmdSetStencilReference)
        ROW(CmdSetStencilOp)
        ROW(CmdSetCullMode)
        ROW(CmdPipelineBarrier)
        ROW(CmdPipelineBarrier2)
        ROW(CmdBeginRenderPass)
        ROW(CmdBeginRendering)
    default:
        return check_dynamic_values(run, number, call);
    }
#undef ROW
}

#endif
