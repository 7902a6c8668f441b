// SPDX-License-Identifier: Apache-2.0
// What extensions say of the state of pipelines, and the dynamic state that they add, on a driver that executes nothing
// (fuzz/vulkan_double.h, simulated): it is read as it was written, refused with one value that is not allowed, and refused where the device
// does not have it. Pipelines without any of it are the bytes that they were. And the commands of one submission are bounded.
#include "recording/vulkan/headers.h"
#include "support/test.h"

#ifdef RECORDING_HAS_VULKAN

#include "replay/vulkan_scene.h"

static void add_dynamic(VkDynamicState state) {
    scene.dynamic[scene.dynamic_count++] = state;
}

// ---- pipelines

static const VkPipelineViewportDepthClipControlCreateInfoEXT control = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT,
    .negativeOneToOne = VK_TRUE};
static VkPipelineRasterizationLineStateCreateInfoEXT line;
static VkPipelineRasterizationProvokingVertexStateCreateInfoEXT provoking;
static VkPipelineRasterizationDepthClipStateCreateInfoEXT clip;
static VkVertexInputBindingDivisorDescriptionEXT divisor;
static VkPipelineVertexInputDivisorStateCreateInfoEXT divisors;
static VkBool32 writes_color;
static VkPipelineColorWriteCreateInfoEXT writes;

// All of it.
static void extend(void) {
    line = (VkPipelineRasterizationLineStateCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO_EXT,
        .lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_BRESENHAM_EXT,
        .stippledLineEnable = VK_TRUE,
        .lineStippleFactor = 3,
        .lineStipplePattern = 0x5555};
    provoking = (VkPipelineRasterizationProvokingVertexStateCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT,
        .pNext = &line,
        .provokingVertexMode = VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT};
    clip = (VkPipelineRasterizationDepthClipStateCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT,
        .pNext = &provoking};
    scene.vertices.inputRate = VK_VERTEX_INPUT_RATE_INSTANCE;
    divisor = (VkVertexInputBindingDivisorDescriptionEXT){0, 7};
    divisors = (VkPipelineVertexInputDivisorStateCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO_EXT,
        .vertexBindingDivisorCount = 1,
        .pVertexBindingDivisors = &divisor};
    writes_color = VK_TRUE;
    writes =
        (VkPipelineColorWriteCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_WRITE_CREATE_INFO_EXT,
                                            .attachmentCount = 1,
                                            .pColorWriteEnables = &writes_color};
    scene.views_chain = &control;
    scene.raster.pNext = &clip;
    scene.vertices_chain = &divisors;
    scene.blend_chain = &writes;
}

static void test_pipelines(void **state) {
    static const char pipeline[] = "vkCreateGraphicsPipelines";
    (void)state;
    ACCEPTED(extend());
    REFUSED((extend(), vulkan_double.plain = true), pipeline);
    REFUSED((scene.views_chain = &control, vulkan_double.plain = true), "no depths from -1 to 1");
    REFUSED((extend(), line.pNext = NULL, scene.raster.pNext = &line, scene.views_chain = NULL,
             scene.vertices_chain = scene.blend_chain = NULL, vulkan_double.plain = true),
            "no modes of lines");
    REFUSED((extend(), scene.raster.pNext = &provoking, scene.views_chain = NULL,
             scene.vertices_chain = scene.blend_chain = NULL, vulkan_double.plain = true),
            "what its first vertex has");
    REFUSED((extend(), line.lineRasterizationMode = (VkLineRasterizationModeEXT)4), pipeline);
    REFUSED((extend(), line.lineStippleFactor = 257), "an unknown factor of stipples");
    REFUSED((extend(), line.lineStippleFactor = 0), "an unknown factor of stipples");
    REFUSED((extend(), line.stippledLineEnable = VK_FALSE, line.lineStippleFactor = 0,
             add_dynamic(VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT)),
            "an unknown factor of stipples");
    REFUSED(scene.raster.depthClampEnable = VK_TRUE, "the device lacks the feature depthClamp,");
    REFUSED((extend(), provoking.provokingVertexMode = (VkProvokingVertexModeEXT)2), pipeline);
    REFUSED((extend(), clip.flags = 1), "clips by depth");
    REFUSED((extend(), divisor.binding = DOUBLE_LIMIT), "a divisor of instances");
    REFUSED((extend(), scene.vertices.inputRate = VK_VERTEX_INPUT_RATE_VERTEX),
            "a binding that has vertices");
    REFUSED((extend(), writes.attachmentCount = 0), "the writing of colors");
    // With nothing to say, chained structs are no reason to refuse it where the device has none.
    ACCEPTED((extend(), provoking.provokingVertexMode = VK_PROVOKING_VERTEX_MODE_FIRST_VERTEX_EXT,
              line.lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_DEFAULT_EXT,
              line.stippledLineEnable = VK_FALSE, clip.depthClipEnable = VK_TRUE, scene.views_chain = NULL,
              scene.vertices_chain = scene.blend_chain = NULL, vulkan_double.plain = true));
}

static struct words words_of_pipeline(const VkGraphicsPipelineCreateInfo *info) {
    struct words words = {.translate = itself};
    VkGraphicsPipelineCreateInfo copy = *info;
    words_VkGraphicsPipelineCreateInfo(&words, &copy);
    assert_false(words.failed);
    assert_string_equal(words.missing, "");
    return words;
}

// What was written is read.
static void test_words(void **state) {
    const VkPipelineInputAssemblyStateCreateInfo assembly = {.topology = VK_PRIMITIVE_TOPOLOGY_LINE_LIST};
    (void)state;
    reset();
    extend();
    const VkPipelineVertexInputStateCreateInfo vertices = {.pNext = &divisors};
    const VkPipelineViewportStateCreateInfo views = {.pNext = &control};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .pNext = &writes, .attachmentCount = 1, .pAttachments = &scene.blend};
    VkGraphicsPipelineCreateInfo info = {.stageCount = 2,
                                         .pStages = scene.stages,
                                         .pVertexInputState = &vertices,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &views,
                                         .pRasterizationState = &scene.raster,
                                         .pMultisampleState = &scene.samples,
                                         .pColorBlendState = &blend,
                                         .layout = AS(VkPipelineLayout, LAYOUT),
                                         .renderPass = AS(VkRenderPass, PASS)};
    struct words written = words_of_pipeline(&info);
    struct words words = {
        .reading = true, .at = written.bytes, .end = written.bytes + written.length, .translate = itself};
    VkGraphicsPipelineCreateInfo read = {.flags = 0};
    words_VkGraphicsPipelineCreateInfo(&words, &read);
    assert_false(words.failed);
    assert_true(words.at == words.end && !read.flags && !words.extended);
    const VkPipelineViewportDepthClipControlCreateInfoEXT *view = read.pViewportState->pNext;
    assert_true(view->sType == control.sType && view->negativeOneToOne && !view->pNext);
    const VkPipelineRasterizationLineStateCreateInfoEXT *drawn = read.pRasterizationState->pNext;
    assert_true(drawn->sType == line.sType && drawn->lineRasterizationMode == line.lineRasterizationMode &&
                drawn->stippledLineEnable && drawn->lineStippleFactor == 3 &&
                drawn->lineStipplePattern == 0x5555);
    const VkPipelineRasterizationProvokingVertexStateCreateInfoEXT *last = drawn->pNext;
    assert_true(last->sType == provoking.sType && last->provokingVertexMode == provoking.provokingVertexMode);
    const VkPipelineRasterizationDepthClipStateCreateInfoEXT *clips = last->pNext;
    assert_true(clips->sType == clip.sType && !clips->depthClipEnable && !clips->pNext &&
                !read.pRasterizationState->depthClampEnable);
    const VkPipelineVertexInputDivisorStateCreateInfoEXT *input = read.pVertexInputState->pNext;
    assert_true(input->vertexBindingDivisorCount == 1 && input->pVertexBindingDivisors[0].divisor == 7);
    const VkPipelineColorWriteCreateInfoEXT *color = read.pColorBlendState->pNext;
    assert_true(color->attachmentCount == 1 && color->pColorWriteEnables[0]);
    words_finish(&words);
    free(written.bytes);
    // Without it the flag of extended pipelines is not there: others read these words too. Clipping is the opposite of clamping.
    clip.depthClipEnable = VK_FALSE;
    clip.pNext = NULL;
    scene.raster.depthClampEnable = VK_TRUE;
    info.pVertexInputState = &(VkPipelineVertexInputStateCreateInfo){.pNext = NULL};
    info.pViewportState = &(VkPipelineViewportStateCreateInfo){.pNext = NULL};
    info.pColorBlendState = NULL;
    written = words_of_pipeline(&info);
    scene.raster.pNext = NULL;
    struct words plain = words_of_pipeline(&info);
    assert_int_equal(written.length, plain.length);
    assert_memory_equal(written.bytes, plain.bytes, plain.length);
    free(written.bytes);
    free(plain.bytes);
}

// Whether the struct of a pipeline's rasterization is in its words, with this dynamic state or none.
static bool keeps(const void *chain, VkDynamicState state, uint32_t states) {
    const VkPipelineInputAssemblyStateCreateInfo assembly = {.topology = VK_PRIMITIVE_TOPOLOGY_LINE_LIST};
    const VkPipelineVertexInputStateCreateInfo vertices = {.pNext = NULL};
    const VkPipelineViewportStateCreateInfo views = {.pNext = NULL};
    const VkPipelineRasterizationStateCreateInfo raster = {.pNext = chain};
    const VkPipelineDynamicStateCreateInfo dynamic = {.dynamicStateCount = states, .pDynamicStates = &state};
    reset();
    const VkGraphicsPipelineCreateInfo info = {.stageCount = 2,
                                               .pStages = scene.stages,
                                               .pVertexInputState = &vertices,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &views,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &scene.samples,
                                               .pDynamicState = &dynamic,
                                               .layout = AS(VkPipelineLayout, LAYOUT),
                                               .renderPass = AS(VkRenderPass, PASS)};
    struct words written = words_of_pipeline(&info);
    struct words words = {
        .reading = true, .at = written.bytes, .end = written.bytes + written.length, .translate = itself};
    VkGraphicsPipelineCreateInfo read = {.flags = 0};
    words_VkGraphicsPipelineCreateInfo(&words, &read);
    assert_false(words.failed);
    const bool kept = read.pRasterizationState->pNext != NULL;
    words_finish(&words);
    free(written.bytes);
    return kept;
}

// What a pipeline says once and dynamic state of another kind makes count.
static void test_later(void **state) {
    (void)state;
    extend();
    clip.depthClipEnable = VK_TRUE;
    clip.pNext = NULL;
    assert_false(keeps(&clip, VK_DYNAMIC_STATE_LINE_WIDTH, 1));
    assert_true(keeps(&clip, VK_DYNAMIC_STATE_DEPTH_CLAMP_ENABLE_EXT, 1));
    line.stippledLineEnable = VK_FALSE;
    line.lineRasterizationMode = VK_LINE_RASTERIZATION_MODE_DEFAULT_EXT;
    assert_false(keeps(&line, VK_DYNAMIC_STATE_LINE_WIDTH, 1));
    assert_true(keeps(&line, VK_DYNAMIC_STATE_LINE_STIPPLE_ENABLE_EXT, 1));
}

// A pipeline that is linked of parts says nothing of its state, and pointers to it may be anything.
static void test_library(void **state) {
    const VkPipelineLibraryCreateInfoKHR parts = {.sType =
                                                      VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR};
    VkGraphicsPipelineCreateInfo info = {.pNext = &parts, .pViewportState = AS(const void *, 1)};
    struct words words = {.translate = itself};
    (void)state;
    words_VkGraphicsPipelineCreateInfo(&words, &info);
    assert_non_null(strstr(words.missing, "VK_EXT_graphics_pipeline_library"));
    free(words.bytes);
}

// ---- dynamic state

static VkVertexInputBindingDescription2EXT bindings[2];
static VkVertexInputAttributeDescription2EXT attributes[2];
static uint32_t binding_count, attribute_count;

static void put_inputs(struct words *words) {
    struct call_CmdSetVertexInputEXT call = {
        .n = binding_count, .b = bindings, .k = attribute_count, .a = attributes};
    words_value(words, VULKAN_CmdSetVertexInputEXT);
    words_call_CmdSetVertexInputEXT(words, &call);
}

static void with_inputs(void) {
    add_dynamic(VK_DYNAMIC_STATE_VERTEX_INPUT_EXT);
    scene.more = put_inputs;
    binding_count = attribute_count = 1;
    bindings[0] = (VkVertexInputBindingDescription2EXT){.stride = 4, .divisor = 1};
    attributes[0] = (VkVertexInputAttributeDescription2EXT){.format = VK_FORMAT_R32_SFLOAT};
    bindings[1] = (VkVertexInputBindingDescription2EXT){.binding = 1, .stride = 4, .divisor = 1};
    attributes[1] =
        (VkVertexInputAttributeDescription2EXT){.location = 1, .binding = 1, .format = VK_FORMAT_R32_SFLOAT};
}

static void test_inputs(void **state) {
    (void)state;
    ACCEPTED(with_inputs());
    REFUSED((with_inputs(), scene.more = NULL), "a dynamic state of the pipeline is not set");
    REFUSED((with_inputs(), vulkan_double.plain = true), "vkCreateGraphicsPipelines");
    REFUSED((with_inputs(), scene.dynamic_count--, vulkan_double.plain = true),
            "vkCmdSetVertexInputEXT: the device does not have it");
    REFUSED((with_inputs(), bindings[0].stride = DOUBLE_LIMIT + 1), "the stride of vertices");
    REFUSED((with_inputs(), bindings[0].binding = 1), "an attribute of vertices has no binding");
    REFUSED((with_inputs(), bindings[1].binding = 0, binding_count = 2),
            "a binding of vertices is there twice");
    REFUSED((with_inputs(), attributes[1].location = 0, binding_count = attribute_count = 2),
            "an attribute of vertices is there twice");
    REFUSED((with_inputs(), attributes[0].format = VK_FORMAT_R64_SFLOAT), "vkCmdSetVertexInputEXT");
    REFUSED((with_inputs(), attributes[0].offset = DOUBLE_LIMIT + 1), "vkCmdSetVertexInputEXT");
    REFUSED((with_inputs(), attributes[0].location = 1), "reads an attribute that is not set");
    REFUSED((with_inputs(), bindings[0].binding = attributes[0].binding = 1),
            "a vertex buffer that is not bound");
    ACCEPTED((with_inputs(), binding_count = attribute_count = 2));
}

static uint32_t first_color, color_count, color_mask, samples_set, mask_set;

static void put_colors(struct words *words) {
    const uint32_t on[16] = {color_mask, color_mask};
    const VkColorBlendEquationEXT equations[16] = {{.srcColorBlendFactor = VK_BLEND_FACTOR_ONE}};
    struct call_CmdSetColorBlendEnableEXT enable = {.f = first_color, .n = color_count, .e = on};
    struct call_CmdSetColorBlendEquationEXT equation = {.f = first_color, .n = color_count, .e = equations};
    struct call_CmdSetColorWriteMaskEXT mask = {.f = first_color, .n = color_count, .e = on};
    struct call_CmdSetRasterizationSamplesEXT samples = {.v = (VkSampleCountFlagBits)samples_set};
    struct call_CmdSetSampleMaskEXT sample_mask = {.v = (VkSampleCountFlagBits)mask_set, .m = on};
    words_value(words, VULKAN_CmdSetColorBlendEnableEXT);
    words_call_CmdSetColorBlendEnableEXT(words, &enable);
    words_value(words, VULKAN_CmdSetColorBlendEquationEXT);
    words_call_CmdSetColorBlendEquationEXT(words, &equation);
    words_value(words, VULKAN_CmdSetColorWriteMaskEXT);
    words_call_CmdSetColorWriteMaskEXT(words, &mask);
    words_value(words, VULKAN_CmdSetRasterizationSamplesEXT);
    words_call_CmdSetRasterizationSamplesEXT(words, &samples);
    words_value(words, VULKAN_CmdSetSampleMaskEXT);
    words_call_CmdSetSampleMaskEXT(words, &sample_mask);
}

static void with_colors(void) {
    add_dynamic(VK_DYNAMIC_STATE_COLOR_BLEND_ENABLE_EXT);
    add_dynamic(VK_DYNAMIC_STATE_COLOR_BLEND_EQUATION_EXT);
    add_dynamic(VK_DYNAMIC_STATE_COLOR_WRITE_MASK_EXT);
    add_dynamic(VK_DYNAMIC_STATE_RASTERIZATION_SAMPLES_EXT);
    add_dynamic(VK_DYNAMIC_STATE_SAMPLE_MASK_EXT);
    scene.more = put_colors;
    scene.blends_dynamically = true;
    scene.samples.rasterizationSamples = 0; // unused
    first_color = 0;
    color_count = 1;
    color_mask = 15;
    samples_set = mask_set = VK_SAMPLE_COUNT_1_BIT;
}

static void test_colors(void **state) {
    static const char unset[] = "a dynamic state of an attachment is not set";
    (void)state;
    ACCEPTED(with_colors());
    REFUSED((with_colors(), scene.more = NULL), "a dynamic state of the pipeline is not set");
    REFUSED((with_colors(), vulkan_double.plain = true), "vkCreateGraphicsPipelines");
    REFUSED((with_colors(), first_color = 1), unset);
    REFUSED((with_colors(), color_count = 0), unset);
    REFUSED((with_colors(), color_count = 9), "more attachments than are supported"); // the device has 8
    REFUSED((with_colors(), first_color = 16), "more attachments than are supported");
    REFUSED((with_colors(), first_color = UINT32_MAX), "more attachments than are supported");
    REFUSED((with_colors(), color_mask = 16), "an unknown mask of colors");
    REFUSED((with_colors(), samples_set = VK_SAMPLE_COUNT_4_BIT), "is not that of the attachments");
    REFUSED((with_colors(), samples_set = 3), "vkCmdSetRasterizationSamplesEXT");
    REFUSED((with_colors(), scene.dynamic[2] = VK_DYNAMIC_STATE_BLEND_CONSTANTS),
            "how its colors are blended");
}

// What the device does not have is not switched on.
static uint32_t on;
#define PUT_SWITCH(name)                                                                                     \
    static void put_##name(struct words *words) {                                                            \
        struct call_##name call = {.v = on};                                                                 \
        words_value(words, VULKAN_##name);                                                                   \
        words_call_##name(words, &call);                                                                     \
    }
PUT_SWITCH(CmdSetDepthClampEnableEXT)
PUT_SWITCH(CmdSetAlphaToOneEnableEXT)
PUT_SWITCH(CmdSetLogicOpEnableEXT)

static void test_switches(void **state) {
    static void (*const all[])(struct words *) = {put_CmdSetDepthClampEnableEXT,
                                                  put_CmdSetAlphaToOneEnableEXT, put_CmdSetLogicOpEnableEXT};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ACCEPTED((scene.more = all[i], on = VK_FALSE));
        REFUSED((scene.more = all[i], on = VK_TRUE), "the device lacks the feature ");
    }
}

// ---- null descriptors

static void test_null(void **state) {
    (void)state;
    ACCEPTED(scene.described = ((VkDescriptorBufferInfo){.range = VK_WHOLE_SIZE}));
    REFUSED((scene.described = (VkDescriptorBufferInfo){.range = VK_WHOLE_SIZE}, vulkan_double.plain = true),
            "a descriptor names nothing");
    REFUSED(scene.described.buffer = VK_NULL_HANDLE, "a descriptor without a buffer has a range");
    ACCEPTED((PUT_IN(CmdPushDescriptorSetKHR), LEFT_OUT(CmdBindDescriptorSets),
              scene.described = (VkDescriptorBufferInfo){.range = VK_WHOLE_SIZE}));
}

// Indexes of a byte: 12 of them.
static void test_bytes(void **state) {
    (void)state;
    ACCEPTED((scene.index.t = VK_INDEX_TYPE_UINT8_EXT, scene.indexed.n = 12));
    REFUSED((scene.index.t = VK_INDEX_TYPE_UINT8_EXT, scene.indexed.n = 13),
            "beyond the end of the index buffer");
    REFUSED((scene.index.t = VK_INDEX_TYPE_UINT8_EXT, vulkan_double.plain = true), "no indexes of a byte");
    REFUSED(scene.index.t = (VkIndexType)2, "vkCmdBindIndexBuffer");
}

// ---- a subgroup size of a shader's own

static void test_subgroups(void **state) {
    static VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
    static const char none[] = "the device does not have the subgroup size of a shader";
    (void)state;
    for (size.requiredSubgroupSize = 4; size.requiredSubgroupSize <= 32; size.requiredSubgroupSize *= 2)
        ACCEPTED((scene.compute.stage.pNext = &size, vulkan_double.sized = true));
    for (size.requiredSubgroupSize = 0; size.requiredSubgroupSize < 128; size.requiredSubgroupSize += 2)
        if (size.requiredSubgroupSize < 4 || size.requiredSubgroupSize > 32 ||
            size.requiredSubgroupSize & (size.requiredSubgroupSize - 1))
            REFUSED((scene.compute.stage.pNext = &size, vulkan_double.sized = true), none);
    size.requiredSubgroupSize = 8;
    REFUSED((scene.compute.stage.pNext = &size, vulkan_double.sized = true,
             scene.compute.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT),
            none);
    REFUSED(scene.compute.stage.pNext = &size, "no subgroup size control for this stage");
    REFUSED((scene.stages[1].pNext = &size, vulkan_double.sized = true),
            "no subgroup size control for this stage");
}

// A stencil's operation means nothing without a stencil, and a driver is not asked what it means.
static void test_stores(void **state) {
    (void)state;
    ACCEPTED(scene.attachment.stencilStoreOp = (VkAttachmentStoreOp)12345);
    REFUSED(scene.attachment.storeOp = (VkAttachmentStoreOp)12345, "an unknown store operation");
}

// ---- the commands of one submission

static void put_many(struct words *words) {
    struct call_CmdSetStencilReference call = {.f = VK_STENCIL_FACE_FRONT_BIT, .v = UINT32_MAX};
    while (words->length < 2 << 20) {
        words_value(words, VULKAN_CmdSetStencilReference);
        words_call_CmdSetStencilReference(words, &call);
    }
}

// A command buffer of 2 MiB: a hundred and twenty-eight of them are 256 MiB and a little more.
static void test_bounded(void **state) {
    (void)state;
    ACCEPTED((scene.more = put_many, scene.submitted = 2));
    REFUSED((scene.more = put_many, scene.submitted = 128), "more commands than are supported (256 MiB)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipelines), cmocka_unit_test(test_words),    cmocka_unit_test(test_library),
        cmocka_unit_test(test_inputs),    cmocka_unit_test(test_colors),   cmocka_unit_test(test_null),
        cmocka_unit_test(test_bytes),     cmocka_unit_test(test_bounded),  cmocka_unit_test(test_subgroups),
        cmocka_unit_test(test_later),     cmocka_unit_test(test_switches), cmocka_unit_test(test_stores)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else // built without the Vulkan headers, or with older ones

#include <stdio.h>
int main(void) {
    printf("skipped: built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 77;
}

#endif
