// SPDX-License-Identifier: Apache-2.0
// The device identity: distinguishes an OpenCL device from every other of the machine, in every process that uses it.
#ifndef OPENCL_IDENTITY_H
#define OPENCL_IDENTITY_H

#include "agent.h"

struct identity {
    char text[768];  // tsmith_device.identity; "": unknown
    char other[32];  // another one of the same device, "": none
    uint32_t number; // tsmith_device.number: its place among the devices of its platform + 1, 0: unknown
};

// Asks the driver for properties only.
void identity_find(cl_device_id device, cl_platform_id platform, const char *platform_name,
                   struct identity *out);

#endif
