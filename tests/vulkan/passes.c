// SPDX-License-Identifier: Apache-2.0
// Commands that tests/vulkan/graphics.c does not have: passes of four samples with a resolve, and events. Called by test_frames.sh:
//   passes FOLDER-OF-SHADERS MODE
// Prints a hash of what was computed, by the program itself. Modes:
//   resolve   a render pass that resolves; the program waits for an event before it copies the result
//   dynamic   the same with dynamic rendering
//   kept      the same; the layout of the samples is that of the last execution, and the pass clears them
//   used      the same; before that they are resolved once more
//   command   a render pass, and vkCmdResolveImage
//   again     one that keeps its samples for the next execution: their content cannot be captured
//   events2   events of synchronization2 between fills and a copy
//   host      the host sets the event that the commands wait for
//   late      the same with synchronization2, after the submission
//   atlas     a part of a buffer, up to its last byte, is copied into a part of an image
//   bindings  one write fills two bindings of a descriptor set
//   blocks    a compressed image
//   counted   as resolve; the triangles are drawn from vertex buffers with sizes and strides, and their number is in a buffer
//   newer     as resolve with the functions of create_renderpass2 and copy_commands2, and descriptors written by an update template and by a copy;
//             the buffer may have an address, and the bindings of the set have flags that say nothing
//   address   the same, and the program asks for the address
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "one_queue.h"

enum { SIZE = 32, BYTES = SIZE * SIZE * 4, EXECUTIONS = 2 };

struct image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
};

static VkBuffer buffer;
static VkDeviceMemory buffer_memory;
static const uint32_t *pixels;
static struct image samples, target;
static VkRenderPass pass;
static VkFramebuffer frame;
static VkPipelineLayout layout;
static VkPipeline pipeline;
static VkEvent event;
static const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;
static VkDescriptorSetLayout set_layout;
static VkPipelineLayout bindings;
static VkDescriptorPool set_pool;
static VkDescriptorSet set;
static struct image blocks;
static int counted, addressed; // the mode; buffers may have an address
// What counted draws read: triangles, of which the third one is beyond the numbers of draws.
struct input {
    uint16_t indexes[6]; // first: of indirect draws lavapipe leaves out the offset of the index buffer
    struct vertex {
        float unused, x, y;
    } vertices[12];
    VkDrawIndirectCommand draws[3];
    VkDrawIndexedIndirectCommand indexed[2];
    uint32_t counts[2];
};
static VkBuffer inputs;
static VkDeviceMemory input_memory;

static void open_device(void) {
    VkPhysicalDeviceFeatures have, enabled = {0};
    VkPhysicalDeviceVulkan12Features counts = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                               .drawIndirectCount = counted != 0,
                                               .bufferDeviceAddress = addressed != 0};
    VkPhysicalDeviceVulkan13Features features = {.sType =
                                                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                 .pNext = &counts,
                                                 .synchronization2 = VK_TRUE,
                                                 .dynamicRendering = VK_TRUE};
    const VkEventCreateInfo events = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    open_instance();
    vkGetPhysicalDeviceFeatures(physical, &have);
    enabled.textureCompressionBC = have.textureCompressionBC;
    if (!make_device(&(VkDeviceCreateInfo){.pNext = &features, .pEnabledFeatures = &enabled}))
        exit(3);
    CHECK(vkCreateEvent(device, &events, NULL, &event));
}

static void make_inputs(void) {
    struct input *at = make_mapped(&inputs, &input_memory, sizeof *at,
                                   VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_INDEX_BUFFER_BIT |
                                       VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT);
    *at = (struct input){.vertices = {{9, -1, -1},
                                      {9, 0, -1},
                                      {9, -1, 0},
                                      {9, 0, 0},
                                      {9, 1, 0},
                                      {9, 0, 1},
                                      {9, 0, -1},
                                      {9, 1, -1},
                                      {9, 1, 0},
                                      {9, -1, 0},
                                      {9, 0, 1},
                                      {9, -1, 1}},
                         .draws = {{3, 1, 0, 0}, {3, 1, 3, 0}, {3, 1, 6, 0}},
                         .indexed = {{3, 1, 0, 0, 0}, {3, 1, 3, 0, 0}},
                         .counts = {2, 1},
                         .indexes = {9, 10, 11, 6, 7, 8}};
}

static struct image make_image(VkSampleCountFlagBits count) {
    struct image made;
    VkImageCreateInfo info =
        plain_image(format, SIZE,
                    VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    info.samples = count;
    made.image = make_bound_image(&info, &made.memory);
    made.view = make_view(made.image, format, VK_IMAGE_ASPECT_COLOR_BIT);
    return made;
}

// Nothing draws to it.
static void make_blocks(void) {
    const VkImageCreateInfo info = plain_image(VK_FORMAT_BC1_RGB_UNORM_BLOCK, SIZE,
                                               VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    blocks.image = make_bound_image(&info, &blocks.memory);
}

// The descriptors lie apart in what the template reads. Binding 3 then gets what the second one of binding 0 has.
static void write_by_template(const VkDescriptorBufferInfo three[3]) {
    struct {
        uint64_t before;
        VkDescriptorBufferInfo info;
    } items[3];
    const VkDescriptorUpdateTemplateEntry entries[2] = {
        {0, 0, 2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, offsetof(__typeof__(items[0]), info), sizeof *items},
        {3, 0, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2 * sizeof *items + offsetof(__typeof__(items[0]), info),
         0}};
    const VkDescriptorUpdateTemplateCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
        .descriptorUpdateEntryCount = 2,
        .pDescriptorUpdateEntries = entries,
        .templateType = VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
        .descriptorSetLayout = set_layout};
    VkDescriptorUpdateTemplate template;
    for (int i = 0; i < 3; i++)
        items[i].info = three[i];
    CHECK(vkCreateDescriptorUpdateTemplate(device, &info, NULL, &template));
    vkUpdateDescriptorSetWithTemplate(device, set, template, items);
    vkDestroyDescriptorUpdateTemplate(device, template, NULL);
    const VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                      .srcSet = set,
                                      .srcArrayElement = 1,
                                      .dstSet = set,
                                      .dstBinding = 3,
                                      .descriptorCount = 1};
    vkUpdateDescriptorSets(device, 0, NULL, 1, &copy);
}

// Bindings 0 and 3 are filled by one write: 1 has no descriptors, and 2 is none.
static void make_set(int by_template) {
    VkDescriptorSetLayoutBinding all[3] = {{.binding = 3}, {.binding = 1}, {.binding = 0}};
    const uint32_t counts[3] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        all[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        all[i].descriptorCount = counts[i];
        all[i].stageFlags = counts[i] ? VK_SHADER_STAGE_COMPUTE_BIT : 0;
    }
    const VkDescriptorBindingFlags nothing[3] = {0};
    const VkDescriptorSetLayoutBindingFlagsCreateInfo flags = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
        .bindingCount = 3,
        .pBindingFlags = nothing};
    const VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                  .pNext = by_template ? &flags : NULL,
                                                  .bindingCount = 3,
                                                  .pBindings = all};
    CHECK(vkCreateDescriptorSetLayout(device, &info, NULL, &set_layout));
    const VkPipelineLayoutCreateInfo layouts = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                .setLayoutCount = 1,
                                                .pSetLayouts = &set_layout};
    CHECK(vkCreatePipelineLayout(device, &layouts, NULL, &bindings));
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 3};
    const VkDescriptorPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = 1,
                                              .poolSizeCount = 1,
                                              .pPoolSizes = &size};
    CHECK(vkCreateDescriptorPool(device, &pools, NULL, &set_pool));
    const VkDescriptorSetAllocateInfo sets = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = set_pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &set_layout};
    CHECK(vkAllocateDescriptorSets(device, &sets, &set));
    const VkDescriptorBufferInfo three[3] = {
        {buffer, 0, VK_WHOLE_SIZE}, {buffer, 0, BYTES / 2}, {buffer, 0, BYTES}};
    const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                        .dstSet = set,
                                        .dstBinding = 0,
                                        .descriptorCount = 3,
                                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                        .pBufferInfo = three};
    if (by_template)
        write_by_template(three);
    else
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

// A pass and its parts in the newer form.
static void make_pass2(const VkRenderPassCreateInfo *from) {
    VkAttachmentDescription2 attachments[2];
    VkAttachmentReference2 references[2];
    VkSubpassDependency2 dependencies[2];
    for (uint32_t i = 0; i < 2; i++) {
        const VkAttachmentDescription *at = &from->pAttachments[i];
        const VkSubpassDependency *by = &from->pDependencies[i];
        attachments[i] = (VkAttachmentDescription2){.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                    .format = at->format,
                                                    .samples = at->samples,
                                                    .loadOp = at->loadOp,
                                                    .storeOp = at->storeOp,
                                                    .initialLayout = at->initialLayout,
                                                    .finalLayout = at->finalLayout};
        references[i] = (VkAttachmentReference2){.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                                 .attachment = i,
                                                 .layout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                                 .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT};
        dependencies[i] = (VkSubpassDependency2){.sType = VK_STRUCTURE_TYPE_SUBPASS_DEPENDENCY_2,
                                                 .srcSubpass = by->srcSubpass,
                                                 .dstSubpass = by->dstSubpass,
                                                 .srcStageMask = by->srcStageMask,
                                                 .dstStageMask = by->dstStageMask,
                                                 .srcAccessMask = by->srcAccessMask,
                                                 .dstAccessMask = by->dstAccessMask};
    }
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .colorAttachmentCount = 1,
                                           .pColorAttachments = references,
                                           .pResolveAttachments = references + 1};
    const VkRenderPassCreateInfo2 info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                          .attachmentCount = 2,
                                          .pAttachments = attachments,
                                          .subpassCount = 1,
                                          .pSubpasses = &subpass,
                                          .dependencyCount = 2,
                                          .pDependencies = dependencies};
    CHECK(vkCreateRenderPass2(device, &info, NULL, &pass));
}

// With a resolve into the target, or without.
static void make_pass(int resolves, int keeps, int newer) {
    const VkAttachmentDescription attachments[2] = {
        {.format = format,
         .samples = VK_SAMPLE_COUNT_4_BIT,
         .loadOp = keeps ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = keeps ? VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL : VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL},
        {.format = format,
         .samples = VK_SAMPLE_COUNT_1_BIT,
         .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .initialLayout = VK_IMAGE_LAYOUT_UNDEFINED,
         .finalLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL}};
    const VkAttachmentReference color = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL},
                                resolve = {1, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1,
                                          .pColorAttachments = &color,
                                          .pResolveAttachments = resolves ? &resolve : NULL};
    const VkSubpassDependency both[2] = {
        {.srcSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
         .dstStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
         .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT,
         .dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT},
        {.dstSubpass = VK_SUBPASS_EXTERNAL,
         .srcStageMask = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT,
         .dstStageMask = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
         .srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT,
         .dstAccessMask = VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_MEMORY_READ_BIT}};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = resolves ? 2 : 1,
                                         .pAttachments = attachments,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass,
                                         .dependencyCount = 2,
                                         .pDependencies = both};
    const VkImageView views[2] = {samples.view, target.view};
    if (newer)
        make_pass2(&info);
    else
        CHECK(vkCreateRenderPass(device, &info, NULL, &pass));
    const VkFramebufferCreateInfo frames = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                            .renderPass = pass,
                                            .attachmentCount = info.attachmentCount,
                                            .pAttachments = views,
                                            .width = SIZE,
                                            .height = SIZE,
                                            .layers = 1};
    CHECK(vkCreateFramebuffer(device, &frames, NULL, &frame));
}

static VkShaderModule read_shader(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.spv", folder, name);
    return read_module(path);
}

// A pipeline that draws into nothing, which may give anything as the state of attachments.
static void make_unattached(VkGraphicsPipelineCreateInfo info, const void *unreadable) {
    const VkPipelineRenderingCreateInfo rendering = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO};
    VkPipeline unattached;
    info.pNext = &rendering;
    info.pColorBlendState = unreadable;
    info.pDepthStencilState = unreadable;
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &unattached));
    vkDestroyPipeline(device, unattached, NULL);
}

// shape: the structs that a pipeline is made of
static void make_pipeline(const char *folder) {
    const VkPushConstantRange range = {VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4};
    const VkPipelineLayoutCreateInfo layouts = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                                .pushConstantRangeCount = 1,
                                                .pPushConstantRanges = &range};
    CHECK(vkCreatePipelineLayout(device, &layouts, NULL, &layout));
    const VkPipelineShaderStageCreateInfo stages[2] = {
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_VERTEX_BIT,
         .module = read_shader(folder, counted ? "vertices.vert" : "graphics.vert"),
         .pName = "main"},
        {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
         .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
         .module = read_shader(folder, "graphics.frag"),
         .pName = "main"}};
    const VkPipelineRenderingCreateInfo rendering = {.sType =
                                                         VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                     .colorAttachmentCount = 1,
                                                     .pColorAttachmentFormats = &format};
    const VkVertexInputBindingDescription vertices = {.stride = 0}; // dynamic
    const VkVertexInputAttributeDescription attribute = {.format = VK_FORMAT_R32G32_SFLOAT};
    const VkPipelineVertexInputStateCreateInfo input = {
        VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        NULL,
        0,
        counted,
        &vertices,
        counted,
        &attribute};
    const VkDynamicState stride = VK_DYNAMIC_STATE_VERTEX_INPUT_BINDING_STRIDE;
    const VkPipelineDynamicStateCreateInfo dynamic = {VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
                                                      NULL, 0, counted, &stride};
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
    // A part of the image, off the grid of pixels: its edges have some of the samples.
    const VkViewport port = {3.3f, 2.6f, SIZE / 2, SIZE / 2, 0, 1};
    const VkRect2D scissor = {{0, 0}, {SIZE, SIZE}};
    const VkPipelineViewportStateCreateInfo view = {
        VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, NULL, 0, 1, &port, 1, &scissor};
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
    const VkPipelineMultisampleStateCreateInfo four = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_4_BIT};
    const VkPipelineColorBlendAttachmentState all = {.colorWriteMask = 15};
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &all};
    const void *unreadable = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .pNext = pass ? NULL : &rendering,
                                               .stageCount = 2,
                                               .pStages = stages,
                                               .pVertexInputState = &input,
                                               .pInputAssemblyState = &assembly,
                                               .pViewportState = &view,
                                               .pRasterizationState = &raster,
                                               .pMultisampleState = &four,
                                               .pDepthStencilState =
                                                   unreadable, // no pass has an attachment for it
                                               .pColorBlendState = &blend,
                                               .pDynamicState = &dynamic,
                                               .layout = layout,
                                               .renderPass = pass};
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    if (!pass)
        make_unattached(info, unreadable);
    for (int i = 0; i < 2; i++)
        vkDestroyShaderModule(device, stages[i].module, NULL);
}

// ---- commands

#define AT(member) offsetof(struct input, member)
static void draw_counted(VkCommandBuffer c) {
    const VkDeviceSize from = AT(vertices) + offsetof(struct vertex, x),
                       size = sizeof(struct vertex[12]) - offsetof(struct vertex, x),
                       stride = sizeof(struct vertex);
    vkCmdBindVertexBuffers2(c, 0, 1, &inputs, &from, &size, &stride);
    vkCmdBindIndexBuffer(c, inputs, AT(indexes), VK_INDEX_TYPE_UINT16);
    vkCmdDrawIndirectCount(c, inputs, AT(draws), inputs, AT(counts), 3, sizeof(VkDrawIndirectCommand));
    vkCmdDrawIndexedIndirectCount(c, inputs, AT(indexed), inputs, AT(counts) + sizeof(uint32_t), 2,
                                  sizeof(VkDrawIndexedIndirectCommand));
}

// A pixel in each triangle: all but the third have been drawn over the color that the pass begins with.
static void judge_counted(void) {
    static const uint32_t places[4][2] = {{5, 4}, {13, 12}, {16, 4}, {5, 15}};
    for (int i = 0; i < 4; i++)
        if ((pixels[places[i][1] * SIZE + places[i][0]] == 0xff0000ff) != (i == 2))
            exit(6);
}

static void draw(VkCommandBuffer c) {
    const uint32_t rounds = 1;
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdPushConstants(c, layout, VK_SHADER_STAGE_FRAGMENT_BIT, 0, sizeof rounds, &rounds);
    if (counted)
        draw_counted(c);
    else
        vkCmdDraw(c, 3, 1, 0, 0);
}

static const VkClearValue red = {.color = {.float32 = {1, 0, 0, 1}}};

static void put_pass(VkCommandBuffer c, int newer) {
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = frame,
                                         .renderArea = {{0, 0}, {SIZE, SIZE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &red};
    const VkSubpassBeginInfo inside = {.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO};
    const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    if (newer)
        vkCmdBeginRenderPass2(c, &begin, &inside);
    else
        vkCmdBeginRenderPass(c, &begin, VK_SUBPASS_CONTENTS_INLINE);
    draw(c);
    if (newer)
        vkCmdEndRenderPass2(c, &end);
    else
        vkCmdEndRenderPass(c);
}

static const VkImageSubresourceLayers color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static void resolve_again(VkCommandBuffer c) {
    const VkImageResolve region = {
        .srcSubresource = color, .dstSubresource = color, .extent = {SIZE, SIZE, 1}};
    move_image(c, target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdResolveImage(c, samples.image, VK_IMAGE_LAYOUT_GENERAL, target.image,
                      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static void put_dynamic(VkCommandBuffer c, const char *mode) {
    static VkImageLayout before = VK_IMAGE_LAYOUT_UNDEFINED;
    const VkRenderingAttachmentInfo color = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                             .imageView = samples.view,
                                             .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .resolveMode = VK_RESOLVE_MODE_AVERAGE_BIT,
                                             .resolveImageView = target.view,
                                             .resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                             .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                             .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                             .clearValue = red};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {SIZE, SIZE}},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &color};
    if (before && strcmp(mode, "used") == 0) {
        move_image(c, samples.image, before, VK_IMAGE_LAYOUT_GENERAL);
        resolve_again(c);
        before = VK_IMAGE_LAYOUT_GENERAL;
    }
    move_image(c, samples.image, before, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    before =
        strcmp(mode, "dynamic") == 0 ? VK_IMAGE_LAYOUT_UNDEFINED : VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
    move_image(c, target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    vkCmdBeginRendering(c, &info);
    draw(c);
    vkCmdEndRendering(c);
    move_image(c, target.image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
               VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

static int is_dynamic(const char *mode) {
    return strcmp(mode, "dynamic") == 0 || strcmp(mode, "kept") == 0 || strcmp(mode, "used") == 0;
}

static void put_resolve(VkCommandBuffer c) {
    const VkImageResolve region = {
        .srcSubresource = color, .dstSubresource = color, .extent = {SIZE, SIZE, 1}};
    move_image(c, target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdResolveImage(c, samples.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, target.image,
                      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    move_image(c, target.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
}

static void put_wait(VkCommandBuffer c, int by_host) {
    const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    if (!by_host)
        vkCmdSetEvent(c, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
    vkCmdWaitEvents(c, 1, &event, by_host ? VK_PIPELINE_STAGE_HOST_BIT : VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 1, &memory, 0, NULL, 0, NULL);
    vkCmdResetEvent(c, event, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
}

static void put_events2(VkCommandBuffer c) {
    const VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                     .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                                     .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
    const VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &memory};
    const VkBufferCopy half = {0, BYTES / 2, BYTES / 2};
    vkCmdFillBuffer(c, buffer, 0, BYTES / 2, 0x01020304);
    vkCmdSetEvent2(c, event, &info);
    vkCmdWaitEvents2(c, 1, &event, &info);
    vkCmdCopyBuffer(c, buffer, buffer, 1, &half);
    vkCmdResetEvent2(c, event, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

static void put_late(VkCommandBuffer c) {
    const VkMemoryBarrier2 memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                     .srcStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
                                     .srcAccessMask = VK_ACCESS_2_HOST_WRITE_BIT,
                                     .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                     .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT};
    const VkDependencyInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &memory};
    vkCmdWaitEvents2(c, 1, &event, &info);
    vkCmdFillBuffer(c, buffer, 0, BYTES, 7);
    vkCmdResetEvent2(c, event, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
}

static void put_barrier(VkCommandBuffer c) {
    const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                    .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                    .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &memory, 0, NULL, 0, NULL);
}

// The last row of the buffer is shorter than a row by what the others skip.
static void put_atlas(VkCommandBuffer c) {
    enum { X = 5, Y = 9 };
    static uint32_t colors[SIZE * SIZE];
    const VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const VkBufferImageCopy region = {.bufferOffset = (Y * SIZE + X) * 4,
                                      .bufferRowLength = SIZE,
                                      .imageSubresource = color,
                                      .imageOffset = {2, 3, 0},
                                      .imageExtent = {SIZE - X, SIZE - Y, 1}};
    const VkBufferImageCopy back = {.bufferOffset = (Y * SIZE + X) * 4,
                                    .bufferRowLength = SIZE,
                                    .imageSubresource = color,
                                    .imageExtent = {SIZE - X, SIZE - Y, 1}};
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        colors[i] = i * 2654435761u;
    vkCmdUpdateBuffer(c, buffer, 0, BYTES, colors);
    put_barrier(c);
    move_image(c, target.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdClearColorImage(c, target.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &red.color, 1, &whole);
    put_barrier(c);
    vkCmdCopyBufferToImage(c, buffer, target.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
    put_barrier(c);
    move_image(c, target.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(c, target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1, &back);
}

static void put_blocks(VkCommandBuffer c) {
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    vkCmdFillBuffer(c, buffer, 0, BYTES, 7);
    put_barrier(c);
    move_image(c, blocks.image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(c, buffer, blocks.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

static void put_copy(VkCommandBuffer c) {
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    vkCmdCopyImageToBuffer(c, target.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1, &region);
}

// The whole image, and then the first half of the buffer over its last.
static void put_copy2(VkCommandBuffer c) {
    const VkBufferImageCopy2 region = {.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
                                       .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                       .imageExtent = {SIZE, SIZE, 1}};
    const VkCopyImageToBufferInfo2 image = {.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2,
                                            .srcImage = target.image,
                                            .srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                            .dstBuffer = buffer,
                                            .regionCount = 1,
                                            .pRegions = &region};
    const VkBufferCopy2 half = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .dstOffset = BYTES / 2, .size = BYTES / 2};
    const VkCopyBufferInfo2 halves = {.sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2,
                                      .srcBuffer = buffer,
                                      .dstBuffer = buffer,
                                      .regionCount = 1,
                                      .pRegions = &half};
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, bindings, 0, 1, &set, 0, NULL);
    vkCmdCopyImageToBuffer2(c, &image);
    put_barrier(c);
    vkCmdCopyBuffer2(c, &halves);
}

static void put(VkCommandBuffer c, const char *mode) {
    if (strcmp(mode, "events2") == 0) {
        put_events2(c);
    } else if (strcmp(mode, "host") == 0) {
        put_wait(c, 1);
        vkCmdFillBuffer(c, buffer, 0, BYTES, 7);
    } else if (strcmp(mode, "late") == 0) {
        put_late(c);
    } else if (strcmp(mode, "atlas") == 0) {
        put_atlas(c);
    } else if (strcmp(mode, "bindings") == 0) {
        vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, bindings, 0, 1, &set, 0, NULL);
        vkCmdFillBuffer(c, buffer, 0, BYTES, 7);
    } else if (strcmp(mode, "blocks") == 0) {
        put_blocks(c);
    } else if (is_dynamic(mode)) {
        put_dynamic(c, mode);
        put_copy(c);
    } else if (counted) {
        put_pass(c, 0);
        put_barrier(c);
        put_copy(c);
    } else if (addressed) {
        put_pass(c, 1);
        put_copy2(c);
    } else {
        put_pass(c, 0);
        if (strcmp(mode, "resolve") == 0)
            put_wait(c, 0);
        else
            put_resolve(c);
        put_copy(c);
    }
}

static void execute(const char *mode) {
    const VkCommandBuffer c = begin_commands();
    put(c, mode);
    CHECK(vkEndCommandBuffer(c));
    if (strcmp(mode, "host") == 0)
        CHECK(vkSetEvent(device, event));
    submit_commands(c);
    if (strcmp(mode, "late") == 0)
        CHECK(vkSetEvent(device, event));
    CHECK(vkQueueWaitIdle(queue));
}

// The first execution of "again" clears.
static void first_pass(const char *folder) {
    make_pass(0, 0, 0);
    make_pipeline(folder);
    execute("command");
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyFramebuffer(device, frame, NULL);
    vkDestroyRenderPass(device, pass, NULL);
}

static void destroy_all(void) {
    const struct image *images[2] = {&samples, &target};
    for (int i = 0; i < 2; i++) {
        vkDestroyImageView(device, images[i]->view, NULL);
        destroy_image(images[i]->image, images[i]->memory);
    }
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyPipelineLayout(device, layout, NULL);
    vkDestroyFramebuffer(device, frame, NULL);
    vkDestroyRenderPass(device, pass, NULL);
    vkDestroyDescriptorPool(device, set_pool, NULL);
    vkDestroyPipelineLayout(device, bindings, NULL);
    vkDestroyDescriptorSetLayout(device, set_layout, NULL);
    destroy_image(blocks.image, blocks.memory);
    destroy_buffer(inputs, input_memory);
    destroy_buffer(buffer, buffer_memory);
    vkDestroyEvent(device, event, NULL);
    close_device();
}

int main(int argc, char **argv) {
    uint64_t hash = hash_start;
    if (argc < 3)
        return 2;
    const char *mode = argv[2];
    counted = strcmp(mode, "counted") == 0;
    addressed = strcmp(mode, "newer") == 0 || strcmp(mode, "address") == 0;
    memory_flags = addressed ? VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT : 0;
    open_device();
    pixels = make_mapped(&buffer, &buffer_memory, BYTES,
                         VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                             VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                             (addressed ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0));
    const VkBufferDeviceAddressInfo place = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = buffer};
    if (strcmp(mode, "address") == 0 && !vkGetBufferDeviceAddress(device, &place))
        return 6;
    if (counted)
        make_inputs();
    samples = make_image(VK_SAMPLE_COUNT_4_BIT);
    target = make_image(VK_SAMPLE_COUNT_1_BIT);
    if (strcmp(mode, "again") == 0)
        first_pass(argv[1]);
    const int newer = addressed;
    if (!is_dynamic(mode))
        make_pass(newer || counted || strcmp(mode, "resolve") == 0, strcmp(mode, "again") == 0, newer);
    make_pipeline(argv[1]);
    if (newer || strcmp(mode, "bindings") == 0)
        make_set(newer);
    if (strcmp(mode, "blocks") == 0)
        make_blocks();
    for (int i = 0; i < EXECUTIONS; i++)
        execute(mode);
    if (counted)
        judge_counted();
    for (uint32_t i = 0; i < SIZE * SIZE; i++)
        hash = hash_more(hash, pixels[i]);
    printf("%016llx\n", (unsigned long long)hash);
    destroy_all();
    return 0;
}
