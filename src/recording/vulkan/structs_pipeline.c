// SPDX-License-Identifier: Apache-2.0
// The structs of Vulkan's render passes and pipelines as words.
#if __has_include(<vulkan/vulkan_core.h>)

#include <string.h>

#include "recording/vulkan/structs.h"

#define VALUES(type, ...)                                                                                    \
    static void words_##type(struct words *words, type *s) {                                                 \
        __VA_ARGS__                                                                                          \
    }
#define V(field) WORD(field);
#define E(field, last) ENUM(field, VK_##last);

// ---- render passes

VALUES(VkAttachmentDescription, V(flags) FORMAT(format); SAMPLES(samples);
       E(loadOp, ATTACHMENT_LOAD_OP_DONT_CARE) V(storeOp) E(stencilLoadOp, ATTACHMENT_LOAD_OP_DONT_CARE)
           V(stencilStoreOp) LAYOUT(initialLayout);
       LAYOUT(finalLayout);)
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

static void words_VkPipelineShaderStageCreateInfo(struct words *words, VkPipelineShaderStageCreateInfo *s) {
    HEAD(VkPipelineShaderStageCreateInfo, PIPELINE_SHADER_STAGE_CREATE_INFO);
    WORD(flags);
    WORD(stage);
    HANDLE(MODULE, module);
    const char *name = words_text(words, s->pName);
    if (words->reading)
        s->pName = name;
    ITEMS_OF(VkSpecializationInfo, 1, pSpecializationInfo, true);
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

VALUES(VkVertexInputBindingDescription, V(binding) V(stride) E(inputRate, VERTEX_INPUT_RATE_INSTANCE))
VALUES(VkVertexInputAttributeDescription, V(location) V(binding) FORMAT(format); V(offset))
VALUES(VkPipelineVertexInputStateCreateInfo,
       HEAD(VkPipelineVertexInputStateCreateInfo, PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO);
       V(vertexBindingDescriptionCount) ITEMS(VkVertexInputBindingDescription,
                                              s->vertexBindingDescriptionCount, pVertexBindingDescriptions);
       V(vertexAttributeDescriptionCount)
           ITEMS(VkVertexInputAttributeDescription, s->vertexAttributeDescriptionCount,
                 pVertexAttributeDescriptions);)
VALUES(VkPipelineInputAssemblyStateCreateInfo,
       HEAD(VkPipelineInputAssemblyStateCreateInfo, PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO);
       E(topology, PRIMITIVE_TOPOLOGY_PATCH_LIST) V(primitiveRestartEnable))
VALUES(VkPipelineTessellationStateCreateInfo,
       HEAD(VkPipelineTessellationStateCreateInfo, PIPELINE_TESSELLATION_STATE_CREATE_INFO);
       V(patchControlPoints))
// Viewports and scissors that are dynamic may point anywhere: dynamic_state clears them before.
VALUES(VkPipelineViewportStateCreateInfo,
       HEAD(VkPipelineViewportStateCreateInfo, PIPELINE_VIEWPORT_STATE_CREATE_INFO);
       V(viewportCount) ITEMS_OF(VkViewport, s->viewportCount, pViewports, true);
       V(scissorCount) ITEMS_OF(VkRect2D, s->scissorCount, pScissors, true);)
// What is clipped by depth is not clamped, and what is not clipped is, unless a struct says otherwise. With both, clamping changes only
// depths that a shader or a bias makes; a replay leaves it out.
static VkBool32 is_clamped(struct words *words, const VkPipelineRasterizationStateCreateInfo *s) {
    const VkPipelineRasterizationDepthClipStateCreateInfoEXT *clip =
        words_in_chain(s->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT);
    if (clip && !clip->depthClipEnable && !s->depthClampEnable)
        words_missing(words, "a pipeline that neither clips nor clamps by depth");
    return clip ? !clip->depthClipEnable : s->depthClampEnable;
}
#define CLAMP                                                                                                \
    do {                                                                                                     \
        const uint64_t word_ = words_value(words, words->reading ? 0 : is_clamped(words, s));                \
        if (words->reading)                                                                                  \
            s->depthClampEnable = (VkBool32)word_;                                                           \
    } while (0)

VALUES(VkPipelineRasterizationStateCreateInfo,
       HEAD_WITH(VkPipelineRasterizationStateCreateInfo, PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
                 VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT);
       CLAMP; V(rasterizerDiscardEnable) E(polygonMode, POLYGON_MODE_POINT) V(cullMode)
           E(frontFace, FRONT_FACE_CLOCKWISE) V(depthBiasEnable) FLOAT(depthBiasConstantFactor);
       FLOAT(depthBiasClamp); FLOAT(depthBiasSlopeFactor); FLOAT(lineWidth);)
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
       HEAD(VkPipelineColorBlendStateCreateInfo, PIPELINE_COLOR_BLEND_STATE_CREATE_INFO);
       V(flags) V(logicOpEnable) UNUSED_ENUM(logicOp, VK_LOGIC_OP_SET);
       V(attachmentCount) ITEMS(VkPipelineColorBlendAttachmentState, s->attachmentCount, pAttachments);
       FLOAT(blendConstants[0]); FLOAT(blendConstants[1]); FLOAT(blendConstants[2]);
       FLOAT(blendConstants[3]);)
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

// What the state of the pipeline makes unused may point anywhere.
static void forget_unused(VkGraphicsPipelineCreateInfo *info, VkPipelineViewportStateCreateInfo *viewports) {
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
    if (!info->pViewportState)
        return;
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
    return info->pRasterizationState && info->pVertexInputState && info->pInputAssemblyState &&
           (info->pRasterizationState->rasterizerDiscardEnable ||
            (info->pViewportState && has_viewports(info) && info->pMultisampleState));
}

void words_VkGraphicsPipelineCreateInfo(struct words *words, VkGraphicsPipelineCreateInfo *given) {
    VkGraphicsPipelineCreateInfo copy = *given, *s = words->reading ? given : &copy;
    VkPipelineViewportStateCreateInfo viewports;
    if (!words->reading)
        forget_unused(s, &viewports);
    HEAD_WITH(VkGraphicsPipelineCreateInfo, GRAPHICS_PIPELINE_CREATE_INFO,
              VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    WORD(flags);
    WORD(stageCount);
    ITEMS(VkPipelineShaderStageCreateInfo, s->stageCount, pStages);
    ITEMS_OF(VkPipelineVertexInputStateCreateInfo, 1, pVertexInputState, true);
    ITEMS_OF(VkPipelineInputAssemblyStateCreateInfo, 1, pInputAssemblyState, true);
    ITEMS_OF(VkPipelineTessellationStateCreateInfo, 1, pTessellationState, true);
    ITEMS_OF(VkPipelineViewportStateCreateInfo, 1, pViewportState, true);
    ITEMS(VkPipelineRasterizationStateCreateInfo, 1, pRasterizationState);
    ITEMS_OF(VkPipelineMultisampleStateCreateInfo, 1, pMultisampleState, true);
    ITEMS_OF(VkPipelineDepthStencilStateCreateInfo, 1, pDepthStencilState, true);
    ITEMS_OF(VkPipelineColorBlendStateCreateInfo, 1, pColorBlendState, true);
    ITEMS_OF(VkPipelineDynamicStateCreateInfo, 1, pDynamicState, true);
    HANDLE(LAYOUT, layout);
    HANDLE_OF(PASS, renderPass, false, true);
    WORD(subpass);
    forget_base(words, &s->flags, &s->basePipelineIndex);
    struct chained chained = {NULL};
    if (!words->reading && !s->renderPass)
        chained.at = words_in_chain(s->pNext, VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO);
    words_chained(words, &chained);
    if (words->reading && !words->failed && !is_whole(s))
        words->failed = true;
    if (words->reading)
        s->pNext = chained.at;
}

#endif
