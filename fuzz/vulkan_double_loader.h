// SPDX-License-Identifier: Apache-2.0
// The loader and the physical device of vulkan_double.h. For fuzz_vulkan_replay.c and tests/replay/test_vulkan_checks.c.
#ifndef FUZZ_VULKAN_DOUBLE_LOADER_H
#define FUZZ_VULKAN_DOUBLE_LOADER_H

#include "replay/vulkan/vulkan.h"

#include "vulkan_double.h"

static VkResult double_CreateInstance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *unused,
                                      VkInstance *out) {
    (void)info, (void)unused;
    *out = (VkInstance)(uintptr_t)double_make(DOUBLE_OTHER);
    return VK_SUCCESS;
}
static void double_DestroyInstance(VkInstance instance, const VkAllocationCallbacks *unused) {
    (void)unused;
    OBJECT(instance, DOUBLE_OTHER)->alive = false;
}
static VkResult double_EnumeratePhysicalDevices(VkInstance instance, uint32_t *count, VkPhysicalDevice *out) {
    *count = 1;
    *out = (VkPhysicalDevice)(uintptr_t)instance;
    return VK_SUCCESS;
}
static void double_GetPhysicalDeviceProperties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out) {
    (void)device;
    *out = (VkPhysicalDeviceProperties){
        .apiVersion = vulkan_double.sized ? VK_API_VERSION_1_3 : VK_API_VERSION_1_2,
        .deviceName = "double",
        .limits = {.maxImageDimension1D = DOUBLE_LIMIT,
                   .maxImageDimension2D = DOUBLE_LIMIT,
                   .maxImageDimension3D = DOUBLE_LIMIT,
                   .maxImageArrayLayers = DOUBLE_LIMIT,
                   .maxPushConstantsSize = DOUBLE_LIMIT,
                   .maxBoundDescriptorSets = DOUBLE_LIMIT,
                   .maxVertexInputBindings = DOUBLE_LIMIT,
                   .maxVertexInputAttributes = DOUBLE_LIMIT,
                   .maxVertexInputAttributeOffset = DOUBLE_LIMIT,
                   .maxTessellationPatchSize = DOUBLE_LIMIT,
                   .maxColorAttachments = DOUBLE_COLORS,
                   .maxViewports = DOUBLE_LIMIT,
                   .maxFramebufferWidth = DOUBLE_LIMIT,
                   .maxFramebufferHeight = DOUBLE_LIMIT,
                   .maxFramebufferLayers = DOUBLE_LIMIT,
                   .maxVertexInputBindingStride = DOUBLE_LIMIT,
                   .maxComputeWorkGroupCount = {DOUBLE_LIMIT, DOUBLE_LIMIT, DOUBLE_LIMIT},
                   .maxComputeWorkGroupSize = {DOUBLE_LIMIT, DOUBLE_LIMIT, DOUBLE_LIMIT},
                   .maxComputeWorkGroupInvocations = DOUBLE_LIMIT,
                   .maxDrawIndirectCount = DOUBLE_LIMIT,
                   .maxUniformBufferRange = DOUBLE_ALLOC_MOST,
                   .maxStorageBufferRange = DOUBLE_ALLOC_MOST,
                   .minUniformBufferOffsetAlignment = DOUBLE_ALIGNMENT,
                   .minStorageBufferOffsetAlignment = DOUBLE_ALIGNMENT,
                   .maxTexelBufferElements = DOUBLE_ALLOC_MOST,
                   .maxPerStageDescriptorSamplers = DOUBLE_LIMIT,
                   .maxPerStageDescriptorUniformBuffers = DOUBLE_LIMIT,
                   .maxPerStageDescriptorStorageBuffers = DOUBLE_LIMIT,
                   .maxPerStageDescriptorSampledImages = DOUBLE_LIMIT,
                   .maxPerStageDescriptorStorageImages = DOUBLE_LIMIT,
                   .maxPerStageDescriptorInputAttachments = DOUBLE_LIMIT,
                   .maxViewportDimensions = {DOUBLE_LIMIT, DOUBLE_LIMIT},
                   .viewportBoundsRange = {-DOUBLE_LIMIT, DOUBLE_LIMIT},
                   .maxSamplerLodBias = DOUBLE_LIMIT,
                   .maxSamplerAnisotropy = DOUBLE_LIMIT}};
}
// Asked for its subgroups alone.
static void double_GetPhysicalDeviceProperties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out) {
    VkPhysicalDeviceSubgroupSizeControlProperties *sizes = out->pNext;
    (void)device;
    sizes->minSubgroupSize = 4;
    sizes->maxSubgroupSize = 32;
    sizes->maxComputeWorkgroupSubgroups = 2;
    sizes->requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
}
// Formats of up to 16 bytes, of four samples at most; images of one level if they are linear.
static VkResult double_GetPhysicalDeviceImageFormatProperties(VkPhysicalDevice device, VkFormat format,
                                                              VkImageType type, VkImageTiling tiling,
                                                              VkImageUsageFlags usage,
                                                              VkImageCreateFlags flags,
                                                              VkImageFormatProperties *out) {
    (void)device, (void)type, (void)usage, (void)flags;
    *out = (VkImageFormatProperties){
        .maxExtent = {DOUBLE_LIMIT, DOUBLE_LIMIT, DOUBLE_LIMIT},
        .maxMipLevels = tiling == VK_IMAGE_TILING_LINEAR ? 1 : DOUBLE_LIMIT,
        .maxArrayLayers = DOUBLE_LIMIT,
        .sampleCounts = VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_4_BIT,
    };
    return double_supports(format) ? VK_SUCCESS : VK_ERROR_FORMAT_NOT_SUPPORTED;
}
static void double_GetPhysicalDeviceFormatProperties(VkPhysicalDevice device, VkFormat format,
                                                     VkFormatProperties *out) {
    const VkFormatFeatureFlags all = double_supports(format) ? UINT32_MAX : 0;
    (void)device;
    *out = (VkFormatProperties){all, all, all};
}
static void double_GetPhysicalDeviceMemoryProperties(VkPhysicalDevice device,
                                                     VkPhysicalDeviceMemoryProperties *out) {
    (void)device;
    *out = (VkPhysicalDeviceMemoryProperties){.memoryTypeCount = 1};
    out->memoryTypes[0].propertyFlags =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
}
static void double_GetPhysicalDeviceQueueFamilyProperties(VkPhysicalDevice device, uint32_t *count,
                                                          VkQueueFamilyProperties *out) {
    (void)device;
    *count = 1;
    *out = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT};
}
static void double_GetPhysicalDeviceFeatures(VkPhysicalDevice device, VkPhysicalDeviceFeatures *out) {
    (void)device;
    *out = vulkan_double.features;
}
// Each feature of a struct.
static void double_fill(VkBaseOutStructure *at, size_t size) {
    const VkBool32 on = VK_TRUE;
    for (size_t offset = sizeof *at; offset + sizeof on <= size; offset += sizeof on)
        memcpy((uint8_t *)at + offset, &on, sizeof on);
}
static void double_GetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out) {
    (void)device;
    for (VkBaseOutStructure *at = out->pNext; at; at = at->pNext) {
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            ((VkPhysicalDeviceVulkan12Features *)at)->drawIndirectCount = VK_TRUE;
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES)
            ((VkPhysicalDeviceVulkan13Features *)at)->subgroupSizeControl = VK_TRUE;
#define FILL_EXTRA(member, features, TYPE, EXTENSION)                                                        \
    if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE)                                               \
        double_fill(at, sizeof(VkPhysicalDevice##features));
        VULKAN_EXTRAS(FILL_EXTRA)
#undef FILL_EXTRA
    }
}
// All extensions that a replay uses, with all their features.
static VkResult double_EnumerateDeviceExtensionProperties(VkPhysicalDevice device, const char *layer,
                                                          uint32_t *count, VkExtensionProperties *out) {
#define EXTRA_NAME(member, features, TYPE, EXTENSION) VK_##EXTENSION##_EXTENSION_NAME,
    static const char *const names[] = {VULKAN_EXTRAS(EXTRA_NAME)};
#undef EXTRA_NAME
    const uint32_t all = vulkan_double.plain ? 0 : sizeof names / sizeof *names;
    (void)device, (void)layer;
    for (uint32_t i = 0; out && i < all && i < *count; i++)
        memcpy(out[i].extensionName, names[i], strlen(names[i]) + 1);
    *count = all;
    return VK_SUCCESS;
}
static VkResult double_CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                    const VkAllocationCallbacks *unused, VkDevice *out) {
    (void)physical, (void)info, (void)unused;
    *out = (VkDevice)(uintptr_t)double_make(DOUBLE_OTHER);
    return VK_SUCCESS;
}

#define ROW(name, ...) {"vk" #name, (PFN_vkVoidFunction)double_##name},
static PFN_vkVoidFunction find_double(const char *name);
static PFN_vkVoidFunction double_GetDeviceProcAddr(VkDevice device, const char *name) {
    (void)device;
    return find_double(name);
}
static PFN_vkVoidFunction find_double(const char *name) {
    static const struct {
        const char *name;
        PFN_vkVoidFunction function;
    } rows[] = {ROW(CreateInstance) VULKAN_REPLAY_INSTANCE(ROW) VULKAN_REPLAY_ALL(ROW)};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].function;
    return NULL;
}
static PFN_vkVoidFunction get_function(VkInstance instance, const char *name) {
    (void)instance;
    return find_double(name);
}

#endif
