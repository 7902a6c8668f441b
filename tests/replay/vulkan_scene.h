// SPDX-License-Identifier: Apache-2.0
// A frame of Vulkan made by hand, on a driver that executes nothing (fuzz/vulkan_double.h, simulated), and its replay. A test changes one
// value of `scene` and replays it. For test_vulkan_checks.c and test_vulkan_commands.c.
#ifndef TESTS_REPLAY_VULKAN_SCENE_H
#define TESTS_REPLAY_VULKAN_SCENE_H

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fuzz/vulkan_double_loader.h"
#include "recording/record.h"
#include "replay/vulkan/vulkan.h"

// Numbers of objects.
enum {
    DEVICE = 1,
    BUFFER,
    IMAGE,
    VIEW,
    SET_LAYOUT,
    OTHER_LAYOUT,
    LAYOUT,
    COMPUTE,
    VERTEX,
    FRAGMENT,
    DISPATCHED,
    PASS,
    FRAMEBUFFER,
    DRAWN,
    SET,
    OTHER_SET,
    COMMANDS,
    VERIFIED,
    APART
};
#define AS(type, number) ((type)(uintptr_t)(number))
#define OP(length, number) ((length) << 16 | (number))
#define BIT_OF(command) ((uint64_t)1 << VULKAN_##command)
enum { MAIN = 0x6e69616d, SIZE = 4096 };

// ---- shaders

static const uint32_t compute_code[] = {
    0x07230203, 0x10000, 0,         12,   0,                                    //
    OP(2, 17),  1,       OP(3, 14), 0,    1,                                    // Shader; logical addresses
    OP(5, 15),  5,       4,         MAIN, 0,                                    // entry point "main"
    OP(6, 16),  4,       17,        1,    1,          1,                        // a work-group of 1 x 1 x 1
    OP(4, 71),  9,       34,        0,    OP(4, 71),  9,          33,        0, // set 0, binding 0
    OP(3, 71),  7,       3,                                                     // a buffer block
    OP(2, 19),  2,       OP(3, 33), 3,    2,          OP(4, 21),  5,         32, 0, OP(3, 30),
    7,          5,       OP(4, 32), 8,    2,          7,          OP(4, 59), 8,  9, 2, // the variable
    OP(5, 54),  2,       4,         0,    3,          OP(2, 248), 10,                  //
    OP(4, 61),  7,       11,        9,    OP(1, 253), OP(1, 56)};
enum { GROUP_X = 18, COMPUTE_SET = 24 }; // words
static const uint32_t vertex_code[] = {
    0x07230203, 0x10000, 0,         12,   0,             //
    OP(2, 17),  1,       OP(3, 14), 0,    1,             //
    OP(6, 15),  0,       4,         MAIN, 0,          9, // entry point "main", with the input
    OP(4, 71),  9,       30,        0,                   // location 0
    OP(2, 19),  2,       OP(3, 33), 3,    2,          OP(3, 22),  5,  32,
    OP(4, 32),  8,       1,         5,    OP(4, 59),  8,          9,  1, //
    OP(5, 54),  2,       4,         0,    3,          OP(2, 248), 10,    //
    OP(4, 61),  5,       11,        9,    OP(1, 253), OP(1, 56)};
static const uint32_t fragment_code[] = {0x07230203, 0x10000, 0,         12,   0,                    //
                                         OP(2, 17),  1,       OP(3, 14), 0,    1,                    //
                                         OP(5, 15),  4,       4,         MAIN, 0, OP(3, 16),  4,  7, //
                                         OP(2, 19),  2,       OP(3, 33), 3,    2,                    //
                                         OP(5, 54),  2,       4,         0,    3, OP(2, 248), 10, OP(1, 253),
                                         OP(1, 56)};

// The compute shader with its decorations given to it by a group.
static const uint32_t grouped_code[] = {
    0x07230203, 0x10000, 0,         13,   0,                                    //
    OP(2, 17),  1,       OP(3, 14), 0,    1,                                    //
    OP(5, 15),  5,       4,         MAIN, 0,                                    //
    OP(6, 16),  4,       17,        1,    1,          1,                        //
    OP(4, 71),  12,      34,        0,    OP(4, 71),  12,         33,        0, // decorations of the group
    OP(2, 73),  12,      OP(3, 74), 12,   9, // which are those of the variable
    OP(3, 71),  7,       3,                  //
    OP(2, 19),  2,       OP(3, 33), 3,    2,          OP(4, 21),  5,         32, 0, OP(3, 30),
    7,          5,       OP(4, 32), 8,    2,          7,          OP(4, 59), 8,  9, 2, //
    OP(5, 54),  2,       4,         0,    3,          OP(2, 248), 10,                  //
    OP(4, 61),  7,       11,        9,    OP(1, 253), OP(1, 56)};
// The vertex shader with a matrix of two columns as its input: locations 0 and 1.
static const uint32_t matrix_code[] = {
    0x07230203, 0x10000, 0,         14,   0,             //
    OP(2, 17),  1,       OP(3, 14), 0,    1,             //
    OP(6, 15),  0,       4,         MAIN, 0,          9, //
    OP(4, 71),  9,       30,        0,                   //
    OP(2, 19),  2,       OP(3, 33), 3,    2,          OP(3, 22),  5,  32,
    OP(4, 23),  6,       5,         2,    OP(4, 24),  7,          6,  2, // two numbers; two columns
    OP(4, 32),  8,       1,         7,    OP(4, 59),  8,          9,  1, //
    OP(5, 54),  2,       4,         0,    3,          OP(2, 248), 10,    //
    OP(4, 61),  7,       11,        9,    OP(1, 253), OP(1, 56)};
// One with an output at location 2 besides, and a fragment shader with that input, in a block.
static const uint32_t output_code[] = {
    0x07230203, 0x10000, 0,         14,        0, //
    OP(2, 17),  1,       OP(3, 14), 0,         1, //
    OP(7, 15),  0,       4,         MAIN,      0,          9,          12, OP(4, 71),
    9,          30,      0,         OP(4, 71), 12,         30,         2, //
    OP(2, 19),  2,       OP(3, 33), 3,         2,          OP(3, 22),  5,  32,
    OP(4, 32),  8,       1,         5,         OP(4, 59),  8,          9,  1, //
    OP(4, 32),  13,      3,         5,         OP(4, 59),  13,         12, 3, //
    OP(5, 54),  2,       4,         0,         3,          OP(2, 248), 10,    //
    OP(4, 61),  5,       11,        9,         OP(1, 253), OP(1, 56)};
static const uint32_t input_code[] = {
    0x07230203, 0x10000,   0,         14,   0,                                       //
    OP(2, 17),  1,         OP(3, 14), 0,    1,                                       //
    OP(6, 15),  4,         4,         MAIN, 0, 9,          OP(3, 16), 4,          7, //
    OP(5, 72),  6,         0,         30,   2,                                       // a member's location
    OP(2, 19),  2,         OP(3, 33), 3,    2, OP(3, 22),  5,         32,         OP(3, 30), 6,
    5,          OP(4, 32), 8,         1,    6, OP(4, 59),  8,         9,          1, //
    OP(5, 54),  2,         4,         0,    3, OP(2, 248), 10,        OP(1, 253), OP(1, 56)};
enum { GROUPED_SET = 24 };

// ---- the frame: everything that a case may change

static struct {
    uint32_t code[3][96];
    size_t sizes[3];
    VkBufferCreateInfo buffer;
    VkImageCreateInfo image;
    VkImageViewCreateInfo view;
    VkDescriptorSetLayoutBinding binding, other_binding;
    VkPushConstantRange range;
    VkComputePipelineCreateInfo compute;
    VkSpecializationMapEntry constant;
    VkSpecializationInfo constants;
    VkAttachmentDescription attachment;
    VkAttachmentReference color;
    VkSubpassDescription subpass;
    VkSubpassDependency dependency;
    VkPipelineShaderStageCreateInfo stages[2];
    VkVertexInputBindingDescription vertices, other_vertices;
    VkVertexInputAttributeDescription attribute, other_attribute;
    uint32_t attributes; // 1, or 2: also the others
    VkPrimitiveTopology topology;
    VkPipelineRasterizationStateCreateInfo raster;
    VkPipelineMultisampleStateCreateInfo samples;
    VkPipelineColorBlendAttachmentState blend;
    VkDynamicState dynamic[8];
    uint32_t dynamic_count;
    VkDescriptorBufferInfo described;
    VkWriteDescriptorSet write;
    uint32_t writes; // 0 or 1
    VkMemoryBarrier memory;
    VkBufferMemoryBarrier part;
    VkImageMemoryBarrier layouts[2]; // of which the barrier has one
    struct call_CmdPipelineBarrier barrier;
    VkBufferCopy region;
    struct call_CmdCopyBuffer copy;
    struct call_CmdBindPipeline dispatched, drawn;
    VkDescriptorSet set;
    struct call_CmdBindDescriptorSets sets;
    struct call_CmdPushConstants push;
    struct call_CmdDispatch dispatch;
    struct call_CmdDispatchIndirect indirect;
    VkRenderPassBeginInfo pass;
    VkViewport viewport;
    VkRect2D scissor;
    struct call_CmdSetCullMode cull;
    struct call_CmdSetStencilReference stencil;
    VkBuffer vertex;
    VkDeviceSize from;
    struct call_CmdBindVertexBuffers bound;
    VkDeviceSize size, stride;
    struct call_CmdBindVertexBuffers2 bound2;
    struct call_CmdDrawIndirectCount counted;
    struct call_CmdDrawIndexedIndirectCount counted_indexed;
    struct call_CmdPushDescriptorSetKHR pushed;
    struct call_CmdBindIndexBuffer index;
    struct call_CmdDraw draw;
    struct call_CmdDrawIndexed indexed;
    const void *views_chain, *vertices_chain, *blend_chain; // structs of extensions
    bool blends_dynamically;                                // the pipeline does not say how
    void (*more)(struct words *words);                      // commands before the draws; NULL: none
    uint64_t left_out;  // commands, as bits; at first those that only test_vulkan_commands.c has
    uint32_t submitted; // how often the submission has the command buffer
    uint64_t released;  // an object, before the submission; 0: none
    uint64_t features;  // that the program enabled, as bits
    uint32_t set_count; // 1, or 2 of which shaders may use the second
    uint64_t before;    // the layout of the first of two, in the pipeline layout APART
} scene;

#define SHADER(place, words)                                                                                 \
    (memcpy(scene.code[place], words, sizeof(words)), scene.sizes[place] = sizeof(words))

static void reset_objects(void) {
    memset(&scene, 0, sizeof scene);
    SHADER(0, compute_code);
    SHADER(1, vertex_code);
    SHADER(2, fragment_code);
    scene.buffer = (VkBufferCreateInfo){.size = SIZE, .usage = 0x1ff};
    scene.image = (VkImageCreateInfo){.imageType = VK_IMAGE_TYPE_2D,
                                      .format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .extent = {16, 16, 1},
                                      .mipLevels = 1,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};
    scene.view = (VkImageViewCreateInfo){.image = AS(VkImage, IMAGE),
                                         .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                         .format = VK_FORMAT_R8G8B8A8_UNORM,
                                         .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    scene.binding = scene.other_binding =
        (VkDescriptorSetLayoutBinding){.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .descriptorCount = 1,
                                       .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    scene.other_binding.descriptorCount = 2;
    scene.range = (VkPushConstantRange){VK_SHADER_STAGE_COMPUTE_BIT, 0, 16};
    scene.constants = (VkSpecializationInfo){
        .mapEntryCount = 1, .pMapEntries = &scene.constant, .dataSize = 4, .pData = "abc"};
    scene.constant.size = 4;
    scene.compute = (VkComputePipelineCreateInfo){.stage = {.stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                            .module = AS(VkShaderModule, COMPUTE),
                                                            .pName = "main",
                                                            .pSpecializationInfo = &scene.constants},
                                                  .layout = AS(VkPipelineLayout, LAYOUT)};
    scene.attachment = (VkAttachmentDescription){.format = VK_FORMAT_R8G8B8A8_UNORM,
                                                 .samples = VK_SAMPLE_COUNT_1_BIT,
                                                 .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                 .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                 .finalLayout = VK_IMAGE_LAYOUT_GENERAL};
    scene.color = (VkAttachmentReference){0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    scene.subpass = (VkSubpassDescription){.colorAttachmentCount = 1, .pColorAttachments = &scene.color};
    scene.dependency = (VkSubpassDependency){.srcSubpass = VK_SUBPASS_EXTERNAL};
}

static void reset_pipeline(void) {
    for (int i = 0; i < 2; i++)
        scene.stages[i] = (VkPipelineShaderStageCreateInfo){
            .stage = i ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_VERTEX_BIT,
            .module = i ? AS(VkShaderModule, FRAGMENT) : AS(VkShaderModule, VERTEX),
            .pName = "main"};
    scene.vertices = (VkVertexInputBindingDescription){.stride = 4};
    scene.attribute = (VkVertexInputAttributeDescription){.format = VK_FORMAT_R32_SFLOAT};
    scene.other_vertices = (VkVertexInputBindingDescription){.binding = 1, .stride = 4};
    scene.other_attribute =
        (VkVertexInputAttributeDescription){.location = 1, .binding = 1, .format = VK_FORMAT_R32_SFLOAT};
    scene.attributes = 1;
    scene.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST;
    scene.raster = (VkPipelineRasterizationStateCreateInfo){.lineWidth = 1};
    scene.samples = (VkPipelineMultisampleStateCreateInfo){.rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
    scene.blend = (VkPipelineColorBlendAttachmentState){.colorWriteMask = 15};
    scene.dynamic[0] = VK_DYNAMIC_STATE_VIEWPORT;
    scene.dynamic[1] = VK_DYNAMIC_STATE_SCISSOR;
    scene.dynamic_count = 2;
}

static void reset_commands(void) {
    scene.described = (VkDescriptorBufferInfo){AS(VkBuffer, BUFFER), 0, 256};
    scene.write = (VkWriteDescriptorSet){.descriptorCount = 1,
                                         .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                         .pBufferInfo = &scene.described};
    scene.writes = 1;
    scene.part = (VkBufferMemoryBarrier){.buffer = AS(VkBuffer, BUFFER), .size = VK_WHOLE_SIZE};
    scene.layouts[0] = (VkImageMemoryBarrier){.newLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                              .image = AS(VkImage, IMAGE),
                                              .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    scene.barrier = (struct call_CmdPipelineBarrier){.f = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                     .t = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                                     .n = 1,
                                                     .m = &scene.memory,
                                                     .k = 1,
                                                     .b = &scene.part,
                                                     .l = 1,
                                                     .i = scene.layouts};
    scene.region = (VkBufferCopy){0, 128, 64};
    scene.copy = (struct call_CmdCopyBuffer){
        .s = AS(VkBuffer, BUFFER), .d = AS(VkBuffer, BUFFER), .n = 1, .r = &scene.region};
    scene.dispatched =
        (struct call_CmdBindPipeline){.p = VK_PIPELINE_BIND_POINT_COMPUTE, .h = AS(VkPipeline, DISPATCHED)};
    scene.drawn = (struct call_CmdBindPipeline){.h = AS(VkPipeline, DRAWN)};
    scene.set = AS(VkDescriptorSet, SET);
    scene.sets = (struct call_CmdBindDescriptorSets){
        .p = VK_PIPELINE_BIND_POINT_COMPUTE, .l = AS(VkPipelineLayout, LAYOUT), .n = 1, .s = &scene.set};
    scene.push = (struct call_CmdPushConstants){
        .l = AS(VkPipelineLayout, LAYOUT), .s = VK_SHADER_STAGE_COMPUTE_BIT, .n = 8, .p = "12345678"};
    scene.dispatch = (struct call_CmdDispatch){.x = 4, .y = 1, .z = 1};
    scene.indirect = (struct call_CmdDispatchIndirect){.b = AS(VkBuffer, BUFFER), .o = 8};
    scene.pass = (VkRenderPassBeginInfo){.renderPass = AS(VkRenderPass, PASS),
                                         .framebuffer = AS(VkFramebuffer, FRAMEBUFFER),
                                         .renderArea = {{0, 0}, {16, 16}}};
    scene.viewport = (VkViewport){0, 0, 16, 16, 0, 1};
    scene.scissor = (VkRect2D){{0, 0}, {16, 16}};
    scene.stencil.f = VK_STENCIL_FACE_FRONT_BIT;
    scene.vertex = AS(VkBuffer, BUFFER);
    scene.bound = (struct call_CmdBindVertexBuffers){.n = 1, .b = &scene.vertex, .o = &scene.from};
    scene.index = (struct call_CmdBindIndexBuffer){.b = AS(VkBuffer, BUFFER), .o = SIZE - 12};
    scene.size = SIZE;
    scene.stride = 4;
    scene.bound2 = (struct call_CmdBindVertexBuffers2){
        .n = 1, .b = &scene.vertex, .o = &scene.from, .z = &scene.size, .s = &scene.stride};
    scene.counted = (struct call_CmdDrawIndirectCount){
        .b = AS(VkBuffer, BUFFER), .d = AS(VkBuffer, BUFFER), .p = SIZE - 4, .n = 2, .s = 16};
    scene.counted_indexed = (struct call_CmdDrawIndexedIndirectCount){
        .b = AS(VkBuffer, BUFFER), .d = AS(VkBuffer, BUFFER), .p = SIZE - 4, .n = 2, .s = 20};
    scene.pushed = (struct call_CmdPushDescriptorSetKHR){
        .p = VK_PIPELINE_BIND_POINT_COMPUTE, .l = AS(VkPipelineLayout, LAYOUT), .n = 1, .w = &scene.write};
    scene.left_out = BIT_OF(CmdBindVertexBuffers2) | BIT_OF(CmdDrawIndirectCount) |
                     BIT_OF(CmdDrawIndexedIndirectCount) | BIT_OF(CmdPushDescriptorSetKHR);
    scene.submitted = scene.set_count = 1;
    scene.draw = (struct call_CmdDraw){.v = 3, .i = 1};
    scene.indexed = (struct call_CmdDrawIndexed){.n = 6, .i = 1};
}

// ---- as a recording

static struct {
    struct recording_writer writer;
    uint8_t bytes[3 << 20];
    size_t length;
} made;

static void put_record(void) {
    assert_true(recording_end(&made.writer));
    assert_true(made.length + made.writer.length <= sizeof made.bytes);
    memcpy(made.bytes + made.length, made.writer.bytes, made.writer.length);
    made.length += made.writer.length;
}

static struct recording_writer *begin_record(enum recording_type type, uint64_t object) {
    recording_begin(&made.writer, type);
    recording_put(&made.writer, RECORDING_KEY_OBJECT, object);
    recording_put(&made.writer, RECORDING_KEY_CONTEXT, DEVICE);
    return &made.writer;
}

// Numbers are their own handles.
static uint64_t itself(void *context, enum vulkan_kind kind, uint64_t handle, bool written) {
    (void)context, (void)kind, (void)written;
    return handle;
}

static void put_words(struct words *words) {
    assert_false(words->failed);
    recording_put_bytes(&made.writer, RECORDING_KEY_DATA, words->bytes, words->length);
    free(words->bytes);
    put_record();
}

static void begin_object(uint64_t number, enum vulkan_kind kind, const char *function) {
    begin_record(RECORDING_VULKAN_OBJECT, number);
    recording_put(&made.writer, RECORDING_KEY_INDEX, kind);
    recording_put_text(&made.writer, RECORDING_KEY_NAME, function);
}

#define PUT_OBJECT(number, KIND, function, type, info)                                                       \
    do {                                                                                                     \
        struct words words_ = {.translate = itself};                                                         \
        begin_object(number, VULKAN_##KIND, function);                                                       \
        words_##type(&words_, info);                                                                         \
        put_words(&words_);                                                                                  \
    } while (0)

static void put_set_layout(uint64_t number, const VkDescriptorSetLayoutBinding *binding) {
    VkDescriptorSetLayoutCreateInfo info = {.bindingCount = 1, .pBindings = binding};
    PUT_OBJECT(number, SET_LAYOUT, "vkCreateDescriptorSetLayout", VkDescriptorSetLayoutCreateInfo, &info);
}

static void put_set(uint64_t number, uint64_t layout) {
    begin_object(number, VULKAN_SET, "vkAllocateDescriptorSets");
    recording_put(&made.writer, RECORDING_KEY_TARGET, layout);
    put_record();
}

static void put_graphics(void) {
    const VkVertexInputBindingDescription bindings[] = {scene.vertices, scene.other_vertices};
    const VkVertexInputAttributeDescription attributes[] = {scene.attribute, scene.other_attribute};
    const VkPipelineVertexInputStateCreateInfo vertices = {.pNext = scene.vertices_chain,
                                                           .vertexBindingDescriptionCount = scene.attributes,
                                                           .pVertexBindingDescriptions = bindings,
                                                           .vertexAttributeDescriptionCount =
                                                               scene.attributes,
                                                           .pVertexAttributeDescriptions = attributes};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {.topology = scene.topology};
    const VkPipelineViewportStateCreateInfo views = {
        .pNext = scene.views_chain, .viewportCount = 1, .scissorCount = 1};
    const VkPipelineColorBlendStateCreateInfo blend = {.pNext = scene.blend_chain,
                                                       .attachmentCount = 1,
                                                       .pAttachments =
                                                           scene.blends_dynamically ? NULL : &scene.blend};
    const VkPipelineDynamicStateCreateInfo dynamic = {.dynamicStateCount = scene.dynamic_count,
                                                      .pDynamicStates = scene.dynamic};
    VkGraphicsPipelineCreateInfo info = {.stageCount = 2,
                                         .pStages = scene.stages,
                                         .pVertexInputState = &vertices,
                                         .pInputAssemblyState = &assembly,
                                         .pViewportState = &views,
                                         .pRasterizationState = &scene.raster,
                                         .pMultisampleState = &scene.samples,
                                         .pColorBlendState = &blend,
                                         .pDynamicState = &dynamic,
                                         .layout = AS(VkPipelineLayout, LAYOUT),
                                         .renderPass = AS(VkRenderPass, PASS)};
    PUT_OBJECT(DRAWN, PIPELINE, "vkCreateGraphicsPipelines", VkGraphicsPipelineCreateInfo, &info);
}

static void put_objects(void) {
    const VkDescriptorSetLayout set_layout = AS(VkDescriptorSetLayout, SET_LAYOUT);
    const VkImageView view = AS(VkImageView, VIEW);
    const VkDescriptorSetLayout both[] = {set_layout, set_layout},
                                apart[] = {AS(VkDescriptorSetLayout, scene.before), set_layout};
    VkPipelineLayoutCreateInfo layout = {.setLayoutCount = scene.set_count,
                                         .pSetLayouts = both,
                                         .pushConstantRangeCount = 1,
                                         .pPushConstantRanges = &scene.range};
    VkRenderPassCreateInfo pass = {.attachmentCount = 1,
                                   .pAttachments = &scene.attachment,
                                   .subpassCount = 1,
                                   .pSubpasses = &scene.subpass,
                                   .dependencyCount = 1,
                                   .pDependencies = &scene.dependency};
    VkFramebufferCreateInfo framebuffer = {.renderPass = AS(VkRenderPass, PASS),
                                           .attachmentCount = 1,
                                           .pAttachments = &view,
                                           .width = 16,
                                           .height = 16,
                                           .layers = 1};
    PUT_OBJECT(BUFFER, BUFFER, "vkCreateBuffer", VkBufferCreateInfo, &scene.buffer);
    PUT_OBJECT(IMAGE, IMAGE, "vkCreateImage", VkImageCreateInfo, &scene.image);
    PUT_OBJECT(VIEW, IMAGE_VIEW, "vkCreateImageView", VkImageViewCreateInfo, &scene.view);
    put_set_layout(SET_LAYOUT, &scene.binding);
    put_set_layout(OTHER_LAYOUT, &scene.other_binding);
    PUT_OBJECT(LAYOUT, LAYOUT, "vkCreatePipelineLayout", VkPipelineLayoutCreateInfo, &layout);
    layout.pSetLayouts = apart;
    if (scene.set_count > 1)
        PUT_OBJECT(APART, LAYOUT, "vkCreatePipelineLayout", VkPipelineLayoutCreateInfo, &layout);
    for (uint32_t i = 0; i < 3; i++) {
        VkShaderModuleCreateInfo module = {.codeSize = scene.sizes[i], .pCode = scene.code[i]};
        PUT_OBJECT(COMPUTE + i, MODULE, "vkCreateShaderModule", VkShaderModuleCreateInfo, &module);
    }
    PUT_OBJECT(DISPATCHED, PIPELINE, "vkCreateComputePipelines", VkComputePipelineCreateInfo, &scene.compute);
    PUT_OBJECT(PASS, PASS, "vkCreateRenderPass", VkRenderPassCreateInfo, &pass);
    PUT_OBJECT(FRAMEBUFFER, FRAMEBUFFER, "vkCreateFramebuffer", VkFramebufferCreateInfo, &framebuffer);
    put_graphics();
    put_set(SET, SET_LAYOUT);
    put_set(OTHER_SET, OTHER_LAYOUT);
}

#define PUT_COMMAND(name, call)                                                                              \
    do {                                                                                                     \
        if (scene.left_out & BIT_OF(name))                                                                   \
            break;                                                                                           \
        words_value(words, VULKAN_##name);                                                                   \
        words_call_##name(words, call);                                                                      \
    } while (0)

static void put_commands(struct words *words) {
    struct call_CmdBeginRenderPass begin = {.i = &scene.pass};
    struct call_CmdEndRenderPass end = {.end = 0};
    struct call_CmdSetViewport viewport = {.n = 1, .r = &scene.viewport};
    struct call_CmdSetScissor scissor = {.n = 1, .r = &scene.scissor};
    PUT_COMMAND(CmdPipelineBarrier, &scene.barrier);
    PUT_COMMAND(CmdCopyBuffer, &scene.copy);
    PUT_COMMAND(CmdBindPipeline, &scene.dispatched);
    PUT_COMMAND(CmdBindDescriptorSets, &scene.sets);
    PUT_COMMAND(CmdPushDescriptorSetKHR, &scene.pushed);
    PUT_COMMAND(CmdPushConstants, &scene.push);
    PUT_COMMAND(CmdDispatch, &scene.dispatch);
    PUT_COMMAND(CmdDispatchIndirect, &scene.indirect);
    PUT_COMMAND(CmdBeginRenderPass, &begin);
    PUT_COMMAND(CmdBindPipeline, &scene.drawn);
    PUT_COMMAND(CmdSetViewport, &viewport);
    PUT_COMMAND(CmdSetScissor, &scissor);
    PUT_COMMAND(CmdSetCullMode, &scene.cull);
    PUT_COMMAND(CmdSetStencilReference, &scene.stencil);
    PUT_COMMAND(CmdBindVertexBuffers, &scene.bound);
    PUT_COMMAND(CmdBindVertexBuffers2, &scene.bound2);
    PUT_COMMAND(CmdBindIndexBuffer, &scene.index);
    if (scene.more)
        scene.more(words);
    PUT_COMMAND(CmdDraw, &scene.draw);
    PUT_COMMAND(CmdDrawIndexed, &scene.indexed);
    PUT_COMMAND(CmdDrawIndirectCount, &scene.counted);
    PUT_COMMAND(CmdDrawIndexedIndirectCount, &scene.counted_indexed);
    PUT_COMMAND(CmdEndRenderPass, &end);
}

static void put_frame(void) {
    static uint64_t commands[256];
    struct words words = {.translate = itself};
    begin_record(RECORDING_VULKAN_FRAME, 0);
    put_record();
    begin_record(RECORDING_VULKAN_SET, SET);
    words_value(&words, scene.writes);
    if (scene.writes)
        words_VkWriteDescriptorSet(&words, &scene.write);
    put_words(&words);
    if (scene.released) {
        begin_record(RECORDING_RELEASE, scene.released);
        put_record();
    }
    words = (struct words){.translate = itself};
    begin_record(RECORDING_VULKAN_COMMANDS, COMMANDS);
    put_commands(&words);
    put_words(&words);
    begin_record(RECORDING_COMMAND, 0);
    recording_put(&made.writer, RECORDING_KEY_COMMAND, RECORDING_COMMAND_SUBMIT);
    for (size_t i = 0; i < 256; i++)
        commands[i] = COMMANDS;
    recording_put_list(&made.writer, RECORDING_KEY_LIST, commands, scene.submitted);
    put_record();
    begin_record(RECORDING_VERIFY, BUFFER);
    recording_put(&made.writer, RECORDING_KEY_VERIFY, VERIFIED);
    put_record();
}

// ---- its replay

static char notes[4096];
static bool has_result;

static void take_note(void *context, const char *text) {
    (void)context;
    const size_t length = strlen(notes);
    snprintf(notes + length, sizeof notes - length, "%s\n", text);
}

static void take_result(void *context, const struct execute_result *result) {
    (void)context;
    has_result = result->bytes != NULL;
}

// Every record is reported, in order.
static void take_progress(void *context, uint64_t done, uint64_t total) {
    uint64_t *told = context;
    assert_true(done == *told && done < total);
    ++*told;
}

static void replay(void) {
    struct recording_record records[64];
    uint64_t told = 0;
    struct tsmith_recording recording = {0};
    struct recorded_process process = {.records = records, .vulkan = true};
    const tsmith_replay_options options = {
        .size = sizeof options, .patience_ns = 1, .progress = take_progress, .progress_context = &told};
    const struct execute_client client = {.result = take_result, .note = take_note};
    struct vulkan_execution execution = {.device_count = 1, .wanted = 0, .get = get_function};
    tsmith_error error;
    size_t offset = 0;
#define FILL(name) execution.name = double_##name;
    VULKAN_REPLAY_INSTANCE(FILL)
    made.length = 0;
    begin_record(RECORDING_VULKAN_DEVICE, DEVICE);
    recording_put(&made.writer, RECORDING_KEY_FLAGS, scene.features);
    put_record();
    put_objects();
    put_frame();
    while (process.count < 64 &&
           recording_next(made.bytes, made.length, &offset, &records[process.count]) == RECORDING_FOUND)
        process.count++;
    notes[0] = '\0';
    has_result = false;
    assert_int_equal(execute_vulkan_run(&execution, &recording, &process, &options, &client, &error),
                     TSMITH_OK);
    assert_int_equal(told, process.count);
    assert_false(double_finish());
    for (size_t i = 0; i < recording.buffer_count; i++)
        free(recording.buffers[i]);
    free(recording.buffers);
    free(made.writer.bytes);
    made.writer = (struct recording_writer){0};
}

static void reset(void) {
    vulkan_double.fill = 0;
    vulkan_double.plain = false;
    vulkan_double.sized = false;
    vulkan_double.features = (VkPhysicalDeviceFeatures){0};
    reset_objects();
    reset_pipeline();
    reset_commands();
}

// One value is another: the reason names it, and the frame has no result.
#define REFUSED(change, reason)                                                                              \
    do {                                                                                                     \
        reset();                                                                                             \
        change;                                                                                              \
        replay();                                                                                            \
        if (has_result || !strstr(notes, reason) || strncmp(notes, "record ", 7) != 0)                       \
            fail_msg("%s: %s", #change, *notes ? notes : "it was not refused");                              \
    } while (0)
// Another value that is allowed.
#define ACCEPTED(change)                                                                                     \
    do {                                                                                                     \
        reset();                                                                                             \
        change;                                                                                              \
        replay();                                                                                            \
        if (!has_result || *notes)                                                                           \
            fail_msg("%s: %s", #change, notes);                                                              \
    } while (0)
#define PUT_IN(name) scene.left_out &= ~BIT_OF(name)
#define LEFT_OUT(name) scene.left_out |= BIT_OF(name)

#endif
