// SPDX-License-Identifier: Apache-2.0
// Dynamic state besides viewports and scissors (check_state.c): which of it a pipeline needs, and which a command buffer has set.
#if __has_include(<vulkan/vulkan_core.h>)

#include "replay/vulkan/check.h"

// X(state, command that sets it)
// clang-format off
#define DYNAMIC_STATES(X) \
    X(LINE_WIDTH, CmdSetLineWidth) \
    X(DEPTH_BIAS, CmdSetDepthBias) \
    X(BLEND_CONSTANTS, CmdSetBlendConstants) \
    X(DEPTH_BOUNDS, CmdSetDepthBounds) \
    X(STENCIL_COMPARE_MASK, CmdSetStencilCompareMask) \
    X(STENCIL_WRITE_MASK, CmdSetStencilWriteMask) \
    X(STENCIL_REFERENCE, CmdSetStencilReference) \
    X(CULL_MODE, CmdSetCullMode) \
    X(FRONT_FACE, CmdSetFrontFace) \
    X(PRIMITIVE_TOPOLOGY, CmdSetPrimitiveTopology) \
    X(DEPTH_TEST_ENABLE, CmdSetDepthTestEnable) \
    X(DEPTH_WRITE_ENABLE, CmdSetDepthWriteEnable) \
    X(DEPTH_COMPARE_OP, CmdSetDepthCompareOp) \
    X(DEPTH_BOUNDS_TEST_ENABLE, CmdSetDepthBoundsTestEnable) \
    X(STENCIL_TEST_ENABLE, CmdSetStencilTestEnable) \
    X(STENCIL_OP, CmdSetStencilOp) \
    X(RASTERIZER_DISCARD_ENABLE, CmdSetRasterizerDiscardEnable) \
    X(DEPTH_BIAS_ENABLE, CmdSetDepthBiasEnable) \
    X(PRIMITIVE_RESTART_ENABLE, CmdSetPrimitiveRestartEnable)
// clang-format on

enum {
#define PLACE(state, command) PLACE_##state,
    DYNAMIC_STATES(PLACE)
#undef PLACE
};
#define BIT(state) ((uint32_t)1 << PLACE_##state)

static const uint32_t of_depth = BIT(DEPTH_TEST_ENABLE) | BIT(DEPTH_WRITE_ENABLE) | BIT(STENCIL_TEST_ENABLE),
                      of_vertices = BIT(PRIMITIVE_TOPOLOGY) | BIT(PRIMITIVE_RESTART_ENABLE) |
                                    BIT(RASTERIZER_DISCARD_ENABLE),
                      of_stencil = BIT(STENCIL_COMPARE_MASK) | BIT(STENCIL_WRITE_MASK) |
                                   BIT(STENCIL_REFERENCE) | BIT(STENCIL_OP);

static uint32_t dynamic_of(const VkGraphicsPipelineCreateInfo *info) {
    uint32_t all = 0;
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++)
        switch ((uint32_t)info->pDynamicState->pDynamicStates[i]) {
#define CASE(state, command)                                                                                 \
    case VK_DYNAMIC_STATE_##state:                                                                           \
        all |= BIT(state);                                                                                   \
        break;
            DYNAMIC_STATES(CASE)
#undef CASE
        default:
            break;
        }
    return all;
}

static bool is_constant(VkBlendFactor factor) {
    return factor >= VK_BLEND_FACTOR_CONSTANT_COLOR && factor <= VK_BLEND_FACTOR_ONE_MINUS_CONSTANT_ALPHA;
}

static bool blends_constants(const VkPipelineColorBlendStateCreateInfo *blend) {
    for (uint32_t i = 0; blend && i < blend->attachmentCount; i++) {
        const VkPipelineColorBlendAttachmentState *at = &blend->pAttachments[i];
        if (at->blendEnable &&
            (is_constant(at->srcColorBlendFactor) || is_constant(at->dstColorBlendFactor) ||
             is_constant(at->srcAlphaBlendFactor) || is_constant(at->dstAlphaBlendFactor)))
            return true;
    }
    return false;
}

// Those that are read only if another state, which may be dynamic too, is on.
static uint32_t used_if(const VkGraphicsPipelineCreateInfo *info, uint32_t dynamic, uint32_t *later) {
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineDepthStencilStateCreateInfo *depth = info->pDepthStencilState;
    const struct {
        uint32_t switch_, states;
        bool on;
    } all[] = {{BIT(DEPTH_BIAS_ENABLE), BIT(DEPTH_BIAS), raster && raster->depthBiasEnable},
               {BIT(DEPTH_TEST_ENABLE), BIT(DEPTH_COMPARE_OP), depth && depth->depthTestEnable},
               {BIT(DEPTH_BOUNDS_TEST_ENABLE), BIT(DEPTH_BOUNDS), depth && depth->depthBoundsTestEnable},
               {BIT(STENCIL_TEST_ENABLE), of_stencil, depth && depth->stencilTestEnable}};
    uint32_t used = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (dynamic & all[i].switch_)
            *later |= all[i].states;
        else if (all[i].on)
            used |= all[i].states;
    return used;
}

static bool draws_lines(const VkGraphicsPipelineCreateInfo *info) {
    const VkPipelineInputAssemblyStateCreateInfo *assembly = info->pInputAssemblyState;
    return (info->pRasterizationState && info->pRasterizationState->polygonMode == VK_POLYGON_MODE_LINE) ||
           (assembly && (assembly->topology == VK_PRIMITIVE_TOPOLOGY_LINE_LIST ||
                         assembly->topology == VK_PRIMITIVE_TOPOLOGY_LINE_STRIP));
}

// Of a pipeline that is to rasterize; those that nothing reads need not be set.
void check_know_dynamic(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info) {
    const uint32_t dynamic = dynamic_of(info);
    const bool discards = info->pRasterizationState && info->pRasterizationState->rasterizerDiscardEnable &&
                          !(dynamic & BIT(RASTERIZER_DISCARD_ENABLE)),
               has_depth = needs->part.depth || needs->part.stencil;
    uint32_t later = 0, used = of_vertices;
    if (!discards) {
        used |= BIT(CULL_MODE) | BIT(FRONT_FACE) | BIT(DEPTH_BIAS_ENABLE);
        used |= has_depth ? of_depth : 0;
        used |= used_if(info, dynamic, &later);
        used |= draws_lines(info) ? BIT(LINE_WIDTH) : 0;
        used |= blends_constants(info->pColorBlendState) ? BIT(BLEND_CONSTANTS) : 0;
    }
    needs->dynamic = dynamic & used;
    needs->dynamic_if = dynamic & later;
}

// Both faces have to have the masks, the reference and the operations of a stencil; programs that set one draw one.
void check_set_dynamic(struct vulkan_bound *bound, enum vulkan_command number, const void *call) {
    uint32_t states = 0;
    bool on = false;
    switch (number) {
#define CASE(state, command)                                                                                 \
    case VULKAN_##command:                                                                                   \
        bound->dynamic |= BIT(state);                                                                        \
        break;
        DYNAMIC_STATES(CASE)
#undef CASE
    default:
        return;
    }
    if (number == VULKAN_CmdSetDepthBiasEnable) {
        states = BIT(DEPTH_BIAS);
        on = ((const struct call_CmdSetDepthBiasEnable *)call)->v;
    } else if (number == VULKAN_CmdSetDepthTestEnable) {
        states = BIT(DEPTH_COMPARE_OP);
        on = ((const struct call_CmdSetDepthTestEnable *)call)->v;
    } else if (number == VULKAN_CmdSetDepthBoundsTestEnable) {
        states = BIT(DEPTH_BOUNDS);
        on = ((const struct call_CmdSetDepthBoundsTestEnable *)call)->v;
    } else if (number == VULKAN_CmdSetStencilTestEnable) {
        states = of_stencil;
        on = ((const struct call_CmdSetStencilTestEnable *)call)->v;
    }
    bound->enabled = on ? bound->enabled | states : bound->enabled & ~states;
}

#endif
