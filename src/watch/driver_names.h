// SPDX-License-Identifier: Apache-2.0
// What a call of a GPU driver's device node is called.
#ifndef WATCH_DRIVER_NAMES_H
#define WATCH_DRIVER_NAMES_H

#include <stddef.h>
#include <stdint.h>

// The request as its driver calls it ("DRM_IOCTL_GEM_CLOSE"), or the parts of its number ("ioctl 'd' 0x45"). `node`
// is its name in its folder.
void driver_ioctl_name(const char *node, uint32_t request, char *text, size_t size);
// The bytes that it passes; 0: not in its number.
uint32_t driver_ioctl_bytes(const char *node, uint32_t request);

#endif
