// SPDX-License-Identifier: Apache-2.0
// Values of a recording that drivers trust (check.c): those of objects, when they are made.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <math.h>

#include "replay/vulkan/check.h"

static const char unknown_flags[] = "it has flags or stages that are unknown";

// Of the stages that a replay has.
static bool are_stages(VkShaderStageFlags stages) {
    static const VkShaderStageFlags known = VK_SHADER_STAGE_ALL_GRAPHICS | VK_SHADER_STAGE_COMPUTE_BIT;
    return stages == VK_SHADER_STAGE_ALL || !(stages & ~known);
}

bool vulkan_check_VkBufferCreateInfo(struct vulkan_run *run, const VkBufferCreateInfo *info) {
    static const VkBufferUsageFlags known = (VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT << 1) - 1;
    REQUIRE(info->usage && !(info->usage & ~known), "a buffer has no usage, or an unknown one");
    return info->size > 0;
}

bool vulkan_check_VkBufferViewCreateInfo(struct vulkan_run *run, const VkBufferViewCreateInfo *info) {
    static const VkBufferUsageFlags texels =
        VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT;
    const struct vulkan_live *buffer =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->buffer, VULKAN_BUFFER);
    const uint64_t whole = buffer ? buffer->bytes : 0, texel = vulkan_format_bytes(info->format);
    if (info->range == VK_WHOLE_SIZE ? info->offset >= whole : !is_inside(info->offset, info->range, whole))
        return false;
    const uint64_t range = info->range == VK_WHOLE_SIZE ? whole - info->offset : info->range;
    REQUIRE(!info->flags, unknown_flags);
    REQUIRE(buffer->usage & texels, "a view of a buffer that is not made for views");
    REQUIRE(texel && (info->range == VK_WHOLE_SIZE || (range && range % texel == 0)) &&
                range / texel <= run->device->limits.maxTexelBufferElements,
            "a view of a buffer has a range that is no number of texels, or too many");
    return check_buffer_format(run, info->format,
                               (buffer->usage & VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT
                                    ? (VkFormatFeatureFlags)VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT
                                    : 0) |
                                   (buffer->usage & VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT
                                        ? (VkFormatFeatureFlags)VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT
                                        : 0));
}

bool vulkan_check_VkSamplerCreateInfo(struct vulkan_run *run, const VkSamplerCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    REQUIRE(!info->flags || (info->flags == VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT &&
                             run->device->extras.seams.nonSeamlessCubeMap),
            unknown_flags);
    REQUIRE(!info->anisotropyEnable || !run->device->features.samplerAnisotropy ||
                (info->maxAnisotropy >= 1 && info->maxAnisotropy <= limits->maxSamplerAnisotropy),
            "a sampler has an anisotropy that the device does not have");
    REQUIRE(fabsf(info->mipLodBias) <= limits->maxSamplerLodBias && info->minLod <= info->maxLod,
            "a sampler has levels of detail out of bounds");
    return check_sampler_features(run, info);
}

bool vulkan_check_VkShaderModuleCreateInfo(struct vulkan_run *run, const VkShaderModuleCreateInfo *info) {
    struct vulkan_shader *shader = vulkan_shader_of(info->pCode, info->codeSize / sizeof(uint32_t));
    const bool good = shader && check_shader_features(run, shader);
    vulkan_shader_end(shader);
    REQUIRE(!info->flags, unknown_flags);
    REQUIRE(shader, "it is no SPIR-V, its instructions exceed it, or it uses addresses of buffers");
    return good;
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
            (info->imageType == VK_IMAGE_TYPE_2D && info->mipLevels == 1)) &&
           check_image(run, info);
}

static bool type_fits(const VkImageCreateInfo *image, VkImageViewType type, uint32_t layers) {
    switch (type) {
    case VK_IMAGE_VIEW_TYPE_1D:
        return image->imageType == VK_IMAGE_TYPE_1D && layers == 1;
    case VK_IMAGE_VIEW_TYPE_1D_ARRAY:
        return image->imageType == VK_IMAGE_TYPE_1D;
    case VK_IMAGE_VIEW_TYPE_2D:
        return image->imageType != VK_IMAGE_TYPE_1D && layers == 1;
    case VK_IMAGE_VIEW_TYPE_2D_ARRAY:
        return image->imageType != VK_IMAGE_TYPE_1D;
    case VK_IMAGE_VIEW_TYPE_3D:
        return image->imageType == VK_IMAGE_TYPE_3D;
    default: // cubes
        return image->imageType == VK_IMAGE_TYPE_2D && image->flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT &&
               (type == VK_IMAGE_VIEW_TYPE_CUBE ? layers == 6 : layers % 6 == 0);
    }
}

// A view of the slices of an image of three dimensions counts them as layers.
bool vulkan_check_VkImageViewCreateInfo(struct vulkan_run *run, const VkImageViewCreateInfo *info) {
    const struct vulkan_live *live = image_of(run, info->image);
    if (!live || !info->format)
        return false;
    struct vulkan_live slices = *live;
    if (live->image.imageType == VK_IMAGE_TYPE_3D && info->viewType != VK_IMAGE_VIEW_TYPE_3D)
        slices.image.arrayLayers = shrink(live->image.extent.depth, info->subresourceRange.baseMipLevel & 31);
    const VkImageSubresourceRange *range = &info->subresourceRange;
    const uint32_t layers = range->layerCount == VK_REMAINING_ARRAY_LAYERS
                                ? slices.image.arrayLayers - range->baseArrayLayer
                                : range->layerCount;
    return range_fits(&slices, range) && type_fits(&live->image, info->viewType, layers) &&
           aspects_fit(info->format, info->subresourceRange.aspectMask) &&
           vulkan_format_aspect(info->format) == vulkan_format_aspect(live->image.format) && !info->flags &&
           check_view_format(run, live, info->format) && check_view_features(run, info);
}

static bool references_fit(const VkAttachmentReference *all, uint32_t count, uint32_t attachments) {
    for (uint32_t i = 0; all && i < count; i++)
        if (all[i].attachment >= attachments && all[i].attachment != VK_ATTACHMENT_UNUSED)
            return false;
    return true;
}

// Where every reference is within the attachments: the same samples for all, resolves into one sample, aspects that the use has.
static bool subpass_fits(const VkRenderPassCreateInfo *info, const VkSubpassDescription *pass) {
    uint32_t samples = 0;
    for (uint32_t i = 0; i < pass->colorAttachmentCount; i++) {
        const uint32_t color = pass->pColorAttachments[i].attachment,
                       resolve = pass->pResolveAttachments ? pass->pResolveAttachments[i].attachment
                                                           : VK_ATTACHMENT_UNUSED;
        if (color == VK_ATTACHMENT_UNUSED) {
            if (resolve != VK_ATTACHMENT_UNUSED)
                return false;
            continue;
        }
        const VkAttachmentDescription *from = &info->pAttachments[color];
        if (vulkan_format_aspect(from->format) != VK_IMAGE_ASPECT_COLOR_BIT ||
            (samples && samples != (uint32_t)from->samples))
            return false;
        samples = from->samples;
        if (resolve != VK_ATTACHMENT_UNUSED &&
            (samples == VK_SAMPLE_COUNT_1_BIT ||
             info->pAttachments[resolve].samples != VK_SAMPLE_COUNT_1_BIT ||
             info->pAttachments[resolve].format != from->format))
            return false;
    }
    const uint32_t depth =
        pass->pDepthStencilAttachment ? pass->pDepthStencilAttachment->attachment : VK_ATTACHMENT_UNUSED;
    return depth == VK_ATTACHMENT_UNUSED ||
           (vulkan_format_aspect(info->pAttachments[depth].format) != VK_IMAGE_ASPECT_COLOR_BIT &&
            (!samples || samples == (uint32_t)info->pAttachments[depth].samples));
}

static bool dependencies_fit(const VkRenderPassCreateInfo *info) {
    static const VkDependencyFlags known = VK_DEPENDENCY_BY_REGION_BIT | VK_DEPENDENCY_VIEW_LOCAL_BIT;
    for (uint32_t i = 0; i < info->dependencyCount; i++)
        if (!check_stages(info->pDependencies[i].srcStageMask) ||
            !check_stages(info->pDependencies[i].dstStageMask) ||
            !check_accesses(info->pDependencies[i].srcAccessMask) ||
            !check_accesses(info->pDependencies[i].dstAccessMask) ||
            info->pDependencies[i].dependencyFlags & ~known)
            return false;
    for (uint32_t i = 0; i < info->dependencyCount; i++)
        if ((info->pDependencies[i].srcSubpass >= info->subpassCount &&
             info->pDependencies[i].srcSubpass != VK_SUBPASS_EXTERNAL) ||
            (info->pDependencies[i].dstSubpass >= info->subpassCount &&
             info->pDependencies[i].dstSubpass != VK_SUBPASS_EXTERNAL))
            return false;
    return true;
}

static bool is_store(VkAttachmentStoreOp store) {
    return store == VK_ATTACHMENT_STORE_OP_STORE || store == VK_ATTACHMENT_STORE_OP_DONT_CARE ||
           store == VK_ATTACHMENT_STORE_OP_NONE;
}

static bool layouts_fit(const VkAttachmentReference *all, uint32_t count) {
    for (uint32_t i = 0; all && i < count; i++)
        if (all[i].attachment != VK_ATTACHMENT_UNUSED && !check_layout_used(all[i].layout))
            return false;
    return true;
}

static bool attachments_fit(struct vulkan_run *run, const VkRenderPassCreateInfo *info) {
    for (uint32_t i = 0; i < info->attachmentCount; i++) {
        const VkAttachmentDescription *at = &info->pAttachments[i];
        REQUIRE(!(at->flags & ~(VkAttachmentDescriptionFlags)VK_ATTACHMENT_DESCRIPTION_MAY_ALIAS_BIT),
                unknown_flags);
        REQUIRE(is_store(at->storeOp) && is_store(at->stencilStoreOp),
                "an attachment has an unknown store operation");
        REQUIRE(at->initialLayout != VK_IMAGE_LAYOUT_MAX_ENUM && check_layout_used(at->finalLayout),
                "an attachment has a layout that is unknown or not allowed");
    }
    return true;
}

bool vulkan_check_VkRenderPassCreateInfo(struct vulkan_run *run, const VkRenderPassCreateInfo *info) {
    const uint32_t most = run->device->limits.maxColorAttachments, count = info->attachmentCount;
    REQUIRE(!info->flags, unknown_flags);
    if (!attachments_fit(run, info))
        return false;
    for (uint32_t i = 0; i < info->subpassCount; i++) {
        const VkSubpassDescription *pass = &info->pSubpasses[i];
        if (pass->colorAttachmentCount > most ||
            !references_fit(pass->pInputAttachments, pass->inputAttachmentCount, count) ||
            !references_fit(pass->pColorAttachments, pass->colorAttachmentCount, count) ||
            !references_fit(pass->pResolveAttachments, pass->colorAttachmentCount, count) ||
            !references_fit(pass->pDepthStencilAttachment, 1, count) || !subpass_fits(info, pass))
            return false;
        REQUIRE(pass->colorAttachmentCount <= VULKAN_COLORS_MOST,
                "a pass has more attachments than are supported");
        REQUIRE(!pass->flags && pass->pipelineBindPoint == VK_PIPELINE_BIND_POINT_GRAPHICS, unknown_flags);
        REQUIRE(layouts_fit(pass->pInputAttachments, pass->inputAttachmentCount) &&
                    layouts_fit(pass->pColorAttachments, pass->colorAttachmentCount) &&
                    layouts_fit(pass->pResolveAttachments, pass->colorAttachmentCount) &&
                    layouts_fit(pass->pDepthStencilAttachment, 1),
                "an attachment has a layout that is unknown or not allowed");
        for (uint32_t j = 0; j < pass->preserveAttachmentCount; j++)
            if (pass->pPreserveAttachments[j] >= count)
                return false;
    }
    return dependencies_fit(info) && info->subpassCount > 0;
}

bool vulkan_check_VkFramebufferCreateInfo(struct vulkan_run *run, const VkFramebufferCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const struct vulkan_live *pass = pass_of(run, info->renderPass);
    const VkRect2D all = {.extent = {info->width, info->height}};
    if (!pass || pass->attachments != info->attachmentCount || !pass->surfaces)
        return false;
    for (uint32_t i = 0; i < info->attachmentCount; i++) {
        const struct vulkan_live *view = view_of(run, info->pAttachments[i]);
        if (!view || !area_fits(&all, view->extent) || view->image.arrayLayers < info->layers ||
            view->image.mipLevels != 1 || view->image.format != pass->surfaces[i].format ||
            (uint32_t)view->image.samples != pass->surfaces[i].samples)
            return false;
        REQUIRE((view->usage & pass->surfaces[i].usage) == pass->surfaces[i].usage,
                "an attachment is an image that is not made for it");
    }
    REQUIRE(!info->flags, unknown_flags);
    return info->width && info->height && info->layers && info->width <= limits->maxFramebufferWidth &&
           info->height <= limits->maxFramebufferHeight && info->layers <= limits->maxFramebufferLayers;
}

// ---- layouts

bool vulkan_check_VkDescriptorSetLayoutCreateInfo(struct vulkan_run *run,
                                                  const VkDescriptorSetLayoutCreateInfo *info) {
    enum {
        BINDINGS = 1 << 16,
        MOST = 1 << 20,
        LISTED = 1 << 12
    }; // drivers have arrays up to the highest number
    uint64_t seen[BINDINGS / 64] = {0}, total = 0;
    REQUIRE(info->bindingCount <= LISTED, "a descriptor set layout has more bindings than are supported");
    for (uint32_t i = 0; i < info->bindingCount; i++) {
        const VkDescriptorSetLayoutBinding *at = &info->pBindings[i];
        if (at->binding >= BINDINGS || seen[at->binding / 64] >> at->binding % 64 & 1)
            return false;
        REQUIRE(!at->descriptorCount || are_stages(at->stageFlags), unknown_flags);
        seen[at->binding / 64] |= (uint64_t)1 << at->binding % 64;
        total += at->descriptorCount;
    }
    return total < MOST;
}

bool vulkan_check_VkPipelineLayoutCreateInfo(struct vulkan_run *run, const VkPipelineLayoutCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    VkShaderStageFlags seen = 0;
    for (uint32_t i = 0; i < info->pushConstantRangeCount; i++) {
        const VkPushConstantRange *at = &info->pPushConstantRanges[i];
        if (!at->size || at->size % 4 || at->offset % 4 || !at->stageFlags || at->stageFlags & seen ||
            !are_stages(at->stageFlags) || !is_inside(at->offset, at->size, limits->maxPushConstantsSize))
            return false;
        seen |= at->stageFlags;
    }
    REQUIRE(!info->flags, unknown_flags);
    REQUIRE(info->setLayoutCount <= VULKAN_SETS_MOST, "more descriptor sets than are supported");
    return info->setLayoutCount <= limits->maxBoundDescriptorSets && check_pipeline_limits(run, info);
}

// ---- pipelines

// Those that change nothing of what is computed, and what forget_base leaves (structs_pipeline.c).
static bool are_pipeline_flags(VkPipelineCreateFlags flags) {
    return !(flags & ~(VkPipelineCreateFlags)(VK_PIPELINE_CREATE_DISABLE_OPTIMIZATION_BIT |
                                              VK_PIPELINE_CREATE_VIEW_INDEX_FROM_DEVICE_INDEX_BIT |
                                              VK_PIPELINE_CREATE_DISPATCH_BASE_BIT));
}

static bool are_stage_flags(VkPipelineShaderStageCreateFlags flags) {
    return !(
        flags &
        ~(VkPipelineShaderStageCreateFlags)(VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT |
                                            VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT));
}

bool vulkan_check_VkComputePipelineCreateInfo(struct vulkan_run *run,
                                              const VkComputePipelineCreateInfo *info) {
    REQUIRE(are_pipeline_flags(info->flags) && are_stage_flags(info->stage.flags), unknown_flags);
    return info->stage.stage == VK_SHADER_STAGE_COMPUTE_BIT;
}

// Each of the graphics stages once at most, vertices always, tessellation with both of its stages.
static bool stages_fit(const VkGraphicsPipelineCreateInfo *info) {
    static const VkShaderStageFlags both =
        VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT | VK_SHADER_STAGE_TESSELLATION_EVALUATION_BIT;
    VkShaderStageFlags seen = 0;
    for (uint32_t i = 0; i < info->stageCount; i++) {
        const VkShaderStageFlags stage = info->pStages[i].stage;
        if (!stage || stage & (stage - 1) || stage & ~(VkShaderStageFlags)VK_SHADER_STAGE_ALL_GRAPHICS ||
            stage & seen)
            return false;
        seen |= stage;
    }
    return seen & VK_SHADER_STAGE_VERTEX_BIT && (!(seen & both) || (seen & both) == both);
}

// What enumerations of the state do not say (recording/vulkan): masks, and what a device may not have.
static bool state_fits(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineViewportStateCreateInfo *views = info->pViewportState;
    const VkPipelineColorBlendStateCreateInfo *blend = info->pColorBlendState;
    REQUIRE(are_pipeline_flags(info->flags) && (!blend || !blend->flags) &&
                (!info->pDepthStencilState || !info->pDepthStencilState->flags),
            unknown_flags);
    for (uint32_t i = 0; i < info->stageCount; i++)
        REQUIRE(are_stage_flags(info->pStages[i].flags), unknown_flags);
    if (!check_pipeline_features(run, info))
        return false;
    REQUIRE(!(raster->cullMode & ~(VkCullModeFlags)VK_CULL_MODE_FRONT_AND_BACK), "an unknown cull mode");
    REQUIRE(isfinite(raster->lineWidth) && isfinite(raster->depthBiasConstantFactor) &&
                isfinite(raster->depthBiasClamp) && isfinite(raster->depthBiasSlopeFactor),
            "a width of lines or a depth bias is not a number");
    for (uint32_t i = 0; blend && blend->pAttachments && i < blend->attachmentCount; i++)
        REQUIRE(!(blend->pAttachments[i].colorWriteMask &
                  ~(VkColorComponentFlags)(VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                                           VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT)),
                "an unknown mask of colors");
    return (!views || !views->pViewports || check_viewports(run, views->pViewports, views->viewportCount)) &&
           (!views || !views->pScissors || check_scissors(run, views->pScissors, views->scissorCount));
}

static bool vertices_fit(struct vulkan_run *run, const VkPipelineVertexInputStateCreateInfo *all) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    if (all->vertexBindingDescriptionCount > limits->maxVertexInputBindings ||
        all->vertexAttributeDescriptionCount > limits->maxVertexInputAttributes)
        return false;
    for (uint32_t i = 0; i < all->vertexBindingDescriptionCount; i++) {
        const uint32_t binding = all->pVertexBindingDescriptions[i].binding;
        if (!check_vertex_binding(run, binding, all->pVertexBindingDescriptions[i].stride))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (all->pVertexBindingDescriptions[j].binding == binding)
                return false;
    }
    for (uint32_t i = 0; i < all->vertexAttributeDescriptionCount; i++) {
        const VkVertexInputAttributeDescription *at = &all->pVertexAttributeDescriptions[i];
        bool found = false;
        for (uint32_t j = 0; j < all->vertexBindingDescriptionCount; j++)
            found |= all->pVertexBindingDescriptions[j].binding == at->binding;
        if (!found || !check_vertex_attribute(run, at->location, at->format, at->offset))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (all->pVertexAttributeDescriptions[j].location == at->location)
                return false;
    }
    return true;
}

// Whether nothing is rasterized. False too if a dynamic state is not a known one: *known.
static bool discards_all(const struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info,
                         bool *known) {
    bool discards = info->pRasterizationState && info->pRasterizationState->rasterizerDiscardEnable;
    *known = true;
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++) {
        const VkDynamicState state = info->pDynamicState->pDynamicStates[i];
        *known &= check_knows_dynamic(run, state);
        discards &= state != VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE;
    }
    return discards;
}

// What the pipeline draws to: of its subpass, or of the formats that it has without a pass.
static bool find_part(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info,
                      struct vulkan_part *part) {
    const VkPipelineRenderingCreateInfo *formats = info->pNext; // nothing else is read
    *part = (struct vulkan_part){0};
    if (info->renderPass) {
        const struct vulkan_live *pass = pass_of(run, info->renderPass);
        if (!pass || info->subpass >= pass->subpasses || !pass->parts)
            return false;
        *part = pass->parts[info->subpass];
    } else if (formats) {
        if (formats->colorAttachmentCount > run->device->limits.maxColorAttachments)
            return false;
        REQUIRE(formats->colorAttachmentCount <= VULKAN_COLORS_MOST,
                "a pipeline has more attachments than are supported");
        part->colors = formats->colorAttachmentCount;
        for (uint32_t i = 0; i < part->colors; i++)
            part->uses_colors |= formats->pColorAttachmentFormats[i] != VK_FORMAT_UNDEFINED;
        part->uses_depth = formats->depthAttachmentFormat || formats->stencilAttachmentFormat;
    }
    return true;
}

bool vulkan_check_VkGraphicsPipelineCreateInfo(struct vulkan_run *run,
                                               const VkGraphicsPipelineCreateInfo *info) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    const VkPipelineViewportStateCreateInfo *views = info->pViewportState;
    const VkPipelineColorBlendStateCreateInfo *blend = info->pColorBlendState;
    const VkPipelineMultisampleStateCreateInfo *samples = info->pMultisampleState;
    struct vulkan_part part;
    bool known;
    const bool discards = discards_all(run, info, &known);
    if (!known || !info->stageCount || !stages_fit(info) ||
        (info->pVertexInputState && !vertices_fit(run, info->pVertexInputState)) ||
        !find_part(run, info, &part) || !state_fits(run, info) || !check_extended(run, info) ||
        (info->pTessellationState &&
         (!info->pTessellationState->patchControlPoints ||
          info->pTessellationState->patchControlPoints > limits->maxTessellationPatchSize)) ||
        (views &&
         (views->viewportCount > limits->maxViewports || views->scissorCount > limits->maxViewports)) ||
        (blend && blend->attachmentCount > limits->maxColorAttachments))
        return false;
    return discards || (views && samples && (blend || !part.uses_colors) &&
                        (!part.uses_colors || blend->attachmentCount == part.colors) &&
                        (info->pDepthStencilState || !part.uses_depth) &&
                        (!part.samples || part.samples == (uint32_t)samples->rasterizationSamples ||
                         check_is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT)));
}

#endif
