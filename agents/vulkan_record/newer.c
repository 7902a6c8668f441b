// SPDX-License-Identifier: Apache-2.0
// Newer functions that do what older ones do: copies of copy_commands2, render passes of create_renderpass2 and draws of multi_draw are
// recorded as the older ones, if they have nothing that those cannot say. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "recording/vulkan/formats.h"

static struct object *find(VkCommandBuffer commands) {
    return object_find(VULKAN_COMMANDS, (uint64_t)(uintptr_t)commands);
}

// ---- copies

static VkBufferCopy older_VkBufferCopy(const VkBufferCopy2 *at) {
    return (VkBufferCopy){at->srcOffset, at->dstOffset, at->size};
}
static VkImageCopy older_VkImageCopy(const VkImageCopy2 *at) {
    return (VkImageCopy){at->srcSubresource, at->srcOffset, at->dstSubresource, at->dstOffset, at->extent};
}
static VkImageResolve older_VkImageResolve(const VkImageResolve2 *at) {
    return (VkImageResolve){at->srcSubresource, at->srcOffset, at->dstSubresource, at->dstOffset, at->extent};
}
static VkBufferImageCopy older_VkBufferImageCopy(const VkBufferImageCopy2 *at) {
    return (VkBufferImageCopy){at->bufferOffset,     at->bufferRowLength, at->bufferImageHeight,
                               at->imageSubresource, at->imageOffset,     at->imageExtent};
}
static VkImageBlit older_VkImageBlit(const VkImageBlit2 *at) {
    return (VkImageBlit){at->srcSubresource,
                         {at->srcOffsets[0], at->srcOffsets[1]},
                         at->dstSubresource,
                         {at->dstOffsets[0], at->dstOffsets[1]}};
}

// The last arguments: members of the older call, from `i`.
#define RECORD_COPY(name, type, region, ...)                                                                 \
    void record_Cmd##name##2(VkCommandBuffer c, const type *i) {                                             \
        region *regions = calloc(i->regionCount + (size_t)1, sizeof *regions);                               \
        bool older = !i->pNext;                                                                              \
        for (uint32_t at = 0; regions && at < i->regionCount; at++) {                                        \
            older &= !i->pRegions[at].pNext;                                                                 \
            regions[at] = older_##region(&i->pRegions[at]);                                                  \
        }                                                                                                    \
        recorder_lock();                                                                                     \
        struct object *commands = find(c);                                                                   \
        if (commands && regions && older)                                                                    \
            commands_put_Cmd##name(                                                                          \
                commands, &(struct call_Cmd##name){.n = i->regionCount, .r = regions, __VA_ARGS__});         \
        else if (commands)                                                                                   \
            words_missing(&commands->words, "vkCmd" #name "2 with more than its older form");                \
        recorder_unlock();                                                                                   \
        free(regions);                                                                                       \
        device_of(c)->next.Cmd##name##2(c, i);                                                               \
    }
RECORD_COPY(CopyBuffer, VkCopyBufferInfo2, VkBufferCopy, .s = i->srcBuffer, .d = i->dstBuffer)
RECORD_COPY(CopyImage, VkCopyImageInfo2, VkImageCopy, .s = i->srcImage, .l = i->srcImageLayout,
            .d = i->dstImage, .m = i->dstImageLayout)
RECORD_COPY(BlitImage, VkBlitImageInfo2, VkImageBlit, .s = i->srcImage, .l = i->srcImageLayout,
            .d = i->dstImage, .m = i->dstImageLayout, .f = i->filter)
RECORD_COPY(ResolveImage, VkResolveImageInfo2, VkImageResolve, .s = i->srcImage, .l = i->srcImageLayout,
            .d = i->dstImage, .m = i->dstImageLayout)
RECORD_COPY(CopyBufferToImage, VkCopyBufferToImageInfo2, VkBufferImageCopy, .s = i->srcBuffer,
            .d = i->dstImage, .l = i->dstImageLayout)
RECORD_COPY(CopyImageToBuffer, VkCopyImageToBufferInfo2, VkBufferImageCopy, .s = i->srcImage,
            .l = i->srcImageLayout, .d = i->dstBuffer)

// ---- render passes

// An older one in memory of its own.
struct older_pass {
    VkRenderPassCreateInfo info;
    VkAttachmentDescription *attachments;
    VkSubpassDescription *subpasses;
    VkSubpassDependency *dependencies;
    VkAttachmentReference *references; // of all subpasses
    const char *missing;               // what the older form cannot say; NULL: nothing
};

// Layouts of depth and of stencil as the older form says them: in one. False: it cannot.
static bool join_layouts(VkImageLayout depth, VkImageLayout stencil, VkImageLayout *joined) {
    const bool reads = depth == VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL,
               stencil_reads = stencil == VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL;
    if (depth == stencil) {
        *joined = depth;
        return true;
    }
    *joined = reads ? (stencil_reads ? VK_IMAGE_LAYOUT_DEPTH_STENCIL_READ_ONLY_OPTIMAL
                                     : VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_STENCIL_ATTACHMENT_OPTIMAL)
                    : (stencil_reads ? VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL
                                     : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL);
    return (reads || depth == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL) &&
           (stencil_reads || stencil == VK_IMAGE_LAYOUT_STENCIL_ATTACHMENT_OPTIMAL);
}

static const char other_stencil[] = "a render pass whose layouts of a stencil have no older form";

// Of an attachment without a struct for its stencil the layout is that of both.
static VkImageLayout reference_layout(struct older_pass *pass, const VkAttachmentReference2 *from) {
    const VkAttachmentReferenceStencilLayout *stencil = from->pNext;
    VkImageLayout layout = from->layout;
    if (stencil && (stencil->sType != VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_STENCIL_LAYOUT ||
                    stencil->pNext || !join_layouts(from->layout, stencil->stencilLayout, &layout)))
        pass->missing = other_stencil;
    return layout;
}

static VkAttachmentReference *add_references(struct older_pass *pass, size_t *used,
                                             const VkAttachmentReference2 *from, uint32_t count) {
    VkAttachmentReference *first = &pass->references[*used];
    if (!from)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        pass->references[(*used)++] =
            (VkAttachmentReference){from[i].attachment, reference_layout(pass, &from[i])};
    }
    return first;
}

static void add_subpass(struct older_pass *pass, size_t *used, VkSubpassDescription *to,
                        const VkSubpassDescription2 *from) {
    if (from->pNext || from->viewMask)
        pass->missing = "a render pass with several views or a resolve of depth";
    *to = (VkSubpassDescription){
        .flags = from->flags,
        .pipelineBindPoint = from->pipelineBindPoint,
        .inputAttachmentCount = from->inputAttachmentCount,
        .pInputAttachments = add_references(pass, used, from->pInputAttachments, from->inputAttachmentCount),
        .colorAttachmentCount = from->colorAttachmentCount,
        .pColorAttachments = add_references(pass, used, from->pColorAttachments, from->colorAttachmentCount),
        .pResolveAttachments =
            add_references(pass, used, from->pResolveAttachments, from->colorAttachmentCount),
        .pDepthStencilAttachment = add_references(pass, used, from->pDepthStencilAttachment, 1),
        .preserveAttachmentCount = from->preserveAttachmentCount,
        .pPreserveAttachments = from->pPreserveAttachments};
}

static void fill_attachments(struct older_pass *pass, const VkRenderPassCreateInfo2 *from) {
    for (uint32_t i = 0; i < from->attachmentCount; i++) {
        const VkAttachmentDescription2 *at = &from->pAttachments[i];
        const VkAttachmentDescriptionStencilLayout *stencil = at->pNext;
        VkAttachmentDescription *to = &pass->attachments[i];
        *to = (VkAttachmentDescription){at->flags,          at->format,        at->samples,
                                        at->loadOp,         at->storeOp,       at->stencilLoadOp,
                                        at->stencilStoreOp, at->initialLayout, at->finalLayout};
        if (stencil && (stencil->sType != VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT ||
                        stencil->pNext || !vulkan_format_both(at->format) ||
                        !join_layouts(at->initialLayout, stencil->stencilInitialLayout, &to->initialLayout) ||
                        !join_layouts(at->finalLayout, stencil->stencilFinalLayout, &to->finalLayout)))
            pass->missing = other_stencil;
    }
}

static void fill_dependencies(struct older_pass *pass, const VkRenderPassCreateInfo2 *from) {
    for (uint32_t i = 0; i < from->dependencyCount; i++) {
        const VkSubpassDependency2 *at = &from->pDependencies[i];
        if (at->pNext || at->viewOffset)
            pass->missing = "a render pass with dependencies of synchronization2 or of views";
        pass->dependencies[i] =
            (VkSubpassDependency){at->srcSubpass,    at->dstSubpass,    at->srcStageMask,   at->dstStageMask,
                                  at->srcAccessMask, at->dstAccessMask, at->dependencyFlags};
    }
}

static void older_pass(struct older_pass *pass, const VkRenderPassCreateInfo2 *from) {
    size_t references = 1, used = 0;
    for (uint32_t i = 0; i < from->subpassCount; i++)
        references += (size_t)from->pSubpasses[i].inputAttachmentCount +
                      2 * (size_t)from->pSubpasses[i].colorAttachmentCount + 1;
    *pass = (struct older_pass){
        .attachments = calloc(from->attachmentCount + (size_t)1, sizeof *pass->attachments),
        .subpasses = calloc(from->subpassCount + (size_t)1, sizeof *pass->subpasses),
        .dependencies = calloc(from->dependencyCount + (size_t)1, sizeof *pass->dependencies),
        .references = calloc(references, sizeof *pass->references)};
    if (!pass->attachments || !pass->subpasses || !pass->dependencies || !pass->references) {
        pass->missing = "out of memory";
        return;
    }
    if (from->pNext)
        pass->missing = "a render pass with structs that are not known";
    fill_attachments(pass, from);
    for (uint32_t i = 0; i < from->subpassCount; i++)
        add_subpass(pass, &used, &pass->subpasses[i], &from->pSubpasses[i]);
    fill_dependencies(pass, from);
    pass->info = (VkRenderPassCreateInfo){.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                          .flags = from->flags,
                                          .attachmentCount = from->attachmentCount,
                                          .pAttachments = pass->attachments,
                                          .subpassCount = from->subpassCount,
                                          .pSubpasses = pass->subpasses,
                                          .dependencyCount = from->dependencyCount,
                                          .pDependencies = pass->dependencies};
}

VkResult record_CreateRenderPass2(VkDevice handle, const VkRenderPassCreateInfo2 *info,
                                  const VkAllocationCallbacks *allocator, VkRenderPass *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.CreateRenderPass2(handle, info, allocator, out);
    struct older_pass pass;
    struct describing describing;
    if (result != VK_SUCCESS)
        return result;
    older_pass(&pass, info);
    recorder_lock();
    describe_begin(&describing);
    if (pass.missing)
        words_missing(&describing.words, "%s", pass.missing);
    else
        words_VkRenderPassCreateInfo(&describing.words, &pass.info);
    struct object *object = object_add(device, VULKAN_PASS, (uint64_t)(uintptr_t)*out, "vkCreateRenderPass");
    describe_end(&describing, object);
    if (object && !pass.missing)
        pass_describe(object, &pass.info);
    recorder_unlock();
    free(pass.attachments);
    free(pass.subpasses);
    free(pass.dependencies);
    free(pass.references);
    return result;
}

void record_CmdBeginRenderPass2(VkCommandBuffer c, const VkRenderPassBeginInfo *info,
                                const VkSubpassBeginInfo *subpass) {
    recorder_lock();
    struct object *commands = find(c);
    if (commands)
        commands_put_CmdBeginRenderPass(commands,
                                        &(struct call_CmdBeginRenderPass){.i = info, .s = subpass->contents});
    recorder_unlock();
    device_of(c)->next.CmdBeginRenderPass2(c, info, subpass);
}

void record_CmdNextSubpass2(VkCommandBuffer c, const VkSubpassBeginInfo *subpass,
                            const VkSubpassEndInfo *end) {
    recorder_lock();
    struct object *commands = find(c);
    if (commands)
        commands_put_CmdNextSubpass(commands, &(struct call_CmdNextSubpass){.s = subpass->contents});
    recorder_unlock();
    device_of(c)->next.CmdNextSubpass2(c, subpass, end);
}

void record_CmdEndRenderPass2(VkCommandBuffer c, const VkSubpassEndInfo *end) {
    recorder_lock();
    struct object *commands = find(c);
    if (commands)
        commands_put_CmdEndRenderPass(commands, &(struct call_CmdEndRenderPass){.end = 0});
    recorder_unlock();
    device_of(c)->next.CmdEndRenderPass2(c, end);
}

// ---- draws

// Each is one of its own, and the number of the draw, which a shader may read, is that of a single draw.
static struct object *find_for_draws(VkCommandBuffer handle, uint32_t count) {
    struct object *commands = find(handle);
    if (commands && count > 1 && commands->device->numbers_draws) {
        words_missing(&commands->words, "draws of VK_EXT_multi_draw whose shaders may read their number");
        return NULL;
    }
    return commands;
}

void record_CmdDrawMultiEXT(VkCommandBuffer c, uint32_t count, const VkMultiDrawInfoEXT *draws,
                            uint32_t instances, uint32_t first, uint32_t stride) {
    recorder_lock();
    struct object *commands = find_for_draws(c, count);
    for (uint32_t i = 0; commands && i < count; i++) {
        VkMultiDrawInfoEXT draw;
        memcpy(&draw, (const uint8_t *)draws + (size_t)i * stride, sizeof draw);
        commands_put_CmdDraw(commands,
                             &(struct call_CmdDraw){
                                 .v = draw.vertexCount, .i = instances, .fv = draw.firstVertex, .fi = first});
    }
    recorder_unlock();
    device_of(c)->next.CmdDrawMultiEXT(c, count, draws, instances, first, stride);
}

void record_CmdDrawMultiIndexedEXT(VkCommandBuffer c, uint32_t count, const VkMultiDrawIndexedInfoEXT *draws,
                                   uint32_t instances, uint32_t first, uint32_t stride,
                                   const int32_t *offset) {
    recorder_lock();
    struct object *commands = find_for_draws(c, count);
    for (uint32_t i = 0; commands && i < count; i++) {
        VkMultiDrawIndexedInfoEXT draw;
        memcpy(&draw, (const uint8_t *)draws + (size_t)i * stride, sizeof draw);
        commands_put_CmdDrawIndexed(commands,
                                    &(struct call_CmdDrawIndexed){.n = draw.indexCount,
                                                                  .i = instances,
                                                                  .fi = draw.firstIndex,
                                                                  .v = offset ? *offset : draw.vertexOffset,
                                                                  .ff = first});
    }
    recorder_unlock();
    device_of(c)->next.CmdDrawMultiIndexedEXT(c, count, draws, instances, first, stride, offset);
}
