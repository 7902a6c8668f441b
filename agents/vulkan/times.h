// SPDX-License-Identifier: Apache-2.0
// Devices as they are described in the trace, and their timestamps as times of the trace clock. Rules: agent.h.
//
// Where the driver has VK_EXT_calibrated_timestamps, the device's clock is compared with the host's when the device is made and
// then four times a second. Otherwise it is concluded from the executions themselves: none starts before its submission, or
// ends after the program knew that it was complete. Times that cannot be right are not believed.
#ifndef VULKAN_TIMES_H
#define VULKAN_TIMES_H

#include "objects.h"

// Asks for what the device is, and for its clock. On the thread that makes it.
void times_device(struct device *device, const struct instance_next *next, VkPhysicalDevice physical,
                  uint32_t version, bool has_clock);
// Before results are converted; under the lock of pending.c. Gives the time on the trace clock.
int64_t times_refresh(struct device *device);
// Whether times_bound needs the results.
bool times_inferred(const struct device *device);
// An execution, launched not before `not_before` and now complete, has these first and last times: for a clock that cannot be read.
void times_bound(struct device *device, uint64_t first, uint64_t last, uint64_t mask, int64_t not_before);
// What is known of a device, as NVML, CUPTI and the OpenCL agent write it. False: the driver has no UUID.
bool times_uuid(const struct instance_next *next, VkPhysicalDevice physical, char *out, size_t size);
const char *times_type(VkPhysicalDeviceType type);
void times_driver(const VkPhysicalDeviceProperties *properties, char *out, size_t size);
// Bytes of its own heaps.
uint64_t times_memory(const VkPhysicalDeviceMemoryProperties *memory);

#endif
