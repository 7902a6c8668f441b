// SPDX-License-Identifier: Apache-2.0
// The names of formats for lists. inspect.c calls it.
#ifndef REPLAY_VULKAN_FORMAT_NAMES_H
#define REPLAY_VULKAN_FORMAT_NAMES_H

#include <stdint.h>

const char *vulkan_format_name(uint32_t format); // "R8G8B8A8_UNORM"; NULL: of an extension

#endif
