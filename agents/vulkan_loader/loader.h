// SPDX-License-Identifier: Apache-2.0
// What makes a library a layer of the Vulkan loader, for the agent's two layers: each compiles loader.c with its own `loader_layer`.
// Rules: agentkit/agent.h.
//
// Without a session a layer returns the next layer's functions, and costs nothing.
#ifndef VULKAN_LOADER_LOADER_H
#define VULKAN_LOADER_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

struct device; // the layer's own, without meaning here

enum { LOADER_EXTENSIONS_MAX = 512 };

// The first member of a layer's struct of an instance.
struct loader_instance {
    PFN_vkGetInstanceProcAddr get; // of the next layer
    PFN_vkDestroyInstance destroy;
    VkInstance handle;
};

struct loader_wrapper {
    const char *name;
    PFN_vkVoidFunction function;
};

// A device as it is created.
struct loader_creation {
    const struct loader_instance *instance;
    VkPhysicalDevice physical;
    const VkDeviceCreateInfo *info;
    // For `change`:
    VkDeviceCreateInfo changed;
    const char *names[LOADER_EXTENSIONS_MAX];
};

// What a layer is.
struct loader_layer {
    const struct loader_wrapper *wrappers; // of functions of devices
    size_t wrapper_count;
    const struct loader_wrapper *instance_wrappers; // of functions of instances; may be NULL
    size_t instance_wrapper_count;
    size_t instance_size;
    void (*start)(void); // once, before everything else
    bool (*wraps)(void); // false: the program gets the next layer's functions
    void (*instance_made)(struct loader_instance *instance,
                          const VkInstanceCreateInfo *info); // zeroed but for the first member
    // NULL, or: gives `info` another value with which creation is tried first. If an extension is not there, it is tried as it was.
    void (*change)(struct loader_creation *creation);
    // Adds the device with loader_add_device. False: out of memory, the device is destroyed.
    bool (*device_made)(const struct loader_creation *creation, VkDevice handle, PFN_vkGetDeviceProcAddr get);
    PFN_vkGetDeviceProcAddr (*get_of)(const struct device *device); // of the next layer
};
extern const struct loader_layer loader_layer;

bool loader_start(void);                                              // false: out of memory
const struct loader_instance *loader_instance_of(const void *handle); // NULL: not known
// NULL: not known. The struct of a device by itself, a queue or a command buffer; any thread, no lock.
struct device *device_of(const void *handle);
bool loader_add_device(VkDevice handle, struct device *device);
void loader_remove_device(VkDevice handle); // before the driver destroys it

#endif
