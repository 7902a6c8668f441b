// SPDX-License-Identifier: Apache-2.0
// An image with both depth and stencil, whose content is kept from execution to execution. Called by test_frames.sh:
//   stencils FORMAT MODE
// FORMAT: 24 or 32 bits of depth. Prints a hash of the depths and stencils that an execution ends with, by the program itself; it ends
// with 77 if the device has no such images. Modes:
//   joined    depth and stencil have one layout
//   separate  they have layouts of their own: barriers change one of them, and a render pass of create_renderpass2 has one for each
// Each execution reads the stencil, which the first one wrote, and clears the depth to another value.
#include <string.h>

#include "one_queue.h"

enum { SIZE = 16, TEXELS = SIZE * SIZE, EXECUTIONS = 2, STENCIL = 0xa5 };

static VkFormat format;
static int separate;
static VkImage image;
static VkImageView view;
static VkBuffer buffer;
static VkDeviceMemory image_memory, buffer_memory;
static const uint8_t *bytes; // depths, then stencils
static VkRenderPass pass;
static VkFramebuffer frame;
static VkImageLayout depth_layout, stencil_layout; // now

static void open_device(void) {
    VkPhysicalDeviceVulkan12Features have = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES},
                                     wanted = have;
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &have};
    VkFormatProperties properties;
    open_instance();
    vkGetPhysicalDeviceFeatures2(physical, &features);
    vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
    if ((separate && !have.separateDepthStencilLayouts) ||
        !(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT))
        exit(77);
    wanted.separateDepthStencilLayouts = separate;
    if (!make_device(&(VkDeviceCreateInfo){.pNext = &wanted}))
        exit(3);
}

static void make_resources(void) {
    const VkImageCreateInfo images =
        plain_image(format, SIZE,
                    VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT |
                        VK_IMAGE_USAGE_TRANSFER_DST_BIT);
    image = make_bound_image(&images, &image_memory);
    view = make_view(image, format, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT);
    bytes = make_mapped(&buffer, &buffer_memory, TEXELS * 5, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
}

// Clears the depth, and keeps the stencil, which it reads.
static void make_pass(void) {
    const VkAttachmentDescriptionStencilLayout stencil = {
        .sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT,
        .stencilInitialLayout = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
        .stencilFinalLayout = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL};
    const VkAttachmentReferenceStencilLayout inside = {
        .sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_STENCIL_LAYOUT,
        .stencilLayout = VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL};
    const VkImageLayout layout = separate ? VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL
                                          : VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL;
    const VkAttachmentDescription2 attachment = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2,
                                                 .pNext = separate ? &stencil : NULL,
                                                 .format = format,
                                                 .samples = VK_SAMPLE_COUNT_1_BIT,
                                                 .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
                                                 .stencilLoadOp = VK_ATTACHMENT_LOAD_OP_LOAD,
                                                 .initialLayout = layout,
                                                 .finalLayout = layout};
    const VkAttachmentReference2 reference = {.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2,
                                              .pNext = separate ? &inside : NULL,
                                              .layout = layout,
                                              .aspectMask =
                                                  VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT};
    const VkSubpassDescription2 subpass = {.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2,
                                           .pDepthStencilAttachment = &reference};
    const VkRenderPassCreateInfo2 info = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2,
                                          .attachmentCount = 1,
                                          .pAttachments = &attachment,
                                          .subpassCount = 1,
                                          .pSubpasses = &subpass};
    CHECK(vkCreateRenderPass2(device, &info, NULL, &pass));
    const VkFramebufferCreateInfo frames = {.sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
                                            .renderPass = pass,
                                            .attachmentCount = 1,
                                            .pAttachments = &view,
                                            .width = SIZE,
                                            .height = SIZE,
                                            .layers = 1};
    CHECK(vkCreateFramebuffer(device, &frames, NULL, &frame));
}

// Without layouts of their own the first is that of both.
static void move_to(VkCommandBuffer c, VkImageLayout depth, VkImageLayout stencil) {
    if (!separate)
        move_part(c, image, VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT, 0, depth_layout, depth);
    if (separate && depth != depth_layout)
        move_part(c, image, VK_IMAGE_ASPECT_DEPTH_BIT, 0, depth_layout, depth);
    if (separate && stencil != stencil_layout)
        move_part(c, image, VK_IMAGE_ASPECT_STENCIL_BIT, 0, stencil_layout, stencil);
    depth_layout = depth;
    stencil_layout = stencil;
}

static void copy(VkCommandBuffer c, VkImageAspectFlags aspect, VkDeviceSize at) {
    const VkBufferImageCopy region = {
        .bufferOffset = at, .imageSubresource = {aspect, 0, 0, 1}, .imageExtent = {SIZE, SIZE, 1}};
    vkCmdCopyImageToBuffer(c, image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer, 1, &region);
}

static void put(VkCommandBuffer c, int execution) {
    const VkClearValue depth = {.depthStencil = {(float)execution / 4, 0}};
    const VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
                                         .renderPass = pass,
                                         .framebuffer = frame,
                                         .renderArea = {{0, 0}, {SIZE, SIZE}},
                                         .clearValueCount = 1,
                                         .pClearValues = &depth};
    const VkSubpassBeginInfo inside = {.sType = VK_STRUCTURE_TYPE_SUBPASS_BEGIN_INFO};
    const VkSubpassEndInfo end = {.sType = VK_STRUCTURE_TYPE_SUBPASS_END_INFO};
    if (execution == 1) {
        const VkClearDepthStencilValue value = {0.125f, STENCIL};
        const VkImageSubresourceRange stencil = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 1, 0, 1};
        move_to(c, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        vkCmdClearDepthStencilImage(c, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &value, 1, &stencil);
    }
    if (separate)
        move_to(c, VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL, VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL);
    else
        move_to(c, VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL, 0);
    vkCmdBeginRenderPass2(c, &begin, &inside);
    vkCmdEndRenderPass2(c, &end);
    move_to(c, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL);
    copy(c, VK_IMAGE_ASPECT_DEPTH_BIT, 0);
    move_to(c, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    copy(c, VK_IMAGE_ASPECT_STENCIL_BIT, TEXELS * 4);
    // The layouts in which the next execution finds it differ.
    if (separate)
        move_to(c, VK_IMAGE_LAYOUT_DEPTH_READ_ONLY_OPTIMAL, VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL);
}

static void execute(int execution) {
    const VkCommandBuffer c = begin_commands();
    put(c, execution);
    run_commands(c);
}

// Each texel has the depth of this execution and the stencil of the first one.
static void judge(int execution) {
    for (int i = 0; i < TEXELS; i++) {
        uint32_t bits;
        float depth;
        memcpy(&bits, bytes + i * 4, sizeof bits);
        memcpy(&depth, bytes + i * 4, sizeof depth);
        if (format == VK_FORMAT_D24_UNORM_S8_UINT)
            depth = (float)(bits & 0xffffff) / 0xffffff;
        if (bytes[TEXELS * 4 + i] != STENCIL || depth < (float)execution / 4 - 0.001f ||
            depth > (float)execution / 4 + 0.001f)
            exit(6);
    }
}

static void destroy_all(void) {
    vkDestroyFramebuffer(device, frame, NULL);
    vkDestroyRenderPass(device, pass, NULL);
    vkDestroyImageView(device, view, NULL);
    destroy_image(image, image_memory);
    destroy_buffer(buffer, buffer_memory);
    close_device();
}

int main(int argc, char **argv) {
    uint64_t hash = hash_start;
    if (argc < 3)
        return 2;
    format = strcmp(argv[1], "24") == 0 ? VK_FORMAT_D24_UNORM_S8_UINT : VK_FORMAT_D32_SFLOAT_S8_UINT;
    separate = strcmp(argv[2], "separate") == 0;
    open_device();
    make_resources();
    make_pass();
    for (int i = 1; i <= EXECUTIONS; i++) {
        execute(i);
        judge(i);
    }
    for (uint32_t i = 0; i < TEXELS * 5; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = hash_more(hash, word);
    }
    printf("%016llx\n", (unsigned long long)hash);
    destroy_all();
    return 0;
}
