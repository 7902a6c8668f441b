// SPDX-License-Identifier: Apache-2.0
// Dynamic state besides viewports and scissors (check_state.c): which of it a pipeline needs, which a command buffer has set, and the values
// of what extensions add.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/check.h"

// X(state, command that sets it, whether the device has it). HAS is for states of extensions: a feature of struct vulkan_extras.
// clang-format off
#define HAS(feature) (extras->feature != 0)
#define DYNAMIC_STATES(X) \
    X(LINE_WIDTH, CmdSetLineWidth, true) \
    X(DEPTH_BIAS, CmdSetDepthBias, true) \
    X(BLEND_CONSTANTS, CmdSetBlendConstants, true) \
    X(DEPTH_BOUNDS, CmdSetDepthBounds, true) \
    X(STENCIL_COMPARE_MASK, CmdSetStencilCompareMask, true) \
    X(STENCIL_WRITE_MASK, CmdSetStencilWriteMask, true) \
    X(STENCIL_REFERENCE, CmdSetStencilReference, true) \
    X(CULL_MODE, CmdSetCullMode, true) \
    X(FRONT_FACE, CmdSetFrontFace, true) \
    X(PRIMITIVE_TOPOLOGY, CmdSetPrimitiveTopology, true) \
    X(DEPTH_TEST_ENABLE, CmdSetDepthTestEnable, true) \
    X(DEPTH_WRITE_ENABLE, CmdSetDepthWriteEnable, true) \
    X(DEPTH_COMPARE_OP, CmdSetDepthCompareOp, true) \
    X(DEPTH_BOUNDS_TEST_ENABLE, CmdSetDepthBoundsTestEnable, true) \
    X(STENCIL_TEST_ENABLE, CmdSetStencilTestEnable, true) \
    X(STENCIL_OP, CmdSetStencilOp, true) \
    X(RASTERIZER_DISCARD_ENABLE, CmdSetRasterizerDiscardEnable, true) \
    X(DEPTH_BIAS_ENABLE, CmdSetDepthBiasEnable, true) \
    X(PRIMITIVE_RESTART_ENABLE, CmdSetPrimitiveRestartEnable, true) \
    X(PATCH_CONTROL_POINTS_EXT, CmdSetPatchControlPointsEXT, HAS(state2.extendedDynamicState2PatchControlPoints)) \
    X(LOGIC_OP_EXT, CmdSetLogicOpEXT, HAS(state2.extendedDynamicState2LogicOp)) \
    X(COLOR_WRITE_ENABLE_EXT, CmdSetColorWriteEnableEXT, HAS(color_write.colorWriteEnable)) \
    X(LINE_STIPPLE_EXT, CmdSetLineStippleEXT, HAS(lines.sType)) \
    X(VERTEX_INPUT_EXT, CmdSetVertexInputEXT, HAS(inputs.vertexInputDynamicState)) \
    X(DEPTH_CLAMP_ENABLE_EXT, CmdSetDepthClampEnableEXT, HAS(state3.extendedDynamicState3DepthClampEnable)) \
    X(DEPTH_CLIP_ENABLE_EXT, CmdSetDepthClipEnableEXT, HAS(state3.extendedDynamicState3DepthClipEnable)) \
    X(DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT, CmdSetDepthClipNegativeOneToOneEXT, HAS(state3.extendedDynamicState3DepthClipNegativeOneToOne)) \
    X(POLYGON_MODE_EXT, CmdSetPolygonModeEXT, HAS(state3.extendedDynamicState3PolygonMode)) \
    X(PROVOKING_VERTEX_MODE_EXT, CmdSetProvokingVertexModeEXT, HAS(state3.extendedDynamicState3ProvokingVertexMode)) \
    X(LINE_RASTERIZATION_MODE_EXT, CmdSetLineRasterizationModeEXT, HAS(state3.extendedDynamicState3LineRasterizationMode)) \
    X(LINE_STIPPLE_ENABLE_EXT, CmdSetLineStippleEnableEXT, HAS(state3.extendedDynamicState3LineStippleEnable)) \
    X(RASTERIZATION_SAMPLES_EXT, CmdSetRasterizationSamplesEXT, HAS(state3.extendedDynamicState3RasterizationSamples)) \
    X(SAMPLE_MASK_EXT, CmdSetSampleMaskEXT, HAS(state3.extendedDynamicState3SampleMask)) \
    X(ALPHA_TO_COVERAGE_ENABLE_EXT, CmdSetAlphaToCoverageEnableEXT, HAS(state3.extendedDynamicState3AlphaToCoverageEnable)) \
    X(ALPHA_TO_ONE_ENABLE_EXT, CmdSetAlphaToOneEnableEXT, HAS(state3.extendedDynamicState3AlphaToOneEnable)) \
    X(LOGIC_OP_ENABLE_EXT, CmdSetLogicOpEnableEXT, HAS(state3.extendedDynamicState3LogicOpEnable)) \
    X(COLOR_BLEND_ENABLE_EXT, CmdSetColorBlendEnableEXT, HAS(state3.extendedDynamicState3ColorBlendEnable)) \
    X(COLOR_BLEND_EQUATION_EXT, CmdSetColorBlendEquationEXT, HAS(state3.extendedDynamicState3ColorBlendEquation)) \
    X(COLOR_WRITE_MASK_EXT, CmdSetColorWriteMaskEXT, HAS(state3.extendedDynamicState3ColorWriteMask))
// clang-format on

enum {
#define PLACE(state, ...) PLACE_##state,
    DYNAMIC_STATES(PLACE)
#undef PLACE
};
#define BIT(state) ((uint64_t)1 << PLACE_##state)

static const uint64_t of_depth = BIT(DEPTH_TEST_ENABLE) | BIT(DEPTH_WRITE_ENABLE) | BIT(STENCIL_TEST_ENABLE),
                      of_vertices = BIT(PRIMITIVE_TOPOLOGY) | BIT(PRIMITIVE_RESTART_ENABLE) |
                                    BIT(RASTERIZER_DISCARD_ENABLE),
                      of_stencil = BIT(STENCIL_COMPARE_MASK) | BIT(STENCIL_WRITE_MASK) |
                                   BIT(STENCIL_REFERENCE) | BIT(STENCIL_OP),
                      of_colors = BIT(COLOR_BLEND_ENABLE_EXT) | BIT(COLOR_BLEND_EQUATION_EXT) |
                                  BIT(COLOR_WRITE_MASK_EXT) | BIT(COLOR_WRITE_ENABLE_EXT),
                      of_raster = BIT(DEPTH_CLAMP_ENABLE_EXT) | BIT(DEPTH_CLIP_ENABLE_EXT) |
                                  BIT(DEPTH_CLIP_NEGATIVE_ONE_TO_ONE_EXT) | BIT(POLYGON_MODE_EXT) |
                                  BIT(PROVOKING_VERTEX_MODE_EXT) | BIT(RASTERIZATION_SAMPLES_EXT) |
                                  BIT(SAMPLE_MASK_EXT) | BIT(ALPHA_TO_COVERAGE_ENABLE_EXT) |
                                  BIT(ALPHA_TO_ONE_ENABLE_EXT);

bool check_is_dynamic(const VkGraphicsPipelineCreateInfo *info, VkDynamicState state) {
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++)
        if (info->pDynamicState->pDynamicStates[i] == state)
            return true;
    return false;
}

bool check_knows_dynamic(const struct vulkan_run *run, VkDynamicState state) {
    const struct vulkan_extras *extras = &run->device->extras;
    switch ((uint32_t)state) {
#define CASE(state, command, is_there)                                                                       \
    case VK_DYNAMIC_STATE_##state:                                                                           \
        return is_there;
        DYNAMIC_STATES(CASE)
#undef CASE
    case VK_DYNAMIC_STATE_VIEWPORT:
    case VK_DYNAMIC_STATE_SCISSOR:
    case VK_DYNAMIC_STATE_VIEWPORT_WITH_COUNT:
    case VK_DYNAMIC_STATE_SCISSOR_WITH_COUNT:
    case VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE:
        return true;
    default:
        return false;
    }
}

static uint64_t dynamic_of(const VkGraphicsPipelineCreateInfo *info) {
    uint64_t all = 0;
    for (uint32_t i = 0; info->pDynamicState && i < info->pDynamicState->dynamicStateCount; i++)
        switch ((uint32_t)info->pDynamicState->pDynamicStates[i]) {
#define CASE(state, ...)                                                                                     \
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
    for (uint32_t i = 0; blend && blend->pAttachments && i < blend->attachmentCount; i++) {
        const VkPipelineColorBlendAttachmentState *at = &blend->pAttachments[i];
        if (at->blendEnable &&
            (is_constant(at->srcColorBlendFactor) || is_constant(at->dstColorBlendFactor) ||
             is_constant(at->srcAlphaBlendFactor) || is_constant(at->dstAlphaBlendFactor)))
            return true;
    }
    return false;
}

// Those that are read only if another state, which may be dynamic too, is on.
static uint64_t used_if(const VkGraphicsPipelineCreateInfo *info, uint64_t dynamic, uint64_t *later) {
    const VkPipelineRasterizationStateCreateInfo *raster = info->pRasterizationState;
    const VkPipelineDepthStencilStateCreateInfo *depth = info->pDepthStencilState;
    const struct {
        uint64_t switch_, states;
        bool on;
    } all[] = {{BIT(DEPTH_BIAS_ENABLE), BIT(DEPTH_BIAS), raster && raster->depthBiasEnable},
               {BIT(DEPTH_TEST_ENABLE), BIT(DEPTH_COMPARE_OP), depth && depth->depthTestEnable},
               {BIT(DEPTH_BOUNDS_TEST_ENABLE), BIT(DEPTH_BOUNDS), depth && depth->depthBoundsTestEnable},
               {BIT(STENCIL_TEST_ENABLE), of_stencil, depth && depth->stencilTestEnable}};
    uint64_t used = 0;
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

static bool tessellates(const VkGraphicsPipelineCreateInfo *info) {
    for (uint32_t i = 0; i < info->stageCount; i++)
        if (info->pStages[i].stage == VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT)
            return true;
    return false;
}

// Of a pipeline that is to rasterize; those that nothing reads need not be set.
void check_know_dynamic(struct vulkan_needs *needs, const VkGraphicsPipelineCreateInfo *info) {
    const uint64_t dynamic = dynamic_of(info);
    const bool discards = info->pRasterizationState && info->pRasterizationState->rasterizerDiscardEnable &&
                          !(dynamic & BIT(RASTERIZER_DISCARD_ENABLE)),
               has_depth = needs->part.depth || needs->part.stencil;
    uint64_t later = 0, used = of_vertices | BIT(VERTEX_INPUT_EXT);
    used |= tessellates(info) ? BIT(PATCH_CONTROL_POINTS_EXT) : 0; // drivers divide by it
    if (!discards) {
        used |= of_raster | (needs->part.colors ? of_colors : 0);
        used |= BIT(CULL_MODE) | BIT(FRONT_FACE) | BIT(DEPTH_BIAS_ENABLE);
        used |= has_depth ? of_depth : 0;
        used |= used_if(info, dynamic, &later);
        used |= draws_lines(info) ? BIT(LINE_WIDTH) : 0;
        used |= blends_constants(info->pColorBlendState) ? BIT(BLEND_CONSTANTS) : 0;
    }
    needs->dynamic = dynamic & used;
    needs->dynamic_if = dynamic & later;
}

// ---- values of what extensions add

static bool colors_fit(struct vulkan_run *run, uint32_t first, uint32_t count) {
    const uint32_t most = run->device->limits.maxColorAttachments;
    REQUIRE(is_inside(first, count, most < VULKAN_COLORS_MOST ? most : VULKAN_COLORS_MOST),
            "dynamic state of more attachments than are supported");
    return true;
}

static bool inputs_fit(struct vulkan_run *run, const struct call_CmdSetVertexInputEXT *at) {
    const struct vulkan_extras *extras = &run->device->extras;
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    REQUIRE(at->n <= limits->maxVertexInputBindings && at->k <= limits->maxVertexInputAttributes,
            "more bindings or attributes of vertices than the device has");
    for (uint32_t i = 0; i < at->n; i++) {
        const uint32_t divisor = at->b[i].divisor;
        if (!check_vertex_binding(run, at->b[i].binding, at->b[i].stride))
            return false;
        REQUIRE(divisor == 1 || (divisor ? extras->divisors.vertexAttributeInstanceRateDivisor
                                         : extras->divisors.vertexAttributeInstanceRateZeroDivisor),
                "a divisor of instances that the device does not have");
        REQUIRE(divisor <= 1 || at->b[i].inputRate == VK_VERTEX_INPUT_RATE_INSTANCE,
                "a divisor of instances of a binding that has vertices");
        for (uint32_t j = 0; j < i; j++)
            REQUIRE(at->b[j].binding != at->b[i].binding, "a binding of vertices is there twice");
    }
    for (uint32_t i = 0; i < at->k; i++) {
        bool found = false;
        if (!check_vertex_attribute(run, at->a[i].location, at->a[i].format, at->a[i].offset))
            return false;
        for (uint32_t j = 0; j < at->n; j++)
            found |= at->b[j].binding == at->a[i].binding;
        REQUIRE(found, "an attribute of vertices has no binding");
        for (uint32_t j = 0; j < i; j++)
            REQUIRE(at->a[j].location != at->a[i].location, "an attribute of vertices is there twice");
    }
    return true;
}

static bool masks_fit(struct vulkan_run *run, const struct call_CmdSetColorWriteMaskEXT *at) {
    static const uint32_t known = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                                  VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT;
    for (uint32_t i = 0; i < at->n; i++)
        REQUIRE(!(at->e[i] & ~known), "an unknown mask of colors");
    return colors_fit(run, at->f, at->n);
}

// What is switched on, or at all, by a command needs the feature that a pipeline needs for it.
static bool switch_fits(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    const struct vulkan_extras *extras = &run->device->extras;
    bool has = true;
    switch (number) {
    case VULKAN_CmdSetDepthClipEnableEXT:
        has = extras->clip_enable.depthClipEnable;
        break;
    case VULKAN_CmdSetDepthClipNegativeOneToOneEXT:
        has = extras->clip_control.depthClipControl;
        break;
    case VULKAN_CmdSetProvokingVertexModeEXT:
        has = extras->provoking.provokingVertexLast ||
              !((const struct call_CmdSetProvokingVertexModeEXT *)call)->v;
        break;
    default:
        break;
    }
    REQUIRE(has, "the device does not have what it switches on");
    return true;
}

static bool extended_fits(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    const VkPhysicalDeviceLimits *limits = &run->device->limits;
    switch (number) {
    case VULKAN_CmdSetPatchControlPointsEXT: {
        const uint32_t points = ((const struct call_CmdSetPatchControlPointsEXT *)call)->v;
        REQUIRE(points && points <= limits->maxTessellationPatchSize,
                "patches have more points than the device allows, or none");
        return true;
    }
    case VULKAN_CmdSetColorWriteEnableEXT:
        return colors_fit(run, 0, ((const struct call_CmdSetColorWriteEnableEXT *)call)->n);
    case VULKAN_CmdSetColorBlendEnableEXT: {
        const struct call_CmdSetColorBlendEnableEXT *at = call;
        return colors_fit(run, at->f, at->n);
    }
    case VULKAN_CmdSetColorBlendEquationEXT: {
        const struct call_CmdSetColorBlendEquationEXT *at = call;
        return colors_fit(run, at->f, at->n);
    }
    case VULKAN_CmdSetColorWriteMaskEXT:
        return masks_fit(run, call);
    case VULKAN_CmdSetVertexInputEXT:
        return inputs_fit(run, call);
    case VULKAN_CmdSetLineStippleEXT:
        REQUIRE(check_is_stipple(((const struct call_CmdSetLineStippleEXT *)call)->f),
                "an unknown factor of stipples");
        return true;
    case VULKAN_CmdSetLineRasterizationModeEXT:
        return check_line_mode(run, ((const struct call_CmdSetLineRasterizationModeEXT *)call)->v, false);
    default:
        return switch_fits(run, number, call);
    }
}

bool check_dynamic_values(struct vulkan_run *run, enum vulkan_command number, const void *call) {
    switch (number) {
#define CASE(state, command, ...)                                                                            \
    case VULKAN_##command:                                                                                   \
        REQUIRE(check_knows_dynamic(run, VK_DYNAMIC_STATE_##state), "the device does not have it");          \
        return extended_fits(run, number, call);
        DYNAMIC_STATES(CASE)
#undef CASE
    default:
        return true;
    }
}

// ---- what is set

static uint32_t bits_of(uint32_t first, uint32_t count) {
    return (uint32_t)((((uint64_t)1 << count) - 1) << first); // of 16 attachments at most
}

static void set_inputs(struct vulkan_bound *bound, const struct call_CmdSetVertexInputEXT *at) {
    bound->locations = 0;
    for (uint32_t i = 0; i < at->k; i++)
        if (at->a[i].location < 64) {
            bound->locations |= (uint64_t)1 << at->a[i].location;
            bound->input_bindings[at->a[i].location] = at->a[i].binding;
        }
}

static void set_extended(struct vulkan_bound *bound, enum vulkan_command number, const void *call) {
    switch (number) {
    case VULKAN_CmdSetVertexInputEXT:
        set_inputs(bound, call);
        break;
    case VULKAN_CmdSetRasterizationSamplesEXT:
        bound->samples = ((const struct call_CmdSetRasterizationSamplesEXT *)call)->v;
        break;
    case VULKAN_CmdSetSampleMaskEXT:
        bound->mask_samples = ((const struct call_CmdSetSampleMaskEXT *)call)->v;
        break;
    case VULKAN_CmdSetColorWriteEnableEXT:
        bound->color_writes = bits_of(0, ((const struct call_CmdSetColorWriteEnableEXT *)call)->n);
        break;
    case VULKAN_CmdSetColorBlendEnableEXT: {
        const struct call_CmdSetColorBlendEnableEXT *at = call;
        bound->blend_enables |= bits_of(at->f, at->n);
        break;
    }
    case VULKAN_CmdSetColorBlendEquationEXT: {
        const struct call_CmdSetColorBlendEquationEXT *at = call;
        bound->blend_equations |= bits_of(at->f, at->n);
        break;
    }
    case VULKAN_CmdSetColorWriteMaskEXT: {
        const struct call_CmdSetColorWriteMaskEXT *at = call;
        bound->color_masks |= bits_of(at->f, at->n);
        break;
    }
    default:
        break;
    }
}

// Both faces have to have the masks, the reference and the operations of a stencil; programs that set one draw one.
void check_set_dynamic(struct vulkan_bound *bound, enum vulkan_command number, const void *call) {
    uint64_t states = 0;
    bool on = false;
    switch (number) {
#define CASE(state, command, ...)                                                                            \
    case VULKAN_##command:                                                                                   \
        bound->dynamic |= BIT(state);                                                                        \
        break;
        DYNAMIC_STATES(CASE)
#undef CASE
    default:
        return;
    }
    set_extended(bound, number, call);
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

// ---- draws

static bool inputs_are_bound(struct vulkan_run *run, uint64_t locations) {
    const struct vulkan_bound *bound = &run->bound;
    REQUIRE(!(locations & ~bound->locations), "the vertex shader reads an attribute that is not set");
    for (uint32_t i = 0; i < 64; i++)
        if (locations >> i & 1)
            REQUIRE(bound->input_bindings[i] >= 64 || bound->vertices >> bound->input_bindings[i] & 1,
                    "the vertex shader reads a vertex buffer that is not bound");
    return true;
}

bool check_dynamic_state(struct vulkan_run *run, const struct vulkan_needs *needs) {
    const struct vulkan_bound *bound = &run->bound;
    const struct vulkan_part *part = &run->now.part;
    const uint32_t colors = bits_of(0, part->colors);
    const uint64_t dynamic = needs->dynamic;
    REQUIRE(!(dynamic & ~bound->dynamic) && !(needs->dynamic_if & bound->enabled & ~bound->dynamic),
            "a dynamic state of the pipeline is not set");
    REQUIRE(!(dynamic & BIT(RASTERIZATION_SAMPLES_EXT)) || !part->samples || bound->samples == part->samples,
            "the number of samples that is set is not that of the attachments");
    REQUIRE(!(dynamic & BIT(SAMPLE_MASK_EXT)) || bound->mask_samples >= part->samples,
            "the mask that is set has fewer samples than the attachments");
    REQUIRE((!(dynamic & BIT(COLOR_BLEND_ENABLE_EXT)) || !(colors & ~bound->blend_enables)) &&
                (!(dynamic & BIT(COLOR_BLEND_EQUATION_EXT)) || !(colors & ~bound->blend_equations)) &&
                (!(dynamic & BIT(COLOR_WRITE_MASK_EXT)) || !(colors & ~bound->color_masks)) &&
                (!(dynamic & BIT(COLOR_WRITE_ENABLE_EXT)) || !(colors & ~bound->color_writes)),
            "a dynamic state of an attachment is not set");
    return !(dynamic & BIT(VERTEX_INPUT_EXT)) || inputs_are_bound(run, needs->locations);
}

#endif
