// SPDX-License-Identifier: Apache-2.0
// The loader's side of a layer: finding functions, and instances and devices as they are created (loader.h).
#include "loader.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "agentkit/map.h"
#include "wire/memory.h"

#define EXPORT __attribute__((visibility("default")))

enum { MAP_LOG2 = 8 };

static struct map instances, devices; // from the dispatch pointer of a handle

static const void *key_of(const void *handle) {
    return *(const void *const *)handle;
}

struct device *device_of(const void *handle) {
    return handle ? (struct device *)(uintptr_t)map_get(&devices, key_of(handle)) : NULL;
}

static struct loader_instance *instance_of(const void *handle) {
    return handle ? (struct loader_instance *)(uintptr_t)map_get(&instances, key_of(handle)) : NULL;
}

const struct loader_instance *loader_instance_of(const void *handle) {
    return instance_of(handle);
}

bool loader_start(void) {
    return map_init(&instances, MAP_LOG2) && map_init(&devices, MAP_LOG2);
}

bool loader_add_device(VkDevice handle, struct device *device) {
    return map_put(&devices, key_of(handle), (uintptr_t)device);
}

void loader_remove_device(VkDevice handle) {
    map_remove(&devices, key_of(handle));
}

// ---- finding functions

static PFN_vkVoidFunction find_function(const char *name, const struct loader_wrapper *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return NULL;
}

// What the next layer does not have, the program does not get from us either.
static PFN_vkVoidFunction choose(const char *name, PFN_vkVoidFunction next) {
    PFN_vkVoidFunction own = next && loader_layer.wraps()
                                 ? find_function(name, loader_layer.wrappers, loader_layer.wrapper_count)
                                 : NULL;
    return own ? own : next;
}

static PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char *name) {
    const struct device *device = device_of(handle);
    PFN_vkVoidFunction next = device && name ? loader_layer.get_of(device)(handle, name) : NULL;
    if (next && strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_function;
    return choose(name, next);
}

// ---- instances

// In the loader's chain, which is its own, and made to be changed by layers. Those of instances and devices begin alike.
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
    struct loader_instance *instance = memory_take(loader_layer.instance_size);
    PFN_vkDestroyInstance destroy = (PFN_vkDestroyInstance)get(*out, "vkDestroyInstance");
    if (instance && map_put(&instances, key_of(*out), (uintptr_t)instance)) {
        *instance = (struct loader_instance){get, destroy, *out};
        loader_layer.instance_made(instance, info);
        return VK_SUCCESS;
    }
    if (instance)
        munmap(instance, loader_layer.instance_size);
    destroy(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator) {
    struct loader_instance *instance = instance_of(handle);
    if (!instance)
        return;
    map_remove(&instances, key_of(handle));
    instance->destroy(handle, allocator);
    munmap(instance, loader_layer.instance_size);
}

// ---- devices

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *allocator, VkDevice *out) {
    struct loader_creation creation = {.instance = instance_of(physical), .physical = physical, .info = info};
    VkLayerDeviceCreateInfo *link = find_link(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link || !creation.instance)
        return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerDeviceLink *own = link->u.pLayerInfo;
    PFN_vkGetDeviceProcAddr get = own->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create =
        (PFN_vkCreateDevice)own->pfnNextGetInstanceProcAddr(creation.instance->handle, "vkCreateDevice");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    if (loader_layer.change && loader_layer.wraps())
        loader_layer.change(&creation);
    link->u.pLayerInfo = own->pNext;
    VkResult result = create(physical, creation.info, allocator, out);
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT && creation.info != info) {
        creation.info = info;
        link->u.pLayerInfo = own->pNext;
        result = create(physical, info, allocator, out);
    }
    if (result != VK_SUCCESS || loader_layer.device_made(&creation, *out, get))
        return result;
    ((PFN_vkDestroyDevice)get(*out, "vkDestroyDevice"))(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

// ---- for the loader

static PFN_vkVoidFunction VKAPI_CALL get_instance_function(VkInstance handle, const char *name) {
    static const struct loader_wrapper own[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_function},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_function},
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
        {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device}};
    const struct loader_instance *instance = instance_of(handle);
    PFN_vkVoidFunction found = name ? find_function(name, own, sizeof own / sizeof *own) : NULL;
    if (found || !instance || !name)
        return found;
    PFN_vkVoidFunction next = instance->get(handle, name);
    found = next && loader_layer.wraps()
                ? find_function(name, loader_layer.instance_wrappers, loader_layer.instance_wrapper_count)
                : NULL;
    return found ? found : choose(name, next);
}

EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);
EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (interface->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        interface->loaderLayerInterfaceVersion < CURRENT_LOADER_LAYER_INTERFACE_VERSION)
        return VK_ERROR_INITIALIZATION_FAILED;
    pthread_once(&once, loader_layer.start);
    interface->loaderLayerInterfaceVersion = CURRENT_LOADER_LAYER_INTERFACE_VERSION;
    interface->pfnGetInstanceProcAddr = get_instance_function;
    interface->pfnGetDeviceProcAddr = get_device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
