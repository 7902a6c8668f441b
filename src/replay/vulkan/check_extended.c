// SPDX-License-Identifier: Apache-2.0
// What extensions say of a pipeline's state (check_objects.c): the values, and that the device has the extension. Also of vertices what static
// and dynamic state have alike.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "recording/vulkan/structs.h" // words_in_chain
#include "replay/vulkan/check.h"

bool check_vertex_binding(struct vulkan_run *run, uint32_t binding, uint32_t stride) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    REQUIRE(stride <= limits->maxVertexInputBindingStride,
            "the stride of vertices is larger than the device allows");
    return binding < limits->maxVertexInputBindings;
}

bool check_vertex_attribute(struct vulkan_run *run, uint32_t location, VkFormat format, uint32_t offset) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    return format && location < limits->maxVertexInputAttributes &&
           offset <= limits->maxVertexInputAttributeOffset &&
           check_buffer_format(run, format, VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT);
}

bool check_line_mode(struct vulkan_run *run, VkLineRasterizationModeEXT mode, bool stippled) {
    const VkPhysicalDeviceLineRasterizationFeaturesEXT *has = &run->device->extras.lines;
    const VkBool32 plain[] = {VK_TRUE, has->rectangularLines, has->bresenhamLines, has->smoothLines},
                   dashed[] = {has->stippledRectangularLines, has->stippledRectangularLines,
                               has->stippledBresenhamLines, has->stippledSmoothLines};
    REQUIRE((uint32_t)mode < 4 && (stippled ? dashed : plain)[mode],
            "the device does not draw lines in this mode");
    return true;
}

static bool raster_fits(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info) {
    const struct vulkan_extras *extras = &run->device->extras;
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineRasterizationDepthClipStateCreateInfoEXT *clip = words_in_chain(
        raster->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT);
    const VkPipelineRasterizationProvokingVertexStateCreateInfoEXT *provoking = words_in_chain(
        raster->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT);
    const VkPipelineRasterizationLineStateCreateInfoEXT *line =
        words_in_chain(raster->pNext, VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT);
    REQUIRE(!clip || (extras->clip_enable.depthClipEnable && !clip->flags),
            "the device clips by depth wherever it does not clamp");
    REQUIRE(!provoking || provoking->provokingVertexMode == VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT ||
                extras->provoking.provokingVertexLast,
            "the device gives a primitive what its first vertex has, not its last");
    REQUIRE(!line || extras->lines.sType, "the device has no modes of lines");
    REQUIRE(!line || check_is_dynamic(info, VK_DYNAMIC_STATE_LINE_STIPPLE_EXT) ||
                (!line->stippledLineEnable &&
                 !check_is_dynamic(info, VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT)) ||
                check_is_stipple(line->lineStippleFactor),
            "an unknown factor of stipples");
    return !line || check_line_mode(run, line->lineRasterizationMode, line->stippledLineEnable);
}

static bool divisors_fit(struct vulkan_run *run, const VkPipelineVertexInputDivisorStateCreateInfoEXT *all,
                         const VkPipelineVertexInputStateCreateInfo *inputs) {
    const VkPhysicalDeviceVertexAttributeDivisorFeaturesEXT *has = &run->device->extras.divisors;
    REQUIRE(all->vertexBindingDivisorCount <= inputs->vertexBindingDescriptionCount,
            "more divisors of instances than bindings of vertices");
    for (uint32_t i = 0; i < all->vertexBindingDivisorCount; i++) {
        const VkVertexInputBindingDivisorDescriptionEXT *at = &all->pVertexBindingDivisors[i];
        REQUIRE(at->binding < run->device->limits.maxVertexInputBindings &&
                    (at->divisor ? has->vertexAttributeInstanceRateDivisor
                                 : has->vertexAttributeInstanceRateZeroDivisor),
                "a divisor of instances that the device does not have");
        bool found = false;
        for (uint32_t j = 0; j < inputs->vertexBindingDescriptionCount; j++)
            found |= inputs->pVertexBindingDescriptions[j].binding == at->binding &&
                     inputs->pVertexBindingDescriptions[j].inputRate == VK_VERTEX_INPUT_RATE_INSTANCE;
        REQUIRE(found, "a divisor of instances of a binding that has vertices");
    }
    return true;
}

// Of lists primitives are cut short by an extension only. What is dynamic is not known yet.
static bool restart_fits(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineInputAssemblyStateCreateInfo *at = info->pInputAssemblyState;
    const VkPhysicalDevicePrimitiveTopologyListRestartFeaturesEXT *has = &run->device->extras.restart;
    if (!at->primitiveRestartEnable || check_is_dynamic(info, VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE) ||
        check_is_dynamic(info, VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY))
        return true;
    switch (at->topology) {
    case VK_PRIMITIVE_TOPOLOGY_POINT_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
    case VK_PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY:
    case VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY:
        REQUIRE(has->primitiveTopologyListRestart, "the device does not restart lists of primitives");
        return true;
    case VK_PRIMITIVE_TOPOLOGY_PATCH_LIST:
        REQUIRE(has->primitiveTopologyPatchListRestart, "the device does not restart lists of patches");
        return true;
    default:
        return true;
    }
}

bool check_extended(struct vulkan_run *run, const VkGraphicsPipelineCreateInfo *info) {
    const struct vulkan_extras *extras = &run->device->extras;
    const VkPipelineColorBlendStateCreateInfo *blend = info->pColorBlendState;
    const VkPipelineColorWriteCreateInfoEXT *writes =
        blend ? words_in_chain(blend->pNext, VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT) : NULL;
    const VkPipelineViewportDepthClipControlCreateInfoEXT *control =
        info->pViewportState
            ? words_in_chain(info->pViewportState->pNext,
                             VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT)
            : NULL;
    const VkPipelineVertexInputDivisorStateCreateInfoEXT *divisors =
        info->pVertexInputState
            ? words_in_chain(info->pVertexInputState->pNext,
                             VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT)
            : NULL;
    REQUIRE(!control || extras->clip_control.depthClipControl, "the device has no depths from -1 to 1");
    REQUIRE(!writes ||
                (extras->color_write.colorWriteEnable && writes->attachmentCount == blend->attachmentCount),
            "the device does not switch the writing of colors, or not of so many attachments");
    REQUIRE(!blend || !blend->attachmentCount || blend->pAttachments ||
                (check_is_dynamic(info, VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT) &&
                 check_is_dynamic(info, VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT) &&
                 check_is_dynamic(info, VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT)),
            "a pipeline does not say how its colors are blended");
    return restart_fits(run, info) && raster_fits(run, info) &&
           (!divisors || divisors_fit(run, divisors, info->pVertexInputState));
}

#endif
