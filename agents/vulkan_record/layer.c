// SPDX-License-Identifier: Apache-2.0
// What makes the library a layer of the Vulkan loader, and the queues of devices. Rules: recorder.h.
//
// Without a session, or without a range of frames, the layer gives the next layer's functions to everybody.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentkit/map.h"
#include "recorder.h"
#include "wire/channel.h"
#include "wire/memory.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAP_LOG2 = 8 };

struct instance {
    PFN_vkGetInstanceProcAddr get;
    VkInstance handle;
    PFN_vkDestroyInstance destroy;
    PFN_vkGetPhysicalDeviceProperties properties;
    PFN_vkGetPhysicalDeviceMemoryProperties memory;
};

struct recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct map instances, devices; // from the dispatch pointer of a handle

static const void *key_of(const void *handle) {
    return *(const void *const *)handle;
}

struct device *device_of(const void *handle) {
    return (struct device *)(uintptr_t)map_get(&devices, key_of(handle));
}

static struct instance *instance_of(const void *handle) {
    return handle ? (struct instance *)(uintptr_t)map_get(&instances, key_of(handle)) : NULL;
}

static void start(void) {
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT), *words = secure_getenv(CHANNEL_RECORDING);
    if (map_init(&instances, MAP_LOG2) && map_init(&devices, MAP_LOG2) && directory && *directory && words &&
        *words && frames_begin(words, directory))
        recorder.on = file_begin(directory);
}

// ---- finding functions

struct wrapper {
    const char *name;
    PFN_vkVoidFunction function;
};

static const struct wrapper wrappers[] = {
#define ROW(function, ...) {"vk" #function, (PFN_vkVoidFunction)record_##function},
    VULKAN_WRAPPED(ROW)
#undef ROW
#define ROW_ALIAS(function, suffix) {"vk" #function suffix, (PFN_vkVoidFunction)record_##function},
        VULKAN_RECORD_ALIASES(ROW_ALIAS)
#undef ROW_ALIAS
};

static PFN_vkVoidFunction find(const char *name, const struct wrapper *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return NULL;
}
#define FIND(name, all) find(name, all, sizeof(all) / sizeof *(all))

static PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char *name) {
    const struct device *device = handle ? device_of(handle) : NULL;
    PFN_vkVoidFunction next = device && name ? device->get(handle, name) : NULL;
    if (next && strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_function;
    PFN_vkVoidFunction own = next && recorder.on ? FIND(name, wrappers) : NULL;
    return own ? own : next;
}

// ---- instances

static void *find_link(const void *chain, VkStructureType type) {
    const VkLayerInstanceCreateInfo *link = chain;
    while (link && !(link->sType == type && link->function == VK_LAYER_LINK_INFO))
        link = link->pNext;
    return (void *)(uintptr_t)link;
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                           const VkAllocationCallbacks *allocator, VkInstance *out) {
    VkLayerInstanceCreateInfo *link = find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    const VkResult result = create ? create(info, allocator, out) : VK_ERROR_INITIALIZATION_FAILED;
    if (result != VK_SUCCESS)
        return result;
    struct instance *instance = memory_take(sizeof *instance);
    PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(*out, "vkDestroyInstance");
    if (instance && map_put(&instances, key_of(*out), (uintptr_t)instance)) {
        *instance = (struct instance){
            get, *out, destroy, (PFN_vkGetPhysicalDeviceProperties)get(*out, "vkGetPhysicalDeviceProperties"),
            (PFN_vkGetPhysicalDeviceMemoryProperties)get(*out, "vkGetPhysicalDeviceMemoryProperties")};
        return VK_SUCCESS;
    }
    destroy(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator) {
    struct instance *instance = instance_of(handle);
    if (!instance)
        return;
    map_remove(&instances, key_of(handle));
    instance->destroy(handle, allocator);
    munmap(instance, sizeof *instance);
}

// ---- devices

// Extensions that have no commands, or whose commands became part of Vulkan under names that are wrapped, and that change nothing of
// what a frame computes by more than the structs that words_... know.
static bool is_harmless(const char *extension) {
    static const char *const known[] = {"VK_KHR_swapchain",
                                        "VK_KHR_incremental_present",
                                        "VK_GOOGLE_display_timing",
                                        "VK_KHR_present_id",
                                        "VK_KHR_present_wait",
                                        "VK_EXT_calibrated_timestamps",
                                        "VK_KHR_maintenance1",
                                        "VK_KHR_maintenance2",
                                        "VK_KHR_maintenance3",
                                        "VK_KHR_maintenance4",
                                        "VK_KHR_dynamic_rendering",
                                        "VK_KHR_synchronization2",
                                        "VK_KHR_timeline_semaphore",
                                        "VK_KHR_copy_commands2",
                                        "VK_KHR_create_renderpass2",
                                        "VK_KHR_depth_stencil_resolve",
                                        "VK_KHR_bind_memory2",
                                        "VK_KHR_get_memory_requirements2",
                                        "VK_KHR_dedicated_allocation",
                                        "VK_KHR_draw_indirect_count",
                                        "VK_KHR_descriptor_update_template",
                                        "VK_KHR_image_format_list",
                                        "VK_KHR_multiview",
                                        "VK_KHR_driver_properties",
                                        "VK_KHR_portability_subset",
                                        "VK_KHR_16bit_storage",
                                        "VK_KHR_8bit_storage",
                                        "VK_KHR_shader_float16_int8",
                                        "VK_KHR_shader_float_controls",
                                        "VK_KHR_shader_atomic_int64",
                                        "VK_KHR_shader_draw_parameters",
                                        "VK_KHR_shader_subgroup_extended_types",
                                        "VK_KHR_shader_terminate_invocation",
                                        "VK_KHR_shader_non_semantic_info",
                                        "VK_KHR_storage_buffer_storage_class",
                                        "VK_KHR_variable_pointers",
                                        "VK_KHR_vulkan_memory_model",
                                        "VK_KHR_spirv_1_4",
                                        "VK_EXT_host_query_reset",
                                        "VK_EXT_memory_budget",
                                        "VK_EXT_memory_priority",
                                        "VK_EXT_extended_dynamic_state",
                                        "VK_EXT_scalar_block_layout",
                                        "VK_EXT_shader_atomic_float",
                                        "VK_EXT_pipeline_creation_feedback",
                                        "VK_EXT_separate_stencil_usage",
                                        "VK_EXT_tooling_info"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], extension) == 0)
            return true;
    return false;
}

static void fill(struct device *device) {
    struct next *next = &device->next;
#define FILL(name, ...) next->name = (PFN_vk##name)device->get(device->handle, "vk" #name);
    VULKAN_WRAPPED(FILL)
    VULKAN_RECORD_USED(FILL)
#undef FILL
#define FILL_ALIAS(name, suffix)                                                                             \
    if (!next->name)                                                                                         \
        next->name = (PFN_vk##name)device->get(device->handle, "vk" #name suffix);
    VULKAN_RECORD_ALIASES(FILL_ALIAS)
    FILL_ALIAS(GetSemaphoreCounterValue, "KHR") // not wrapped
#undef FILL_ALIAS
}

static bool adopt(const struct instance *instance, VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                  VkDevice handle, PFN_vkGetDeviceProcAddr get) {
    struct device *device = memory_take(sizeof *device);
    VkPhysicalDeviceProperties properties;
    if (!device)
        return false;
    device->get = get;
    device->handle = handle;
    fill(device);
    instance->properties(physical, &properties);
    instance->memory(physical, &device->memory);
    memcpy(device->name, properties.deviceName, sizeof device->name);
    device->vendor = properties.vendorID;
    device->driver = properties.driverVersion;
    device->version = properties.apiVersion;
    for (uint32_t i = 0; i < info->enabledExtensionCount && !device->missing[0]; i++)
        if (!is_harmless(info->ppEnabledExtensionNames[i]))
            snprintf(device->missing, sizeof device->missing, "the device is used with %.60s",
                     info->ppEnabledExtensionNames[i]);
    recorder_lock();
    device->number = ++recorder.numbers;
    recorder_unlock();
    if (map_put(&devices, key_of(handle), (uintptr_t)device))
        return true;
    munmap(device, sizeof *device);
    return false;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *allocator, VkDevice *out) {
    const struct instance *instance = instance_of(physical);
    VkLayerDeviceCreateInfo *link = find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link || !instance)
        return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerDeviceLink *own = link->u.pLayerInfo;
    PFN_vkGetDeviceProcAddr get = own->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create =
        (PFN_vkCreateDevice)own->pfnNextGetInstanceProcAddr(instance->handle, "vkCreateDevice");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    link->u.pLayerInfo = own->pNext;
    const VkResult result = create(physical, info, allocator, out);
    if (result != VK_SUCCESS || adopt(instance, physical, info, *out, get))
        return result;
    ((PFN_vkDestroyDevice)get(*out, "vkDestroyDevice"))(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static bool is_of(const struct object *object, const void *device) {
    return object->device == device;
}

void record_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
    struct device *device = handle ? device_of(handle) : NULL;
    if (!device)
        return;
    recorder_lock();
    content_device_gone(device);
    objects_end(is_of, device);
    recorder_unlock();
    map_remove(&devices, key_of(handle));
    device->next.DestroyDevice(handle, allocator);
    // The struct stays: objects that were made of others may still name it.
}

// ---- queues

static void add_queue(struct device *device, VkQueue queue, uint32_t family) {
    recorder_lock();
    bool known = device->queue_count == sizeof device->queues / sizeof *device->queues;
    for (uint32_t i = 0; i < device->queue_count; i++)
        known |= device->queues[i].queue == queue;
    if (!known)
        device->queues[device->queue_count++] = (struct queue_family){queue, family};
    recorder_unlock();
}

void record_GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out) {
    device_of(handle)->next.GetDeviceQueue(handle, family, index, out);
    add_queue(device_of(handle), *out, family);
}

void record_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out) {
    device_of(handle)->next.GetDeviceQueue2(handle, info, out);
    add_queue(device_of(handle), *out, info->queueFamilyIndex);
}

// ---- for the loader

static PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance handle, const char *name) {
    static const struct wrapper own[] = {{"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_function},
                                         {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_function},
                                         {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
                                         {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
                                         {"vkCreateDevice", (PFN_vkVoidFunction)create_device}};
    const struct instance *instance = instance_of(handle);
    PFN_vkVoidFunction found = name ? FIND(name, own) : NULL;
    if (found || !instance || !name)
        return found;
    PFN_vkVoidFunction next = instance->get(handle, name);
    found = next && recorder.on ? FIND(name, wrappers) : NULL;
    return found ? found : next;
}

EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);
EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        interface->loaderLayerInterfaceVersion < CURRENT_LOADER_LAYER_INTERFACE_VERSION)
        return VK_ERROR_INITIALIZATION_FAILED;
    pthread_once(&once, start);
    interface->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
    interface->pfnGetInstanceProcAddr = get_instance_function;
    interface->pfnGetDeviceProcAddr = get_device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
