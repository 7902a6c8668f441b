// SPDX-License-Identifier: Apache-2.0
// What a recorder must not disturb. Called by test_levels.sh:
//   levels   an image of two levels with layouts of their own; each execution fills a buffer up to its end, and the second level
//   query    prints what a wait for a query that was never begun returns
#include <string.h>

#include "setup.h"

enum { SIZE = 8, BYTES = 4 * SIZE * SIZE, EXECUTIONS = 3 };
static const VkImageLayout filled = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;

static VkQueue queue;
static VkCommandPool pool;
static VkImage image;
static VkBuffer buffer;

static void open_device(void) {
    const float priority = 1;
    const VkDeviceQueueCreateInfo queues = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .hostQueryReset = VK_TRUE};
    const VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .pNext = &features,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queues};
    const VkCommandPoolCreateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    open_instance();
    CHECK(vkCreateDevice(physical, &create, NULL, &device));
    vkGetDeviceQueue(device, 0, 0, &queue);
    CHECK(vkCreateCommandPool(device, &commands, NULL, &pool));
}

static void move(VkCommandBuffer c, uint32_t level, VkImageLayout from, VkImageLayout to) {
    const VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                          .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                          .dstAccessMask =
                                              VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_READ_BIT,
                                          .oldLayout = from,
                                          .newLayout = to,
                                          .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
                                          .image = image,
                                          .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, level, 1, 0, 1}};
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0,
                         NULL, 0, NULL, 1, &barrier);
}

static void fill(VkCommandBuffer c, uint32_t level) {
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, 0, 1},
                                      .imageExtent = {SIZE >> level, SIZE >> level, 1}};
    vkCmdCopyBufferToImage(c, buffer, image, filled, 1, &region);
}

static void execute(int first) {
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const uint32_t word = 7;
    VkCommandBuffer c;
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &c};
    CHECK(vkAllocateCommandBuffers(device, &info, &c));
    CHECK(vkBeginCommandBuffer(c, &begin));
    vkCmdFillBuffer(c, buffer, 4, VK_WHOLE_SIZE, 7);
    vkCmdUpdateBuffer(c, buffer, 0, 4, &word);
    if (first) {
        move(c, 0, VK_IMAGE_LAYOUT_UNDEFINED, filled);
        move(c, 1, VK_IMAGE_LAYOUT_UNDEFINED, filled);
        fill(c, 0);
        move(c, 0, filled, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    }
    fill(c, 1);
    CHECK(vkEndCommandBuffer(c));
    CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
}

static void run_levels(void) {
    const VkImageCreateInfo images = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                      .imageType = VK_IMAGE_TYPE_2D,
                                      .format = VK_FORMAT_R8G8B8A8_UNORM,
                                      .extent = {SIZE, SIZE, 1},
                                      .mipLevels = 2,
                                      .arrayLayers = 1,
                                      .samples = VK_SAMPLE_COUNT_1_BIT,
                                      .usage = VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT};
    const VkBufferCreateInfo buffers = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                        .size = BYTES + 3, // a fill leaves out the last three
                                        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                 VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkDeviceMemory of_image, of_buffer;
    VkMemoryRequirements needs;
    image = make_bound_image(&images, &of_image);
    CHECK(vkCreateBuffer(device, &buffers, NULL, &buffer));
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    of_buffer = allocate(&needs, 0);
    CHECK(vkBindBufferMemory(device, buffer, of_buffer, 0));
    for (int i = 0; i < EXECUTIONS; i++)
        execute(i == 0);
    destroy_buffer(buffer, of_buffer);
    destroy_image(image, of_image);
}

static void run_query(void) {
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_OCCLUSION,
                                        .queryCount = 1};
    VkQueryPool queries;
    uint64_t value = 5;
    CHECK(vkCreateQueryPool(device, &info, NULL, &queries));
    vkResetQueryPool(device, queries, 0, 1);
    printf("%d\n", vkGetQueryPoolResults(device, queries, 0, 1, sizeof value, &value, sizeof value,
                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    vkDestroyQueryPool(device, queries, NULL);
}

int main(int argc, char **argv) {
    open_device();
    if (argc > 1 && strcmp(argv[1], "query") == 0)
        run_query();
    else
        run_levels();
    vkDestroyCommandPool(device, pool, NULL);
    close_instance();
    return 0;
}
