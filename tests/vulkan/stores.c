// SPDX-License-Identifier: Apache-2.0
// An image of depths or of stencils, of one aspect, that each frame clears, and stores or does not. Called by test_stores.sh:
//   stores depth|stencil store|forget|none|drop pass|dynamic
// drop (of a pass): another pass, which stores and does not load, follows.
// The operations of the aspect that the image does not have are others: they mean nothing. Ends with 77 if the device has no such images.
#include <string.h>

#include "one_queue.h"

enum { SIZE = 8, EXECUTIONS = 2 };

static VkFormat format;
static VkImage image;
static VkImageView view;
static VkDeviceMemory memory;
static VkRenderPass pass, second; // the second one: null if there is none
static VkFramebuffer frame;
static VkAttachmentStoreOp store;
static int stencil, dynamic, drop;
static const VkClearValue cleared = {.depthStencil = {0.25f, 7}};
static const VkImageLayout layout = VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;

static void open_device(void) {
    const VkPhysicalDeviceVulkan13Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, .dynamicRendering = VK_TRUE};
    VkFormatProperties properties;
    open_instance();
    vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
    if (!(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT))
        exit(77);
    if (!make_device(&(VkDeviceCreateInfo){.pNext = &features}))
        exit(3);
}

static void make_image(void) {
    const VkImageCreateInfo info = plain_image(format, SIZE, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
    image = make_bound_image(&info, &memory);
    view = make_view(image, format, stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT);
}

static void make_pass(void) {
    const VkAttachmentStoreOp other = store == VK_ATTACHMENT_STORE_OP_STORE ? VK_ATTACHMENT_STORE_OP_DONT_CARE
                                                                            : VK_ATTACHMENT_STORE_OP_STORE;
    const VkAttachmentLoadOp clear = VK_ATTACHMENT_LOAD_OP_CLEAR, nothing = VK_ATTACHMENT_LOAD_OP_DONT_CARE;
    VkAttachmentDescription attachment = {.format = format,
                                          .samples = VK_SAMPLE_COUNT_1_BIT,
                                          .loadOp = stencil ? nothing : clear,
                                          .storeOp = stencil ? other : store,
                                          .stencilLoadOp = stencil ? clear : nothing,
                                          .stencilStoreOp = stencil ? store : other,
                                          .finalLayout = layout};
    const VkAttachmentReference reference = {0, layout};
    const VkSubpassDescription subpass = {.pDepthStencilAttachment = &reference};
    const VkRenderPassCreateInfo info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
                                         .attachmentCount = 1,
                                         .pAttachments = &attachment,
                                         .subpassCount = 1,
                                         .pSubpasses = &subpass};
    CHECK(vkCreateRenderPass(device, &info, NULL, &pass));
    attachment.loadOp = attachment.stencilLoadOp = nothing;
    attachment.initialLayout = layout;
    if (drop)
        CHECK(vkCreateRenderPass(device, &info, NULL, &second));
    const VkFramebufferCreateInfo frames = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                            .renderPass = pass,
                                            .attachmentCount = 1,
                                            .pAttachments = &view,
                                            .width = SIZE,
                                            .height = SIZE,
                                            .layers = 1};
    CHECK(vkCreateFramebuffer(device, &frames, NULL, &frame));
}

static void put_pass(VkCommandBuffer c) {
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                   .renderPass = pass,
                                   .framebuffer = frame,
                                   .renderArea = {{0, 0}, {SIZE, SIZE}},
                                   .clearValueCount = 1,
                                   .pClearValues = &cleared};
    vkCmdBeginRenderPass(c, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(c);
    if (!second)
        return;
    begin.renderPass = second; // nothing is cleared, but it has to wait for the first
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                         &barrier, 0, NULL, 0, NULL);
    vkCmdBeginRenderPass(c, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdEndRenderPass(c);
}

static void put_dynamic(VkCommandBuffer c) {
    const VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .dstAccessMask = VK_ACCESS_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT,
        .newLayout = layout,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {stencil ? VK_IMAGE_ASPECT_STENCIL_BIT : VK_IMAGE_ASPECT_DEPTH_BIT, 0, 1, 0, 1}};
    const VkRenderingAttachmentInfo attachment = {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
                                                  .imageView = view,
                                                  .imageLayout = layout,
                                                  .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                  .storeOp = store,
                                                  .clearValue = cleared};
    const VkRenderingInfo info = {.sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                  .renderArea = {{0, 0}, {SIZE, SIZE}},
                                  .layerCount = 1,
                                  .pDepthAttachment = stencil ? NULL : &attachment,
                                  .pStencilAttachment = stencil ? &attachment : NULL};
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                         NULL, 0, NULL, 1, &barrier);
    vkCmdBeginRendering(c, &info);
    vkCmdEndRendering(c);
}

static void execute(void) {
    const VkCommandBuffer c = begin_commands();
    if (dynamic)
        put_dynamic(c);
    else
        put_pass(c);
    run_commands(c);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    stencil = strcmp(argv[1], "stencil") == 0;
    drop = strcmp(argv[2], "drop") == 0;
    store = drop || strcmp(argv[2], "store") == 0 ? VK_ATTACHMENT_STORE_OP_STORE
            : strcmp(argv[2], "forget") == 0      ? VK_ATTACHMENT_STORE_OP_DONT_CARE
                                                  : VK_ATTACHMENT_STORE_OP_NONE;
    dynamic = strcmp(argv[3], "dynamic") == 0;
    format = stencil ? VK_FORMAT_S8_UINT : VK_FORMAT_D32_SFLOAT;
    open_device();
    make_image();
    if (!dynamic)
        make_pass();
    for (int i = 0; i < EXECUTIONS; i++)
        execute();
    vkDestroyFramebuffer(device, frame, NULL);
    vkDestroyRenderPass(device, pass, NULL);
    vkDestroyRenderPass(device, second, NULL);
    vkDestroyImageView(device, view, NULL);
    destroy_image(image, memory);
    close_device();
    return 0;
}
