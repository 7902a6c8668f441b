// SPDX-License-Identifier: Apache-2.0
// The wrappers of functions that make and destroy objects. Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"
#include "recording/vulkan/formats.h"

// Usages that the copies of content need. An image that exists only within a render pass cannot have them.
static const VkBufferUsageFlags buffer_copies =
    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;

static VkBufferCreateInfo changed_VkBufferCreateInfo(const VkBufferCreateInfo *info) {
    VkBufferCreateInfo changed = *info;
    changed.usage |= buffer_copies;
    return changed;
}

static VkImageCreateInfo changed_VkImageCreateInfo(const VkImageCreateInfo *info) {
    VkImageCreateInfo changed = *info;
    if (!(info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT))
        changed.usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    return changed;
}

#define UNCHANGED(type)                                                                                      \
    static type changed_##type(const type *info) {                                                           \
        return *info;                                                                                        \
    }
UNCHANGED(VkBufferViewCreateInfo)
UNCHANGED(VkImageViewCreateInfo)
UNCHANGED(VkSamplerCreateInfo)
UNCHANGED(VkShaderModuleCreateInfo)
UNCHANGED(VkDescriptorSetLayoutCreateInfo)
UNCHANGED(VkPipelineLayoutCreateInfo)
UNCHANGED(VkRenderPassCreateInfo)
UNCHANGED(VkFramebufferCreateInfo)

// ---- what is known of an object besides its words

void image_describe(struct object *image, const VkImageCreateInfo *info) {
    image->extent = info->extent;
    image->format = info->format;
    image->levels = info->mipLevels;
    image->layers = info->arrayLayers;
    image->samples = info->samples;
    image->usage = info->usage;
    image->aliases = info->flags & VK_IMAGE_CREATE_ALIAS_BIT;
    image->plane_count = vulkan_format_both(info->format) ? 2 : 1;
    for (uint32_t i = 0; i < image->plane_count; i++)
        image->planes[i].layout = info->initialLayout;
}

static void described_VkImageCreateInfo(struct object *object, const VkImageCreateInfo *info) {
    image_describe(object, info);
}

static void described_VkBufferCreateInfo(struct object *object, const VkBufferCreateInfo *info) {
    object->size = info->size;
}

static void described_VkImageViewCreateInfo(struct object *object, const VkImageViewCreateInfo *info) {
    object->range = info->subresourceRange;
}

// A format with a stencil alone has the operations of the stencil, one without a stencil has the others.
static bool is_cleared(const VkAttachmentDescription *at) {
    return (vulkan_format_aspect(at->format) == VK_IMAGE_ASPECT_STENCIL_BIT
                ? at->stencilLoadOp
                : at->loadOp) == VK_ATTACHMENT_LOAD_OP_CLEAR;
}

// What no draw writes is undefined then.
static bool is_dropped(const VkAttachmentDescription *at) {
    const VkImageAspectFlags aspects = vulkan_format_aspect(at->format);
    return (aspects != VK_IMAGE_ASPECT_STENCIL_BIT && at->loadOp > VK_ATTACHMENT_LOAD_OP_CLEAR) ||
           (aspects & VK_IMAGE_ASPECT_STENCIL_BIT && at->stencilLoadOp > VK_ATTACHMENT_LOAD_OP_CLEAR);
}

// NONE, too, leaves what a draw wrote undefined.
static bool is_forgotten(const VkAttachmentDescription *at) {
    const VkImageAspectFlags aspects = vulkan_format_aspect(at->format);
    return (aspects != VK_IMAGE_ASPECT_STENCIL_BIT && at->storeOp != VK_ATTACHMENT_STORE_OP_STORE) ||
           (aspects & VK_IMAGE_ASPECT_STENCIL_BIT && at->stencilStoreOp != VK_ATTACHMENT_STORE_OP_STORE);
}

static void describe_subpasses(struct object *object, const VkRenderPassCreateInfo *info) {
    object->subpasses = calloc(info->subpassCount, sizeof *object->subpasses);
    object->subpass_count = object->subpasses ? info->subpassCount : 0;
    for (uint32_t i = 0; i < object->subpass_count; i++) {
        const VkSubpassDescription *from = &info->pSubpasses[i];
        struct subpass *subpass = &object->subpasses[i];
        for (uint32_t j = 0; j < from->colorAttachmentCount; j++)
            subpass->colors |= from->pColorAttachments[j].attachment != VK_ATTACHMENT_UNUSED;
        subpass->depths = from->pDepthStencilAttachment &&
                          from->pDepthStencilAttachment->attachment != VK_ATTACHMENT_UNUSED;
    }
}

void pass_describe(struct object *object, const VkRenderPassCreateInfo *info) {
    describe_subpasses(object, info);
    const size_t count = info->attachmentCount;
    object->initial = calloc(count + 1, sizeof *object->initial);
    object->final = calloc(count + 1, sizeof *object->final);
    object->clears = calloc(count + 1, sizeof *object->clears);
    object->drops = calloc(count + 1, sizeof *object->drops);
    object->forgets = calloc(count + 1, sizeof *object->forgets);
    if (!object->initial || !object->final || !object->clears || !object->drops || !object->forgets)
        return;
    object->attachment_count = info->attachmentCount;
    for (size_t i = 0; i < count; i++) {
        object->initial[i] = info->pAttachments[i].initialLayout;
        object->final[i] = info->pAttachments[i].finalLayout;
        object->clears[i] = is_cleared(&info->pAttachments[i]);
        object->drops[i] = is_dropped(&info->pAttachments[i]);
        object->forgets[i] = is_forgotten(&info->pAttachments[i]);
    }
    for (uint32_t i = 0; i < info->subpassCount; i++)
        for (uint32_t j = 0;
             info->pSubpasses[i].pResolveAttachments && j < info->pSubpasses[i].colorAttachmentCount; j++) {
            const uint32_t resolved = info->pSubpasses[i].pResolveAttachments[j].attachment;
            // An earlier subpass may read what is loaded.
            if (resolved < count && (info->subpassCount == 1 ||
                                     info->pAttachments[resolved].loadOp != VK_ATTACHMENT_LOAD_OP_LOAD))
                object->clears[resolved] = true;
        }
}

static void described_VkRenderPassCreateInfo(struct object *object, const VkRenderPassCreateInfo *info) {
    pass_describe(object, info);
}

// Whether a shader may read the number of its draw: a decoration of SPIR-V says so, of an id or of a member.
static bool numbers_draws(const uint32_t *words, size_t count) {
    enum { HEADER = 5, DECORATE = 71, MEMBER_DECORATE = 72, BUILT_IN = 11, DRAW_INDEX = 4426 };
    size_t length;
    for (size_t at = HEADER; at < count && (length = words[at] >> 16) && length <= count - at; at += length) {
        const uint32_t op = words[at] & 0xffff, from = op == DECORATE ? 2 : 3;
        if ((op == DECORATE || op == MEMBER_DECORATE) && length > from + 1 && words[at + from] == BUILT_IN &&
            words[at + from + 1] == DRAW_INDEX)
            return true;
    }
    return false;
}

void module_describe(struct object *module, const VkShaderModuleCreateInfo *info) {
    module->device->numbers_draws |= numbers_draws(info->pCode, info->codeSize / sizeof *info->pCode);
}

static void described_VkShaderModuleCreateInfo(struct object *object, const VkShaderModuleCreateInfo *info) {
    module_describe(object, info);
}

#define NOTHING(type)                                                                                        \
    static void described_##type(struct object *object, const type *info) {                                  \
        (void)object, (void)info;                                                                            \
    }
NOTHING(VkBufferViewCreateInfo)
NOTHING(VkSamplerCreateInfo)
NOTHING(VkDescriptorSetLayoutCreateInfo)
NOTHING(VkPipelineLayoutCreateInfo)
NOTHING(VkFramebufferCreateInfo)

// ---- the wrappers

#define CREATE(name, type, KIND, handle_type)                                                                \
    VkResult record_##name(VkDevice handle, const type *info, const VkAllocationCallbacks *allocator,        \
                           handle_type *out) {                                                               \
        struct device *device = device_of(handle);                                                           \
        const type changed = changed_##type(info);                                                           \
        const VkResult result = device->next.name(handle, &changed, allocator, out);                         \
        if (result != VK_SUCCESS)                                                                            \
            return result;                                                                                   \
        type copy = *info;                                                                                   \
        struct describing describing;                                                                        \
        recorder_lock();                                                                                     \
        describe_begin(&describing);                                                                         \
        words_##type(&describing.words, &copy);                                                              \
        struct object *object = object_add(device, VULKAN_##KIND, (uint64_t)(uintptr_t)*out, "vk" #name);    \
        describe_end(&describing, object);                                                                   \
        if (object)                                                                                          \
            described_##type(object, info);                                                                  \
        recorder_unlock();                                                                                   \
        return result;                                                                                       \
    }
VULKAN_CREATE_CALLS(CREATE)

// Before the driver destroys it: afterwards another thread may get the same handle.
#define DESTROY(name, KIND, type)                                                                            \
    void record_##name(VkDevice handle, type object, const VkAllocationCallbacks *allocator) {               \
        recorder_lock();                                                                                     \
        object_end(object_find(VULKAN_##KIND, (uint64_t)(uintptr_t)object));                                 \
        recorder_unlock();                                                                                   \
        device_of(handle)->next.name(handle, object, allocator);                                             \
    }
VULKAN_DESTROY_CALLS(DESTROY)

// ---- memory

// Others may write to memory that was imported, or is to be exported.
static bool is_shared(const void *chain) {
    for (const VkBaseInStructure *at = chain; at; at = at->pNext)
        if (at->sType != VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO &&
            at->sType != VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO &&
            at->sType != VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT)
            return true;
    return false;
}

static void add_memory(struct device *device, const VkMemoryAllocateInfo *info, VkDeviceMemory memory) {
    recorder_lock();
    struct object *object = object_add(device, KIND_MEMORY, (uint64_t)(uintptr_t)memory, "vkAllocateMemory");
    if (object) {
        object->size = info->allocationSize;
        object->shared = is_shared(info->pNext);
        object->host = object->shared || (info->memoryTypeIndex < device->memory.memoryTypeCount &&
                                          device->memory.memoryTypes[info->memoryTypeIndex].propertyFlags &
                                              VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT);
    }
    recorder_unlock();
}

VkResult record_AllocateMemory(VkDevice handle, const VkMemoryAllocateInfo *info,
                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.AllocateMemory(handle, info, allocator, out);
    if (result == VK_SUCCESS)
        add_memory(device, info, *out);
    return result;
}

void record_FreeMemory(VkDevice handle, VkDeviceMemory memory, const VkAllocationCallbacks *allocator) {
    recorder_lock();
    object_end(object_find(KIND_MEMORY, (uint64_t)(uintptr_t)memory));
    recorder_unlock();
    device_of(handle)->next.FreeMemory(handle, memory, allocator);
}

static void bind(uint32_t kind, uint64_t handle, VkDeviceMemory memory, VkDeviceSize offset) {
    recorder_lock();
    struct object *object = object_find(kind, handle),
                  *at = object_find(KIND_MEMORY, (uint64_t)(uintptr_t)memory);
    if (object && at && uses_add(&object->uses, &object->use_count, &object->use_capacity, at, false)) {
        object->memory = at;
        object->offset = offset;
        object->host = at->host;
        if (object->aliases) {
            VkMemoryRequirements needs;
            object->device->next.GetImageMemoryRequirements(object->device->handle,
                                                            (VkImage)(uintptr_t)handle, &needs);
            object->span = needs.size;
        }
    }
    recorder_unlock();
}

VkResult record_BindBufferMemory(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                 VkDeviceSize offset) {
    const VkResult result = device_of(handle)->next.BindBufferMemory(handle, buffer, memory, offset);
    if (result == VK_SUCCESS)
        bind(VULKAN_BUFFER, (uint64_t)(uintptr_t)buffer, memory, offset);
    return result;
}

VkResult record_BindImageMemory(VkDevice handle, VkImage image, VkDeviceMemory memory, VkDeviceSize offset) {
    const VkResult result = device_of(handle)->next.BindImageMemory(handle, image, memory, offset);
    if (result == VK_SUCCESS)
        bind(VULKAN_IMAGE, (uint64_t)(uintptr_t)image, memory, offset);
    return result;
}

VkResult record_BindBufferMemory2(VkDevice handle, uint32_t count, const VkBindBufferMemoryInfo *infos) {
    const VkResult result = device_of(handle)->next.BindBufferMemory2(handle, count, infos);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        bind(VULKAN_BUFFER, (uint64_t)(uintptr_t)infos[i].buffer, infos[i].memory, infos[i].memoryOffset);
    return result;
}

VkResult record_BindImageMemory2(VkDevice handle, uint32_t count, const VkBindImageMemoryInfo *infos) {
    const VkResult result = device_of(handle)->next.BindImageMemory2(handle, count, infos);
    for (uint32_t i = 0; result == VK_SUCCESS && i < count; i++)
        bind(VULKAN_IMAGE, (uint64_t)(uintptr_t)infos[i].image, infos[i].memory, infos[i].memoryOffset);
    return result;
}

// Many programs make buffers that may have an address, and never ask for it. An address that a program knows may be anywhere in what it
// gives to shaders.
VkDeviceAddress record_GetBufferDeviceAddress(VkDevice handle, const VkBufferDeviceAddressInfo *info) {
    struct device *device = device_of(handle);
    recorder_lock();
    device->has_addresses = true;
    recorder_unlock();
    return device->next.GetBufferDeviceAddress(handle, info);
}

// ---- swapchains: their images are images without memory of the program's

VkResult record_CreateSwapchainKHR(VkDevice handle, const VkSwapchainCreateInfoKHR *info,
                                   const VkAllocationCallbacks *allocator, VkSwapchainKHR *out) {
    struct device *device = device_of(handle);
    VkSwapchainCreateInfoKHR changed = *info;
    changed.imageUsage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    const VkResult result = device->next.CreateSwapchainKHR(handle, &changed, allocator, out);
    if (result != VK_SUCCESS)
        return result;
    recorder_lock();
    struct object *object =
        object_add(device, KIND_SWAPCHAIN, (uint64_t)(uintptr_t)*out, "vkCreateSwapchainKHR");
    if (object) {
        object->extent = (VkExtent3D){info->imageExtent.width, info->imageExtent.height, 1};
        object->format = info->imageFormat;
        object->usage = info->imageUsage;
        object->layers = info->imageArrayLayers;
        object->mutable = info->flags & VK_SWAPCHAIN_CREATE_MUTABLE_FORMAT_BIT_KHR;
    }
    recorder_unlock();
    return result;
}

void record_DestroySwapchainKHR(VkDevice handle, VkSwapchainKHR swapchain,
                                const VkAllocationCallbacks *allocator) {
    recorder_lock();
    object_end(object_find(KIND_SWAPCHAIN, (uint64_t)(uintptr_t)swapchain));
    recorder_unlock();
    device_of(handle)->next.DestroySwapchainKHR(handle, swapchain, allocator);
}

static void add_swapchain_image(struct device *device, struct object *swapchain, VkImage image) {
    if (object_find(VULKAN_IMAGE, (uint64_t)(uintptr_t)image))
        return;
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = swapchain->format,
                              .extent = swapchain->extent,
                              .mipLevels = 1,
                              .arrayLayers = swapchain->layers,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = swapchain->usage};
    if (swapchain->mutable)
        info.flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
    struct describing describing;
    describe_begin(&describing);
    words_VkImageCreateInfo(&describing.words, &info);
    struct object *object =
        object_add(device, VULKAN_IMAGE, (uint64_t)(uintptr_t)image, "vkGetSwapchainImagesKHR");
    describe_end(&describing, object);
    if (object) {
        image_describe(object, &info);
        object->parent = swapchain;
    }
}

VkResult record_GetSwapchainImagesKHR(VkDevice handle, VkSwapchainKHR swapchain, uint32_t *count,
                                      VkImage *out) {
    struct device *device = device_of(handle);
    const VkResult result = device->next.GetSwapchainImagesKHR(handle, swapchain, count, out);
    recorder_lock();
    struct object *object = object_find(KIND_SWAPCHAIN, (uint64_t)(uintptr_t)swapchain);
    for (uint32_t i = 0; object && out && result >= VK_SUCCESS && i < *count; i++)
        add_swapchain_image(device, object, out[i]);
    recorder_unlock();
    return result;
}
