// SPDX-License-Identifier: Apache-2.0
// The structs of Vulkan's render passes and pipelines as words.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <string.h>

#include "recording/vulkan/structs.h"

#define VALUES(type, ...)                                                                                    \
    static void words_##type(struct words *words, type *s) {                                                 \
        __VA_ARGS__                                                                                          \
    }
#define V(field) WORD(field);
#define E(field, last) ENUM(field, VK_##last);

// ---- render passes

// The operation of an aspect that the format does not have may be anything, but not for a driver.
static void forget_store(const struct words *words, VkAttachmentDescription *s) {
    const VkImageAspectFlags aspects = vulkan_format_aspect(s->format);
    if (words->reading && aspects == VK_IMAGE_ASPECT_STENCIL_BIT)
        s->storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
    if (words->reading && !(aspects & VK_IMAGE_ASPECT_STENCIL_BIT))
        s->stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE;
}

VALUES(VkAttachmentDescription, V(flags) FORMAT(format); SAMPLES(samples);
       E(loadOp, ATTACHMENT_LOAD_OP_DONT_CARE) V(storeOp) E(stencilLoadOp, ATTACHMENT_LOAD_OP_DONT_CARE)
           V(stencilStoreOp) LAYOUT(initialLayout);
       LAYOUT(finalLayout); forget_store(words, s);)
VALUES(VkAttachmentReference, V(attachment) LAYOUT(layout);)
VALUES(VkSubpassDependency, V(srcSubpass) V(dstSubpass) V(srcStageMask) V(dstStageMask) V(srcAccessMask)
                                V(dstAccessMask) V(dependencyFlags))

static void words_VkSubpassDescription(struct words *words, VkSubpassDescription *s) {
    WORD(flags);
    ENUM(pipelineBindPoint, VK_PIPELINE_BIND_POINT_COMPUTE);
    WORD(inputAttachmentCount);
    ITEMS(VkAttachmentReference, s->inputAttachmentCount, pInputAttachments);
    WORD(colorAttachmentCount);
    ITEMS(VkAttachmentReference, s->colorAttachmentCount, pColorAttachments);
    ITEMS_OF(VkAttachmentReference, s->colorAttachmentCount, pResolveAttachments, true);
    ITEMS_OF(VkAttachmentReference, 1, pDepthStencilAttachment, true);
    WORD(preserveAttachmentCount);
    ITEMS(uint32_t, s->preserveAttachmentCount, pPreserveAttachments);
}

void words_VkRenderPassCreateInfo(struct words *words, VkRenderPassCreateInfo *s) {
    HEAD(VkRenderPassCreateInfo, RENDER_PASS_CREATE_INFO);
    WORD(flags);
    WORD(attachmentCount);
    ITEMS(VkAttachmentDescription, s->attachmentCount, pAttachments);
    WORD(subpassCount);
    ITEMS(VkSubpassDescription, s->subpassCount, pSubpasses);
    WORD(dependencyCount);
    ITEMS(VkSubpassDependency, s->dependencyCount, pDependencies);
}

void words_VkFramebufferCreateInfo(struct words *words, VkFramebufferCreateInfo *s) {
    HEAD(VkFramebufferCreateInfo, FRAMEBUFFER_CREATE_INFO);
    WORD(flags);
    HANDLE(PASS, renderPass);
    if (s->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT) {
        words_missing(words, "a framebuffer without images");
        words->failed |= words->reading;
        return;
    }
    WORD(attachmentCount);
    HANDLES(IMAGE_VIEW, VkImageView, s->attachmentCount, pAttachments, true, false);
    WORD(width);
    WORD(height);
    WORD(layers);
}

// ---- pipelines

void words_VkShaderModuleCreateInfo(struct words *words, VkShaderModuleCreateInfo *s) {
    HEAD(VkShaderModuleCreateInfo, SHADER_MODULE_CREATE_INFO);
    WORD(codeSize);
    BYTES(s->codeSize, pCode);
    words->failed |= words->reading && (s->codeSize % 4 || s->codeSize < 20);
}

VALUES(VkSpecializationMapEntry, V(constantID) V(offset) V(size))

static void words_VkSpecializationInfo(struct words *words, VkSpecializationInfo *s) {
    WORD(mapEntryCount);
    ITEMS(VkSpecializationMapEntry, s->mapEntryCount, pMapEntries);
    WORD(dataSize);
    BYTES(s->dataSize, pData);
    for (uint32_t i = 0; words->reading && !words->failed && i < s->mapEntryCount; i++)
        words->failed |= s->pMapEntries[i].offset > s->dataSize ||
                         s->pMapEntries[i].size > s->dataSize - s->pMapEntries[i].offset;
}

static void words_VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(
    struct words *words, VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *s) {
    if (words->reading)
        s->sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    WORD(requiredSubgroupSize);
}

struct required_size {
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *at;
};

static void words_required_size(struct words *words, VkPipelineShaderStageCreateInfo *stage,
                                struct required_size *s) {
    ITEMS(VkPipelineShaderStageRequiredSubgroupSizeCreateInfo, 1, at);
    if (words->reading)
        stage->pNext = s->at;
}

// Of a stage with a subgroup size of its own, which comes last: set in its flags. Older readers refuse it.
static const VkPipelineShaderStageCreateFlags SIZED = UINT32_C(1) << 31;

static void words_VkPipelineShaderStageCreateInfo(struct words *words, VkPipelineShaderStageCreateInfo *s) {
    struct required_size size = {NULL};
    // A stage without a module has what one would be made of: the recorder gives it a module.
    HEAD_OF(VkPipelineShaderStageCreateInfo, PIPELINE_SHADER_STAGE_CREATE_INFO,
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
            VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
    if (!words->reading)
        size.at = words_in_chain(s->pNext,
                                 VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
    const uint64_t flags = words_value(words, words->reading ? 0 : s->flags | (size.at ? SIZED : 0));
    if (words->reading)
        s->flags = (VkPipelineShaderStageCreateFlags)flags & ~SIZED;
    WORD(stage);
    HANDLE(MODULE, module);
    const char *name = words_text(words, s->pName);
    if (words->reading)
        s->pName = name;
    ITEMS_OF(VkSpecializationInfo, 1, pSpecializationInfo, true);
    if (words->reading ? flags & SIZED : size.at != NULL)
        words_required_size(words, s, &size);
}

// A pipeline that another is derived from gives the driver a hint only.
static void forget_base(const struct words *words, VkPipelineCreateFlags *flags, int32_t *index) {
    if (!words->reading)
        return;
    *flags &= ~(VkPipelineCreateFlags)(VK_PIPELINE_CREATE_DERIVATIVE_BIT |
                                       VK_PIPELINE_CREATE_ALLOW_DERIVATIVES_BIT);
    *index = -1;
}

void words_VkComputePipelineCreateInfo(struct words *words, VkComputePipelineCreateInfo *s) {
    HEAD(VkComputePipelineCreateInfo, COMPUTE_PIPELINE_CREATE_INFO);
    WORD(flags);
    words_VkPipelineShaderStageCreateInfo(words, &s->stage);
    HANDLE(LAYOUT, layout);
    forget_base(words, &s->flags, &s->basePipelineIndex);
}

// ---- what extensions say of the state of pipelines: after the state that they extend, if a pipeline has any of it (is_extended)

#define TYPE(TYPE)                                                                                           \
    if (words->reading)                                                                                      \
        s->sType = VK_STRUCTURE_TYPE_##TYPE;

VALUES(VkPipelineViewportDepthClipControlCreateInfoEXT,
       TYPE(PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT) V(negativeOneToOne))
VALUES(VkPipelineRasterizationDepthClipStateCreateInfoEXT,
       TYPE(PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT) V(flags) V(depthClipEnable))
VALUES(VkPipelineRasterizationProvokingVertexStateCreateInfoEXT,
       TYPE(PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT)
           E(provokingVertexMode, PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT))
VALUES(VkPipelineRasterizationLineStateCreateInfoEXT,
       TYPE(PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT)
           E(lineRasterizationMode, LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH_EXT) V(stippledLineEnable)
               V(lineStippleFactor) V(lineStipplePattern))
VALUES(VkVertexInputBindingDivisorDescriptionEXT, V(binding) V(divisor))
VALUES(VkPipelineVertexInputDivisorStateCreateInfoEXT,
       TYPE(PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT) V(vertexBindingDivisorCount)
           ITEMS(VkVertexInputBindingDivisorDescriptionEXT, s->vertexBindingDivisorCount,
                 pVertexBindingDivisors);)
VALUES(VkPipelineColorWriteCreateInfoEXT, TYPE(PIPELINE_COLOR_WRITE_CREATE_INFO_EXT) V(attachmentCount)
                                              ITEMS(uint32_t, s->attachmentCount, pColorWriteEnables);)

// One struct of a chain, if it is there; what is read is chained before what was read.
#define CHAINED(type, TYPE)                                                                                  \
    struct chained_##type {                                                                                  \
        const type *at;                                                                                      \
    };                                                                                                       \
    static void chain_##type(struct words *words, const void **chain) {                                      \
        struct chained_##type chained = {NULL}, *s = &chained;                                               \
        if (!words->extended)                                                                                \
            return;                                                                                          \
        if (!words->reading)                                                                                 \
            s->at = words_in_chain(*chain, VK_STRUCTURE_TYPE_##TYPE);                                        \
        ITEMS_OF(type, 1, at, true);                                                                         \
        if (words->reading && s->at) {                                                                       \
            ((type *)(uintptr_t)s->at)->pNext = (void *)(uintptr_t)*chain;                                   \
            *chain = s->at;                                                                                  \
        }                                                                                                    \
    }
CHAINED(VkPipelineViewportDepthClipControlCreateInfoEXT, PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT)
CHAINED(VkPipelineRasterizationDepthClipStateCreateInfoEXT,
        PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT)
CHAINED(VkPipelineRasterizationProvokingVertexStateCreateInfoEXT,
        PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT)
CHAINED(VkPipelineRasterizationLineStateCreateInfoEXT, PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT)
CHAINED(VkPipelineVertexInputDivisorStateCreateInfoEXT, PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT)
CHAINED(VkPipelineColorWriteCreateInfoEXT, PIPELINE_COLOR_WRITE_CREATE_INFO_EXT)

#define STATE(type) chain_##type(words, &s->pNext);

// ---- their state

VALUES(VkVertexInputBindingDescription, V(binding) V(stride) E(inputRate, VERTEX_INPUT_RATE_INSTANCE))
VALUES(VkVertexInputAttributeDescription, V(location) V(binding) FORMAT(format); V(offset))
VALUES(VkPipelineVertexInputStateCreateInfo,
       HEAD_WITH(VkPipelineVertexInputStateCreateInfo, PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
                 VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT);
       V(vertexBindingDescriptionCount) ITEMS(VkVertexInputBindingDescription,
                                              s->vertexBindingDescriptionCount, pVertexBindingDescriptions);
       V(vertexAttributeDescriptionCount)
           ITEMS(VkVertexInputAttributeDescription, s->vertexAttributeDescriptionCount,
                 pVertexAttributeDescriptions);
       STATE(VkPipelineVertexInputDivisorStateCreateInfoEXT))
VALUES(VkPipelineInputAssemblyStateCreateInfo,
       HEAD(VkPipelineInputAssemblyStateCreateInfo, PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
       E(topology, PRIMITIVE_TOPOLOGY_PATCH_LIST) V(primitiveRestartEnable))
VALUES(VkPipelineTessellationStateCreateInfo,
       HEAD(VkPipelineTessellationStateCreateInfo, PIPELINE_TESSELLATION_STATE_CREATE_INFO);
       V(patchControlPoints))
// Viewports and scissors that are dynamic may point anywhere: dynamic_state clears them before.
VALUES(VkPipelineViewportStateCreateInfo,
       HEAD_WITH(VkPipelineViewportStateCreateInfo, PIPELINE_VIEWPORT_STATE_CREATE_INFO,
                 VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT);
       V(viewportCount) ITEMS_OF(VkViewport, s->viewportCount, pViewports, true);
       V(scissorCount) ITEMS_OF(VkRect2D, s->scissorCount, pScissors, true);
       STATE(VkPipelineViewportDepthClipControlCreateInfoEXT))
VALUES(VkPipelineRasterizationStateCreateInfo,
       HEAD_OF(VkPipelineRasterizationStateCreateInfo, PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
               VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT,
               VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT,
               VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT);
       V(depthClampEnable) V(rasterizerDiscardEnable) E(polygonMode, POLYGON_MODE_POINT) V(cullMode)
           E(frontFace, FRONT_FACE_CLOCKWISE) V(depthBiasEnable) FLOAT(depthBiasConstantFactor);
       FLOAT(depthBiasClamp); FLOAT(depthBiasSlopeFactor); FLOAT(lineWidth);
       STATE(VkPipelineRasterizationDepthClipStateCreateInfoEXT)
           STATE(VkPipelineRasterizationProvokingVertexStateCreateInfoEXT)
               STATE(VkPipelineRasterizationLineStateCreateInfoEXT))
VALUES(VkPipelineMultisampleStateCreateInfo,
       HEAD(VkPipelineMultisampleStateCreateInfo, PIPELINE_MULTISAMPLE_STATE_CREATE_INFO);
       SAMPLES(rasterizationSamples); V(sampleShadingEnable) FLOAT(minSampleShading);
       ITEMS_OF(uint32_t, ((uint32_t)s->rasterizationSamples + 31) / 32, pSampleMask, true);
       V(alphaToCoverageEnable) V(alphaToOneEnable))
#define STENCIL(at)                                                                                          \
    E(at.failOp, STENCIL_OP_DECREMENT_AND_WRAP)                                                              \
    E(at.passOp, STENCIL_OP_DECREMENT_AND_WRAP)                                                              \
    E(at.depthFailOp, STENCIL_OP_DECREMENT_AND_WRAP)                                                         \
    E(at.compareOp, COMPARE_OP_ALWAYS) V(at.compareMask) V(at.writeMask) V(at.reference)
VALUES(VkPipelineDepthStencilStateCreateInfo,
       HEAD(VkPipelineDepthStencilStateCreateInfo, PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO);
       V(flags) V(depthTestEnable) V(depthWriteEnable) E(depthCompareOp, COMPARE_OP_ALWAYS)
           V(depthBoundsTestEnable) V(stencilTestEnable) STENCIL(front) STENCIL(back) FLOAT(minDepthBounds);
       FLOAT(maxDepthBounds);)
VALUES(VkPipelineColorBlendAttachmentState,
       V(blendEnable) E(srcColorBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA)
           E(dstColorBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA) E(colorBlendOp, BLEND_OP_MAX)
               E(srcAlphaBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA)
                   E(dstAlphaBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA) E(alphaBlendOp, BLEND_OP_MAX)
                       V(colorWriteMask))
VALUES(VkPipelineColorBlendStateCreateInfo,
       HEAD_WITH(VkPipelineColorBlendStateCreateInfo, PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
                 VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT);
       V(flags) V(logicOpEnable) UNUSED_ENUM(logicOp, VK_LOGIC_OP_SET); V(attachmentCount)
           ITEMS_OF(VkPipelineColorBlendAttachmentState, s->attachmentCount, pAttachments, words->extended);
       FLOAT(blendConstants[0]); FLOAT(blendConstants[1]); FLOAT(blendConstants[2]); FLOAT(blendConstants[3]);
       STATE(VkPipelineColorWriteCreateInfoEXT))
static void words_VkDynamicState(struct words *words, VkDynamicState *s) {
    const uint64_t value = words_value(words, words->reading ? 0 : (uint64_t)*s);
    if (words->reading)
        *s = (VkDynamicState)value;
}
VALUES(VkPipelineDynamicStateCreateInfo,
       HEAD(VkPipelineDynamicStateCreateInfo, PIPELINE_DYNAMIC_STATE_CREATE_INFO);
       V(dynamicStateCount) ITEMS(VkDynamicState, s->dynamicStateCount, pDynamicStates);)
static void words_VkFormat(struct words *words, VkFormat *s) {
    const uint64_t value = words_value(words, words->reading ? 0 : (uint64_t)*s);
    if (words->reading)
        *s = (VkFormat)value;
    words->failed |= words->reading && !vulkan_format_known(*s);
}
VALUES(VkPipelineRenderingCreateInfo,
       if (words->reading) s->sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO;
       V(viewMask) V(colorAttachmentCount) ITEMS(VkFormat, s->colorAttachmentCount, pColorAttachmentFormats);
       FORMAT(depthAttachmentFormat); FORMAT(stencilAttachmentFormat);)

static bool is_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state) {
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++)
        if (info->pDynamicState->pDynamicStates[i] == state)
            return true;
    return false;
}

// What is clipped by depth is not clamped, and what is not clipped is, unless a struct says otherwise: the form of pipelines that are not
// extended has clamping alone. Where clamping is dynamic, clipping that is not does not follow it.
static bool clips_apart(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineRasterizationDepthClipStateCreateInfoEXT *clip = words_in_chain(
        raster->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT);
    return clip && (!clip->depthClipEnable == !raster->depthClampEnable ||
                    is_dynamic(info, VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT));
}

// Stipples may be switched on later.
static bool has_lines(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRasterizationLineStateCreateInfoEXT *line =
        words_in_chain(info->pRasterizationState->pNext,
                       VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT);
    return line && (line->lineRasterizationMode || line->stippledLineEnable ||
                    is_dynamic(info, VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT));
}

// Whether extensions say more of its state than a pipeline has without them.
static bool is_extended(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineColorBlendStateCreateInfo *blend = info->pColorBlendState;
    const VkPipelineViewportDepthClipControlCreateInfoEXT *control =
        info->pViewportState
            ? words_in_chain(info->pViewportState->pNext,
                             VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT)
            : NULL;
    const VkPipelineRasterizationProvokingVertexStateCreateInfoEXT *provoking =
        raster
            ? words_in_chain(raster->pNext,
                             VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT)
            : NULL;
    return (control && control->negativeOneToOne) || (raster && (clips_apart(info) || has_lines(info))) ||
           (provoking && provoking->provokingVertexMode) ||
           (info->pVertexInputState &&
            words_in_chain(info->pVertexInputState->pNext,
                           VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT)) ||
           (blend && ((blend->attachmentCount && !blend->pAttachments) ||
                      words_in_chain(blend->pNext, VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT)));
}

// What is written instead of what the program gave.
struct changed_state {
    VkPipelineViewportStateCreateInfo viewports;
    VkPipelineMultisampleStateCreateInfo samples;
    VkPipelineColorBlendStateCreateInfo blend;
};

// What dynamic state of extensions makes unused may be anything.
static void forget_dynamic(VkGraphicsPipelineCreateInfo *info, struct changed_state *changed) {
    if (info->pMultisampleState) {
        changed->samples = *info->pMultisampleState;
        if (is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT))
            changed->samples.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT;
        if (is_dynamic(info, VK_DYNAMIC_STATE_SAMPLE_MASK_EXT))
            changed->samples.pSampleMask = NULL;
        info->pMultisampleState = &changed->samples;
    }
    if (info->pColorBlendState && is_dynamic(info, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) &&
        is_dynamic(info, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) &&
        is_dynamic(info, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT)) {
        changed->blend = *info->pColorBlendState;
        changed->blend.pAttachments = NULL;
        info->pColorBlendState = &changed->blend;
    }
    if (is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT))
        info->pVertexInputState = NULL;
}

// What the state of the pipeline makes unused may point anywhere.
static void forget_unused(VkGraphicsPipelineCreateInfo *info, struct changed_state *changed) {
    const bool discards = info->pRasterizationState && info->pRasterizationState->rasterizerDiscardEnable &&
                          !is_dynamic(info, VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE);
    bool tessellates = false;
    for (uint32_t i = 0; i < info->stageCount; i++)
        tessellates |= info->pStages[i].stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT;
    if (!tessellates)
        info->pTessellationState = NULL;
    if (discards) {
        info->pViewportState = NULL;
        info->pMultisampleState = NULL;
        info->pDepthStencilState = NULL;
        info->pColorBlendState = NULL;
    }
    forget_dynamic(info, changed);
    if (!info->pViewportState)
        return;
    VkPipelineViewportStateCreateInfo *viewports = &changed->viewports;
    *viewports = *info->pViewportState;
    if (is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT) || is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT))
        viewports->pViewports = NULL;
    if (is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR) || is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT))
        viewports->pScissors = NULL;
    info->pViewportState = viewports;
}

// The formats that are drawn to without a render pass.
struct chained {
    const VkPipelineRenderingCreateInfo *at;
};

static void words_chained(struct words *words, struct chained *s) {
    ITEMS_OF(VkPipelineRenderingCreateInfo, 1, at, true);
}

// Viewports and scissors that are not dynamic are there.
static bool has_viewports(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineViewportStateCreateInfo *state = info->pViewportState;
    return (state->pViewports || !state->viewportCount || is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT) ||
            is_dynamic(info, VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT)) &&
           (state->pScissors || !state->scissorCount || is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR) ||
            is_dynamic(info, VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT));
}

// Whether what a driver reads without asking is there.
static bool is_whole(const VkGraphicsPipelineCreateInfo *info) {
    for (uint32_t i = 0; i < info->stageCount; i++)
        if (info->pStages[i].stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT && !info->pTessellationState)
            return false;
    return info->pRasterizationState &&
           (info->pVertexInputState || is_dynamic(info, VK_DYNAMIC_STATE_VERTEX_INPUT_EXT)) &&
           info->pInputAssemblyState &&
           (info->pRasterizationState->rasterizerDiscardEnable ||
            (info->pViewportState && has_viewports(info) && info->pMultisampleState));
}

// A part of a pipeline, or one made of parts, which the recorder did not make whole: pointers to the state that it does not have may be anything.
static bool is_of_library(const VkGraphicsPipelineCreateInfo *info) {
    return info->flags & VK_PIPELINE_CREATE_LIBRARY_BIT_KHR ||
           words_in_chain(info->pNext, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT) ||
           words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR);
}

// It may be used while an attachment is read: then the attachment has a layout for that, which is refused.
static const VkPipelineCreateFlags feedback =
    VK_PIPELINE_CREATE_COLOR_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT |
    VK_PIPELINE_CREATE_DEPTH_STENCIL_ATTACHMENT_FEEDBACK_LOOP_BIT_EXT;
// Marks the words of an extended pipeline; Vulkan has no such flag. A reader that does not know them refuses the flag.
static const VkPipelineCreateFlags extended = (VkPipelineCreateFlags)1 << 31;

void words_VkGraphicsPipelineCreateInfo(struct words *words, VkGraphicsPipelineCreateInfo *given) {
    VkGraphicsPipelineCreateInfo copy = *given, *s = words->reading ? given : &copy;
    struct changed_state changed;
    if (!words->reading && is_of_library(s)) {
        words_missing(words, "a pipeline of VK_EXT_graphics_pipeline_library");
        return;
    }
    if (!words->reading) {
        s->flags &= ~feedback;
        forget_unused(s, &changed);
        words->extended = words->partial || is_extended(s);
        if (words->extended)
            s->flags |= extended;
    }
    HEAD_WITH(VkGraphicsPipelineCreateInfo, GRAPHICS_PIPELINE_CREATE_INFO,
              VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    WORD(flags);
    if (!words->reading && ((s->pColorBlendState && s->pColorBlendState->flags) ||
                            (s->pDepthStencilState && s->pDepthStencilState->flags)))
        words_missing(words, "a pipeline of VK_EXT_rasterization_order_attachment_access");
    if (words->reading) {
        words->extended = s->flags & extended;
        s->flags &= ~extended;
    }
    WORD(stageCount);
    ITEMS_OF(VkPipelineShaderStageCreateInfo, s->stageCount, pStages, words->partial);
    ITEMS_OF(VkPipelineVertexInputStateCreateInfo, 1, pVertexInputState, true);
    ITEMS_OF(VkPipelineInputAssemblyStateCreateInfo, 1, pInputAssemblyState, true);
    ITEMS_OF(VkPipelineTessellationStateCreateInfo, 1, pTessellationState, true);
    ITEMS_OF(VkPipelineViewportStateCreateInfo, 1, pViewportState, true);
    ITEMS_OF(VkPipelineRasterizationStateCreateInfo, 1, pRasterizationState, words->partial);
    ITEMS_OF(VkPipelineMultisampleStateCreateInfo, 1, pMultisampleState, true);
    ITEMS_OF(VkPipelineDepthStencilStateCreateInfo, 1, pDepthStencilState, true);
    ITEMS_OF(VkPipelineColorBlendStateCreateInfo, 1, pColorBlendState, true);
    ITEMS_OF(VkPipelineDynamicStateCreateInfo, 1, pDynamicState, true);
    HANDLE_OF(LAYOUT, layout, false, words->partial);
    HANDLE_OF(PASS, renderPass, false, true);
    WORD(subpass);
    forget_base(words, &s->flags, &s->basePipelineIndex);
    struct chained chained = {NULL};
    if (!words->reading && !s->renderPass)
        chained.at = words_in_chain(s->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    words_chained(words, &chained);
    if (words->reading && !words->failed && !words->partial && !is_whole(s))
        words->failed = true;
    if (words->reading)
        s->pNext = chained.at;
    words->extended = false;
}

// ---- dynamic state of extensions, in commands

#undef VALUES
#define VALUES(type, ...)                                                                                    \
    void words_##type(struct words *words, type *s) {                                                        \
        __VA_ARGS__                                                                                          \
    }
VALUES(VkVertexInputBindingDescription2EXT,
       HEAD(VkVertexInputBindingDescription2EXT, VERTEX_INPUT_BINDING_DESCRIPTION_2_EXT);
       V(binding) V(stride) E(inputRate, VERTEX_INPUT_RATE_INSTANCE) V(divisor))
VALUES(VkVertexInputAttributeDescription2EXT,
       HEAD(VkVertexInputAttributeDescription2EXT, VERTEX_INPUT_ATTRIBUTE_DESCRIPTION_2_EXT);
       V(location) V(binding) FORMAT(format); V(offset))
VALUES(VkColorBlendEquationEXT,
       E(srcColorBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA)
           E(dstColorBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA) E(colorBlendOp, BLEND_OP_MAX)
               E(srcAlphaBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA)
                   E(dstAlphaBlendFactor, BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA) E(alphaBlendOp, BLEND_OP_MAX))

#endif
