// SPDX-License-Identifier: Apache-2.0
// The extensions that a recording may use, as far as the device has them. device.c enables them.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "replay/vulkan/vulkan.h"

static bool is_there(const VkExtensionProperties *all, uint32_t count, const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(all[i].extensionName, name) == 0)
            return true;
    return false;
}

void *vulkan_extras_find(const struct vulkan_execution *execution, VkPhysicalDevice physical,
                         struct vulkan_extras *extras, void *next) {
    uint32_t count = 0;
    if (execution->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL) != VK_SUCCESS)
        return next;
    VkExtensionProperties *all = calloc(count + (size_t)1, sizeof *all);
    if (!all || execution->EnumerateDeviceExtensionProperties(physical, NULL, &count, all) < VK_SUCCESS)
        count = 0;
#define ADD(member, features, TYPE, EXTENSION)                                                               \
    if (is_there(all, count, VK_##EXTENSION##_EXTENSION_NAME)) {                                             \
        extras->member.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE;                                     \
        extras->member.pNext = next;                                                                         \
        extras->names[extras->count++] = VK_##EXTENSION##_EXTENSION_NAME;                                    \
        next = &extras->member;                                                                              \
    }
    VULKAN_EXTRAS(ADD)
#undef ADD
    free(all);
    return next;
}

#endif
