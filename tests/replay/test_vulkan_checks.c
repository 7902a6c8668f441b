// SPDX-License-Identifier: Apache-2.0
// A frame of Vulkan made by hand, on a driver that executes nothing (fuzz/vulkan_double.h, simulated). As it is, it is replayed. With one
// value changed to one that drivers trust and Vulkan does not allow, it is refused with its record and the reason, and the driver, which
// judges some of these values on its own and aborts, does not get it.
#include "recording/vulkan/headers.h"
#include "support/test.h"

#ifdef RECORDING_HAS_VULKAN

#include <math.h>

#include "replay/vulkan_scene.h"

static void test_right(void **state) {
    (void)state;
    reset();
    replay();
    assert_string_equal(notes, "");
    assert_true(has_result);
}

// The shader uses the second set, which is bound with a layout that has this one before it.
static void use_second(uint64_t before) {
    scene.code[0][COMPUTE_SET] = scene.sets.f = 1;
    scene.set_count = 2;
    scene.before = before;
    scene.sets.l = AS(VkPipelineLayout, APART);
}

static void test_sets_before(void **state) {
    static const char other[] = "a pipeline layout that has other sets before it";
    (void)state;
    ACCEPTED(use_second(SET_LAYOUT));
    REFUSED(use_second(OTHER_LAYOUT), other);
    REFUSED(use_second(0), other); // it is left out
}

static void test_state(void **state) {
    (void)state;
    REFUSED(LEFT_OUT(CmdBindPipeline), "no compute pipeline is bound");
    REFUSED(scene.drawn = scene.dispatched, "no graphics pipeline is bound");
    REFUSED(scene.dispatched.p = VK_PIPELINE_BIND_POINT_GRAPHICS, "another bind point");
    REFUSED(LEFT_OUT(CmdBindDescriptorSets), "none is bound");
    REFUSED(LEFT_OUT(CmdBindVertexBuffers), "a vertex buffer that is not bound");
    REFUSED(LEFT_OUT(CmdBindIndexBuffer), "no index buffer is bound");
    REFUSED(LEFT_OUT(CmdSetViewport), "viewports or scissors of the pipeline are not set");
    REFUSED(LEFT_OUT(CmdSetScissor), "viewports or scissors of the pipeline are not set");
    REFUSED(LEFT_OUT(CmdBeginRenderPass), "render pass");
    REFUSED(scene.indexed.n = 7, "beyond the end of the index buffer");
    REFUSED(scene.indexed.fi = UINT32_MAX, "beyond the end of the index buffer");
    REFUSED(scene.set = AS(VkDescriptorSet, OTHER_SET),
            "the layout that the pipeline layout has at its place");
    REFUSED(scene.writes = 0, "a descriptor that was not written");
    REFUSED(scene.released = VIEW, "an image or a view that is gone");
    REFUSED(scene.released = IMAGE, "vkCmdPipelineBarrier");
    REFUSED(scene.released = SET_LAYOUT, "vkCmdBindDescriptorSets");
}

static void test_usages(void **state) {
    static const char buffer[] = "a buffer is not made for this usage";
    (void)state;
    REFUSED(scene.buffer.usage = 0, "a buffer has no usage");
    REFUSED(scene.buffer.usage = 1u << 31, "a buffer has no usage, or an unknown one");
    REFUSED(scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_TRANSFER_SRC_BIT, buffer);
    REFUSED(scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, buffer);
    REFUSED(scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_INDEX_BUFFER_BIT, buffer);
    REFUSED(scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT, buffer);
    REFUSED(scene.buffer.usage &= ~(VkFlags)VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, "is not made for it");
    REFUSED(scene.image.usage = VK_IMAGE_USAGE_SAMPLED_BIT, "an image that is not made for it");
    REFUSED(scene.image.format = VK_FORMAT_BC1_RGB_UNORM_BLOCK, "a compressed image");
    REFUSED(scene.image.format = VK_FORMAT_R64_UINT, "does not support images of this format");
    REFUSED(scene.image.samples = VK_SAMPLE_COUNT_2_BIT, "does not support images of this size");
    REFUSED(scene.image.initialLayout = VK_IMAGE_LAYOUT_GENERAL, "begins in a layout");
    REFUSED(scene.view.format = VK_FORMAT_B8G8R8A8_UNORM, "another format than its image");
    REFUSED(scene.described.offset = 4, "not aligned");
    REFUSED(scene.index.o = 1, "not a multiple of an index");
}

static void test_values(void **state) {
    static const char mask[] = "a barrier has unknown stages, accesses or flags",
                      layout[] = "a layout that is unknown";
    (void)state;
    REFUSED(scene.barrier.f = 1u << 30, mask);
    REFUSED(scene.barrier.t = 1u << 17, mask);
    REFUSED(scene.barrier.y = 1u << 7, mask);
    REFUSED(scene.memory.srcAccessMask = 1u << 20, mask);
    REFUSED(scene.part.dstAccessMask = 1u << 31, mask);
    REFUSED(scene.part.offset = SIZE, "a barrier's range");
    REFUSED(scene.layouts[0].dstAccessMask = 1u << 17, mask);
    REFUSED(scene.layouts[0].newLayout = (VkImageLayout)99, layout);
    REFUSED(scene.layouts[0].oldLayout = (VkImageLayout)1000111000, layout);
    REFUSED((scene.layouts[0].oldLayout = VK_IMAGE_LAYOUT_GENERAL,
             scene.layouts[0].newLayout = VK_IMAGE_LAYOUT_UNDEFINED),
            layout);
    REFUSED(scene.attachment.finalLayout = VK_IMAGE_LAYOUT_UNDEFINED, layout);
    REFUSED(scene.color.layout = (VkImageLayout)77, layout);
    REFUSED(scene.attachment.storeOp = (VkAttachmentStoreOp)9, "an unknown store operation");
    REFUSED(scene.dependency.srcStageMask = 1u << 31, "vkCreateRenderPass");
    REFUSED(scene.raster.cullMode = 4, "an unknown cull mode");
    REFUSED(scene.cull.v = 8, "an unknown cull mode");
    REFUSED(scene.stencil.f = 4, "unknown faces");
    REFUSED(scene.blend.colorWriteMask = 16, "an unknown mask of colors");
    REFUSED(scene.raster.polygonMode = VK_POLYGON_MODE_LINE, "the feature fillModeNonSolid,");
    REFUSED(scene.vertices.stride = DOUBLE_LIMIT + 1, "the stride of vertices");
    REFUSED(scene.viewport.width = NAN, "a viewport is out of the bounds");
    REFUSED(scene.viewport.height = INFINITY, "a viewport is out of the bounds");
    REFUSED(scene.viewport.x = -1e9f, "a viewport is out of the bounds");
    REFUSED(scene.scissor.offset.x = -1, "a scissor");
    REFUSED(scene.scissor.extent.height = UINT32_MAX, "a scissor");
    REFUSED(scene.dispatch.y = DOUBLE_LIMIT + 1, "more work-groups");
    REFUSED(scene.push.s = VK_SHADER_STAGE_VERTEX_BIT,
            "push constants that their pipeline layout does not have");
    REFUSED(scene.push.o = 12, "push constants that their pipeline layout does not have");
    REFUSED(scene.binding.stageFlags = 1u << 30, "flags or stages that are unknown");
    REFUSED(scene.compute.flags = 1u << 20, "flags or stages that are unknown");
}

static void test_shaders(void **state) {
    (void)state;
    REFUSED(scene.code[0][0] = 1, "no SPIR-V");
    REFUSED(scene.code[0][5] = 0, "no SPIR-V");
    REFUSED(scene.code[0][sizeof compute_code / 4 - 1] = OP(2, 56), "no SPIR-V");
    REFUSED(scene.code[0][3] = UINT32_MAX, "no SPIR-V");
    REFUSED(scene.code[0][6] = 5347, "addresses of buffers");  // a capability
    REFUSED(scene.code[0][8] = 5348, "addresses of buffers");  // the memory model
    REFUSED(scene.code[0][46] = 5349, "addresses of buffers"); // the storage class of a pointer
    REFUSED(scene.compute.stage.pName = "other", "no entry point of this name");
    REFUSED(scene.compute.stage.module = AS(VkShaderModule, VERTEX), "no entry point of this name");
    REFUSED(scene.stages[0].module = AS(VkShaderModule, COMPUTE), "no entry point of this name");
    REFUSED(scene.code[0][GROUP_X] = DOUBLE_LIMIT + 1, "the shader's work-group");
    REFUSED(scene.code[0][GROUP_X] = 0, "the shader's work-group");
    REFUSED(scene.code[0][COMPUTE_SET] = 3, "a descriptor that its pipeline layout does not have");
    REFUSED(scene.binding.binding = 1, "a descriptor that its pipeline layout does not have");
    REFUSED(scene.binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, "as another type");
    REFUSED(scene.binding.stageFlags = VK_SHADER_STAGE_VERTEX_BIT, "does not give to its stage");
    REFUSED(scene.binding.descriptorCount = DOUBLE_LIMIT + 1, "more descriptors than the device allows");
}

// What a shader has by decorations of a group, by members of a block and by the columns of a matrix.
static void test_interfaces(void **state) {
    static const char attribute[] = "reads an attribute that its pipeline does not have",
                      input[] = "an input that the stage before it has no output for";
    (void)state;
    ACCEPTED(SHADER(0, grouped_code));
    REFUSED((SHADER(0, grouped_code), scene.code[0][GROUPED_SET] = 3),
            "a descriptor that its pipeline layout does not have");
    REFUSED(scene.attribute.location = 1, attribute);
    REFUSED(SHADER(1, matrix_code), attribute);
    REFUSED((SHADER(1, matrix_code), scene.attributes = 2), "a vertex buffer that is not bound");
    ACCEPTED((SHADER(1, matrix_code), scene.attributes = 2, scene.other_attribute.binding = 0));
    REFUSED(SHADER(2, input_code), input);
    ACCEPTED((SHADER(1, output_code), SHADER(2, input_code)));
}

// The frame moves its image from nothing to an attachment, where its pass begins.
static void test_layouts(void **state) {
    static const char other[] = "an image is used in another layout than it has";
    (void)state;
    ACCEPTED(scene.attachment.initialLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    ACCEPTED((scene.attachment.initialLayout = VK_IMAGE_LAYOUT_GENERAL, LEFT_OUT(CmdPipelineBarrier)));
    REFUSED(scene.attachment.initialLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL, other);
    REFUSED((scene.layouts[1] = scene.layouts[0], scene.barrier.l = 2,
             scene.layouts[1].oldLayout = VK_IMAGE_LAYOUT_GENERAL),
            other);
    ACCEPTED((scene.layouts[1] = scene.layouts[0], scene.barrier.l = 2,
              scene.layouts[1].oldLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL));
}

// The numbers of an indirect dispatch are read before the submission, unless a command of it may write them first.
static void test_indirect(void **state) {
    static const char groups[] = "an indirect dispatch has more work-groups than the device allows";
    (void)state;
    reset();
    assert_int_equal(scene.indirect.b == scene.copy.d, 1);
    ACCEPTED(vulkan_double.fill = UINT32_MAX);
    ACCEPTED((LEFT_OUT(CmdCopyBuffer), LEFT_OUT(CmdDispatch)));
    ACCEPTED((LEFT_OUT(CmdDispatch), vulkan_double.fill = UINT32_MAX));
    ACCEPTED((LEFT_OUT(CmdCopyBuffer), vulkan_double.fill = UINT32_MAX));
    REFUSED((LEFT_OUT(CmdCopyBuffer), LEFT_OUT(CmdDispatch), vulkan_double.fill = UINT32_MAX), groups);
}

static void add_dynamic(VkDynamicState state) {
    scene.dynamic[scene.dynamic_count++] = state;
}

static void test_dynamic(void **state) {
    static const VkDynamicState always[] = {VK_DYNAMIC_STATE_FRONT_FACE, VK_DYNAMIC_STATE_PRIMITIVE_TOPOLOGY,
                                            VK_DYNAMIC_STATE_RASTERIZER_DISCARD_ENABLE,
                                            VK_DYNAMIC_STATE_DEPTH_BIAS_ENABLE,
                                            VK_DYNAMIC_STATE_PRIMITIVE_RESTART_ENABLE};
    static const char unset[] = "a dynamic state of the pipeline is not set";
    (void)state;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        REFUSED(add_dynamic(always[i]), unset);
    ACCEPTED(add_dynamic(VK_DYNAMIC_STATE_CULL_MODE));
    REFUSED((add_dynamic(VK_DYNAMIC_STATE_CULL_MODE), LEFT_OUT(CmdSetCullMode)), unset);
    ACCEPTED(add_dynamic(VK_DYNAMIC_STATE_DEPTH_BIAS));
    REFUSED((add_dynamic(VK_DYNAMIC_STATE_DEPTH_BIAS), scene.raster.depthBiasEnable = VK_TRUE), unset);
    ACCEPTED(add_dynamic(VK_DYNAMIC_STATE_LINE_WIDTH));
    REFUSED((add_dynamic(VK_DYNAMIC_STATE_LINE_WIDTH), scene.topology = VK_PRIMITIVE_TOPOLOGY_LINE_LIST),
            unset);
    REFUSED((add_dynamic(VK_DYNAMIC_STATE_BLEND_CONSTANTS), scene.blend.blendEnable = VK_TRUE,
             scene.blend.srcColorBlendFactor = VK_BLEND_FACTOR_CONSTANT_COLOR),
            unset);
}

// Elements of an array that were not written have what another one has, and count as that.
static void test_arrays(void **state) {
    const uint32_t offsets[2] = {0, SIZE - 240};
    (void)state;
    vulkan_double.copies = 0;
    ACCEPTED(scene.binding.descriptorCount = 3);
    assert_int_equal(vulkan_double.copies, 2);
    REFUSED((scene.binding.descriptorCount = 3, scene.writes = 0), "a descriptor that was not written");
    REFUSED((scene.binding.descriptorCount = 2,
             scene.binding.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC,
             scene.write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, scene.sets.k = 2,
             scene.sets.o = offsets),
            "a dynamic offset is beyond the end");
}

// A set of which one descriptor with a high number was written takes no memory for those before it.
static void test_sparse(void **state) {
    enum { COUNT = 1 << 20, MOST = 1024 };
    struct vulkan_binding binding = {.count = COUNT, .type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
    struct vulkan_run run = {.changes = 1};
    struct vulkan_live *layout = vulkan_add(&run, 1, VULKAN_SET_LAYOUT, NULL);
    const VkWriteDescriptorSet write = {.dstArrayElement = COUNT - 2, .descriptorCount = 2};
    struct vulkan_live set = {.made_of = 1};
    (void)state;
    assert_non_null(layout);
    layout->bindings = &binding;
    layout->binding_count = 1;
    assert_true(vulkan_know_write(&run, &set, &write));
    assert_int_equal(set.named_count, 2);
    assert_true(set.named_capacity * sizeof *set.named <= MOST);
    vulkan_forget_writes(&set);
    chunk_table_finish(&run.by_number);
    free(run.lives);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),      cmocka_unit_test(test_state),   cmocka_unit_test(test_sets_before),
        cmocka_unit_test(test_usages),     cmocka_unit_test(test_values),  cmocka_unit_test(test_shaders),
        cmocka_unit_test(test_interfaces), cmocka_unit_test(test_layouts), cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_dynamic),    cmocka_unit_test(test_arrays),  cmocka_unit_test(test_sparse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else // built without the Vulkan headers, or with older ones

#include <stdio.h>
int main(void) {
    printf("skipped: built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 77;
}

#endif
