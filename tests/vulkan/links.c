// SPDX-License-Identifier: Apache-2.0
// Draws the left half of an image with a pipeline that is linked of libraries (VK_EXT_graphics_pipeline_library). Called by test_links.sh:
//   links FOLDER-OF-SHADERS MODE
// Prints a hash of the image, after it has looked at its pixels. Ends with 77 if the device has no such libraries. Modes:
//   whole      a pipeline that is not linked: every other mode prints the same
//   fast       four libraries; the layouts of those with shaders leave out the sets that they do not use
//   optimized  the same, optimized when they are linked
//   nested     a library of two libraries, and the other parts in the pipeline itself
//   inline     as fast; the stages have no modules, but what modules are made of
//   gone       as fast; modules and the layouts of libraries are destroyed before the first draw. (Without its libraries lavapipe 22.3 ends.)
//   pass       as fast, with a render pass
//   empty      as fast, and a library without parts besides
#include <stddef.h>
#include <string.h>

#include "one_queue.h"

enum { SIZE = 16, BYTES = SIZE * SIZE * 4, EXECUTIONS = 2, SHADERS = 2, SETS = 2 };
enum {
    VERTICES = VK_GRAPHICS_PIPELINE_LIBRARY_VERTEX_INPUT_INTERFACE_BIT_EXT,
    BEFORE = VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT,
    FRAGMENTS = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT,
    OUTPUT = VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_OUTPUT_INTERFACE_BIT_EXT,
    PARTS = 4
};

static VkBuffer picture, values;
static VkDeviceMemory picture_memory, values_memory, image_memory;
static const uint8_t *pixels;
static VkImage image;
static VkImageView view;
static VkRenderPass pass; // null: dynamic rendering
static VkFramebuffer frame;
static VkDescriptorSetLayout set_layouts[SETS];
static VkPipelineLayout whole, partial[SETS];
static VkDescriptorPool set_pool;
static VkDescriptorSet sets[SETS];
static VkShaderModule modules[SHADERS];
static VkShaderModuleCreateInfo codes[SHADERS];
static VkPipeline libraries[PARTS + 1], pipeline;
static int inlined;
static const VkFormat format = VK_FORMAT_R8G8B8A8_UNORM;

// What shaders read: triangles that cover the right half, which are moved to the left, and a color.
static const struct values {
    float vertices[6][4]; // the last two of each are not read
    float move[64], tint[64];
} content = {{{0, -1}, {1, -1}, {1, 1}, {0, -1}, {1, 1}, {0, 1}}, {-1}, {1, 0.25f, 0, 1}};

static void open_device(void) {
    const char *const extensions[] = {"VK_KHR_pipeline_library", "VK_EXT_graphics_pipeline_library"};
    VkPhysicalDeviceGraphicsPipelineLibraryFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GRAPHICS_PIPELINE_LIBRARY_FEATURES_EXT,
        .graphicsPipelineLibrary = VK_TRUE};
    const VkPhysicalDeviceVulkan13Features newer = {.sType =
                                                        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                                    .pNext = &features,
                                                    .dynamicRendering = VK_TRUE};
    const VkPhysicalDeviceFeatures old = {.largePoints = VK_TRUE}; // which replays are to miss
    open_instance();
    if (!make_device(&(VkDeviceCreateInfo){.pNext = &newer,
                                           .enabledExtensionCount = 2,
                                           .ppEnabledExtensionNames = extensions,
                                           .pEnabledFeatures = &old}))
        exit(77);
}

static void make_target(void) {
    const VkImageCreateInfo info =
        plain_image(format, SIZE, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    image = make_bound_image(&info, &image_memory);
    view = make_view(image, format, VK_IMAGE_ASPECT_COLOR_BIT);
    pixels = make_mapped(&picture, &picture_memory, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    memcpy(make_mapped(&values, &values_memory, sizeof content,
                       VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT),
           &content, sizeof content);
}

static void make_pass(void) {
    const VkAttachmentDescription attachment = {.format = format,
                                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                                .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE,
                                                .stencilStoreOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
                                                .finalLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
    const VkSubpassDescription subpass = {.colorAttachmentCount = 1, .pColorAttachments = &reference};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    VkFramebufferCreateInfo frames = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                      .attachmentCount = 1,
                                      .pAttachments = &view,
                                      .width = SIZE,
                                      .height = SIZE,
                                      .layers = 1};
    CHECK(vkCreateRenderPass(device, &info, NULL, &pass));
    frames.renderPass = pass;
    CHECK(vkCreateFramebuffer(device, &frames, NULL, &frame));
}

static VkPipelineLayout make_layout(VkPipelineLayoutCreateFlags flags, VkDescriptorSetLayout first,
                                    VkDescriptorSetLayout second) {
    const VkDescriptorSetLayout both[] = {first, second};
    const VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                             .flags = flags,
                                             .setLayoutCount = SETS,
                                             .pSetLayouts = both};
    VkPipelineLayout layout;
    CHECK(vkCreatePipelineLayout(device, &info, NULL, &layout));
    return layout;
}

static void make_sets(void) {
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, SETS};
    const VkDescriptorPoolCreateInfo pools = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                              .maxSets = SETS,
                                              .poolSizeCount = 1,
                                              .pPoolSizes = &size};
    CHECK(vkCreateDescriptorPool(device, &pools, NULL, &set_pool));
    for (int i = 0; i < SETS; i++) {
        const VkDescriptorSetLayoutBinding only = {
            0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1,
            i ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_VERTEX_BIT, NULL};
        const VkDescriptorSetLayoutCreateInfo info = {.sType =
                                                          VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                      .bindingCount = 1,
                                                      .pBindings = &only};
        CHECK(vkCreateDescriptorSetLayout(device, &info, NULL, &set_layouts[i]));
    }
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = set_pool,
                                              .descriptorSetCount = SETS,
                                              .pSetLayouts = set_layouts};
    CHECK(vkAllocateDescriptorSets(device, &info, sets));
    for (int i = 0; i < SETS; i++) {
        const VkDescriptorBufferInfo part = {
            values, i ? offsetof(struct values, tint) : offsetof(struct values, move), 16};
        const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                            .dstSet = sets[i],
                                            .descriptorCount = 1,
                                            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                                            .pBufferInfo = &part};
        vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
    }
    const VkPipelineLayoutCreateFlags independent = VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT;
    partial[0] = make_layout(independent, set_layouts[0], VK_NULL_HANDLE);
    partial[1] = make_layout(independent, VK_NULL_HANDLE, set_layouts[1]);
}

static void read_shaders(const char *folder) {
    static uint32_t words[SHADERS][1 << 12];
    static const char *const names[] = {"links.vert.spv", "links.frag.spv"};
    for (int i = 0; i < SHADERS; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "rb");
        const size_t bytes = file ? fread(words[i], 1, sizeof words[i], file) : 0;
        if (!bytes)
            exit(5);
        fclose(file);
        codes[i] = (VkShaderModuleCreateInfo){
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words[i]};
        if (!inlined)
            CHECK(vkCreateShaderModule(device, &codes[i], NULL, &modules[i]));
    }
}

// ---- pipelines

static const VkVertexInputBindingDescription binding = {0, sizeof *content.vertices,
                                                        VK_VERTEX_INPUT_RATE_VERTEX};
static const VkVertexInputAttributeDescription attribute = {0, 0, VK_FORMAT_R32G32_SFLOAT, 0};
static const VkPipelineVertexInputStateCreateInfo inputs = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
    .vertexBindingDescriptionCount = 1,
    .pVertexBindingDescriptions = &binding,
    .vertexAttributeDescriptionCount = 1,
    .pVertexAttributeDescriptions = &attribute};
static const VkPipelineInputAssemblyStateCreateInfo assembly = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
    .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST};
static const VkPipelineViewportStateCreateInfo views = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO, .viewportCount = 1, .scissorCount = 1};
static const VkPipelineRasterizationStateCreateInfo raster = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO, .lineWidth = 1};
static const VkPipelineMultisampleStateCreateInfo samples = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
    .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT};
static const VkPipelineDepthStencilStateCreateInfo depth = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO};
static const VkPipelineColorBlendAttachmentState adds = {.blendEnable = VK_TRUE,
                                                         .srcColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                                         .dstColorBlendFactor = VK_BLEND_FACTOR_ONE,
                                                         .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
                                                         .colorWriteMask = 15};
static const VkPipelineColorBlendStateCreateInfo blend = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
    .attachmentCount = 1,
    .pAttachments = &adds};
// In each part: they mean something in that of the first shader.
static const VkDynamicState states[] = {VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR};
static const VkPipelineDynamicStateCreateInfo dynamic = {
    .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
    .dynamicStateCount = 2,
    .pDynamicStates = states};
static const VkPipelineRenderingCreateInfo rendering = {.sType =
                                                            VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
                                                        .colorAttachmentCount = 1,
                                                        .pColorAttachmentFormats = &format};

static uint32_t fill_stages(VkPipelineShaderStageCreateInfo *stages,
                            VkGraphicsPipelineLibraryFlagsEXT parts) {
    uint32_t count = 0;
    for (int i = 0; i < SHADERS; i++)
        if (parts & (i ? FRAGMENTS : BEFORE))
            stages[count++] = (VkPipelineShaderStageCreateInfo){
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = modules[i] ? NULL : &codes[i],
                .stage = i ? VK_SHADER_STAGE_FRAGMENT_BIT : VK_SHADER_STAGE_VERTEX_BIT,
                .module = modules[i],
                .pName = "main"};
    return count;
}

// A pipeline with these parts, and those of libraries.
static VkPipeline make_pipeline(VkGraphicsPipelineLibraryFlagsEXT parts, VkPipelineCreateFlags flags,
                                VkPipelineLayout layout, const VkPipeline *made_of, uint32_t count) {
    VkPipelineShaderStageCreateInfo stages[SHADERS];
    const uint32_t stage_count = fill_stages(stages, parts);
    const VkGraphicsPipelineLibraryCreateInfoEXT own = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT,
        .pNext = (void *)&rendering,
        .flags = parts};
    const VkPipelineLibraryCreateInfoKHR linked = {.sType =
                                                       VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR,
                                                   .pNext = parts ? &own : NULL,
                                                   .libraryCount = count,
                                                   .pLibraries = made_of};
    const int is_whole = parts == (VERTICES | BEFORE | FRAGMENTS | OUTPUT);
    const VkGraphicsPipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
                                               .pNext = is_whole ? (const void *)&rendering : &linked,
                                               .flags = flags,
                                               .stageCount = stage_count,
                                               .pStages = stages,
                                               .pVertexInputState = parts & VERTICES ? &inputs : NULL,
                                               .pInputAssemblyState = parts & VERTICES ? &assembly : NULL,
                                               .pViewportState = parts & BEFORE ? &views : NULL,
                                               .pRasterizationState = parts & BEFORE ? &raster : NULL,
                                               .pMultisampleState =
                                                   parts & (FRAGMENTS | OUTPUT) ? &samples : NULL,
                                               .pDepthStencilState = parts & FRAGMENTS ? &depth : NULL,
                                               .pColorBlendState = parts & OUTPUT ? &blend : NULL,
                                               .pDynamicState = &dynamic,
                                               .layout = layout,
                                               .renderPass = pass};
    VkPipeline made;
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made));
    return made;
}

static VkPipeline make_empty(VkPipelineCreateFlags flags) {
    const VkGraphicsPipelineLibraryCreateInfoEXT own = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT};
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO, .pNext = &own, .flags = flags};
    VkPipeline made;
    CHECK(vkCreateGraphicsPipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &made));
    return made;
}

static void make_pipelines(const char *mode) {
    const int optimized = strcmp(mode, "optimized") == 0, nested = strcmp(mode, "nested") == 0;
    const VkPipelineCreateFlags library =
        VK_PIPELINE_CREATE_LIBRARY_BIT_KHR |
        (optimized ? VK_PIPELINE_CREATE_RETAIN_LINK_TIME_OPTIMIZATION_INFO_BIT_EXT : 0);
    // The layout of a pipeline that is linked says of its sets what those of its libraries say.
    whole = make_layout(strcmp(mode, "whole") == 0 ? 0 : VK_PIPELINE_LAYOUT_CREATE_INDEPENDENT_SETS_BIT_EXT,
                        set_layouts[0], set_layouts[1]);
    if (strcmp(mode, "whole") == 0) {
        pipeline = make_pipeline(VERTICES | BEFORE | FRAGMENTS | OUTPUT, 0, whole, NULL, 0);
        return;
    }
    libraries[0] = make_pipeline(VERTICES, library, VK_NULL_HANDLE, NULL, 0);
    libraries[1] = make_pipeline(BEFORE, library, partial[0], NULL, 0);
    if (nested) {
        libraries[2] = make_pipeline(0, library, VK_NULL_HANDLE, libraries, 2);
        pipeline = make_pipeline(FRAGMENTS | OUTPUT, 0, whole, &libraries[2], 1);
        return;
    }
    if (strcmp(mode, "empty") == 0)
        libraries[PARTS] = make_empty(library);
    libraries[2] = make_pipeline(FRAGMENTS, library, partial[1], NULL, 0);
    libraries[3] = make_pipeline(OUTPUT, library, VK_NULL_HANDLE, NULL, 0);
    pipeline = make_pipeline(0, optimized ? VK_PIPELINE_CREATE_LINK_TIME_OPTIMIZATION_BIT_EXT : 0, whole,
                             libraries, PARTS);
}

static void end_libraries(void) {
    for (int i = 0; i <= PARTS; i++)
        vkDestroyPipeline(device, libraries[i], NULL);
}

static void end_parts(void) {
    for (int i = 0; i < SETS; i++)
        vkDestroyPipelineLayout(device, partial[i], NULL);
    for (int i = 0; i < SHADERS; i++)
        vkDestroyShaderModule(device, modules[i], NULL);
}

// ---- commands

static void begin_drawing(VkCommandBuffer c) {
    const VkClearValue cleared = {.color = {{0, 0.5f, 0, 0}}};
    const VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                  .imageView = view,
                                                  .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                                  .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                  .clearValue = cleared};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {SIZE, SIZE}},
                                  .layerCount = 1,
                                  .colorAttachmentCount = 1,
                                  .pColorAttachments = &attachment};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = frame,
                                         .renderArea = {{0, 0}, {SIZE, SIZE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &cleared};
    if (pass) {
        vkCmdBeginRenderPass(c, &begin, VK_SUBPASS_CONTENTS_INLINE);
        return;
    }
    move_image(c, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    vkCmdBeginRendering(c, &info);
}

static void draw(VkCommandBuffer c) {
    const VkViewport viewport = {0, 0, SIZE, SIZE, 0, 1};
    const VkRect2D scissor = {{0, 0}, {SIZE, SIZE}};
    const VkDeviceSize none = 0;
    begin_drawing(c);
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdSetViewport(c, 0, 1, &viewport);
    vkCmdSetScissor(c, 0, 1, &scissor);
    vkCmdBindVertexBuffers(c, 0, 1, &values, &none);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_GRAPHICS, whole, 0, SETS, sets, 0, NULL);
    vkCmdDraw(c, 6, 1, 0, 0);
    if (pass)
        vkCmdEndRenderPass(c);
    else
        vkCmdEndRendering(c);
}

static void execute(void) {
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {SIZE, SIZE, 1}};
    const VkCommandBuffer c = begin_commands();
    draw(c);
    move_image(c, image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    vkCmdCopyImageToBuffer(c, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, picture, 1, &region);
    run_commands(c);
}

// The left half has the color added to what was cleared, within a step of rounding; the right half was cleared.
static int is_near(const uint8_t *pixel, const double *wanted) {
    for (int i = 0; i < 4; i++)
        if (pixel[i] + 1 < wanted[i] * 255 || pixel[i] - 1 > wanted[i] * 255)
            return 0;
    return 1;
}

static void judge(void) {
    static const double wanted[2][4] = {{0.75, 0.5 + 0.25 * 0.75, 0, 0.75}, {0, 0.5, 0, 0}};
    uint64_t hash = hash_start;
    for (int i = 0; i < SIZE * SIZE; i++) {
        uint32_t word;
        memcpy(&word, pixels + 4 * i, sizeof word);
        hash = hash_more(hash, word);
        if (!is_near(pixels + 4 * i, wanted[i % SIZE >= SIZE / 2])) {
            printf("the pixel %d is %08x\n", i, word);
            exit(6);
        }
    }
    printf("%016llx\n", (unsigned long long)hash);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    inlined = strcmp(argv[2], "inline") == 0;
    open_device();
    make_target();
    if (strcmp(argv[2], "pass") == 0)
        make_pass();
    make_sets();
    read_shaders(argv[1]);
    make_pipelines(argv[2]);
    const int gone = strcmp(argv[2], "gone") == 0;
    if (gone)
        end_parts();
    for (int i = 0; i < EXECUTIONS; i++)
        execute();
    judge();
    end_libraries();
    if (!gone)
        end_parts();
    vkDestroyPipeline(device, pipeline, NULL);
    vkDestroyPipelineLayout(device, whole, NULL);
    vkDestroyDescriptorPool(device, set_pool, NULL);
    for (int i = 0; i < SETS; i++)
        vkDestroyDescriptorSetLayout(device, set_layouts[i], NULL);
    vkDestroyFramebuffer(device, frame, NULL);
    vkDestroyRenderPass(device, pass, NULL);
    vkDestroyImageView(device, view, NULL);
    destroy_image(image, image_memory);
    destroy_buffer(picture, picture_memory);
    destroy_buffer(values, values_memory);
    close_device();
    return 0;
}
