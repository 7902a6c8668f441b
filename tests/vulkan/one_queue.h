// SPDX-License-Identifier: Apache-2.0
// What programs of these tests with one queue do alike: the device, images, buffers, and command buffers that they wait for. For levels.c,
// links.c, passes.c, stencils.c and stores.c.
#ifndef TESTS_VULKAN_ONE_QUEUE_H
#define TESTS_VULKAN_ONE_QUEUE_H

#include "setup.h"

static VkQueue queue;
static VkCommandPool pool;

// The device of open_instance, with the features and extensions of `wanted`. 0: it cannot be made.
static int make_device(const VkDeviceCreateInfo *wanted) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    VkDeviceCreateInfo info = *wanted;
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    if (vkCreateDevice(physical, &info, NULL, &device) != VK_SUCCESS)
        return 0;
    vkGetDeviceQueue(device, 0, 0, &queue);
    CHECK(vkCreateCommandPool(device, &commands, NULL, &pool));
    return 1;
}

// A square image of one level, layer and sample.
static VkImageCreateInfo plain_image(VkFormat format, uint32_t size, VkImageUsageFlags usage) {
    return (VkImageCreateInfo){.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                               .imageType = VK_IMAGE_TYPE_2D,
                               .format = format,
                               .extent = {size, size, 1},
                               .mipLevels = 1,
                               .arrayLayers = 1,
                               .samples = VK_SAMPLE_COUNT_1_BIT,
                               .usage = usage};
}

__attribute__((unused)) static VkImageView make_view(VkImage image, VkFormat format,
                                                     VkImageAspectFlags aspects) {
    const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                        .image = image,
                                        .viewType = VK_IMAGE_VIEW_TYPE_2D,
                                        .format = format,
                                        .subresourceRange = {aspects, 0, 1, 0, 1}};
    VkImageView view;
    CHECK(vkCreateImageView(device, &info, NULL, &view));
    return view;
}

__attribute__((unused)) static VkBuffer make_bound_buffer(VkDeviceMemory *memory, VkDeviceSize size,
                                                          VkBufferUsageFlags usage,
                                                          VkMemoryPropertyFlags wanted) {
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = usage};
    VkMemoryRequirements needs;
    VkBuffer buffer;
    CHECK(vkCreateBuffer(device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    *memory = allocate(&needs, wanted);
    CHECK(vkBindBufferMemory(device, buffer, *memory, 0));
    return buffer;
}

// A buffer that the host reads and writes; where it is.
__attribute__((unused)) static void *make_mapped(VkBuffer *made, VkDeviceMemory *memory, VkDeviceSize size,
                                                 VkBufferUsageFlags usage) {
    void *at;
    *made = make_bound_buffer(memory, size, usage,
                              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    CHECK(vkMapMemory(device, *memory, 0, VK_WHOLE_SIZE, 0, &at));
    return at;
}

static VkCommandBuffer begin_commands(void) {
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkCommandBuffer c;
    CHECK(vkAllocateCommandBuffers(device, &info, &c));
    CHECK(vkBeginCommandBuffer(c, &begin));
    return c;
}

static void submit_commands(VkCommandBuffer c) {
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c};
    CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
}

// Ends them, and waits until they are complete.
__attribute__((unused)) static void run_commands(VkCommandBuffer c) {
    CHECK(vkEndCommandBuffer(c));
    submit_commands(c);
    CHECK(vkQueueWaitIdle(queue));
}

// Another layout of a level, after all commands before and before all commands after.
__attribute__((unused)) static void move_part(VkCommandBuffer c, VkImage image, VkImageAspectFlags aspects,
                                              uint32_t level, VkImageLayout from, VkImageLayout to) {
    const VkAccessFlags all = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = all,
                                          .dstAccessMask = all,
                                          .oldLayout = from,
                                          .newLayout = to,
                                          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .image = image,
                                          .subresourceRange = {aspects, level, 1, 0, 1}};
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                         NULL, 0, NULL, 1, &barrier);
}

// The same of an image with colors and one level.
__attribute__((unused)) static void move_image(VkCommandBuffer c, VkImage image, VkImageLayout from,
                                               VkImageLayout to) {
    move_part(c, image, VK_IMAGE_ASPECT_COLOR_BIT, 0, from, to);
}

// After all other objects.
static void close_device(void) {
    vkDestroyCommandPool(device, pool, NULL);
    close_instance();
}

#endif
