// SPDX-License-Identifier: Apache-2.0
// Features of the device that a recording uses (check.c): which member of a struct, value of a command or capability of a shader needs which
// one. A driver without a feature does not refuse what needs it: it ends, or computes something else.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdio.h>

#include "replay/vulkan/check.h"

#define LACKS(feature, what)                                                                                 \
    "the device lacks the feature " #feature ", which " what " needs: choose a device that has it "          \
    "(--device)"
#define NEED(condition, feature, what) REQUIRE(!(condition) || has->feature, LACKS(feature, what));

// ---- pipelines

struct state {
    const VkGraphicsPipelineCreateInfo *info;
    const VkPipelineRasterizationStateCreateInfo *raster;
    const VkPipelineMultisampleStateCreateInfo *samples;
    const VkPipelineDepthStencilStateCreateInfo *depth;
    const VkPipelineViewportStateCreateInfo *views;
    const VkPipelineColorBlendStateCreateInfo *blend;
};

static bool has_stage(const struct state *at, VkShaderStageFlagBits stage) {
    for (uint32_t i = 0; i < at->info->stageCount; i++)
        if (at->info->pStages[i].stage == stage)
            return true;
    return false;
}

static bool is_second(VkBlendFactor factor) {
    return factor >= VK_BLEND_FACTOR_SRC1_COLOR && factor <= VK_BLEND_FACTOR_ONE_MINUS_SRC1_ALPHA;
}

static bool blends_second(const struct state *at) {
    for (uint32_t i = 0; at->blend && at->blend->pAttachments && i < at->blend->attachmentCount; i++) {
        const VkPipelineColorBlendAttachmentState *blend = &at->blend->pAttachments[i];
        if (is_second(blend->srcColorBlendFactor) || is_second(blend->dstColorBlendFactor) ||
            is_second(blend->srcAlphaBlendFactor) || is_second(blend->dstAlphaBlendFactor))
            return true;
    }
    return false;
}

#define DYNAMIC(state) check_is_dynamic(at->info, VK_DYNAMIC_STATE_##state)

static bool has_equation(const VkPipelineColorBlendAttachmentState *one,
                         const VkPipelineColorBlendAttachmentState *other) {
    return one->srcColorBlendFactor == other->srcColorBlendFactor &&
           one->dstColorBlendFactor == other->dstColorBlendFactor &&
           one->colorBlendOp == other->colorBlendOp &&
           one->srcAlphaBlendFactor == other->srcAlphaBlendFactor &&
           one->dstAlphaBlendFactor == other->dstAlphaBlendFactor && one->alphaBlendOp == other->alphaBlendOp;
}

// Whether attachments differ in what is not dynamic. The masks of colors count also where nothing is blended; equations of what is not blended do
// not.
static bool blends_apart(const struct state *at) {
    const bool enables = !DYNAMIC(COLOR_BLEND_ENABLE_EXT), masks = !DYNAMIC(COLOR_WRITE_MASK_EXT),
               equations = !DYNAMIC(COLOR_BLEND_EQUATION_EXT);
    for (uint32_t i = 1; at->blend && at->blend->pAttachments && i < at->blend->attachmentCount; i++) {
        const VkPipelineColorBlendAttachmentState *one = &at->blend->pAttachments[0],
                                                  *other = &at->blend->pAttachments[i];
        if ((enables && !one->blendEnable != !other->blendEnable) ||
            (masks && one->colorWriteMask != other->colorWriteMask) ||
            (equations && enables && one->blendEnable && !has_equation(one, other)))
            return true;
    }
    return false;
}

// The width means nothing where no lines are drawn. With a dynamic topology lines of the same class are drawn.
static bool draws_wide(const struct state *at) {
    const VkPipelineInputAssemblyStateCreateInfo *assembly = at->info->pInputAssemblyState;
    const bool lines = (assembly && assembly->topology >= VK_PRIMITIVE_TOPOLOGY_LINE_LIST &&
                        assembly->topology <= VK_PRIMITIVE_TOPOLOGY_LINE_STRIP) ||
                       at->raster->polygonMode == VK_POLYGON_MODE_LINE;
    return lines && at->raster->lineWidth != 1;
}

// X(condition, feature, what needs it)
// clang-format off
#define PIPELINE_FEATURES(X) \
    X(has_stage(at, VK_SHADER_STAGE_GEOMETRY_BIT), geometryShader, "a geometry shader") \
    X(has_stage(at, VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT), tessellationShader, "a tessellation shader") \
    X(at->raster->depthClampEnable && !DYNAMIC(DEPTH_CLAMP_ENABLE_EXT), depthClamp, "depthClampEnable of a pipeline") \
    X(at->raster->depthBiasEnable && at->raster->depthBiasClamp != 0 && !DYNAMIC(DEPTH_BIAS), depthBiasClamp, "depthBiasClamp of a pipeline") \
    X(at->raster->polygonMode != VK_POLYGON_MODE_FILL && !DYNAMIC(POLYGON_MODE_EXT), fillModeNonSolid, "polygonMode of a pipeline") \
    X(!DYNAMIC(LINE_WIDTH) && draws_wide(at), wideLines, "lineWidth of a pipeline") \
    X(at->samples && at->samples->alphaToOneEnable && !DYNAMIC(ALPHA_TO_ONE_ENABLE_EXT), alphaToOne, "alphaToOneEnable of a pipeline") \
    X(at->samples && at->samples->sampleShadingEnable, sampleRateShading, "sampleShadingEnable of a pipeline") \
    X(at->depth && at->depth->depthBoundsTestEnable && !DYNAMIC(DEPTH_BOUNDS_TEST_ENABLE), depthBounds, "depthBoundsTestEnable of a pipeline") \
    X(at->views && (at->views->viewportCount > 1 || at->views->scissorCount > 1), multiViewport, "more than one viewport") \
    X(at->blend && at->blend->logicOpEnable && !DYNAMIC(LOGIC_OP_ENABLE_EXT), logicOp, "logicOpEnable of a pipeline") \
    X(blends_second(at) && !DYNAMIC(COLOR_BLEND_EQUATION_EXT), dualSrcBlend, "a blend factor of the second color of a shader") \
    X(blends_apart(at), independentBlend, "attachments that are blended in different ways")
// clang-format on

bool check_pipeline_features(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info) {
    const VkPhysicalDeviceFeatures *has = &run->device->features;
    const struct state all = {info,
                              info->pRasterizationState,
                              info->pMultisampleState,
                              info->pDepthStencilState,
                              info->pViewportState,
                              info->pColorBlendState},
                       *at = &all;
    PIPELINE_FEATURES(NEED)
    return true;
}

// ---- samplers and views

bool check_sampler_features(struct vulkan_run *run, const VkSamplerCreateInfo *info) {
    const VkPhysicalDeviceFeatures *has = &run->device->features;
    NEED(info->anisotropyEnable, samplerAnisotropy, "anisotropyEnable of a sampler")
    return true;
}

bool check_view_features(struct vulkan_run *run, const VkImageViewCreateInfo *info) {
    const VkPhysicalDeviceFeatures *has = &run->device->features;
    NEED(info->viewType == VK_IMAGE_VIEW_TYPE_CUBE_ARRAY, imageCubeArray, "a view of an array of cubes")
    return true;
}

// ---- commands

static bool sets_second(const struct call_CmdSetColorBlendEquationEXT *at) {
    for (uint32_t i = 0; i < at->n; i++)
        if (is_second(at->e[i].srcColorBlendFactor) || is_second(at->e[i].dstColorBlendFactor) ||
            is_second(at->e[i].srcAlphaBlendFactor) || is_second(at->e[i].dstAlphaBlendFactor))
            return true;
    return false;
}

// X(command, condition on its parameters, feature, what needs it)
// clang-format off
#define COMMAND_FEATURES(X) \
    X(CmdSetLineWidth, at->w != 1, wideLines, "vkCmdSetLineWidth with another width than 1") \
    X(CmdSetDepthBias, at->y != 0, depthBiasClamp, "vkCmdSetDepthBias with a clamp") \
    X(CmdSetDepthBoundsTestEnable, at->v, depthBounds, "vkCmdSetDepthBoundsTestEnable") \
    X(CmdSetViewportWithCount, at->n > 1, multiViewport, "vkCmdSetViewportWithCount with more than one") \
    X(CmdSetScissorWithCount, at->n > 1, multiViewport, "vkCmdSetScissorWithCount with more than one") \
    X(CmdSetDepthClampEnableEXT, at->v, depthClamp, "vkCmdSetDepthClampEnableEXT") \
    X(CmdSetPolygonModeEXT, at->v != VK_POLYGON_MODE_FILL, fillModeNonSolid, "vkCmdSetPolygonModeEXT") \
    X(CmdSetAlphaToOneEnableEXT, at->v, alphaToOne, "vkCmdSetAlphaToOneEnableEXT") \
    X(CmdSetLogicOpEnableEXT, at->v, logicOp, "vkCmdSetLogicOpEnableEXT") \
    X(CmdSetColorBlendEquationEXT, sets_second(at), dualSrcBlend, "a blend factor of the second color of a shader") \
    X(CmdDrawIndirect, at->n > 1, multiDrawIndirect, "vkCmdDrawIndirect of several draws") \
    X(CmdDrawIndexedIndirect, at->n > 1, multiDrawIndirect, "vkCmdDrawIndexedIndirect of several draws")
// clang-format on

bool check_command_features(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    const VkPhysicalDeviceFeatures *has = &run->device->features;
    switch (number) {
#define CASE(name, condition, feature, what)                                                                 \
    case VULKAN_##name: {                                                                                    \
        const struct call_##name *at = call;                                                                 \
        NEED(condition, feature, what)                                                                       \
        return true;                                                                                         \
    }
        COMMAND_FEATURES(CASE)
#undef CASE
    default:
        return true;
    }
}

// ---- shaders: the numbers of capabilities are SPIR-V's

// X(number, features of the device, feature, capability)
// clang-format off
#define CAPABILITIES(X) \
    X(2, features, geometryShader, "Geometry") \
    X(3, features, tessellationShader, "Tessellation") \
    X(9, v12, shaderFloat16, "Float16") \
    X(10, features, shaderFloat64, "Float64") \
    X(11, features, shaderInt64, "Int64") \
    X(12, v12, shaderBufferInt64Atomics, "Int64Atomics") \
    X(22, features, shaderInt16, "Int16") \
    X(23, features, shaderTessellationAndGeometryPointSize, "TessellationPointSize") \
    X(24, features, shaderTessellationAndGeometryPointSize, "GeometryPointSize") \
    X(25, features, shaderImageGatherExtended, "ImageGatherExtended") \
    X(27, features, shaderStorageImageMultisample, "StorageImageMultisample") \
    X(28, features, shaderUniformBufferArrayDynamicIndexing, "UniformBufferArrayDynamicIndexing") \
    X(29, features, shaderSampledImageArrayDynamicIndexing, "SampledImageArrayDynamicIndexing") \
    X(30, features, shaderStorageBufferArrayDynamicIndexing, "StorageBufferArrayDynamicIndexing") \
    X(31, features, shaderStorageImageArrayDynamicIndexing, "StorageImageArrayDynamicIndexing") \
    X(32, features, shaderClipDistance, "ClipDistance") \
    X(33, features, shaderCullDistance, "CullDistance") \
    X(34, features, imageCubeArray, "ImageCubeArray") \
    X(35, features, sampleRateShading, "SampleRateShading") \
    X(39, v12, shaderInt8, "Int8") \
    X(41, features, shaderResourceResidency, "SparseResidency") \
    X(42, features, shaderResourceMinLod, "MinLod") \
    X(45, features, imageCubeArray, "SampledCubeArray") \
    X(48, features, shaderStorageImageMultisample, "ImageMSArray") \
    X(49, features, shaderStorageImageExtendedFormats, "StorageImageExtendedFormats") \
    X(52, features, sampleRateShading, "InterpolationFunction") \
    X(55, features, shaderStorageImageReadWithoutFormat, "StorageImageReadWithoutFormat") \
    X(56, features, shaderStorageImageWriteWithoutFormat, "StorageImageWriteWithoutFormat") \
    X(57, features, multiViewport, "MultiViewport") \
    X(69, v12, shaderOutputLayer, "ShaderLayer") \
    X(70, v12, shaderOutputViewportIndex, "ShaderViewportIndex") \
    X(4427, v11, shaderDrawParameters, "DrawParameters") \
    X(4433, v11, storageBuffer16BitAccess, "StorageBuffer16BitAccess") \
    X(4434, v11, uniformAndStorageBuffer16BitAccess, "UniformAndStorageBuffer16BitAccess") \
    X(4435, v11, storagePushConstant16, "StoragePushConstant16") \
    X(4436, v11, storageInputOutput16, "StorageInputOutput16") \
    X(4439, v11, multiview, "MultiView") \
    X(4441, v11, variablePointersStorageBuffer, "VariablePointersStorageBuffer") \
    X(4442, v11, variablePointers, "VariablePointers") \
    X(4448, v12, storageBuffer8BitAccess, "StorageBuffer8BitAccess") \
    X(4449, v12, uniformAndStorageBuffer8BitAccess, "UniformAndStorageBuffer8BitAccess") \
    X(4450, v12, storagePushConstant8, "StoragePushConstant8") \
    X(5345, v12, vulkanMemoryModel, "VulkanMemoryModel") \
    X(5346, v12, vulkanMemoryModelDeviceScope, "VulkanMemoryModelDeviceScope") \
    X(5379, v13, shaderDemoteToHelperInvocation, "DemoteToHelperInvocation") \
    X(6016, v13, shaderIntegerDotProduct, "DotProductInputAll") \
    X(6017, v13, shaderIntegerDotProduct, "DotProductInput4x8Bit") \
    X(6018, v13, shaderIntegerDotProduct, "DotProductInput4x8BitPacked") \
    X(6019, v13, shaderIntegerDotProduct, "DotProduct")
// clang-format on

static bool capability_fits(struct vulkan_run *run, uint32_t capability) {
    switch (capability) {
#define CASE(number, features, feature, name)                                                                \
    case number:                                                                                             \
        REQUIRE(run->device->features.feature, LACKS(feature, "the capability " name " of a shader"));       \
        return true;
        CAPABILITIES(CASE)
#undef CASE
    default:
        return true; // always there, or of an extension
    }
}

bool check_shader_features(struct vulkan_run *run, const struct vulkan_shader *shader) {
    uint32_t capability;
    for (size_t at = 0; vulkan_shader_capability(shader, &at, &capability);)
        if (!capability_fits(run, capability))
            return false;
    return true;
}

// ---- features of which nothing shows that they are used

// X(feature, what may differ)
// clang-format off
#define UNSEEN_FEATURES(X) \
    X(largePoints, "points of more than one pixel") \
    X(fullDrawIndexUint32, "draws with indexes of 2^24 and more") \
    X(vertexPipelineStoresAndAtomics, "what shaders of vertices store in buffers and images") \
    X(fragmentStoresAndAtomics, "what shaders of fragments store in buffers and images")
// clang-format on

void vulkan_note_features(struct vulkan_run *run, const struct vulkan_device *device, uint64_t enabled) {
    const VkPhysicalDeviceFeatures *has = &device->features;
    char text[384];
#define NOTE(feature, what)                                                                                  \
    if (enabled >> (offsetof(VkPhysicalDeviceFeatures, feature) / sizeof(VkBool32)) & 1 && !has->feature) {  \
        snprintf(text, sizeof text,                                                                          \
                 "the program enabled the feature " #feature ", which the device %.80s lacks: " what         \
                 " may differ here (another device: --device)",                                              \
                 run->execution->name);                                                                      \
        run->client->note(run->client->context, text);                                                       \
    }
    UNSEEN_FEATURES(NOTE)
#undef NOTE
}

#endif
