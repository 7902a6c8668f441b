// SPDX-License-Identifier: Apache-2.0
// What programs of these tests set up alike: an instance and its first device, memory, shaders. For families.c and one_queue.h.
#ifndef TESTS_VULKAN_SETUP_H
#define TESTS_VULKAN_SETUP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        const VkResult result = (call);                                                                      \
        if (result != VK_SUCCESS) {                                                                          \
            fprintf(stderr, "%s: %d\n", #call, result);                                                      \
            exit(3);                                                                                         \
        }                                                                                                    \
    } while (0)

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;

static void open_instance(void) {
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    uint32_t count = 1;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    if (vkEnumeratePhysicalDevices(instance, &count, &physical) < VK_SUCCESS || !count)
        exit(4);
}

static VkMemoryAllocateFlags memory_flags; // of all memory

static VkDeviceMemory allocate(const VkMemoryRequirements *needs, VkMemoryPropertyFlags wanted) {
    VkPhysicalDeviceMemoryProperties types;
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = memory_flags};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = memory_flags ? &flags : NULL,
                                 .allocationSize = needs->size};
    VkDeviceMemory memory;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    while (!(needs->memoryTypeBits >> info.memoryTypeIndex & 1) ||
           (types.memoryTypes[info.memoryTypeIndex].propertyFlags & wanted) != wanted)
        info.memoryTypeIndex++;
    CHECK(vkAllocateMemory(device, &info, NULL, &memory));
    return memory;
}

// An image with memory of its own.
static VkImage make_bound_image(const VkImageCreateInfo *info, VkDeviceMemory *memory) {
    VkMemoryRequirements needs;
    VkImage image;
    CHECK(vkCreateImage(device, info, NULL, &image));
    vkGetImageMemoryRequirements(device, image, &needs);
    *memory = allocate(&needs, 0);
    CHECK(vkBindImageMemory(device, image, *memory, 0));
    return image;
}

// What has memory of its own.
__attribute__((unused)) static void destroy_image(VkImage image, VkDeviceMemory memory) {
    vkDestroyImage(device, image, NULL);
    vkFreeMemory(device, memory, NULL);
}

__attribute__((unused)) static void destroy_buffer(VkBuffer buffer, VkDeviceMemory memory) {
    vkDestroyBuffer(device, buffer, NULL);
    vkFreeMemory(device, memory, NULL);
}

// After all other objects.
static void close_instance(void) {
    vkDestroyDevice(device, NULL);
    vkDestroyInstance(instance, NULL);
}

__attribute__((unused)) static VkShaderModule read_module(const char *path) {
    static uint32_t code[1 << 14];
    VkShaderModule module;
    FILE *file = fopen(path, "rb");
    const size_t bytes = file ? fread(code, 1, sizeof code, file) : 0;
    if (!bytes)
        exit(5);
    fclose(file);
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = code};
    CHECK(vkCreateShaderModule(device, &info, NULL, &module));
    return module;
}

// For each byte or word of what was computed, from this on.
static const uint64_t hash_start = 14695981039346656037u;
__attribute__((unused)) static uint64_t hash_more(uint64_t hash, uint32_t value) {
    return (hash ^ value) * 1099511628211u;
}

#endif
