// SPDX-License-Identifier: Apache-2.0
// Features that a recording needs of the device, on a driver that executes nothing (fuzz/vulkan_double.h, simulated). Each of what needs one is
// accepted where the device has that feature alone, and refused by the feature's name where it has all others.
#include "recording/vulkan/headers.h"
#include "support/test.h"

#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan/check.h"
#include "replay/vulkan_scene.h"

enum { FEATURES = sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32) };

static struct vulkan_device device;
static struct vulkan_run run;

static void set_all(VkBool32 value) {
    VkBool32 all[FEATURES];
    for (int i = 0; i < FEATURES; i++)
        all[i] = value;
    memcpy(&device.features, all, sizeof all);
}

// `name`: of the feature that is needed; NULL: none is.
static void judge(bool (*fits)(const void *of), const void *of, VkBool32 *feature, const char *name) {
    run = (struct vulkan_run){.device = &device};
    set_all(VK_FALSE);
    if (feature)
        *feature = VK_TRUE;
    assert_true(fits(of));
    if (!feature)
        return;
    set_all(VK_TRUE);
    assert_true(fits(of));
    *feature = VK_FALSE;
    assert_false(fits(of));
    assert_non_null(strstr(run.reason, name));
    assert_non_null(strstr(run.reason, "(--device)"));
}

// ---- pipelines

static struct {
    VkPipelineShaderStageCreateInfo stage;
    VkPipelineInputAssemblyStateCreateInfo assembly;
    VkPipelineViewportStateCreateInfo views;
    VkPipelineRasterizationStateCreateInfo raster;
    VkPipelineMultisampleStateCreateInfo samples;
    VkPipelineDepthStencilStateCreateInfo depth;
    VkPipelineColorBlendAttachmentState blends[2];
    VkPipelineColorBlendStateCreateInfo blend;
    VkDynamicState state;
    VkPipelineDynamicStateCreateInfo dynamic;
} at;

static void begin_pipeline(void) {
    memset(&at, 0, sizeof at);
    at.stage.stage = VK_SHADER_STAGE_VERTEX_BIT;
    at.views.viewportCount = at.views.scissorCount = 1;
    at.raster.lineWidth = 1;
    at.blend.attachmentCount = 2;
    at.blend.pAttachments = at.blends;
    at.dynamic.pDynamicStates = &at.state;
}

static bool pipeline_fits(const void *unused) {
    (void)unused;
    const VkGraphicsPipelineCreateInfo info = {.stageCount = 1,
                                               .pStages = &at.stage,
                                               .pInputAssemblyState = &at.assembly,
                                               .pViewportState = &at.views,
                                               .pRasterizationState = &at.raster,
                                               .pMultisampleState = &at.samples,
                                               .pDepthStencilState = &at.depth,
                                               .pColorBlendState = &at.blend,
                                               .pDynamicState = &at.dynamic};
    return check_pipeline_features(&run, &info);
}

#define NEEDS(feature, change)                                                                               \
    do {                                                                                                     \
        begin_pipeline();                                                                                    \
        change;                                                                                              \
        judge(pipeline_fits, NULL, &device.features.feature, "the feature " #feature ",");                   \
    } while (0)
// The same state, which is dynamic: the pipeline's means nothing.
#define NEEDS_UNLESS(feature, dynamic_state, change)                                                         \
    do {                                                                                                     \
        NEEDS(feature, change);                                                                              \
        at.state = VK_DYNAMIC_STATE_##dynamic_state;                                                         \
        at.dynamic.dynamicStateCount = 1;                                                                    \
        judge(pipeline_fits, NULL, NULL, NULL);                                                              \
    } while (0)

static void test_pipelines(void **state) {
    (void)state;
    begin_pipeline();
    judge(pipeline_fits, NULL, NULL, NULL);
    NEEDS(geometryShader, at.stage.stage = VK_SHADER_STAGE_GEOMETRY_BIT);
    NEEDS(tessellationShader, at.stage.stage = VK_SHADER_STAGE_TESSELLATION_CONTROL_BIT);
    NEEDS_UNLESS(depthClamp, DEPTH_CLAMP_ENABLE_EXT, at.raster.depthClampEnable = VK_TRUE);
    NEEDS_UNLESS(depthBiasClamp, DEPTH_BIAS,
                 (at.raster.depthBiasEnable = VK_TRUE, at.raster.depthBiasClamp = 0.5f));
    NEEDS_UNLESS(fillModeNonSolid, POLYGON_MODE_EXT, at.raster.polygonMode = VK_POLYGON_MODE_POINT);
    NEEDS_UNLESS(wideLines, LINE_WIDTH,
                 (at.raster.lineWidth = 2, at.assembly.topology = VK_PRIMITIVE_TOPOLOGY_LINE_STRIP));
    NEEDS_UNLESS(alphaToOne, ALPHA_TO_ONE_ENABLE_EXT, at.samples.alphaToOneEnable = VK_TRUE);
    NEEDS(sampleRateShading, at.samples.sampleShadingEnable = VK_TRUE);
    NEEDS_UNLESS(depthBounds, DEPTH_BOUNDS_TEST_ENABLE, at.depth.depthBoundsTestEnable = VK_TRUE);
    NEEDS(multiViewport, at.views.viewportCount = 2);
    NEEDS(multiViewport, at.views.scissorCount = 2);
    NEEDS_UNLESS(logicOp, LOGIC_OP_ENABLE_EXT, at.blend.logicOpEnable = VK_TRUE);
    NEEDS_UNLESS(dualSrcBlend, COLOR_BLEND_EQUATION_EXT,
                 at.blends[0].dstAlphaBlendFactor = at.blends[1].dstAlphaBlendFactor =
                     VK_BLEND_FACTOR_SRC1_ALPHA);
    NEEDS_UNLESS(independentBlend, COLOR_BLEND_ENABLE_EXT, at.blends[1].blendEnable = VK_TRUE);
    NEEDS_UNLESS(independentBlend, COLOR_WRITE_MASK_EXT, at.blends[1].colorWriteMask = 1);
    NEEDS_UNLESS(independentBlend, COLOR_BLEND_EQUATION_EXT,
                 (at.blends[0].blendEnable = at.blends[1].blendEnable = VK_TRUE,
                  at.blends[1].srcColorBlendFactor = VK_BLEND_FACTOR_ONE));
    // What is not enabled, or draws nothing, needs no feature.
    begin_pipeline();
    at.raster.depthBiasClamp = 0.5f;
    at.raster.lineWidth = 0;
    at.blends[1].srcColorBlendFactor = VK_BLEND_FACTOR_ONE;
    judge(pipeline_fits, NULL, NULL, NULL);
}

// ---- samplers, views, commands

static bool sampler_fits(const void *info) {
    return check_sampler_features(&run, info);
}
static bool view_fits(const void *info) {
    return check_view_features(&run, info);
}

static void test_samplers(void **state) {
    (void)state;
    judge(sampler_fits, &(VkSamplerCreateInfo){.anisotropyEnable = VK_TRUE},
          &device.features.samplerAnisotropy, "the feature samplerAnisotropy,");
    judge(sampler_fits, &(VkSamplerCreateInfo){.maxAnisotropy = 4}, NULL, NULL);
    judge(view_fits, &(VkImageViewCreateInfo){.viewType = VK_IMAGE_VIEW_TYPE_CUBE_ARRAY},
          &device.features.imageCubeArray, "the feature imageCubeArray,");
    judge(view_fits, &(VkImageViewCreateInfo){.viewType = VK_IMAGE_VIEW_TYPE_CUBE}, NULL, NULL);
}

static enum vulkan_command number;
static bool command_fits(const void *call) {
    return check_command_features(&run, number, call);
}
#define COMMAND_NEEDS(name, feature, ...)                                                                    \
    do {                                                                                                     \
        const struct call_##name call = {__VA_ARGS__};                                                       \
        number = VULKAN_##name;                                                                              \
        judge(command_fits, &call, &device.features.feature, "the feature " #feature ",");                   \
    } while (0)
#define COMMAND_IS_FREE(name, ...)                                                                           \
    do {                                                                                                     \
        const struct call_##name call = {__VA_ARGS__};                                                       \
        number = VULKAN_##name;                                                                              \
        judge(command_fits, &call, NULL, NULL);                                                              \
    } while (0)

static void test_commands(void **state) {
    const VkColorBlendEquationEXT second = {.srcColorBlendFactor = VK_BLEND_FACTOR_SRC1_COLOR},
                                  first = {.srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA_SATURATE};
    (void)state;
    COMMAND_NEEDS(CmdSetLineWidth, wideLines, .w = 2);
    COMMAND_IS_FREE(CmdSetLineWidth, .w = 1);
    COMMAND_NEEDS(CmdSetDepthBias, depthBiasClamp, .y = 1);
    COMMAND_IS_FREE(CmdSetDepthBias, .x = 1, .z = 1);
    COMMAND_NEEDS(CmdSetDepthBoundsTestEnable, depthBounds, .v = VK_TRUE);
    COMMAND_NEEDS(CmdSetViewportWithCount, multiViewport, .n = 2);
    COMMAND_IS_FREE(CmdSetViewportWithCount, .n = 1);
    COMMAND_NEEDS(CmdSetScissorWithCount, multiViewport, .n = 2);
    COMMAND_NEEDS(CmdSetDepthClampEnableEXT, depthClamp, .v = VK_TRUE);
    COMMAND_NEEDS(CmdSetPolygonModeEXT, fillModeNonSolid, .v = VK_POLYGON_MODE_LINE);
    COMMAND_IS_FREE(CmdSetPolygonModeEXT, .v = VK_POLYGON_MODE_FILL);
    COMMAND_NEEDS(CmdSetAlphaToOneEnableEXT, alphaToOne, .v = VK_TRUE);
    COMMAND_NEEDS(CmdSetLogicOpEnableEXT, logicOp, .v = VK_TRUE);
    COMMAND_IS_FREE(CmdSetLogicOpEnableEXT, .v = VK_FALSE);
    COMMAND_NEEDS(CmdSetColorBlendEquationEXT, dualSrcBlend, .n = 1, .e = &second);
    COMMAND_IS_FREE(CmdSetColorBlendEquationEXT, .n = 1, .e = &first);
    COMMAND_NEEDS(CmdDrawIndirect, multiDrawIndirect, .n = 2);
    COMMAND_NEEDS(CmdDrawIndexedIndirect, multiDrawIndirect, .n = 2);
    COMMAND_IS_FREE(CmdDrawIndirect, .n = 1);
}

// ---- a replay

// The fragment shader with one more capability.
static void with_capability(uint32_t capability) {
    const size_t first = 7;
    uint32_t *code = scene.code[2];
    memcpy(code, fragment_code, first * sizeof *code);
    code[first] = OP(2, 17);
    code[first + 1] = capability;
    memcpy(code + first + 2, fragment_code + first, sizeof fragment_code - first * sizeof *code);
    scene.sizes[2] = sizeof fragment_code + 2 * sizeof *code;
}

static void test_replays(void **state) {
    (void)state;
    ACCEPTED(scene.samples.alphaToOneEnable = vulkan_double.features.alphaToOne = VK_TRUE);
    REFUSED(scene.samples.alphaToOneEnable = VK_TRUE,
            "the device lacks the feature alphaToOne, which alphaToOneEnable of a pipeline needs");
    ACCEPTED((with_capability(10), vulkan_double.features.shaderFloat64 = VK_TRUE));
    REFUSED(with_capability(10), "the feature shaderFloat64, which the capability Float64 of a shader needs");
    REFUSED(with_capability(4427), "the feature shaderDrawParameters,");
    ACCEPTED(with_capability(61)); // GroupNonUniform: of no feature
    // Of what cannot be seen the features that the program enabled tell.
    reset();
    scene.features = (uint64_t)1 << offsetof(VkPhysicalDeviceFeatures, largePoints) / sizeof(VkBool32);
    replay();
    assert_true(has_result);
    assert_non_null(strstr(notes, "the program enabled the feature largePoints, which the device"));
    ACCEPTED((scene.features = UINT64_MAX, vulkan_double.features.largePoints = VK_TRUE,
              vulkan_double.features.fullDrawIndexUint32 = VK_TRUE,
              vulkan_double.features.vertexPipelineStoresAndAtomics = VK_TRUE,
              vulkan_double.features.fragmentStoresAndAtomics = VK_TRUE));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pipelines), cmocka_unit_test(test_samplers),
                                       cmocka_unit_test(test_commands), cmocka_unit_test(test_replays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else // built without the Vulkan headers, or with older ones

#include <stdio.h>
int main(void) {
    printf("skipped: built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 77;
}

#endif
