// SPDX-License-Identifier: Apache-2.0
// The next layer's functions, or the driver's, of one device: those that are wrapped, from the lists of recording/vulkan/calls.h
// and here, and those that the recorder calls.
#ifndef VULKAN_RECORD_NEXT_H
#define VULKAN_RECORD_NEXT_H

#include <vulkan/vulkan_core.h>

#include "recording/vulkan/calls.h"

// Commands that are part of Vulkan, or of an extension of which programs use other things, and cannot be captured. The parameters after the command buffer, and the arguments.
// clang-format off
#define VULKAN_REFUSED_COMMANDS(X) \
    X(CmdCopyQueryPoolResults, (VkCommandBuffer c, VkQueryPool p, uint32_t q, uint32_t n, VkBuffer b, VkDeviceSize o, VkDeviceSize s, VkQueryResultFlags f), (c, p, q, n, b, o, s, f)) \
    X(CmdSetDeviceMask, (VkCommandBuffer c, uint32_t m), (c, m)) \
    X(CmdBeginConditionalRenderingEXT, (VkCommandBuffer c, const VkConditionalRenderingBeginInfoEXT *i), (c, i)) \
    X(CmdBindTransformFeedbackBuffersEXT, (VkCommandBuffer c, uint32_t f, uint32_t n, const VkBuffer *b, const VkDeviceSize *o, const VkDeviceSize *s), (c, f, n, b, o, s)) \
    X(CmdBeginTransformFeedbackEXT, (VkCommandBuffer c, uint32_t f, uint32_t n, const VkBuffer *b, const VkDeviceSize *o), (c, f, n, b, o)) \
    X(CmdDrawIndirectByteCountEXT, (VkCommandBuffer c, uint32_t n, uint32_t f, VkBuffer b, VkDeviceSize o, uint32_t k, uint32_t s), (c, n, f, b, o, k, s)) \
    X(CmdSetTessellationDomainOriginEXT, (VkCommandBuffer c, VkTessellationDomainOrigin o), (c, o)) \
    X(CmdSetRasterizationStreamEXT, (VkCommandBuffer c, uint32_t s), (c, s)) \
    X(CmdSetConservativeRasterizationModeEXT, (VkCommandBuffer c, VkConservativeRasterizationModeEXT m), (c, m)) \
    X(CmdSetExtraPrimitiveOverestimationSizeEXT, (VkCommandBuffer c, float s), (c, s)) \
    X(CmdSetSampleLocationsEnableEXT, (VkCommandBuffer c, VkBool32 e), (c, e)) \
    X(CmdSetColorBlendAdvancedEXT, (VkCommandBuffer c, uint32_t f, uint32_t n, const VkColorBlendAdvancedEXT *a), (c, f, n, a))
// clang-format on

// Wrapped by hand.
#define VULKAN_RECORD_CALLS(X)                                                                               \
    X(CmdBeginRenderPass2)                                                                                   \
    X(CmdNextSubpass2)                                                                                       \
    X(CmdEndRenderPass2)                                                                                     \
    X(CmdCopyBuffer2)                                                                                        \
    X(CmdCopyImage2)                                                                                         \
    X(CmdCopyBufferToImage2)                                                                                 \
    X(CmdCopyImageToBuffer2)                                                                                 \
    X(CmdBlitImage2)                                                                                         \
    X(CmdResolveImage2)                                                                                      \
    X(CreateDescriptorUpdateTemplate)                                                                        \
    X(DestroyDescriptorUpdateTemplate)                                                                       \
    X(CmdPushDescriptorSetWithTemplateKHR)                                                                   \
    X(CmdDrawMultiEXT)                                                                                       \
    X(CmdDrawMultiIndexedEXT)                                                                                \
    X(CmdExecuteCommands)                                                                                    \
    X(CmdWaitEvents)                                                                                         \
    X(CmdWaitEvents2)                                                                                        \
    X(DestroyDevice)                                                                                         \
    X(GetDeviceQueue)                                                                                        \
    X(GetDeviceQueue2)                                                                                       \
    X(QueueSubmit)                                                                                           \
    X(QueueSubmit2)                                                                                          \
    X(QueueBindSparse)                                                                                       \
    X(CreateSemaphore)                                                                                       \
    X(DestroySemaphore)                                                                                      \
    X(SignalSemaphore)                                                                                       \
    X(QueueWaitIdle)                                                                                         \
    X(DeviceWaitIdle)                                                                                        \
    X(QueuePresentKHR)                                                                                       \
    X(WaitForFences)                                                                                         \
    X(WaitSemaphores)                                                                                        \
    X(GetFenceStatus)                                                                                        \
    X(GetSemaphoreCounterValue)                                                                              \
    X(GetQueryPoolResults)                                                                                   \
    X(GetEventStatus)                                                                                        \
    X(CreateSwapchainKHR)                                                                                    \
    X(DestroySwapchainKHR)                                                                                   \
    X(GetSwapchainImagesKHR)                                                                                 \
    X(AllocateMemory)                                                                                        \
    X(FreeMemory)                                                                                            \
    X(GetBufferDeviceAddress)                                                                                \
    X(BindBufferMemory)                                                                                      \
    X(BindImageMemory)                                                                                       \
    X(BindBufferMemory2)                                                                                     \
    X(BindImageMemory2)                                                                                      \
    X(CreateRenderPass2)                                                                                     \
    X(CreateDescriptorPool)                                                                                  \
    X(DestroyDescriptorPool)                                                                                 \
    X(ResetDescriptorPool)                                                                                   \
    X(AllocateDescriptorSets)                                                                                \
    X(FreeDescriptorSets)                                                                                    \
    X(UpdateDescriptorSets)                                                                                  \
    X(UpdateDescriptorSetWithTemplate)                                                                       \
    X(CreateCommandPool)                                                                                     \
    X(DestroyCommandPool)                                                                                    \
    X(AllocateCommandBuffers)                                                                                \
    X(FreeCommandBuffers)                                                                                    \
    X(BeginCommandBuffer)                                                                                    \
    X(ResetCommandBuffer)

#define VULKAN_WRAPPED(X)                                                                                    \
    VULKAN_FRAME_COMMANDS(X)                                                                                 \
    VULKAN_REFUSED_COMMANDS(X)                                                                               \
    VULKAN_CREATE_CALLS(X)                                                                                   \
    VULKAN_DESTROY_CALLS(X) VULKAN_PIPELINE_CALLS(X) VULKAN_RECORD_CALLS(X)

// Not wrapped, but called.
#define VULKAN_RECORD_USED(X)                                                                                \
    X(GetBufferMemoryRequirements)                                                                           \
    X(GetImageMemoryRequirements)                                                                            \
    X(EndCommandBuffer)                                                                                      \
    X(CreateFence)                                                                                           \
    X(DestroyFence)                                                                                          \
    X(ResetFences)                                                                                           \
    X(MapMemory)

// Functions of extensions that became part of Vulkan itself: the same function under its older name.
#define VULKAN_RECORD_ALIASES(X)                                                                             \
    X(QueueSubmit2, "KHR")                                                                                   \
    X(GetSemaphoreCounterValue, "KHR")                                                                       \
    X(WaitSemaphores, "KHR")                                                                                 \
    X(SignalSemaphore, "KHR")                                                                                \
    X(CreateRenderPass2, "KHR")                                                                              \
    X(BindBufferMemory2, "KHR")                                                                              \
    X(GetBufferDeviceAddress, "KHR")                                                                         \
    X(GetBufferDeviceAddress, "EXT")                                                                         \
    X(BindImageMemory2, "KHR")                                                                               \
    X(CreateDescriptorUpdateTemplate, "KHR")                                                                 \
    X(DestroyDescriptorUpdateTemplate, "KHR")                                                                \
    X(UpdateDescriptorSetWithTemplate, "KHR")                                                                \
    X(CmdDispatchBase, "KHR")                                                                                \
    X(CmdDrawIndirectCount, "KHR")                                                                           \
    X(CmdDrawIndexedIndirectCount, "KHR")                                                                    \
    X(CmdBeginRenderPass2, "KHR")                                                                            \
    X(CmdNextSubpass2, "KHR")                                                                                \
    X(CmdEndRenderPass2, "KHR")                                                                              \
    X(CmdBeginRendering, "KHR")                                                                              \
    X(CmdEndRendering, "KHR")                                                                                \
    X(CmdCopyBuffer2, "KHR")                                                                                 \
    X(CmdCopyImage2, "KHR")                                                                                  \
    X(CmdCopyBufferToImage2, "KHR")                                                                          \
    X(CmdCopyImageToBuffer2, "KHR")                                                                          \
    X(CmdBlitImage2, "KHR")                                                                                  \
    X(CmdResolveImage2, "KHR")                                                                               \
    X(CmdPipelineBarrier2, "KHR")                                                                            \
    X(CmdWaitEvents2, "KHR")                                                                                 \
    X(CmdSetCullMode, "EXT")                                                                                 \
    X(CmdSetFrontFace, "EXT")                                                                                \
    X(CmdSetPrimitiveTopology, "EXT")                                                                        \
    X(CmdSetViewportWithCount, "EXT")                                                                        \
    X(CmdSetScissorWithCount, "EXT")                                                                         \
    X(CmdBindVertexBuffers2, "EXT")                                                                          \
    X(CmdSetDepthTestEnable, "EXT")                                                                          \
    X(CmdSetDepthWriteEnable, "EXT")                                                                         \
    X(CmdSetDepthCompareOp, "EXT")                                                                           \
    X(CmdSetDepthBoundsTestEnable, "EXT")                                                                    \
    X(CmdSetStencilTestEnable, "EXT")                                                                        \
    X(CmdSetStencilOp, "EXT")                                                                                \
    X(CmdSetRasterizerDiscardEnable, "EXT")                                                                  \
    X(CmdSetDepthBiasEnable, "EXT")                                                                          \
    X(CmdSetPrimitiveRestartEnable, "EXT")

struct next {
#define POINTER(name, ...) PFN_vk##name name;
    VULKAN_WRAPPED(POINTER)
    VULKAN_RECORD_USED(POINTER)
#undef POINTER
};

#define DECLARE(name, ...) __typeof__(*(PFN_vk##name)0) record_##name;
VULKAN_WRAPPED(DECLARE)
#undef DECLARE

#endif
