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
    PLAIN(CreateBuffer, (VkDevice d, const VkBufferCreateInfo *i, const VkAllocationCallbacks *a, VkBuffer *o), (d, i, a, o)) \
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
    PLAIN(DestroyBuffer, (VkDevice d, VkBuffer h, const VkAllocationCallbacks *a), (d, h, a)) \
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

// Commands that are recorded into command buffers: no API events, but events of the device for each execution (commands.c).
#define VULKAN_COMMANDS(X)                                                                                   \
    X(CmdBindPipeline)                                                                                       \
    X(CmdDispatch)                                                                                           \
    X(CmdDispatchBase)                                                                                       \
    X(CmdDispatchIndirect)                                                                                   \
    X(CmdDraw)                                                                                               \
    X(CmdDrawIndexed)                                                                                        \
    X(CmdDrawIndirect)                                                                                       \
    X(CmdDrawIndexedIndirect)                                                                                \
    X(CmdDrawIndirectCount)                                                                                  \
    X(CmdDrawIndexedIndirectCount)                                                                           \
    X(CmdBeginRenderPass)                                                                                    \
    X(CmdBeginRenderPass2)                                                                                   \
    X(CmdEndRenderPass)                                                                                      \
    X(CmdEndRenderPass2)                                                                                     \
    X(CmdBeginRendering)                                                                                     \
    X(CmdEndRendering)                                                                                       \
    X(CmdCopyBuffer)                                                                                         \
    X(CmdCopyBuffer2)                                                                                        \
    X(CmdCopyImage)                                                                                          \
    X(CmdCopyImage2)                                                                                         \
    X(CmdCopyBufferToImage)                                                                                  \
    X(CmdCopyBufferToImage2)                                                                                 \
    X(CmdCopyImageToBuffer)                                                                                  \
    X(CmdCopyImageToBuffer2)                                                                                 \
    X(CmdBlitImage)                                                                                          \
    X(CmdBlitImage2)                                                                                         \
    X(CmdResolveImage)                                                                                       \
    X(CmdResolveImage2)                                                                                      \
    X(CmdUpdateBuffer)                                                                                       \
    X(CmdFillBuffer)                                                                                         \
    X(CmdClearColorImage)                                                                                    \
    X(CmdClearDepthStencilImage)                                                                             \
    X(CmdPipelineBarrier)                                                                                    \
    X(CmdPipelineBarrier2)                                                                                   \
    X(CmdExecuteCommands)                                                                                    \
    X(CmdBeginDebugUtilsLabelEXT)                                                                            \
    X(CmdEndDebugUtilsLabelEXT)

#define VULKAN_OTHER_CALLS(X)                                                                                \
    X(DestroyDevice)                                                                                         \
    X(GetDeviceQueue)                                                                                        \
    X(GetDeviceQueue2)                                                                                       \
    X(QueueSubmit)                                                                                           \
    X(QueueSubmit2)                                                                                          \
    X(QueueWaitIdle)                                                                                         \
    X(DeviceWaitIdle)                                                                                        \
    X(QueuePresentKHR)                                                                                       \
    X(CreateSwapchainKHR)                                                                                    \
    X(DestroySwapchainKHR)                                                                                   \
    X(WaitForFences)                                                                                         \
    X(GetFenceStatus)                                                                                        \
    X(ResetFences)                                                                                           \
    X(DestroyFence)                                                                                          \
    X(CreateSemaphore)                                                                                       \
    X(DestroySemaphore)                                                                                      \
    X(WaitSemaphores)                                                                                        \
    X(GetSemaphoreCounterValue)                                                                              \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(CreateShaderModule)                                                                                    \
    X(DestroyShaderModule)                                                                                   \
    X(CreateComputePipelines)                                                                                \
    X(CreateGraphicsPipelines)                                                                               \
    X(DestroyPipeline)                                                                                       \
    X(SetDebugUtilsObjectNameEXT)                                                                            \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(ResetCommandPool)                                                                                      \
    X(AllocateCommandBuffers)                                                                                \
    X(FreeCommandBuffers)                                                                                    \
    X(BeginCommandBuffer)                                                                                    \
    X(EndCommandBuffer)                                                                                      \
    X(ResetCommandBuffer)

#define VULKAN_CALLS(X)                                                                                      \
    VULKAN_COMMANDS(X)                                                                                       \
    VULKAN_OTHER_CALLS(X)

// Not wrapped, but called by the agent.
#define VULKAN_USED(X)                                                                                       \
    X(CmdResetQueryPool)                                                                                     \
    X(CmdCopyQueryPoolResults)                                                                               \
    X(GetBufferMemoryRequirements)                                                                           \
    X(CmdWriteTimestamp)                                                                                     \
    X(GetCalibratedTimestampsEXT)

// Functions of extensions that became part of Vulkan itself: the same function under its older name.
#define VULKAN_ALIASES(X)                                                                                    \
    X(QueueSubmit2, "KHR")                                                                                   \
    X(WaitSemaphores, "KHR")                                                                                 \
    X(SignalSemaphore, "KHR")                                                                                \
    X(GetSemaphoreCounterValue, "KHR")                                                                       \
    X(CreateRenderPass2, "KHR")                                                                              \
    X(ResetQueryPool, "EXT")                                                                                 \
    X(BindBufferMemory2, "KHR")                                                                              \
    X(BindImageMemory2, "KHR")                                                                               \
    X(CmdDispatchBase, "KHR")                                                                                \
    X(CmdDrawIndirectCount, "KHR")                                                                           \
    X(CmdDrawIndexedIndirectCount, "KHR")                                                                    \
    X(CmdBeginRenderPass2, "KHR")                                                                            \
    X(CmdEndRenderPass2, "KHR")                                                                              \
    X(CmdBeginRendering, "KHR")                                                                              \
    X(CmdEndRendering, "KHR")                                                                                \
    X(CmdCopyBuffer2, "KHR")                                                                                 \
    X(CmdCopyImage2, "KHR")                                                                                  \
    X(CmdCopyBufferToImage2, "KHR")                                                                          \
    X(CmdCopyImageToBuffer2, "KHR")                                                                          \
    X(CmdBlitImage2, "KHR")                                                                                  \
    X(CmdResolveImage2, "KHR")                                                                               \
    X(CmdPipelineBarrier2, "KHR")

enum call_id {
    CALL_NONE,
#define CALL_ID(name, ...) CALL_##name,
    VULKAN_PLAIN_CALLS(CALL_ID) VULKAN_PLAIN_VOID_CALLS(CALL_ID) VULKAN_CALLS(CALL_ID)
#undef CALL_ID
        CALL_LIMIT
};

// The next layer's functions, or the driver's, of one device. Those that it does not have are NULL.
struct next {
#define CALL_POINTER(name, ...) PFN_vk##name name;
    VULKAN_PLAIN_CALLS(CALL_POINTER)
    VULKAN_PLAIN_VOID_CALLS(CALL_POINTER)
    VULKAN_CALLS(CALL_POINTER)
    VULKAN_USED(CALL_POINTER)
#undef CALL_POINTER
};

// The wrappers.
#define CALL_DECLARE(name, ...) __typeof__(*(PFN_vk##name)0) layer_##name;
VULKAN_PLAIN_CALLS(CALL_DECLARE)
VULKAN_PLAIN_VOID_CALLS(CALL_DECLARE)
VULKAN_CALLS(CALL_DECLARE)
#undef CALL_DECLARE

#endif
