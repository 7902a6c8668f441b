// SPDX-License-Identifier: Apache-2.0
// Whether the compiler has headers of Vulkan that are new enough: of 1.3.239 (January 2023, those of Debian 12) or later, which also
// CMakeLists.txt asks for. Included first by the sources that record and replay frames; without, these are empty.
#ifndef RECORDING_VULKAN_HEADERS_H
#define RECORDING_VULKAN_HEADERS_H

#if __has_include(<vulkan/vulkan_core.h>)
#include <vulkan/vulkan_core.h>
#if VK_HEADER_VERSION >= 239
#define RECORDING_HAS_VULKAN 1
#endif
#endif

#endif
