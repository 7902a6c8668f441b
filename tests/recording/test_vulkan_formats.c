// SPDX-License-Identifier: Apache-2.0
// How the content of images lies in a recording (recording/vulkan/formats.h): random images, whose copies are judged by the rules of
// vkCmdCopyImageToBuffer and by sizes that are added up here.
#include "recording/vulkan/headers.h"
#include "support/test.h"

#ifdef RECORDING_HAS_VULKAN

#include <string.h>

#include "recording/vulkan/formats.h"

static const struct {
    VkFormat format;
    uint32_t depth, stencil; // bytes of a texel; of colors the first
} formats[] = {{VK_FORMAT_R8_UNORM, 1, 0},
               {VK_FORMAT_R8G8B8A8_UNORM, 4, 0},
               {VK_FORMAT_R32G32B32_SFLOAT, 12, 0},
               {VK_FORMAT_D16_UNORM, 2, 0},
               {VK_FORMAT_X8_D24_UNORM_PACK32, 4, 0},
               {VK_FORMAT_D32_SFLOAT, 4, 0},
               {VK_FORMAT_S8_UINT, 1, 0},
               {VK_FORMAT_D16_UNORM_S8_UINT, 2, 1},
               {VK_FORMAT_D24_UNORM_S8_UINT, 4, 1},
               {VK_FORMAT_D32_SFLOAT_S8_UINT, 4, 1}};
enum { FORMATS = sizeof formats / sizeof *formats };

static uint32_t halve(uint32_t size, uint32_t times) {
    for (; times; times--)
        size = size > 1 ? size / 2 : 1;
    return size;
}

static void judge(const struct vulkan_texels *texels, uint32_t depth, uint32_t stencil) {
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    uint64_t bytes, end = 0;
    const uint32_t count = vulkan_image_copies(texels, UINT64_MAX / 2, copies, &bytes);
    assert_int_equal(count, texels->levels * (stencil ? 2 : 1));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t level = i % texels->levels, texel = i < texels->levels ? depth : stencil;
        const VkExtent3D size = copies[i].imageExtent;
        const VkImageAspectFlags aspect = copies[i].imageSubresource.aspectMask;
        assert_int_equal(copies[i].imageSubresource.mipLevel, level);
        assert_int_equal(copies[i].imageSubresource.layerCount, texels->layers);
        assert_int_equal(size.width, halve(texels->extent.width, level));
        assert_int_equal(size.height, halve(texels->extent.height, level));
        assert_int_equal(size.depth, halve(texels->extent.depth, level));
        // One aspect of the format, depth first.
        assert_true(!(aspect & (aspect - 1)) && aspect & vulkan_format_aspect(texels->format));
        assert_true(!stencil || (aspect == VK_IMAGE_ASPECT_STENCIL_BIT) == (i >= texels->levels));
        assert_int_equal(vulkan_aspect_bytes(texels->format, aspect), texel);
        assert_int_equal(copies[i].bufferOffset % 4, 0);
        assert_int_equal(copies[i].bufferOffset % texel, 0);
        assert_true(copies[i].bufferOffset >= end && copies[i].bufferOffset < end + 4 * (uint64_t)texel);
        end =
            copies[i].bufferOffset + (uint64_t)size.width * size.height * size.depth * texels->layers * texel;
    }
    assert_int_equal(bytes, end);
    assert_int_equal(vulkan_image_copies(texels, bytes, copies, &bytes), count);
    assert_int_equal(vulkan_image_copies(texels, end - 1, copies, &bytes), 0);
    assert_int_equal(bytes, 0);
}

static void test_copies(void **state) {
    struct random random = {1};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        const uint32_t which = (uint32_t)random_below(&random, FORMATS);
        const struct vulkan_texels texels = {.format = formats[which].format,
                                             .extent = {1 + (uint32_t)random_below(&random, 300),
                                                        1 + (uint32_t)random_below(&random, 300),
                                                        1 + (uint32_t)random_below(&random, 3)},
                                             .levels = 1 + (uint32_t)random_below(&random, 9),
                                             .layers = 1 + (uint32_t)random_below(&random, 7)};
        judge(&texels, formats[which].depth, formats[which].stencil);
    }
}

// Sizes that do not fit 64 bits are no content, as are those of compressed formats and of too many levels.
static void test_none(void **state) {
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    const struct vulkan_texels none[] = {
        {VK_FORMAT_D32_SFLOAT_S8_UINT, {UINT32_MAX, UINT32_MAX, 1}, 1, UINT32_MAX},
        {VK_FORMAT_R8G8B8A8_UNORM, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, 32, 1},
        {VK_FORMAT_R8_UNORM, {1, 1, 1}, 33, 1},
        {VK_FORMAT_BC1_RGB_UNORM_BLOCK, {4, 4, 1}, 1, 1},
        {VK_FORMAT_UNDEFINED, {4, 4, 1}, 1, 1}};
    uint64_t bytes;
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(vulkan_image_copies(&none[i], UINT64_MAX, copies, &bytes), 0);
        assert_int_equal(bytes, 0);
    }
}

// Of depths of 24 bits each fourth byte has no meaning, nor have those that are in no texel; all others stay.
static void test_unused(void **state) {
    enum { SIZE = 4096 };
    uint8_t content[SIZE], expected[SIZE];
    bool gaps = false;
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    uint64_t bytes;
    (void)state;
    for (uint32_t i = 0; i < FORMATS; i++) {
        const struct vulkan_texels texels = {formats[i].format, {9, 7, 1}, 3, 2};
        const uint32_t count = vulkan_image_copies(&texels, SIZE, copies, &bytes);
        const bool cleared = formats[i].format == VK_FORMAT_X8_D24_UNORM_PACK32 ||
                             formats[i].format == VK_FORMAT_D24_UNORM_S8_UINT;
        assert_true(count > 0);
        memset(content, 0xee, sizeof content);
        vulkan_clear_unused(formats[i].format, copies, count, content, bytes);
        memset(expected, 0, bytes);
        memset(expected + bytes, 0xee, SIZE - bytes);
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t level = j % texels.levels, texel = j < texels.levels ? formats[i].depth : 1;
            const uint64_t from = copies[j].bufferOffset,
                           to = from + (uint64_t)halve(9, level) * halve(7, level) * 2 * texel;
            for (uint64_t at = from; at < to; at++)
                expected[at] = cleared && j < texels.levels && at % 4 == 3 ? 0 : 0xee;
            gaps |= j + 1 < count && copies[j + 1].bufferOffset > to;
        }
        assert_memory_equal(content, expected, SIZE);
    }
    assert_true(gaps);
}

// Two layouts as one value, and again: UNDEFINED for the stencil alone is never recorded.
static void test_layouts(void **state) {
    static const VkImageLayout all[] = {VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                        VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
                                        VK_IMAGE_LAYOUT_STENCIL_READ_ONLY_OPTIMAL,
                                        VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_STENCIL_READ_ONLY_OPTIMAL};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t j = 0; j < sizeof all / sizeof *all; j++) {
            const uint64_t value = vulkan_layouts_put(all[i], all[j]);
            assert_int_equal(vulkan_layouts_get(value, false), all[i]);
            assert_int_equal(vulkan_layouts_get(value, true), all[j]);
        }
    // As it was before there were two.
    assert_int_equal(vulkan_layouts_put(all[2], all[2]), (uint64_t)all[2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_unused), cmocka_unit_test(test_layouts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else // built without the Vulkan headers, or with older ones

#include <stdio.h>
int main(void) {
    printf("skipped: built without the Vulkan headers (Debian: libvulkan-dev)\n");
    return 77;
}

#endif
