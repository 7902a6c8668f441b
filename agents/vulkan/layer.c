// SPDX-License-Identifier: Apache-2.0
// What makes the library a layer of the Vulkan loader: finding functions, and instances and devices as they are created. Rules:
// agent.h.
//
// Without a session the layer gives the next layer's functions to everybody, and costs nothing.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "agentkit/control.h"
#include "agentkit/map.h"
#include "pending.h"
#include "queries.h"
#include "record.h"
#include "times.h"
#include "wire/channel.h"
#include "wire/memory.h"

enum { MAP_LOG2 = 8, EXTENSIONS_MAX = 512 };

struct instance {
    PFN_vkGetInstanceProcAddr get;
    struct instance_next next;
    VkInstance handle;
    uint32_t version; // that the program asked for
};

static struct map instances, devices; // from the dispatch pointer of a handle
static bool program_only;             // the user wants no command added and no argument changed
static bool host_reads, inferred_clock;
static bool wraps; // the process is profiled: calls are wrapped

static const void *key_of(const void *handle) {
    return *(const void *const *)handle;
}

struct device *device_of(const void *handle) {
    return (struct device *)(uintptr_t)map_get(&devices, key_of(handle));
}

static struct instance *instance_of(const void *handle) {
    return handle ? (struct instance *)(uintptr_t)map_get(&instances, key_of(handle)) : NULL;
}

// ---- the agent

static bool session_look(void) {
    stacks_refresh();
    return true;
}

static void last_pass(void) {}

static void begin(void) {
    static const struct agent_control_work work = {
        .look = session_look, .last_pass = last_pass, .period_ms = 20, .last_pass_ms = 100};
    const char *queries = agent_option("vulkan", "queries");
    program_only = agent_option("vulkan", "program-only") != NULL;
    // A captured frame waits for its submissions: no copies of the agent's are needed in its command buffers.
    host_reads = agent_option("vulkan", "host-reads") || secure_getenv(CHANNEL_RECORDING);
    inferred_clock = agent_option("vulkan", "inferred-clock") != NULL;
    queries_begin(queries ? (uint32_t)strtoul(queries, NULL, 10) : 0);
    record_init();
    if (stacks_start(agent.channel))
        agent_control_start(&work, agent.channel);
}

static void start(void) {
    static const struct agent_spec spec = {.api = "vulkan",
                                           .prepare = objects_init,
                                           .begin = begin,
                                           .in_flight = pending_left,
                                           .not_in_children = true};
    if (map_init(&instances, MAP_LOG2) && map_init(&devices, MAP_LOG2))
        wraps = agent_attach(&spec);
}

// ---- finding functions

struct wrapper {
    const char *name;
    PFN_vkVoidFunction function;
};

static const struct wrapper wrappers[] = {
#define WRAPPER(call, ...) {"vk" #call, (PFN_vkVoidFunction)layer_##call},
#define WRAPPER_ALIAS(call, suffix) {"vk" #call suffix, (PFN_vkVoidFunction)layer_##call},
    VULKAN_CALLS(WRAPPER) VULKAN_ALIASES(WRAPPER_ALIAS)};

static PFN_vkVoidFunction find(const char *name, const struct wrapper *table, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].function;
    return NULL;
}
#define FIND(name, table) find(name, table, sizeof(table) / sizeof *(table))

// What the next layer does not have, the program does not get from us either.
static PFN_vkVoidFunction VKAPI_CALL get_device_function(VkDevice handle, const char *name) {
    const struct device *device = device_of(handle);
    PFN_vkVoidFunction next = device && name ? device->get(handle, name) : NULL;
    if (next && strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)get_device_function;
    PFN_vkVoidFunction own = next && wraps ? FIND(name, wrappers) : NULL;
    return own ? own : next;
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
    struct instance *instance = memory_take(sizeof *instance);
    if (instance && map_put(&instances, key_of(*out), (uintptr_t)instance)) {
        const VkApplicationInfo *application = info->pApplicationInfo;
        instance->get = get;
#define FILL(name) instance->next.name = (PFN_vk##name)get(*out, "vk" #name);
        VULKAN_INSTANCE_USED(FILL)
#undef FILL
        instance->handle = *out;
        instance->version =
            application && application->apiVersion ? application->apiVersion : VK_API_VERSION_1_0;
        return VK_SUCCESS;
    }
    ((PFN_vkDestroyInstance)get(*out, "vkDestroyInstance"))(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator) {
    struct instance *instance = instance_of(handle);
    if (!instance)
        return;
    map_remove(&instances, key_of(handle));
    instance->next.DestroyInstance(handle, allocator);
    munmap(instance, sizeof *instance);
}

// ---- devices

static bool has_extension(const struct instance *instance, VkPhysicalDevice physical, const char *name) {
    PFN_vkEnumerateDeviceExtensionProperties enumerate = instance->next.EnumerateDeviceExtensionProperties;
    uint32_t count = EXTENSIONS_MAX;
    VkExtensionProperties *all = memory_take(sizeof *all * EXTENSIONS_MAX);
    bool found = false;
    if (!all)
        return false;
    if (enumerate && enumerate(physical, NULL, &count, all) >= VK_SUCCESS)
        for (uint32_t i = 0; !found && i < count; i++)
            found = strcmp(all[i].extensionName, name) == 0;
    munmap(all, sizeof *all * EXTENSIONS_MAX);
    return found;
}

static bool enables(const VkDeviceCreateInfo *info, const char *name) {
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], name) == 0)
            return true;
    return false;
}

// Performance queries must be first and last in their command buffers. A group's devices have clocks of their own.
static bool can_be_timed(const VkDeviceCreateInfo *info) {
    for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
        if (at->sType == VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO &&
            ((const VkDeviceGroupDeviceCreateInfo *)(const void *)at)->physicalDeviceCount > 1)
            return false;
    return !enables(info, VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
}

// With the extension that compares clocks, if the driver has it, which adds functions and changes none.
static VkResult create_with_clock(const struct instance *instance, PFN_vkCreateDevice create,
                                  VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                  const VkAllocationCallbacks *allocator, VkDevice *out, bool *has_clock) {
    const char *const clock = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    const char *names[EXTENSIONS_MAX];
    VkDeviceCreateInfo changed = *info;
    *has_clock = enables(info, clock);
    if (*has_clock || info->enabledExtensionCount >= EXTENSIONS_MAX ||
        !has_extension(instance, physical, clock))
        return create(physical, info, allocator, out);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        names[i] = info->ppEnabledExtensionNames[i];
    names[changed.enabledExtensionCount++] = clock;
    changed.ppEnabledExtensionNames = names;
    *has_clock = true;
    return create(physical, &changed, allocator, out);
}

static void fill(struct device *device) {
    struct next *next = &device->next;
#define FILL(name, ...) next->name = (PFN_vk##name)device->get(device->handle, "vk" #name);
    VULKAN_CALLS(FILL)
    VULKAN_USED(FILL)
#undef FILL
#define FILL_ALIAS(name, suffix)                                                                             \
    if (!next->name)                                                                                         \
        next->name = (PFN_vk##name)device->get(device->handle, "vk" #name suffix);
    VULKAN_ALIASES(FILL_ALIAS)
#undef FILL_ALIAS
}

static bool adopt(const struct instance *instance, VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                  VkDevice handle, PFN_vkGetDeviceProcAddr get, bool has_clock) {
    struct device *device = memory_take(sizeof *device);
    if (!device)
        return false;
    device->get = get;
    device->handle = handle;
    if (wraps) {
        fill(device);
        device->timed = !program_only && can_be_timed(info);
        for (uint32_t i = 0; i < info->queueCreateInfoCount; i++)
            if (info->pQueueCreateInfos[i].queueFamilyIndex < FAMILIES_MAX)
                device->family_queues[info->pQueueCreateInfos[i].queueFamilyIndex] +=
                    info->pQueueCreateInfos[i].queueCount;
        times_device(device, &instance->next, physical, instance->version, has_clock);
        device->reading_waits &= !host_reads;
    }
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
    bool has_clock = false;
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    VkResult result = VK_ERROR_EXTENSION_NOT_PRESENT;
    link->u.pLayerInfo = own->pNext;
    if (wraps && !program_only && !inferred_clock)
        result = create_with_clock(instance, create, physical, info, allocator, out, &has_clock);
    if (result == VK_ERROR_EXTENSION_NOT_PRESENT) {
        has_clock = false;
        link->u.pLayerInfo = own->pNext;
        result = create(physical, info, allocator, out);
    }
    if (result != VK_SUCCESS || adopt(instance, physical, info, *out, get, has_clock))
        return result;
    ((PFN_vkDestroyDevice)get(*out, "vkDestroyDevice"))(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

void layer_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
    struct device *device = device_of(handle);
    if (!handle || !device)
        return;
    struct call call = call_begin(CALL_DestroyDevice);
    pending_device_gone(device);
    map_remove(&devices, key_of(handle));
    device->next.DestroyDevice(handle, allocator);
    record_call_void(&call);
    munmap(device, sizeof *device);
}

// ---- for the layer below, which captures frames

// The correlation id of the submission that the calling thread is in.
__attribute__((visibility("default"))) uint64_t tracesmith_vulkan_correlation(void);
uint64_t tracesmith_vulkan_correlation(void) {
    return agent.channel && agent_on() && agent_thread.correlation ? agent_thread.correlation - 1 : 0;
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
    found = next && wraps ? FIND(name, wrappers) : NULL;
    return found ? found : next;
}

AGENT_EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface);
AGENT_EXPORT VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
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
