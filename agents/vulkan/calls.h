// SPDX-License-Identifier: Apache-2.0
// The functions of Vulkan that the agent wraps: the one list. The layer's table, the names in the trace and the declarations of the
// wrappers come from it. A function that is not here is never touched.
#ifndef VULKAN_CALLS_H
#define VULKAN_CALLS_H

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan_core.h>

// Those that get an API event and nothing else (plain.c).
// PLAIN(name, parameters, arguments): the first parameter is the dispatchable handle. These return a VkResult ...
// clang-format off
#define VULKAN_PLAIN_CALLS(PLAIN) \
    PLAIN(CreateBufferView, (VkDevice d, const VkBufferViewCreateInfo *i, const VkAllocationCallbacks *a, VkBufferView *o), (d, i, a, o)) \
    PLAIN(CreateImage, (VkDevice d, const VkImageCreateInfo *i, const VkAllocationCallbacks *a, VkImage *o), (d, i, a, o)) \
    PLAIN(CreateImageView, (VkDevice d, const VkImageViewCreateInfo *i, const VkAllocationCallbacks *a, VkImageView *o), (d, i, a, o)) \
    PLAIN(CreateSampler, (VkDevice d, const VkSamplerCreateInfo *i, const VkAllocationCallbacks *a, VkSampler *o), (d, i, a, o)) \
    PLAIN(CreateDescriptorPool, (VkDevice d, const VkDescriptorPoolCreateInfo *i, const VkAllocationCallbacks *a, VkDescriptorPool *o), (d, i, a, o)) \
    PLAIN(CreateDescriptorSetLayout, (VkDevice d, const VkDescriptorSetLayoutCreateInfo *i, const VkAllocationCallbacks *a, VkDescriptorSetLayout *o), (d, i, a, o)) \
    PLAIN(CreatePipelineLayout, (VkDevice d, const VkPipelineLayoutCreateInfo *i, const VkAllocationCallbacks *a, VkPipelineLayout *o), (d, i, a, o)) \
    PLAIN(CreatePipelineCache, (VkDevice d, const VkPipelineCacheCreateInfo *i, const VkAllocationCallbacks *a, VkPipelineCache *o), (d, i, a, o)) \
    PLAIN(CreateRenderPass, (VkDevice d, const VkRenderPassCreateInfo *i, const VkAllocationCallbacks *a, VkRenderPass *o), (d, i, a, o)) \
    PLAIN(CreateFramebuffer, (VkDevice d, const VkFramebufferCreateInfo *i, const VkAllocationCallbacks *a, VkFramebuffer *o), (d, i, a, o)) \
    PLAIN(CreateQueryPool, (VkDevice d, const VkQueryPoolCreateInfo *i, const VkAllocationCallbacks *a, VkQueryPool *o), (d, i, a, o)) \
    PLAIN(CreateEvent, (VkDevice d, const VkEventCreateInfo *i, const VkAllocationCallbacks *a, VkEvent *o), (d, i, a, o)) \
    PLAIN(CreateRenderPass2, (VkDevice d, const VkRenderPassCreateInfo2 *i, const VkAllocationCallbacks *a, VkRenderPass *o), (d, i, a, o)) \
    PLAIN(CreateFence, (VkDevice d, const VkFenceCreateInfo *i, const VkAllocationCallbacks *a, VkFence *o), (d, i, a, o)) \
    PLAIN(AllocateDescriptorSets, (VkDevice d, const VkDescriptorSetAllocateInfo *i, VkDescriptorSet *o), (d, i, o)) \
    PLAIN(FreeDescriptorSets, (VkDevice d, VkDescriptorPool p, uint32_t n, const VkDescriptorSet *s), (d, p, n, s)) \
    PLAIN(ResetDescriptorPool, (VkDevice d, VkDescriptorPool p, VkDescriptorPoolResetFlags f), (d, p, f)) \
    PLAIN(BindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize s), (d, b, m, s)) \
    PLAIN(BindImageMemory, (VkDevice d, VkImage b, VkDeviceMemory m, VkDeviceSize s), (d, b, m, s)) \
    PLAIN(BindBufferMemory2, (VkDevice d, uint32_t n, const VkBindBufferMemoryInfo *i), (d, n, i)) \
    PLAIN(BindImageMemory2, (VkDevice d, uint32_t n, const VkBindImageMemoryInfo *i), (d, n, i)) \
    PLAIN(MapMemory, (VkDevice d, VkDeviceMemory m, VkDeviceSize s, VkDeviceSize n, VkMemoryMapFlags f, void **o), (d, m, s, n, f, o)) \
    PLAIN(FlushMappedMemoryRanges, (VkDevice d, uint32_t n, const VkMappedMemoryRange *r), (d, n, r)) \
    PLAIN(InvalidateMappedMemoryRanges, (VkDevice d, uint32_t n, const VkMappedMemoryRange *r), (d, n, r)) \
    PLAIN(GetQueryPoolResults, (VkDevice d, VkQueryPool p, uint32_t q, uint32_t n, size_t z, void *o, VkDeviceSize s, VkQueryResultFlags f), (d, p, q, n, z, o, s, f)) \
    PLAIN(GetSwapchainImagesKHR, (VkDevice d, VkSwapchainKHR c, uint32_t *n, VkImage *o), (d, c, n, o)) \
    PLAIN(AcquireNextImageKHR, (VkDevice d, VkSwapchainKHR c, uint64_t t, VkSemaphore s, VkFence f, uint32_t *o), (d, c, t, s, f, o)) \
    PLAIN(AcquireNextImage2KHR, (VkDevice d, const VkAcquireNextImageInfoKHR *i, uint32_t *o), (d, i, o)) \
    PLAIN(SignalSemaphore, (VkDevice d, const VkSemaphoreSignalInfo *i), (d, i)) \
    PLAIN(SetEvent, (VkDevice d, VkEvent e), (d, e)) \
    PLAIN(ResetEvent, (VkDevice d, VkEvent e), (d, e)) \
    PLAIN(QueueBindSparse, (VkQueue q, uint32_t n, const VkBindSparseInfo *i, VkFence f), (q, n, i, f))
// ... and these nothing.
#define VULKAN_PLAIN_VOID_CALLS(PLAIN) \
    PLAIN(DestroyBufferView, (VkDevice d, VkBufferView h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyImage, (VkDevice d, VkImage h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyImageView, (VkDevice d, VkImageView h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroySampler, (VkDevice d, VkSampler h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyDescriptorPool, (VkDevice d, VkDescriptorPool h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyDescriptorSetLayout, (VkDevice d, VkDescriptorSetLayout h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyPipelineLayout, (VkDevice d, VkPipelineLayout h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyPipelineCache, (VkDevice d, VkPipelineCache h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyRenderPass, (VkDevice d, VkRenderPass h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyFramebuffer, (VkDevice d, VkFramebuffer h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyQueryPool, (VkDevice d, VkQueryPool h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(DestroyEvent, (VkDevice d, VkEvent h, const VkAllocationCallbacks *a), (d, h, a)) \
    PLAIN(UnmapMemory, (VkDevice d, VkDeviceMemory m), (d, m)) \
    PLAIN(UpdateDescriptorSets, (VkDevice d, uint32_t n, const VkWriteDescriptorSet *w, uint32_t m, const VkCopyDescriptorSet *c), (d, n, w, m, c)) \
    PLAIN(ResetQueryPool, (VkDevice d, VkQueryPool p, uint32_t q, uint32_t n), (d, p, q, n))
// clang-format on

// The end of an object that the agent knows: REMOVE(name, type, kind) (objects.h); an API event too.
// clang-format off
#define VULKAN_REMOVE_CALLS(REMOVE) \
    REMOVE(DestroyShaderModule, VkShaderModule, OBJECT_MODULE) \
    REMOVE(DestroyPipeline, VkPipeline, OBJECT_PIPELINE) \
    REMOVE(DestroySemaphore, VkSemaphore, OBJECT_SEMAPHORE) \
    REMOVE(DestroySwapchainKHR, VkSwapchainKHR, OBJECT_SWAPCHAIN)

// Commands that are recorded into command buffers: no API events, but events of the device for each execution (commands.c).
// COUNT(name, parameters, arguments, number): they are only counted, by their render pass or by the next command.
#define VULKAN_COUNTED_CALLS(COUNT) \
    COUNT(CmdDraw, (VkCommandBuffer c, uint32_t v, uint32_t i, uint32_t fv, uint32_t fi), (c, v, i, fv, fi), draws) \
    COUNT(CmdDrawIndexed, (VkCommandBuffer c, uint32_t n, uint32_t i, uint32_t fi, int32_t v, uint32_t ff), (c, n, i, fi, v, ff), draws) \
    COUNT(CmdDrawIndirect, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s), draws) \
    COUNT(CmdDrawIndexedIndirect, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, uint32_t n, uint32_t s), (c, b, o, n, s), draws) \
    COUNT(CmdDrawIndirectCount, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer d, VkDeviceSize p, uint32_t n, uint32_t s), (c, b, o, d, p, n, s), draws) \
    COUNT(CmdDrawIndexedIndirectCount, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkBuffer d, VkDeviceSize p, uint32_t n, uint32_t s), (c, b, o, d, p, n, s), draws) \
    COUNT(CmdPipelineBarrier, (VkCommandBuffer c, VkPipelineStageFlags f, VkPipelineStageFlags t, VkDependencyFlags y, uint32_t n, const VkMemoryBarrier *m, uint32_t k, const VkBufferMemoryBarrier *b, uint32_t l, const VkImageMemoryBarrier *i), (c, f, t, y, n, m, k, b, l, i), barriers) \
    COUNT(CmdPipelineBarrier2, (VkCommandBuffer c, const VkDependencyInfo *i), (c, i), barriers) \
    COUNT(CmdNextSubpass, (VkCommandBuffer c, VkSubpassContents s), (c, s), subpasses) \
    COUNT(CmdNextSubpass2, (VkCommandBuffer c, const VkSubpassBeginInfo *b, const VkSubpassEndInfo *e), (c, b, e), subpasses)
// DISPATCH(name, parameters, arguments, groups): indirect ones read the number of groups from memory on the device.
#define VULKAN_DISPATCH_CALLS(DISPATCH) \
    DISPATCH(CmdDispatch, (VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z), (c, x, y, z), ((const uint32_t[]){x, y, z})) \
    DISPATCH(CmdDispatchBase, (VkCommandBuffer c, uint32_t i, uint32_t j, uint32_t k, uint32_t x, uint32_t y, uint32_t z), (c, i, j, k, x, y, z), ((const uint32_t[]){x, y, z})) \
    DISPATCH(CmdDispatchIndirect, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o), (c, b, o), NULL)
// BEGIN(name, parameters, arguments, flags of dynamic rendering, whether its commands are in this buffer) and END(name, parameters, arguments) of render passes.
#define VULKAN_PASS_CALLS(BEGIN, END) \
    BEGIN(CmdBeginRenderPass, (VkCommandBuffer c, const VkRenderPassBeginInfo *i, VkSubpassContents s), (c, i, s), 0, s == VK_SUBPASS_CONTENTS_INLINE) \
    BEGIN(CmdBeginRenderPass2, (VkCommandBuffer c, const VkRenderPassBeginInfo *i, const VkSubpassBeginInfo *s), (c, i, s), 0, s->contents == VK_SUBPASS_CONTENTS_INLINE) \
    BEGIN(CmdBeginRendering, (VkCommandBuffer c, const VkRenderingInfo *i), (c, i), i->flags, !(i->flags & VK_RENDERING_CONTENTS_SECONDARY_COMMAND_BUFFERS_BIT)) \
    END(CmdEndRenderPass, (VkCommandBuffer c), (c)) \
    END(CmdEndRenderPass2, (VkCommandBuffer c, const VkSubpassEndInfo *e), (c, e)) \
    END(CmdEndRendering, (VkCommandBuffer c), (c))
// TRANSFER(name, parameters, arguments, class, operation, bytes): of image copies the bytes are not known, as the size of an image's
// element is not.
#define VULKAN_TRANSFER_CALLS(TRANSFER) \
    TRANSFER(CmdCopyBuffer, (VkCommandBuffer c, VkBuffer s, VkBuffer d, uint32_t n, const VkBufferCopy *r), (c, s, d, n, r), COPY, COPY, region_bytes(n, r)) \
    TRANSFER(CmdCopyBuffer2, (VkCommandBuffer c, const VkCopyBufferInfo2 *i), (c, i), COPY, COPY, region_bytes2(i->regionCount, i->pRegions)) \
    TRANSFER(CmdUpdateBuffer, (VkCommandBuffer c, VkBuffer d, VkDeviceSize o, VkDeviceSize n, const void *p), (c, d, o, n, p), COPY, WRITE, n) \
    TRANSFER(CmdFillBuffer, (VkCommandBuffer c, VkBuffer d, VkDeviceSize o, VkDeviceSize n, uint32_t v), (c, d, o, n, v), FILL, FILL, fill_bytes(d, o, n)) \
    TRANSFER(CmdCopyImage, (VkCommandBuffer c, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n, const VkImageCopy *r), (c, s, l, d, m, n, r), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdCopyImage2, (VkCommandBuffer c, const VkCopyImageInfo2 *i), (c, i), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdCopyBufferToImage, (VkCommandBuffer c, VkBuffer s, VkImage d, VkImageLayout l, uint32_t n, const VkBufferImageCopy *r), (c, s, d, l, n, r), COPY, COPY_BUFFER_TO_IMAGE, UNKNOWN) \
    TRANSFER(CmdCopyBufferToImage2, (VkCommandBuffer c, const VkCopyBufferToImageInfo2 *i), (c, i), COPY, COPY_BUFFER_TO_IMAGE, UNKNOWN) \
    TRANSFER(CmdCopyImageToBuffer, (VkCommandBuffer c, VkImage s, VkImageLayout l, VkBuffer d, uint32_t n, const VkBufferImageCopy *r), (c, s, l, d, n, r), COPY, COPY_IMAGE_TO_BUFFER, UNKNOWN) \
    TRANSFER(CmdCopyImageToBuffer2, (VkCommandBuffer c, const VkCopyImageToBufferInfo2 *i), (c, i), COPY, COPY_IMAGE_TO_BUFFER, UNKNOWN) \
    TRANSFER(CmdBlitImage, (VkCommandBuffer c, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n, const VkImageBlit *r, VkFilter f), (c, s, l, d, m, n, r, f), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdBlitImage2, (VkCommandBuffer c, const VkBlitImageInfo2 *i), (c, i), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdResolveImage, (VkCommandBuffer c, VkImage s, VkImageLayout l, VkImage d, VkImageLayout m, uint32_t n, const VkImageResolve *r), (c, s, l, d, m, n, r), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdResolveImage2, (VkCommandBuffer c, const VkResolveImageInfo2 *i), (c, i), COPY, COPY_IMAGE, UNKNOWN) \
    TRANSFER(CmdClearColorImage, (VkCommandBuffer c, VkImage d, VkImageLayout l, const VkClearColorValue *v, uint32_t n, const VkImageSubresourceRange *r), (c, d, l, v, n, r), FILL, FILL_IMAGE, UNKNOWN) \
    TRANSFER(CmdClearDepthStencilImage, (VkCommandBuffer c, VkImage d, VkImageLayout l, const VkClearDepthStencilValue *v, uint32_t n, const VkImageSubresourceRange *r), (c, d, l, v, n, r), FILL, FILL_IMAGE, UNKNOWN)

// Wrapped by hand: commands, then those with an API event and more.
#define VULKAN_OTHER_CALLS(X) \
    X(CmdBindPipeline) X(CmdExecuteCommands) X(CmdBeginDebugUtilsLabelEXT) \
    X(CmdEndDebugUtilsLabelEXT) \
    X(DestroyDevice) X(GetDeviceQueue) X(GetDeviceQueue2) X(QueueSubmit) X(QueueSubmit2) X(QueueWaitIdle) \
    X(DeviceWaitIdle) X(QueuePresentKHR) X(CreateSwapchainKHR) X(WaitForFences) X(GetFenceStatus) \
    X(ResetFences) X(DestroyFence) X(CreateSemaphore) X(WaitSemaphores) X(GetSemaphoreCounterValue) \
    X(AllocateMemory) X(FreeMemory) X(CreateBuffer) X(DestroyBuffer) X(CreateShaderModule) X(CreateComputePipelines) \
    X(CreateGraphicsPipelines) X(SetDebugUtilsObjectNameEXT) X(CreateCommandPool) X(DestroyCommandPool) \
    X(ResetCommandPool) X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer) \
    X(EndCommandBuffer) X(ResetCommandBuffer)

#define VULKAN_CALLS(X) \
    VULKAN_PLAIN_CALLS(X) VULKAN_PLAIN_VOID_CALLS(X) VULKAN_REMOVE_CALLS(X) VULKAN_COUNTED_CALLS(X) VULKAN_DISPATCH_CALLS(X) VULKAN_PASS_CALLS(X, X) VULKAN_TRANSFER_CALLS(X) VULKAN_OTHER_CALLS(X)

// Not wrapped, but called by the agent.
#define VULKAN_USED(X) \
    X(CmdResetQueryPool) X(CmdCopyQueryPoolResults) X(GetBufferMemoryRequirements) X(CmdWriteTimestamp) \
    X(GetCalibratedTimestampsEXT)

// Not wrapped, but called by the agent, of instances.
#define VULKAN_INSTANCE_USED(X) \
    X(DestroyInstance) X(EnumerateDeviceExtensionProperties) X(GetPhysicalDeviceProperties) \
    X(GetPhysicalDeviceProperties2) X(GetPhysicalDeviceMemoryProperties) \
    X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceCalibrateableTimeDomainsEXT)

// Functions of extensions that became part of Vulkan itself: the same function under its older name.
#define VULKAN_ALIASES(X) \
    X(QueueSubmit2, "KHR") X(WaitSemaphores, "KHR") X(SignalSemaphore, "KHR") \
    X(GetSemaphoreCounterValue, "KHR") X(CreateRenderPass2, "KHR") X(ResetQueryPool, "EXT") \
    X(BindBufferMemory2, "KHR") X(BindImageMemory2, "KHR") X(CmdDispatchBase, "KHR") \
    X(CmdDrawIndirectCount, "KHR") X(CmdDrawIndexedIndirectCount, "KHR") X(CmdBeginRenderPass2, "KHR") \
    X(CmdEndRenderPass2, "KHR") X(CmdNextSubpass2, "KHR") X(CmdBeginRendering, "KHR") X(CmdEndRendering, "KHR") \
    X(CmdCopyBuffer2, "KHR") X(CmdCopyImage2, "KHR") X(CmdCopyBufferToImage2, "KHR") \
    X(CmdCopyImageToBuffer2, "KHR") X(CmdBlitImage2, "KHR") X(CmdResolveImage2, "KHR") \
    X(CmdPipelineBarrier2, "KHR")
// clang-format on

enum call_id {
    CALL_NONE,
#define CALL_ID(name, ...) CALL_##name,
    VULKAN_CALLS(CALL_ID)
#undef CALL_ID
        CALL_LIMIT
};

// The next layer's functions, or the driver's, of one device. Those that it does not have are NULL.
struct next {
#define CALL_POINTER(name, ...) PFN_vk##name name;
    VULKAN_CALLS(CALL_POINTER)
    VULKAN_USED(CALL_POINTER)
#undef CALL_POINTER
};

// The next layer's functions of one instance, asked for while it is created: from then on the loader answers with those of the
// layers above us, which may give the program other handles (RenderDoc).
struct instance_next {
#define CALL_POINTER(name) PFN_vk##name name;
    VULKAN_INSTANCE_USED(CALL_POINTER)
#undef CALL_POINTER
};

// The wrappers.
#define CALL_DECLARE(name, ...) __typeof__(*(PFN_vk##name)0) layer_##name;
VULKAN_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#endif
