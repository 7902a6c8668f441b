// SPDX-License-Identifier: Apache-2.0
// The devices of Vulkan on this machine, for `tracesmith devices`. Runs in a process of TraceSmith's, never in a recorded one.
#include <dlfcn.h>
#include <stdio.h>

#include "times.h"
#include "wire/agent.h"

enum { DEVICES_MAX = 64 };

static const char *vendor_name(uint32_t id) {
    static const struct {
        uint32_t id;
        const char *name;
    } vendors[] = {{0x10de, "NVIDIA"},        {0x1002, "AMD"},      {0x8086, "Intel"},
                   {0x13b5, "Arm"},           {0x5143, "Qualcomm"}, {0x1010, "Imagination"},
                   {0x1ed5, "Moore Threads"}, {0x10005, "Mesa"}};
    for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++)
        if (vendors[i].id == id)
            return vendors[i].name;
    return "";
}

static void describe(const struct instance_next *next, VkPhysicalDevice physical,
                     void (*each)(void *context, const struct agent_device *device), void *context) {
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    char platform[32], driver[32], uuid[64] = "";
    next->GetPhysicalDeviceProperties(physical, &properties);
    next->GetPhysicalDeviceMemoryProperties(physical, &memory);
    properties.deviceName[sizeof properties.deviceName - 1] = '\0';
    snprintf(platform, sizeof platform, "Vulkan %u.%u.%u", VK_API_VERSION_MAJOR(properties.apiVersion),
             VK_API_VERSION_MINOR(properties.apiVersion), VK_API_VERSION_PATCH(properties.apiVersion));
    times_driver(&properties, driver, sizeof driver);
    // Software drivers give all their devices one UUID.
    if (properties.apiVersion >= VK_API_VERSION_1_1 && properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU)
        times_uuid(next, physical, uuid, sizeof uuid);
    const struct agent_fact facts[] = {{uuid[0] ? "uuid" : NULL, uuid}, {NULL, NULL}};
    const struct agent_device found = {.api = "vulkan",
                                       .platform = platform,
                                       .name = properties.deviceName,
                                       .vendor = vendor_name(properties.vendorID),
                                       .driver = driver,
                                       .type = times_type(properties.deviceType),
                                       .memory_bytes = times_memory(&memory),
                                       .facts = facts};
    each(context, &found);
}

__attribute__((visibility("default"))) agent_devices_function tracesmith_agent_devices;

int tracesmith_agent_devices(void (*each)(void *context, const struct agent_device *device), void *context) {
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get = NULL;
    if (loader)
        *(void **)&get = dlsym(loader, "vkGetInstanceProcAddr");
    if (!get)
        return AGENT_DEVICES_NO_LOADER;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance;
    VkPhysicalDevice devices[DEVICES_MAX];
    uint32_t count = DEVICES_MAX;
    struct instance_next next;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    if (!create || create(&info, NULL, &instance) != VK_SUCCESS)
        return 0;
#define FILL(name) next.name = (PFN_vk##name)get(instance, "vk" #name);
    VULKAN_INSTANCE_USED(FILL)
#undef FILL
    PFN_vkEnumeratePhysicalDevices enumerate =
        (PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices");
    if (!enumerate || enumerate(instance, &count, devices) < VK_SUCCESS)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        describe(&next, devices[i], each, context);
    return (int)count;
}
