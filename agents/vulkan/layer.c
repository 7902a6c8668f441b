// SPDX-License-Identifier: Apache-2.0
// The agent's life, and instances and devices as they are created. Rules: agent.h.
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "agentkit/control.h"
#include "pending.h"
#include "queries.h"
#include "record.h"
#include "times.h"
#include "wire/channel.h"
#include "wire/memory.h"

struct instance {
    struct loader_instance base; // first
    struct instance_next next;
    uint32_t version; // that the program asked for
};

static bool program_only; // the user wants no command added and no argument changed
static bool host_reads, inferred_clock;
static bool wraps; // the process is profiled: calls are wrapped

// ---- the agent

static void begin(void) {
    static const struct agent_control_work work = {.period_ms = 20, .last_pass_ms = 100};
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
                                           .not_in_children = true,
                                           .sums = AGENT_SUMS_OF_RECORDS};
    if (loader_start())
        wraps = agent_attach(&spec);
}

// ---- instances

static void instance_made(struct loader_instance *base, const VkInstanceCreateInfo *info) {
    struct instance *instance = (struct instance *)base;
    const VkApplicationInfo *application = info->pApplicationInfo;
#define FILL(name) instance->next.name = (PFN_vk##name)base->get(base->handle, "vk" #name);
    VULKAN_INSTANCE_USED(FILL)
#undef FILL
    instance->version = application && application->apiVersion ? application->apiVersion : VK_API_VERSION_1_0;
}

// ---- devices

static bool has_extension(const struct instance *instance, VkPhysicalDevice physical, const char *name) {
    PFN_vkEnumerateDeviceExtensionProperties enumerate = instance->next.EnumerateDeviceExtensionProperties;
    uint32_t count = LOADER_EXTENSIONS_MAX;
    VkExtensionProperties *all = memory_take(sizeof *all * LOADER_EXTENSIONS_MAX);
    bool found = false;
    if (!all)
        return false;
    if (enumerate && enumerate(physical, NULL, &count, all) >= VK_SUCCESS)
        for (uint32_t i = 0; !found && i < count; i++)
            found = strcmp(all[i].extensionName, name) == 0;
    munmap(all, sizeof *all * LOADER_EXTENSIONS_MAX);
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

// In a pass of several views a timestamp takes as many queries.
static bool has_views(const VkDeviceCreateInfo *info) {
    for (const VkBaseInStructure *at = info->pNext; at; at = at->pNext)
        if ((at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES &&
             ((const VkPhysicalDeviceMultiviewFeatures *)(const void *)at)->multiview) ||
            (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES &&
             ((const VkPhysicalDeviceVulkan11Features *)(const void *)at)->multiview))
            return true;
    return false;
}

static const char *const clock_extension = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;

// With the extension that compares clocks, if the driver has it, which adds functions and changes none.
static void add_clock(struct loader_creation *creation) {
    const VkDeviceCreateInfo *info = creation->info;
    if (program_only || inferred_clock || enables(info, clock_extension) ||
        info->enabledExtensionCount >= LOADER_EXTENSIONS_MAX ||
        !has_extension((const struct instance *)creation->instance, creation->physical, clock_extension))
        return;
    creation->changed = *info;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        creation->names[i] = info->ppEnabledExtensionNames[i];
    creation->names[creation->changed.enabledExtensionCount++] = clock_extension;
    creation->changed.ppEnabledExtensionNames = creation->names;
    creation->info = &creation->changed;
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

static bool adopt(const struct loader_creation *creation, VkDevice handle, PFN_vkGetDeviceProcAddr get) {
    const struct instance *instance = (const struct instance *)creation->instance;
    const VkDeviceCreateInfo *info = creation->info;
    const bool has_clock = !program_only && !inferred_clock && enables(info, clock_extension);
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
        times_device(device, &instance->next, creation->physical, instance->version, has_clock);
        device->ends_inside = device->reading_waits && !has_views(info);
        device->reading_waits &= !host_reads;
    }
    if (loader_add_device(handle, device))
        return true;
    munmap(device, sizeof *device);
    return false;
}

void layer_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
    struct device *device = device_of(handle);
    if (!handle || !device)
        return;
    struct agent_call call = call_begin(CALL_DestroyDevice);
    pending_device_gone(device);
    loader_remove_device(handle);
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

static const struct loader_wrapper wrappers[] = {
#define WRAPPER(call, ...) {"vk" #call, (PFN_vkVoidFunction)layer_##call},
#define WRAPPER_ALIAS(call, suffix) {"vk" #call suffix, (PFN_vkVoidFunction)layer_##call},
    VULKAN_CALLS(WRAPPER) VULKAN_ALIASES(WRAPPER_ALIAS)};

static bool is_wrapping(void) {
    return wraps;
}

static PFN_vkGetDeviceProcAddr get_of(const struct device *device) {
    return device->get;
}

const struct loader_layer loader_layer = {.wrappers = wrappers,
                                          .wrapper_count = sizeof wrappers / sizeof *wrappers,
                                          .instance_size = sizeof(struct instance),
                                          .start = start,
                                          .wraps = is_wrapping,
                                          .instance_made = instance_made,
                                          .change = add_clock,
                                          .device_made = adopt,
                                          .get_of = get_of};
