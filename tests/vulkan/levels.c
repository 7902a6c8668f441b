// SPDX-License-Identifier: Apache-2.0
// What a recorder must not disturb. Called by test_levels.sh:
//   levels   an image of two levels with layouts of their own; each execution fills a buffer up to its end, and the second level
//   query    prints what a wait for a query that was never begun returns
//   many     more buffers at once than a table of the agent has places for
#include <string.h>

#include "one_queue.h"

enum { SIZE = 8, BYTES = 4 * SIZE * SIZE, EXECUTIONS = 3 };
static const VkImageLayout filled = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;

static VkImage image;
static VkBuffer buffer;

static void open_device(void) {
    const VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .hostQueryReset = VK_TRUE};
    open_instance();
    if (!make_device(&(VkDeviceCreateInfo){.pNext = &features}))
        exit(3);
}

static void fill(VkCommandBuffer c, uint32_t level) {
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, level, 0, 1},
                                      .imageExtent = {SIZE >> level, SIZE >> level, 1}};
    vkCmdCopyBufferToImage(c, buffer, image, filled, 1, &region);
}

static void execute(int first) {
    const uint32_t word = 7;
    const VkCommandBuffer c = begin_commands();
    vkCmdFillBuffer(c, buffer, 4, VK_WHOLE_SIZE, 7);
    vkCmdUpdateBuffer(c, buffer, 0, 4, &word);
    if (first) {
        move_part(c, image, VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_IMAGE_LAYOUT_UNDEFINED, filled);
        move_part(c, image, VK_IMAGE_ASPECT_COLOR_BIT, 1, VK_IMAGE_LAYOUT_UNDEFINED, filled);
        fill(c, 0);
        move_part(c, image, VK_IMAGE_ASPECT_COLOR_BIT, 0, filled, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    }
    fill(c, 1);
    run_commands(c);
}

static void run_levels(void) {
    VkImageCreateInfo images = plain_image(VK_FORMAT_R8G8B8A8_UNORM, SIZE,
                                           VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_SAMPLED_BIT);
    VkDeviceMemory of_image, of_buffer;
    images.mipLevels = 2;
    image = make_bound_image(&images, &of_image);
    // A fill leaves out the last three bytes.
    buffer = make_bound_buffer(&of_buffer, BYTES + 3,
                               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, 0);
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

static void make_many(void) {
    enum { MANY = 70000 };
    static VkBuffer all[MANY];
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    for (int i = 0; i < MANY; i++)
        CHECK(vkCreateBuffer(device, &info, NULL, &all[i]));
    for (int i = 0; i < MANY; i++)
        vkDestroyBuffer(device, all[i], NULL);
}

int main(int argc, char **argv) {
    open_device();
    if (argc > 1 && strcmp(argv[1], "query") == 0)
        run_query();
    else if (argc > 1 && strcmp(argv[1], "many") == 0)
        make_many();
    else
        run_levels();
    close_device();
    return 0;
}
