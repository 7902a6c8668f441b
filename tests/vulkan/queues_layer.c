// SPDX-License-Identifier: Apache-2.0
// A layer that gives a device of one queue a second one, which is the same: lavapipe has one, and what the agent does with several
// cannot be tried on it otherwise. It is nearer to the driver than the agent. For test_queues.sh and test_frames.sh. Built with
// FAULTY, it leaves out the last work-group of each dispatch and the last half of each draw as well, as a faulty driver might. Built
// with FAMILIES, the second queue is of a second queue family, without graphics; families mean nothing to the driver. Built with REFUSES,
// a submission that waits for something is refused, as by a driver that is out of memory. From then on no work of the device ends: its
// fences are not signaled, and waits until it is idle do not return. Built with STALLS, the second queue never ends what it has, and results of
// queries never come. Built with CLEARS, passes clear depths and stencils to other values than they are given. Built with SHADES, shaders have
// 0.5 where they were given 0.75. Built with LACKS, the device has no large points.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

// The first word of an object is the loader's, which also finds the functions of a queue by it.
struct second_queue {
    void *dispatch;
    VkQueue real;
};
static struct second_queue second;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties next_families;
static VkInstance instance;
static VkDevice device;

#define NEXT(name) ((PFN_vk##name)next_device(device, "vk" #name))
#define EXPORT __attribute__((visibility("default")))

static VkQueue real(VkQueue queue) {
    return queue == (VkQueue)&second ? second.real : queue;
}

static void VKAPI_CALL get_families(VkPhysicalDevice physical, uint32_t *count,
                                    VkQueueFamilyProperties *out) {
#ifdef FAMILIES
    const uint32_t room = *count;
    uint32_t one = 1;
    *count = out && room < 2 ? room : 2;
    if (out && room)
        next_families(physical, &one, out);
    if (out && room > 1) {
        out[1] = out[0];
        out[1].queueFlags = VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
    }
#else
    next_families(physical, count, out);
    if (out && *count)
        out[0].queueCount = 2;
#endif
}

#ifdef LACKS
static PFN_vkGetPhysicalDeviceFeatures next_features;
static PFN_vkGetPhysicalDeviceFeatures2 next_features2;

static void VKAPI_CALL get_features(VkPhysicalDevice physical, VkPhysicalDeviceFeatures *out) {
    next_features(physical, out);
    out->largePoints = VK_FALSE;
}

static void VKAPI_CALL get_features2(VkPhysicalDevice physical, VkPhysicalDeviceFeatures2 *out) {
    next_features2(physical, out);
    out->features.largePoints = VK_FALSE;
}
#endif

#ifdef FAMILIES
static VkResult VKAPI_CALL create_pool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                       const VkAllocationCallbacks *allocator, VkCommandPool *out) {
    VkCommandPoolCreateInfo first = *info;
    first.queueFamilyIndex = 0;
    return NEXT(CreateCommandPool)(handle, &first, allocator, out);
}
#endif

static VkLayerDeviceCreateInfo *link_of(const VkDeviceCreateInfo *info) {
    VkLayerDeviceCreateInfo *at = (VkLayerDeviceCreateInfo *)info->pNext;
    while (at &&
           !(at->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && at->function == VK_LAYER_LINK_INFO))
        at = (VkLayerDeviceCreateInfo *)at->pNext;
    return at;
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                         const VkAllocationCallbacks *allocator, VkDevice *out) {
    VkLayerDeviceCreateInfo *link = link_of(info);
    VkDeviceCreateInfo less = *info;
    VkDeviceQueueCreateInfo queues = info->pQueueCreateInfos[0];
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    queues.queueCount = 1;
    queues.queueFamilyIndex = 0;
    less.queueCreateInfoCount = 1;
    less.pQueueCreateInfos = &queues;
    next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    PFN_vkCreateDevice create =
        (PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(instance, "vkCreateDevice");
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const VkResult result = create(physical, &less, allocator, out);
    device = *out;
    return result;
}

static void VKAPI_CALL get_queue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *out) {
    NEXT(GetDeviceQueue)(handle, 0, 0, out);
    if (index == 0 && family == 0)
        return;
    second.real = *out;
    second.dispatch = *(void **)*out;
    *out = (VkQueue)&second;
}

#ifdef REFUSES
static int has_refused;

static VkResult VKAPI_CALL wait_device(VkDevice handle) {
    while (has_refused)
        pause();
    return NEXT(DeviceWaitIdle)(handle);
}
#endif

static VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
#ifdef REFUSES
    if (count && infos[0].waitSemaphoreCount) {
        has_refused = 1;
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    if (has_refused)
        fence = VK_NULL_HANDLE;
#endif
#ifdef STALLS
    if (queue == (VkQueue)&second)
        fence = VK_NULL_HANDLE;
#endif
    pthread_mutex_lock(&mutex); // the program may use its queues at once, but this is one
    const VkResult result = NEXT(QueueSubmit)(real(queue), count, infos, fence);
    pthread_mutex_unlock(&mutex);
    return result;
}

static VkResult VKAPI_CALL wait_idle(VkQueue queue) {
#ifdef STALLS
    while (queue == (VkQueue)&second)
        pause();
#endif
#ifdef REFUSES
    while (has_refused)
        pause();
#endif
    pthread_mutex_lock(&mutex);
    const VkResult result = NEXT(QueueWaitIdle)(real(queue));
    pthread_mutex_unlock(&mutex);
    return result;
}

#ifdef STALLS
static VkResult VKAPI_CALL get_results(VkDevice handle, VkQueryPool pool, uint32_t first, uint32_t count,
                                       size_t bytes, void *out, VkDeviceSize stride,
                                       VkQueryResultFlags flags) {
    while (flags & VK_QUERY_RESULT_WAIT_BIT)
        pause();
    return VK_NOT_READY;
}
#endif

#ifdef SHADES
static VkResult VKAPI_CALL create_module(VkDevice handle, const VkShaderModuleCreateInfo *info,
                                         const VkAllocationCallbacks *allocator, VkShaderModule *out) {
    VkShaderModuleCreateInfo changed = *info;
    uint32_t *code = malloc(info->codeSize);
    if (!code)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t i = 0; i < info->codeSize / 4; i++)
        code[i] = info->pCode[i] == 0x3f400000 ? 0x3f000000 : info->pCode[i];
    changed.pCode = code;
    const VkResult result = NEXT(CreateShaderModule)(handle, &changed, allocator, out);
    free(code);
    return result;
}
#endif

#ifdef CLEARS
static const VkClearValue other_value = {.depthStencil = {0.75f, 99}};

static void VKAPI_CALL begin_pass(VkCommandBuffer commands, const VkRenderPassBeginInfo *info,
                                  VkSubpassContents contents) {
    VkRenderPassBeginInfo other = *info;
    other.pClearValues = &other_value;
    NEXT(CmdBeginRenderPass)(commands, &other, contents);
}

static void VKAPI_CALL begin_rendering(VkCommandBuffer commands, const VkRenderingInfo *info) {
    VkRenderingInfo other = *info;
    VkRenderingAttachmentInfo depth, stencil;
    if (info->pDepthAttachment) {
        depth = *info->pDepthAttachment;
        depth.clearValue = other_value;
        other.pDepthAttachment = &depth;
    }
    if (info->pStencilAttachment) {
        stencil = *info->pStencilAttachment;
        stencil.clearValue = other_value;
        other.pStencilAttachment = &stencil;
    }
    NEXT(CmdBeginRendering)(commands, &other);
}
#endif

#ifdef FAULTY
static void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
    NEXT(CmdDispatch)(commands, x - 1, y, z);
}

static void VKAPI_CALL draw(VkCommandBuffer commands, uint32_t vertices, uint32_t instances, uint32_t first,
                            uint32_t first_instance) {
    NEXT(CmdDraw)(commands, vertices / 6 * 3, instances, first, first_instance);
}
#endif

static PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice handle, const char *name) {
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)device_function;
    if (strcmp(name, "vkGetDeviceQueue") == 0)
        return (PFN_vkVoidFunction)get_queue;
    if (strcmp(name, "vkQueueSubmit") == 0)
        return (PFN_vkVoidFunction)submit;
    if (strcmp(name, "vkQueueWaitIdle") == 0)
        return (PFN_vkVoidFunction)wait_idle;
#ifdef REFUSES
    if (strcmp(name, "vkDeviceWaitIdle") == 0)
        return (PFN_vkVoidFunction)wait_device;
#endif
#ifdef FAMILIES
    if (strcmp(name, "vkCreateCommandPool") == 0)
        return (PFN_vkVoidFunction)create_pool;
#endif
#ifdef STALLS
    if (strcmp(name, "vkGetQueryPoolResults") == 0)
        return (PFN_vkVoidFunction)get_results;
#endif
#ifdef SHADES
    if (strcmp(name, "vkCreateShaderModule") == 0)
        return (PFN_vkVoidFunction)create_module;
#endif
#ifdef CLEARS
    if (strcmp(name, "vkCmdBeginRenderPass") == 0)
        return (PFN_vkVoidFunction)begin_pass;
    if (strcmp(name, "vkCmdBeginRendering") == 0)
        return (PFN_vkVoidFunction)begin_rendering;
#endif
#ifdef FAULTY
    if (strcmp(name, "vkCmdDispatch") == 0)
        return (PFN_vkVoidFunction)dispatch;
    if (strcmp(name, "vkCmdDraw") == 0)
        return (PFN_vkVoidFunction)draw;
#endif
    return next_device(handle, name);
}

static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                           const VkAllocationCallbacks *allocator, VkInstance *out) {
    VkLayerInstanceCreateInfo *at = (VkLayerInstanceCreateInfo *)info->pNext;
    while (at && !(at->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                   at->function == VK_LAYER_LINK_INFO))
        at = (VkLayerInstanceCreateInfo *)at->pNext;
    if (!at)
        return VK_ERROR_INITIALIZATION_FAILED;
    next_instance = at->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_instance(NULL, "vkCreateInstance");
    at->u.pLayerInfo = at->u.pLayerInfo->pNext;
    const VkResult result = create(info, allocator, out);
    instance = *out;
    // Later the loader would answer with the first layer's function.
    next_families = (PFN_vkGetPhysicalDeviceQueueFamilyProperties)next_instance(
        instance, "vkGetPhysicalDeviceQueueFamilyProperties");
#ifdef LACKS
    next_features = (PFN_vkGetPhysicalDeviceFeatures)next_instance(instance, "vkGetPhysicalDeviceFeatures");
    next_features2 =
        (PFN_vkGetPhysicalDeviceFeatures2)next_instance(instance, "vkGetPhysicalDeviceFeatures2");
#endif
    return result;
}

static PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance handle, const char *name) {
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)instance_function;
    if (strcmp(name, "vkCreateInstance") == 0)
        return (PFN_vkVoidFunction)create_instance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (PFN_vkVoidFunction)create_device;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)device_function;
    if (strcmp(name, "vkGetPhysicalDeviceQueueFamilyProperties") == 0)
        return (PFN_vkVoidFunction)get_families;
#ifdef LACKS
    if (strcmp(name, "vkGetPhysicalDeviceFeatures") == 0)
        return (PFN_vkVoidFunction)get_features;
    if (strcmp(name, "vkGetPhysicalDeviceFeatures2") == 0)
        return (PFN_vkVoidFunction)get_features2;
#endif
    return next_instance ? next_instance(handle, name) : NULL;
}

EXPORT VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version) {
    version->loaderLayerInterfaceVersion = 2;
    version->pfnGetInstanceProcAddr = instance_function;
    version->pfnGetDeviceProcAddr = device_function;
    version->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
