// SPDX-License-Identifier: Apache-2.0
// Instances and devices as they are created, and the queues of devices. Rules: recorder.h. Without a range of frames nothing is wrapped.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "recording/vulkan/structs.h" // words_in_chain
#include "wire/channel.h"
#include "wire/memory.h"

struct instance {
    struct loader_instance base; // first
    PFN_vkGetPhysicalDeviceProperties properties;
    PFN_vkGetPhysicalDeviceMemoryProperties memory;
    // Of the next layer: later the loader answers with the first layer's.
    PFN_vkVoidFunction xcb_surface, xlib_surface;
};

struct recorder recorder = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void start(void) {
    const char *directory = secure_getenv(CHANNEL_ENVIRONMENT), *words = secure_getenv(CHANNEL_RECORDING);
    if (loader_start() && directory && *directory && words && *words && frames_begin(words, directory))
        recorder.on = file_begin(directory);
}

static void instance_made(struct loader_instance *base, const VkInstanceCreateInfo *info) {
    struct instance *instance = (struct instance *)base;
    (void)info;
    instance->properties =
        (PFN_vkGetPhysicalDeviceProperties)base->get(base->handle, "vkGetPhysicalDeviceProperties");
    instance->xcb_surface = base->get(base->handle, "vkCreateXcbSurfaceKHR");
    instance->xlib_surface = base->get(base->handle, "vkCreateXlibSurfaceKHR");
    instance->memory = (PFN_vkGetPhysicalDeviceMemoryProperties)base->get(
        base->handle, "vkGetPhysicalDeviceMemoryProperties");
}

// ---- devices

static bool is_one_of(const char *extension, const char *const *known, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(known[i], extension) == 0)
            return true;
    return false;
}

// Extensions that have no commands, or whose commands became part of Vulkan under names that are wrapped, and that change nothing of
// what a frame computes by more than the structs that words_... know.
static const char *const harmless[] = {"VK_KHR_swapchain",
                                       "VK_KHR_incremental_present",
                                       "VK_GOOGLE_display_timing",
                                       "VK_KHR_present_id",
                                       "VK_KHR_present_wait",
                                       "VK_EXT_calibrated_timestamps",
                                       "VK_KHR_maintenance1",
                                       "VK_KHR_maintenance2",
                                       "VK_KHR_maintenance3",
                                       "VK_KHR_maintenance4",
                                       "VK_KHR_dynamic_rendering",
                                       "VK_KHR_synchronization2",
                                       "VK_KHR_timeline_semaphore",
                                       "VK_KHR_copy_commands2",
                                       "VK_KHR_create_renderpass2",
                                       "VK_KHR_depth_stencil_resolve",
                                       "VK_KHR_bind_memory2",
                                       "VK_KHR_get_memory_requirements2",
                                       "VK_KHR_dedicated_allocation",
                                       "VK_KHR_draw_indirect_count",
                                       "VK_KHR_descriptor_update_template",
                                       "VK_KHR_image_format_list",
                                       "VK_KHR_multiview",
                                       "VK_KHR_driver_properties",
                                       "VK_KHR_portability_subset",
                                       "VK_KHR_16bit_storage",
                                       "VK_KHR_8bit_storage",
                                       "VK_KHR_shader_float16_int8",
                                       "VK_KHR_shader_float_controls",
                                       "VK_KHR_shader_atomic_int64",
                                       "VK_KHR_shader_draw_parameters",
                                       "VK_KHR_shader_subgroup_extended_types",
                                       "VK_KHR_shader_terminate_invocation",
                                       "VK_KHR_shader_non_semantic_info",
                                       "VK_KHR_storage_buffer_storage_class",
                                       "VK_KHR_variable_pointers",
                                       "VK_KHR_vulkan_memory_model",
                                       "VK_KHR_spirv_1_4",
                                       "VK_EXT_host_query_reset",
                                       "VK_EXT_memory_budget",
                                       "VK_EXT_memory_priority",
                                       "VK_EXT_primitives_generated_query",
                                       "VK_EXT_extended_dynamic_state",
                                       "VK_EXT_scalar_block_layout",
                                       "VK_EXT_shader_atomic_float",
                                       "VK_EXT_shader_atomic_float2",
                                       "VK_EXT_pipeline_creation_feedback",
                                       "VK_EXT_separate_stencil_usage",
                                       "VK_EXT_tooling_info"};

// Extensions of which the commands are refused one by one (VULKAN_REFUSED_COMMANDS), and the structs and flags by words_...: programs enable
// them also if they use little or nothing of them. Memory that others share may change without a command (add_memory).
static const char *const refused_by_use[] = {"VK_KHR_push_descriptor",
                                             "VK_KHR_swapchain_mutable_format",
                                             "VK_KHR_sampler_mirror_clamp_to_edge",
                                             "VK_KHR_relaxed_block_layout",
                                             "VK_KHR_uniform_buffer_standard_layout",
                                             "VK_KHR_separate_depth_stencil_layouts",
                                             "VK_KHR_shader_integer_dot_product",
                                             "VK_KHR_shader_clock",
                                             "VK_KHR_zero_initialize_workgroup_memory",
                                             "VK_KHR_workgroup_memory_explicit_layout",
                                             "VK_KHR_format_feature_flags2",
                                             "VK_KHR_device_group",
                                             "VK_KHR_buffer_device_address",
                                             "VK_EXT_buffer_device_address",
                                             "VK_KHR_imageless_framebuffer",
                                             "VK_KHR_external_memory",
                                             "VK_KHR_external_memory_fd",
                                             "VK_EXT_external_memory_dma_buf",
                                             "VK_EXT_external_memory_host",
                                             "VK_KHR_external_semaphore",
                                             "VK_KHR_external_semaphore_fd",
                                             "VK_KHR_external_fence",
                                             "VK_KHR_external_fence_fd",
                                             "VK_EXT_image_drm_format_modifier",
                                             "VK_EXT_queue_family_foreign",
                                             "VK_KHR_sampler_ycbcr_conversion",
                                             "VK_KHR_pipeline_library",
                                             "VK_EXT_4444_formats",
                                             "VK_EXT_attachment_feedback_loop_layout",
                                             "VK_EXT_border_color_swizzle",
                                             "VK_EXT_color_write_enable",
                                             "VK_EXT_conditional_rendering",
                                             "VK_EXT_custom_border_color",
                                             "VK_EXT_debug_marker",
                                             "VK_EXT_depth_clip_control",
                                             "VK_EXT_depth_clip_enable",
                                             "VK_EXT_descriptor_indexing",
                                             "VK_EXT_extended_dynamic_state2",
                                             "VK_EXT_extended_dynamic_state3",
                                             "VK_EXT_graphics_pipeline_library",
                                             "VK_EXT_image_2d_view_of_3d",
                                             "VK_EXT_image_robustness",
                                             "VK_EXT_index_type_uint8",
                                             "VK_EXT_inline_uniform_block",
                                             "VK_EXT_line_rasterization",
                                             "VK_EXT_multi_draw",
                                             "VK_EXT_multisampled_render_to_single_sampled",
                                             "VK_EXT_non_seamless_cube_map",
                                             "VK_EXT_pipeline_creation_cache_control",
                                             "VK_EXT_post_depth_coverage",
                                             "VK_EXT_primitive_topology_list_restart",
                                             "VK_EXT_private_data",
                                             "VK_EXT_provoking_vertex",
                                             "VK_EXT_rasterization_order_attachment_access",
                                             "VK_EXT_robustness2",
                                             "VK_EXT_sampler_filter_minmax",
                                             "VK_EXT_shader_demote_to_helper_invocation",
                                             "VK_EXT_shader_stencil_export",
                                             "VK_EXT_shader_subgroup_ballot",
                                             "VK_EXT_shader_subgroup_vote",
                                             "VK_EXT_shader_viewport_index_layer",
                                             "VK_EXT_subgroup_size_control",
                                             "VK_EXT_texel_buffer_alignment",
                                             "VK_EXT_transform_feedback",
                                             "VK_EXT_vertex_attribute_divisor",
                                             "VK_EXT_vertex_input_dynamic_state",
                                             "VK_EXT_ycbcr_2plane_444_formats"};

static bool is_known(const char *extension) {
    return is_one_of(extension, harmless, sizeof harmless / sizeof *harmless) ||
           is_one_of(extension, refused_by_use, sizeof refused_by_use / sizeof *refused_by_use);
}

static void fill(struct device *device) {
    struct next *next = &device->next;
#define FILL(name, ...) next->name = (PFN_vk##name)device->get(device->handle, "vk" #name);
    VULKAN_WRAPPED(FILL)
    VULKAN_RECORD_USED(FILL)
#undef FILL
#define FILL_ALIAS(name, suffix)                                                                             \
    if (!next->name)                                                                                         \
        next->name = (PFN_vk##name)device->get(device->handle, "vk" #name suffix);
    VULKAN_RECORD_ALIASES(FILL_ALIAS)
#undef FILL_ALIAS
}

static uint64_t enabled_features(const VkDeviceCreateInfo *info) {
    enum { COUNT = sizeof(VkPhysicalDeviceFeatures) / sizeof(VkBool32) };
    const VkPhysicalDeviceFeatures2 *chained =
        words_in_chain(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    const VkPhysicalDeviceFeatures *features = chained ? &chained->features : info->pEnabledFeatures;
    VkBool32 all[COUNT] = {0};
    uint64_t bits = 0;
    if (features)
        memcpy(all, features, sizeof all);
    for (uint32_t i = 0; i < COUNT; i++)
        bits |= (uint64_t)(all[i] != 0) << i;
    return bits;
}

static bool adopt(const struct loader_creation *creation, VkDevice handle, PFN_vkGetDeviceProcAddr get) {
    const struct instance *instance = (const struct instance *)creation->instance;
    const VkDeviceCreateInfo *info = creation->info;
    struct device *device = memory_take(sizeof *device);
    VkPhysicalDeviceProperties properties;
    if (!device)
        return false;
    device->get = get;
    device->handle = handle;
    fill(device);
    instance->properties(creation->physical, &properties);
    instance->memory(creation->physical, &device->memory);
    memcpy(device->name, properties.deviceName, sizeof device->name);
    device->vendor = properties.vendorID;
    device->driver = properties.driverVersion;
    device->version = properties.apiVersion;
    device->features = enabled_features(info);
    for (uint32_t i = 0; i < info->enabledExtensionCount && !device->missing[0]; i++)
        if (!is_known(info->ppEnabledExtensionNames[i]))
            snprintf(device->missing, sizeof device->missing, "the device is used with %.60s",
                     info->ppEnabledExtensionNames[i]);
    recorder_lock();
    device->number = ++recorder.numbers;
    recorder_unlock();
    if (loader_add_device(handle, device))
        return true;
    munmap(device, sizeof *device);
    return false;
}

static bool is_of(const struct object *object, const void *device) {
    return object->device == device;
}

void record_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
    struct device *device = handle ? device_of(handle) : NULL;
    if (!device)
        return;
    recorder_lock();
    content_device_gone(device);
    objects_end(is_of, device);
    recorder_unlock();
    loader_remove_device(handle);
    device->next.DestroyDevice(handle, allocator);
    // The struct stays: objects that were made of others may still name it.
}

// ---- queues

static void add_queue(struct device *device, VkQueue queue, uint32_t family) {
    recorder_lock();
    bool known = device->queue_count == QUEUES_MOST;
    for (uint32_t i = 0; i < device->queue_count; i++)
        known |= device->queues[i].handle == queue;
    if (!known) {
        device->has_families |= device->queue_count && device->queues[0].family != family;
        struct queue *added = &device->queues[device->queue_count++];
        *added = (struct queue){.handle = queue, .family = family};
        pthread_mutex_init(&added->lock, NULL);
    }
    recorder_unlock();
}

void record_GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out) {
    device_of(handle)->next.GetDeviceQueue(handle, family, index, out);
    add_queue(device_of(handle), *out, family);
}

void record_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out) {
    device_of(handle)->next.GetDeviceQueue2(handle, info, out);
    add_queue(device_of(handle), *out, info->queueFamilyIndex);
}

// ---- surfaces of X11

// As in vulkan_xcb.h and vulkan_xlib.h, which need X's headers.
struct xcb_surface {
    VkStructureType type;
    const void *next;
    VkFlags flags;
    void *connection;
    uint32_t window;
};
struct xlib_surface {
    VkStructureType type;
    const void *next;
    VkFlags flags;
    void *display;
    unsigned long window;
};

#define SURFACE(surface)                                                                                     \
    static VkResult VKAPI_CALL create_##surface(VkInstance handle, const struct surface *info,               \
                                                const VkAllocationCallbacks *allocator, VkSurfaceKHR *out) { \
        VkResult (*VKAPI_PTR next)(VkInstance, const struct surface *, const VkAllocationCallbacks *,        \
                                   VkSurfaceKHR *);                                                          \
        const struct instance *instance = (const struct instance *)loader_instance_of(handle);               \
        next = instance ? (__typeof__(next))instance->surface : NULL;                                        \
        const VkResult result = next ? next(handle, info, allocator, out) : VK_ERROR_INITIALIZATION_FAILED;  \
        recorder_lock();                                                                                     \
        if (result == VK_SUCCESS)                                                                            \
            keys_add_window((uint32_t)info->window);                                                         \
        recorder_unlock();                                                                                   \
        return result;                                                                                       \
    }
SURFACE(xcb_surface)
SURFACE(xlib_surface)

static const struct loader_wrapper instance_wrappers[] = {
    {"vkCreateXcbSurfaceKHR", (PFN_vkVoidFunction)create_xcb_surface},
    {"vkCreateXlibSurfaceKHR", (PFN_vkVoidFunction)create_xlib_surface}};

// ---- for the loader

static const struct loader_wrapper wrappers[] = {
#define ROW(function, ...) {"vk" #function, (PFN_vkVoidFunction)record_##function},
    VULKAN_WRAPPED(ROW)
#undef ROW
#define ROW_ALIAS(function, suffix) {"vk" #function suffix, (PFN_vkVoidFunction)record_##function},
        VULKAN_RECORD_ALIASES(ROW_ALIAS)
#undef ROW_ALIAS
};

static bool is_wrapping(void) {
    return recorder.on;
}

static PFN_vkGetDeviceProcAddr get_of(const struct device *device) {
    return device->get;
}

const struct loader_layer loader_layer = {.wrappers = wrappers,
                                          .wrapper_count = sizeof wrappers / sizeof *wrappers,
                                          .instance_wrappers = instance_wrappers,
                                          .instance_wrapper_count =
                                              sizeof instance_wrappers / sizeof *instance_wrappers,
                                          .instance_size = sizeof(struct instance),
                                          .start = start,
                                          .wraps = is_wrapping,
                                          .instance_made = instance_made,
                                          .device_made = adopt,
                                          .get_of = get_of};
