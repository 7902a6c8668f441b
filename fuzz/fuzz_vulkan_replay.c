// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording of frames of Vulkan, replayed on a driver that executes nothing (vulkan_double.h): whatever the recording has,
// the driver gets live handles, pointers to what it reads, and copies, updates, fills and push constants within the objects that they are
// for, as far as vulkan_double.h judges them. The last byte says whether the records are put right, and which creation fails.
#if __has_include(<vulkan/vulkan_core.h>)

#include <dlfcn.h>

#include "replay/vulkan/vulkan.h"

#include "made_recording.h"
#include "vulkan_double.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- the loader

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
    *out = (VkPhysicalDeviceProperties){.apiVersion = VK_API_VERSION_1_1,
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
                                                   .maxColorAttachments = DOUBLE_LIMIT,
                                                   .maxViewports = DOUBLE_LIMIT,
                                                   .maxFramebufferWidth = DOUBLE_LIMIT,
                                                   .maxFramebufferHeight = DOUBLE_LIMIT,
                                                   .maxFramebufferLayers = DOUBLE_LIMIT}};
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
    *out = (VkPhysicalDeviceFeatures){0};
}
static void double_GetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2 *out) {
    (void)device, (void)out;
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

// The linker turns the library's dlopen and dlsym here (fuzz/CMakeLists.txt).
void *__wrap_dlopen(const char *name, int flags);
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

// No other library: a recording that is not of Vulkan finds no driver.
void *__wrap_dlopen(const char *name, int flags) {
    (void)flags;
    return name && strcmp(name, "libvulkan.so.1") == 0 ? (void *)&vulkan_double : NULL;
}

void *__wrap_dlsym(void *library, const char *name) {
    return library == (void *)&vulkan_double ? __extension__(void *) get_function
                                             : __real_dlsym(library, name);
}

static void use(tsmith_recording *recording, uint8_t how) {
    tsmith_replay_options options = {.size = sizeof options, .times = 1, .patience_ns = 1};
    tsmith_error error;
    tsmith_replay *replay = NULL;
    vulkan_double.fail_at = how / 2;
    (void)tsmith_replay_run(recording, &options, &replay, &error);
    for (size_t i = 0; replay && i < tsmith_replay_result_count(replay); i++) {
        const tsmith_replay_result *result = tsmith_replay_result_get(replay, i);
        double_expect(tsmith_verdict_name(result->verdict) && result->what);
    }
    tsmith_replay_destroy(replay);
    double_expect(!double_finish()); // a replay leaves nothing of its own
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size)
        made_recording(data, size - 1, !(data[size - 1] & 1), data[size - 1], use);
    return 0;
}

#else

#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)data, (void)size;
    return 0;
}

#endif
