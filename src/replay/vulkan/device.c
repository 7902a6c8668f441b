// SPDX-License-Identifier: Apache-2.0
// Vulkan's loader, the devices that are there, and the logical devices of a replay.
#include "replay/execute.h"

#include "base/status.h"

#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/vulkan/vulkan.h"

// ---- the instance

static bool load(struct vulkan_execution *execution) {
    void *library =
        dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL); // stays: drivers do not like to be unloaded
    if (!library)
        return false;
    execution->get = __extension__(PFN_vkGetInstanceProcAddr) dlsym(library, "vkGetInstanceProcAddr");
    return execution->get != NULL;
}

static bool make_instance(struct vulkan_execution *execution) {
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)execution->get(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)execution->get(NULL, "vkEnumerateInstanceVersion");
    execution->version = VK_API_VERSION_1_0;
    if (version)
        version(&execution->version);
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .pApplicationName = "tracesmith replay",
                                           .apiVersion = version ? VK_API_VERSION_1_3 : VK_API_VERSION_1_0};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    if (!create || create(&info, NULL, &execution->instance) != VK_SUCCESS)
        return false;
#define LOAD(name) execution->name = (PFN_vk##name)execution->get(execution->instance, "vk" #name);
    VULKAN_REPLAY_INSTANCE(LOAD)
#undef LOAD
    execution->device_count = VULKAN_DEVICES_MOST;
    return execution->EnumeratePhysicalDevices(execution->instance, &execution->device_count,
                                               execution->devices) >= VK_SUCCESS;
}

static const char *name_of(const struct vulkan_execution *execution, uint32_t device,
                           VkPhysicalDeviceProperties *properties) {
    execution->GetPhysicalDeviceProperties(execution->devices[device], properties);
    return properties->deviceName;
}

tsmith_status execute_vulkan_open(const char *device, struct vulkan_execution **out, tsmith_error *error) {
    VkPhysicalDeviceProperties properties;
    struct vulkan_execution *execution = calloc(1, sizeof *execution);
    *out = NULL;
    if (!execution)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while preparing the replay");
    if (!load(execution) || !make_instance(execution) || !execution->device_count) {
        execute_vulkan_close(execution);
        return status_set(
            error, TSMITH_ERROR_MISSING,
            "no Vulkan device was found: on Debian, apt install libvulkan1 mesa-vulkan-drivers");
    }
    execution->wanted = -1;
    if (device) {
        char *end;
        const unsigned long number = strtoul(device, &end, 10);
        if (*device && !*end && number < execution->device_count)
            execution->wanted = (int32_t)number;
        for (uint32_t i = 0; i < execution->device_count && execution->wanted < 0; i++)
            if (strstr(name_of(execution, i, &properties), device))
                execution->wanted = (int32_t)i;
        if (execution->wanted < 0) {
            const uint32_t count = execution->device_count;
            execute_vulkan_close(execution);
            return status_set(error, TSMITH_ERROR_MISSING, "none of the %u Vulkan devices is '%s'",
                              (unsigned)count, device);
        }
    }
    *out = execution;
    return TSMITH_OK;
}

void execute_vulkan_close(struct vulkan_execution *execution) {
    if (execution && execution->instance && execution->DestroyInstance)
        execution->DestroyInstance(execution->instance, NULL);
    free(execution);
}

const char *execute_vulkan_device(const struct vulkan_execution *execution) {
    return execution->name;
}

// ---- a logical device

// The one of the recorded name, if the user asked for none.
static uint32_t choose(struct vulkan_run *run, const struct recording_record *record) {
    struct vulkan_execution *execution = run->execution;
    VkPhysicalDeviceProperties properties;
    const char *recorded = recording_text(run->recording, record, RECORDING_KEY_NAME);
    uint32_t chosen = execution->wanted >= 0 ? (uint32_t)execution->wanted : 0;
    for (uint32_t i = 0; execution->wanted < 0 && recorded && i < execution->device_count; i++)
        if (strcmp(name_of(execution, i, &properties), recorded) == 0) {
            chosen = i;
            break;
        }
    snprintf(execution->name, sizeof execution->name, "%s", name_of(execution, chosen, &properties));
    return chosen;
}

static uint32_t find_family(const struct vulkan_execution *execution, VkPhysicalDevice physical) {
    enum { MOST = 32 };
    VkQueueFamilyProperties families[MOST];
    uint32_t count = MOST, found = UINT32_MAX;
    execution->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = count; i-- > 0;)
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT &&
            (found == UINT32_MAX || families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT))
            found = i;
    return found;
}

static void fill(const struct vulkan_execution *execution, struct vulkan_device *device) {
#define FILL(name, ...) device->name = (PFN_vk##name)execution->GetDeviceProcAddr(device->handle, "vk" #name);
    VULKAN_REPLAY_ALL(FILL)
#undef FILL
}

// All features that the device has: a recorded shader may use any.
static void find_subgroups(const struct vulkan_execution *execution, VkPhysicalDevice physical,
                           struct vulkan_device *device) {
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &device->subgroups};
    device->subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    if (execution->GetPhysicalDeviceProperties2)
        execution->GetPhysicalDeviceProperties2(physical, &properties);
}

static VkResult create(const struct vulkan_execution *execution, VkPhysicalDevice physical, uint32_t family,
                       struct vulkan_device *device) {
    const float priority = 1;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                           .queueFamilyIndex = family,
                                           .queueCount = 1,
                                           .pQueuePriorities = &priority};
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
    execution->GetPhysicalDeviceProperties(physical, &properties);
    device->v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    device->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    device->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    device->v12.pNext = properties.apiVersion >= VK_API_VERSION_1_3 ? &device->v13 : NULL;
    device->v11.pNext = &device->v12;
    if (properties.apiVersion >= VK_API_VERSION_1_2 && execution->GetPhysicalDeviceFeatures2) {
        struct vulkan_extras *extras = &device->extras;
        features.pNext = vulkan_extras_find(execution, physical, extras, &device->v11);
        execution->GetPhysicalDeviceFeatures2(physical, &features);
        // Null descriptors alone: other checks of bounds than a program has may give other results.
        extras->robustness.robustBufferAccess2 = extras->robustness.robustImageAccess2 = VK_FALSE;
        info.enabledExtensionCount = extras->count;
        info.ppEnabledExtensionNames = extras->names;
        info.pNext = &features;
        if (device->v13.subgroupSizeControl) // false where v13 is not in the chain
            find_subgroups(execution, physical, device);
    } else {
        execution->GetPhysicalDeviceFeatures(physical, &features.features);
        info.pEnabledFeatures = &features.features;
    }
    return execution->CreateDevice(physical, &info, NULL, &device->handle);
}

tsmith_status vulkan_device_make(struct vulkan_run *run, const struct recording_record *record,
                                 struct vulkan_device **out) {
    const struct vulkan_execution *execution = run->execution;
    struct vulkan_device *device = calloc(1, sizeof *device);
    VkPhysicalDevice physical = execution->devices[choose(run, record)];
    const uint32_t family = find_family(execution, physical);
    *out = device;
    if (!device)
        return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "out of memory while replaying");
    if (family == UINT32_MAX || create(execution, physical, family, device) != VK_SUCCESS)
        return status_set(run->error, TSMITH_ERROR_MISSING, "the device %s could not be opened",
                          execution->name);
    fill(execution, device);
    device->physical = physical;
    execution->GetPhysicalDeviceFeatures(physical, &device->features);
    vulkan_note_features(run, device, recording_value(record, RECORDING_KEY_FLAGS));
    VkPhysicalDeviceProperties properties;
    execution->GetPhysicalDeviceProperties(physical, &properties);
    device->limits = properties.limits;
    execution->GetPhysicalDeviceMemoryProperties(physical, &device->memory);
    device->GetDeviceQueue(device->handle, family, 0, &device->queue);
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkDescriptorSetLayoutCreateInfo empty = {.sType =
                                                       VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    if (device->CreateCommandPool(device->handle, &pool, NULL, &device->pool) != VK_SUCCESS ||
        device->CreateFence(device->handle, &fence, NULL, &device->fence) != VK_SUCCESS ||
        device->CreateDescriptorSetLayout(device->handle, &empty, NULL, &device->empty) != VK_SUCCESS)
        return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "the device %s is out of memory",
                          execution->name);
    return TSMITH_OK;
}

void vulkan_device_end(struct vulkan_device *device) {
    if (device && device->handle) {
        if (device->staging)
            device->DestroyBuffer(device->handle, device->staging, NULL);
        if (device->staging_memory)
            device->FreeMemory(device->handle, device->staging_memory, NULL);
        if (device->fence)
            device->DestroyFence(device->handle, device->fence, NULL);
        if (device->pool)
            device->DestroyCommandPool(device->handle, device->pool, NULL);
        if (device->empty)
            device->DestroyDescriptorSetLayout(device->handle, device->empty, NULL);
        device->DestroyDevice(device->handle, NULL);
    }
    free(device);
}

VkDeviceMemory vulkan_memory(const struct vulkan_device *device, const VkMemoryRequirements *needs,
                             VkMemoryPropertyFlags wanted) {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    for (uint32_t i = 0; i < device->memory.memoryTypeCount && !memory; i++) {
        const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                           .allocationSize = needs->size,
                                           .memoryTypeIndex = i};
        const VkMemoryPropertyFlags flags = device->memory.memoryTypes[i].propertyFlags;
        if (needs->memoryTypeBits >> i & 1 && (flags & wanted) == wanted &&
            device->AllocateMemory(device->handle, &info, NULL, &memory) != VK_SUCCESS)
            memory = VK_NULL_HANDLE;
    }
    return memory;
}

// ---- running commands

VkCommandBuffer vulkan_begin(struct vulkan_device *device) {
    VkCommandBuffer commands = NULL;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = device->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    if (device->AllocateCommandBuffers(device->handle, &info, &commands) != VK_SUCCESS)
        return NULL;
    if (device->BeginCommandBuffer(commands, &begin) == VK_SUCCESS)
        return commands;
    device->FreeCommandBuffers(device->handle, device->pool, 1, &commands);
    return NULL;
}

tsmith_status vulkan_submit(struct vulkan_run *run, struct vulkan_device *device,
                            const VkCommandBuffer *commands, uint32_t count) {
    static const int64_t PATIENCE = 60000000000;
    const int64_t patience = run->options->patience_ns > 0 ? run->options->patience_ns : PATIENCE;
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = count, .pCommandBuffers = commands};
    VkResult result = device->QueueSubmit(device->queue, 1, &info, device->fence);
    if (result == VK_SUCCESS)
        result = device->WaitForFences(device->handle, 1, &device->fence, VK_TRUE, (uint64_t)patience);
    if (result == VK_TIMEOUT)
        return status_set(run->error, TSMITH_ERROR_LIMIT,
                          "the replay did not finish: record %zu of the recording", run->at);
    if (result != VK_SUCCESS)
        return status_set(
            run->error, TSMITH_ERROR_IO,
            "a submission failed on the device at record %zu of the recording (Vulkan error %d)", run->at,
            (int)result);
    device->ResetFences(device->handle, 1, &device->fence);
    return TSMITH_OK;
}

#endif
