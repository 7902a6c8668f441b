// SPDX-License-Identifier: Apache-2.0
// The calls of Vulkan that a captured frame consists of: the one list for the recorder, the format and the replay. A function that
// records a command and is in none of the lists is of an extension, whose devices are not captured (vulkan_record/device.c).
#ifndef RECORDING_VULKAN_CALLS_H
#define RECORDING_VULKAN_CALLS_H

#include <vulkan/vulkan_core.h>

// Parameters after the command buffer:
//   V(type, name)                  a number
//   F(name)                        a float
//   H(KIND, type, name)            an object that the command reads; W: that it writes
//   M(KIND, type, name, count)     several that it reads
//   A(type, name, count)           structs, or numbers, with a function words_TYPE; maybe_COUNT: or NULL
//   P(type, name)                  one struct
//   B(name, count)                 bytes
// clang-format off
#define CALL_CmdBindPipeline(V, F, H, W, M, A, P, B) V(VkPipelineBindPoint, p) H(PIPELINE, VkPipeline, h)
#define CALL_CmdSetViewport(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) A(VkViewport, r, n)
#define CALL_CmdSetScissor(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) A(VkRect2D, r, n)
#define CALL_CmdSetLineWidth(V, F, H, W, M, A, P, B) F(w)
#define CALL_CmdSetDepthBias(V, F, H, W, M, A, P, B) F(x) F(y) F(z)
#define CALL_CmdSetBlendConstants(V, F, H, W, M, A, P, B) A(float, c, 4)
#define CALL_CmdSetDepthBounds(V, F, H, W, M, A, P, B) F(l) F(m)
#define CALL_CmdSetStencilCompareMask(V, F, H, W, M, A, P, B) V(VkStencilFaceFlags, f) V(uint32_t, v)
#define CALL_CmdSetStencilWriteMask(V, F, H, W, M, A, P, B) V(VkStencilFaceFlags, f) V(uint32_t, v)
#define CALL_CmdSetStencilReference(V, F, H, W, M, A, P, B) V(VkStencilFaceFlags, f) V(uint32_t, v)
#define CALL_CmdBindDescriptorSets(V, F, H, W, M, A, P, B) V(VkPipelineBindPoint, p) H(LAYOUT, VkPipelineLayout, l) V(uint32_t, f) V(uint32_t, n) M(SET, VkDescriptorSet, s, n) V(uint32_t, k) A(uint32_t, o, k)
#define CALL_CmdBindIndexBuffer(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o) V(VkIndexType, t)
#define CALL_CmdBindVertexBuffers(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) M(BUFFER, VkBuffer, b, n) A(VkDeviceSize, o, n)
#define CALL_CmdDraw(V, F, H, W, M, A, P, B) V(uint32_t, v) V(uint32_t, i) V(uint32_t, fv) V(uint32_t, fi)
#define CALL_CmdDrawIndexed(V, F, H, W, M, A, P, B) V(uint32_t, n) V(uint32_t, i) V(uint32_t, fi) V(int32_t, v) V(uint32_t, ff)
#define CALL_CmdDrawIndirect(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o) V(uint32_t, n) V(uint32_t, s)
#define CALL_CmdDrawIndexedIndirect(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o) V(uint32_t, n) V(uint32_t, s)
#define CALL_CmdDispatch(V, F, H, W, M, A, P, B) V(uint32_t, x) V(uint32_t, y) V(uint32_t, z)
#define CALL_CmdDispatchIndirect(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o)
#define CALL_CmdDispatchBase(V, F, H, W, M, A, P, B) V(uint32_t, i) V(uint32_t, j) V(uint32_t, k) V(uint32_t, x) V(uint32_t, y) V(uint32_t, z)
#define CALL_CmdCopyBuffer(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, s) W(BUFFER, VkBuffer, d) V(uint32_t, n) A(VkBufferCopy, r, n)
#define CALL_CmdCopyImage(V, F, H, W, M, A, P, B) H(IMAGE, VkImage, s) V(VkImageLayout, l) W(IMAGE, VkImage, d) V(VkImageLayout, m) V(uint32_t, n) A(VkImageCopy, r, n)
#define CALL_CmdBlitImage(V, F, H, W, M, A, P, B) H(IMAGE, VkImage, s) V(VkImageLayout, l) W(IMAGE, VkImage, d) V(VkImageLayout, m) V(uint32_t, n) A(VkImageBlit, r, n) V(VkFilter, f)
#define CALL_CmdResolveImage(V, F, H, W, M, A, P, B) H(IMAGE, VkImage, s) V(VkImageLayout, l) W(IMAGE, VkImage, d) V(VkImageLayout, m) V(uint32_t, n) A(VkImageResolve, r, n)
#define CALL_CmdCopyBufferToImage(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, s) W(IMAGE, VkImage, d) V(VkImageLayout, l) V(uint32_t, n) A(VkBufferImageCopy, r, n)
#define CALL_CmdCopyImageToBuffer(V, F, H, W, M, A, P, B) H(IMAGE, VkImage, s) V(VkImageLayout, l) W(BUFFER, VkBuffer, d) V(uint32_t, n) A(VkBufferImageCopy, r, n)
#define CALL_CmdUpdateBuffer(V, F, H, W, M, A, P, B) W(BUFFER, VkBuffer, d) V(VkDeviceSize, o) V(VkDeviceSize, n) B(p, n)
#define CALL_CmdFillBuffer(V, F, H, W, M, A, P, B) W(BUFFER, VkBuffer, d) V(VkDeviceSize, o) V(VkDeviceSize, n) V(uint32_t, v)
#define CALL_CmdClearColorImage(V, F, H, W, M, A, P, B) W(IMAGE, VkImage, d) V(VkImageLayout, l) P(VkClearColorValue, v) V(uint32_t, n) A(VkImageSubresourceRange, r, n)
#define CALL_CmdClearDepthStencilImage(V, F, H, W, M, A, P, B) W(IMAGE, VkImage, d) V(VkImageLayout, l) P(VkClearDepthStencilValue, v) V(uint32_t, n) A(VkImageSubresourceRange, r, n)
#define CALL_CmdClearAttachments(V, F, H, W, M, A, P, B) V(uint32_t, n) A(VkClearAttachment, a, n) V(uint32_t, k) A(VkClearRect, r, k)
#define CALL_CmdPipelineBarrier(V, F, H, W, M, A, P, B) V(VkPipelineStageFlags, f) V(VkPipelineStageFlags, t) V(VkDependencyFlags, y) V(uint32_t, n) A(VkMemoryBarrier, m, n) V(uint32_t, k) A(VkBufferMemoryBarrier, b, k) V(uint32_t, l) A(VkImageMemoryBarrier, i, l)
#define CALL_CmdPipelineBarrier2(V, F, H, W, M, A, P, B) P(VkDependencyInfo, i)
#define CALL_CmdPushConstants(V, F, H, W, M, A, P, B) H(LAYOUT, VkPipelineLayout, l) V(VkShaderStageFlags, s) V(uint32_t, o) V(uint32_t, n) B(p, n)
#define CALL_CmdBeginRenderPass(V, F, H, W, M, A, P, B) P(VkRenderPassBeginInfo, i) V(VkSubpassContents, s)
#define CALL_CmdNextSubpass(V, F, H, W, M, A, P, B) V(VkSubpassContents, s)
#define CALL_CmdEndRenderPass(V, F, H, W, M, A, P, B)
#define CALL_CmdBeginRendering(V, F, H, W, M, A, P, B) P(VkRenderingInfo, i)
#define CALL_CmdEndRendering(V, F, H, W, M, A, P, B)
#define CALL_CmdSetCullMode(V, F, H, W, M, A, P, B) V(VkCullModeFlags, v)
#define CALL_CmdSetFrontFace(V, F, H, W, M, A, P, B) V(VkFrontFace, v)
#define CALL_CmdSetPrimitiveTopology(V, F, H, W, M, A, P, B) V(VkPrimitiveTopology, v)
#define CALL_CmdSetViewportWithCount(V, F, H, W, M, A, P, B) V(uint32_t, n) A(VkViewport, r, n)
#define CALL_CmdSetScissorWithCount(V, F, H, W, M, A, P, B) V(uint32_t, n) A(VkRect2D, r, n)
#define CALL_CmdSetDepthTestEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetDepthWriteEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetDepthCompareOp(V, F, H, W, M, A, P, B) V(VkCompareOp, v)
#define CALL_CmdSetDepthBoundsTestEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetStencilTestEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetStencilOp(V, F, H, W, M, A, P, B) V(VkStencilFaceFlags, f) V(VkStencilOp, a) V(VkStencilOp, b) V(VkStencilOp, c) V(VkCompareOp, o)
#define CALL_CmdSetRasterizerDiscardEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetDepthBiasEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetPrimitiveRestartEnable(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdPushDescriptorSetKHR(V, F, H, W, M, A, P, B) V(VkPipelineBindPoint, p) H(LAYOUT, VkPipelineLayout, l) V(uint32_t, t) V(uint32_t, n) A(VkWriteDescriptorSet, w, n)
#define CALL_CmdBindVertexBuffers2(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) M(BUFFER, VkBuffer, b, n) A(VkDeviceSize, o, n) A(VkDeviceSize, z, maybe_n) A(VkDeviceSize, s, maybe_n)
#define CALL_CmdDrawIndirectCount(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o) H(BUFFER, VkBuffer, d) V(VkDeviceSize, p) V(uint32_t, n) V(uint32_t, s)
#define CALL_CmdDrawIndexedIndirectCount(V, F, H, W, M, A, P, B) H(BUFFER, VkBuffer, b) V(VkDeviceSize, o) H(BUFFER, VkBuffer, d) V(VkDeviceSize, p) V(uint32_t, n) V(uint32_t, s)
// Of extensions.
#define CALL_CmdSetPatchControlPointsEXT(V, F, H, W, M, A, P, B) V(uint32_t, v)
#define CALL_CmdSetLogicOpEXT(V, F, H, W, M, A, P, B) V(VkLogicOp, v)
#define CALL_CmdSetColorWriteEnableEXT(V, F, H, W, M, A, P, B) V(uint32_t, n) A(uint32_t, e, n)
#define CALL_CmdSetLineStippleEXT(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint16_t, p)
#define CALL_CmdSetVertexInputEXT(V, F, H, W, M, A, P, B) V(uint32_t, n) A(VkVertexInputBindingDescription2EXT, b, n) V(uint32_t, k) A(VkVertexInputAttributeDescription2EXT, a, k)
#define CALL_CmdSetDepthClampEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetDepthClipEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetDepthClipNegativeOneToOneEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetPolygonModeEXT(V, F, H, W, M, A, P, B) V(VkPolygonMode, v)
#define CALL_CmdSetProvokingVertexModeEXT(V, F, H, W, M, A, P, B) V(VkProvokingVertexModeEXT, v)
#define CALL_CmdSetLineRasterizationModeEXT(V, F, H, W, M, A, P, B) V(VkLineRasterizationModeEXT, v)
#define CALL_CmdSetLineStippleEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetRasterizationSamplesEXT(V, F, H, W, M, A, P, B) V(VkSampleCountFlagBits, v)
#define CALL_CmdSetSampleMaskEXT(V, F, H, W, M, A, P, B) V(VkSampleCountFlagBits, v) A(uint32_t, m, samples)
#define CALL_CmdSetAlphaToCoverageEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetAlphaToOneEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetLogicOpEnableEXT(V, F, H, W, M, A, P, B) V(VkBool32, v)
#define CALL_CmdSetColorBlendEnableEXT(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) A(uint32_t, e, n)
#define CALL_CmdSetColorBlendEquationEXT(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) A(VkColorBlendEquationEXT, e, n)
#define CALL_CmdSetColorWriteMaskEXT(V, F, H, W, M, A, P, B) V(uint32_t, f) V(uint32_t, n) A(uint32_t, e, n)

// X(name, number): the number of the command in recordings, which never changes its meaning; 0 ends a command buffer.
#define VULKAN_FRAME_COMMANDS(X) \
    X(CmdBindPipeline, 1) X(CmdSetViewport, 2) X(CmdSetScissor, 3) X(CmdSetLineWidth, 4) X(CmdSetDepthBias, 5) \
    X(CmdSetBlendConstants, 6) X(CmdSetDepthBounds, 7) X(CmdSetStencilCompareMask, 8) X(CmdSetStencilWriteMask, 9) \
    X(CmdSetStencilReference, 10) X(CmdBindDescriptorSets, 11) X(CmdBindIndexBuffer, 12) X(CmdBindVertexBuffers, 13) \
    X(CmdDraw, 14) X(CmdDrawIndexed, 15) X(CmdDrawIndirect, 16) X(CmdDrawIndexedIndirect, 17) X(CmdDispatch, 18) \
    X(CmdDispatchIndirect, 19) X(CmdDispatchBase, 20) X(CmdCopyBuffer, 21) X(CmdCopyImage, 22) X(CmdBlitImage, 23) \
    X(CmdResolveImage, 24) X(CmdCopyBufferToImage, 25) X(CmdCopyImageToBuffer, 26) X(CmdUpdateBuffer, 27) \
    X(CmdFillBuffer, 28) X(CmdClearColorImage, 29) X(CmdClearDepthStencilImage, 30) X(CmdClearAttachments, 31) \
    X(CmdPipelineBarrier, 32) X(CmdPipelineBarrier2, 33) X(CmdPushConstants, 34) X(CmdBeginRenderPass, 35) \
    X(CmdNextSubpass, 36) X(CmdEndRenderPass, 37) X(CmdBeginRendering, 38) X(CmdEndRendering, 39) X(CmdSetCullMode, 40) \
    X(CmdSetFrontFace, 41) X(CmdSetPrimitiveTopology, 42) X(CmdSetViewportWithCount, 43) X(CmdSetScissorWithCount, 44) \
    X(CmdSetDepthTestEnable, 45) X(CmdSetDepthWriteEnable, 46) X(CmdSetDepthCompareOp, 47) \
    X(CmdSetDepthBoundsTestEnable, 48) X(CmdSetStencilTestEnable, 49) X(CmdSetStencilOp, 50) \
    X(CmdSetRasterizerDiscardEnable, 51) X(CmdSetDepthBiasEnable, 52) X(CmdSetPrimitiveRestartEnable, 53) \
    X(CmdPushDescriptorSetKHR, 54) X(CmdBindVertexBuffers2, 55) X(CmdDrawIndirectCount, 56) X(CmdDrawIndexedIndirectCount, 57) \
    X(CmdSetPatchControlPointsEXT, 58) X(CmdSetLogicOpEXT, 59) X(CmdSetColorWriteEnableEXT, 60) \
    X(CmdSetLineStippleEXT, 61) X(CmdSetVertexInputEXT, 62) X(CmdSetDepthClampEnableEXT, 63) \
    X(CmdSetDepthClipEnableEXT, 64) X(CmdSetDepthClipNegativeOneToOneEXT, 65) X(CmdSetPolygonModeEXT, 66) \
    X(CmdSetProvokingVertexModeEXT, 67) X(CmdSetLineRasterizationModeEXT, 68) X(CmdSetLineStippleEnableEXT, 69) \
    X(CmdSetRasterizationSamplesEXT, 70) X(CmdSetSampleMaskEXT, 71) X(CmdSetAlphaToCoverageEnableEXT, 72) \
    X(CmdSetAlphaToOneEnableEXT, 73) X(CmdSetLogicOpEnableEXT, 74) X(CmdSetColorBlendEnableEXT, 75) \
    X(CmdSetColorBlendEquationEXT, 76) X(CmdSetColorWriteMaskEXT, 77)

// X(name, number, class): those that do work, for lists; the class is a letter: d dispatch, r render pass, w draw, c copy.
#define VULKAN_WORK_COMMANDS(X) \
    X(CmdDispatch, 'd') X(CmdDispatchIndirect, 'd') X(CmdDispatchBase, 'd') X(CmdBeginRenderPass, 'r') X(CmdBeginRendering, 'r') \
    X(CmdDraw, 'w') X(CmdDrawIndexed, 'w') X(CmdDrawIndirect, 'w') X(CmdDrawIndexedIndirect, 'w') X(CmdDrawIndirectCount, 'w') \
    X(CmdDrawIndexedIndirectCount, 'w') X(CmdCopyBuffer, 'c') \
    X(CmdCopyImage, 'c') X(CmdBlitImage, 'c') X(CmdResolveImage, 'c') X(CmdCopyBufferToImage, 'c') X(CmdCopyImageToBuffer, 'c') \
    X(CmdUpdateBuffer, 'c') X(CmdFillBuffer, 'c') X(CmdClearColorImage, 'c') X(CmdClearDepthStencilImage, 'c')

// Functions that make an object: X(name, info, KIND, handle).
#define VULKAN_CREATE_CALLS(X) \
    X(CreateBuffer, VkBufferCreateInfo, BUFFER, VkBuffer) \
    X(CreateBufferView, VkBufferViewCreateInfo, BUFFER_VIEW, VkBufferView) \
    X(CreateImage, VkImageCreateInfo, IMAGE, VkImage) \
    X(CreateImageView, VkImageViewCreateInfo, IMAGE_VIEW, VkImageView) \
    X(CreateSampler, VkSamplerCreateInfo, SAMPLER, VkSampler) \
    X(CreateShaderModule, VkShaderModuleCreateInfo, MODULE, VkShaderModule) \
    X(CreateDescriptorSetLayout, VkDescriptorSetLayoutCreateInfo, SET_LAYOUT, VkDescriptorSetLayout) \
    X(CreatePipelineLayout, VkPipelineLayoutCreateInfo, LAYOUT, VkPipelineLayout) \
    X(CreateRenderPass, VkRenderPassCreateInfo, PASS, VkRenderPass) \
    X(CreateFramebuffer, VkFramebufferCreateInfo, FRAMEBUFFER, VkFramebuffer)
// Their ends: X(name, KIND, handle).
#define VULKAN_DESTROY_CALLS(X) \
    X(DestroyBuffer, BUFFER, VkBuffer) X(DestroyBufferView, BUFFER_VIEW, VkBufferView) X(DestroyImage, IMAGE, VkImage) \
    X(DestroyImageView, IMAGE_VIEW, VkImageView) X(DestroySampler, SAMPLER, VkSampler) X(DestroyShaderModule, MODULE, VkShaderModule) \
    X(DestroyDescriptorSetLayout, SET_LAYOUT, VkDescriptorSetLayout) X(DestroyPipelineLayout, LAYOUT, VkPipelineLayout) \
    X(DestroyRenderPass, PASS, VkRenderPass) X(DestroyFramebuffer, FRAMEBUFFER, VkFramebuffer) X(DestroyPipeline, PIPELINE, VkPipeline)
// Pipelines are made several at a time: X(name, info).
#define VULKAN_PIPELINE_CALLS(X) \
    X(CreateComputePipelines, VkComputePipelineCreateInfo) X(CreateGraphicsPipelines, VkGraphicsPipelineCreateInfo)

// The types that have a function words_TYPE.
#define VULKAN_STRUCTS(X) \
    X(uint32_t) X(float) X(VkDeviceSize) X(VkViewport) X(VkRect2D) X(VkBufferCopy) X(VkImageCopy) X(VkImageBlit) X(VkImageResolve) \
    X(VkBufferImageCopy) X(VkClearColorValue) X(VkClearDepthStencilValue) X(VkImageSubresourceRange) X(VkClearAttachment) \
    X(VkClearRect) X(VkMemoryBarrier) X(VkBufferMemoryBarrier) X(VkImageMemoryBarrier) X(VkDependencyInfo) \
    X(VkRenderPassBeginInfo) X(VkRenderingInfo) X(VkBufferCreateInfo) X(VkBufferViewCreateInfo) X(VkImageCreateInfo) \
    X(VkImageViewCreateInfo) X(VkSamplerCreateInfo) X(VkShaderModuleCreateInfo) X(VkDescriptorSetLayoutCreateInfo) \
    X(VkPipelineLayoutCreateInfo) X(VkRenderPassCreateInfo) X(VkFramebufferCreateInfo) X(VkComputePipelineCreateInfo) \
    X(VkGraphicsPipelineCreateInfo) X(VkWriteDescriptorSet)
// Those of extensions: added at the end, because the fuzzers' corpus has their places.
#define VULKAN_STRUCTS_EXT(X) \
    X(VkVertexInputBindingDescription2EXT) X(VkVertexInputAttributeDescription2EXT) X(VkColorBlendEquationEXT)
// clang-format on

struct words;
#define DECLARE(type) void words_##type(struct words *words, type *s);
VULKAN_STRUCTS(DECLARE)
VULKAN_STRUCTS_EXT(DECLARE)
#undef DECLARE

// The parameters of a command as a struct, and as words.
#define MEMBER_V(type, name) type name;
#define MEMBER_F(name) float name;
#define MEMBER_H(KIND, type, name) type name;
#define MEMBER_M(KIND, type, name, count) const type *name;
#define MEMBER_A(type, name, count) const type *name;
#define MEMBER_P(type, name) const type *name;
#define MEMBER_B(name, count) const void *name;
#define MEMBERS(name)                                                                                        \
    CALL_##name(MEMBER_V, MEMBER_F, MEMBER_H, MEMBER_H, MEMBER_M, MEMBER_A, MEMBER_P, MEMBER_B)
#define STRUCT(name, number)                                                                                 \
    struct call_##name {                                                                                     \
        MEMBERS(name)                                                                                        \
        uint8_t end;                                                                                         \
    };                                                                                                       \
    void words_call_##name(struct words *words, struct call_##name *s);
VULKAN_FRAME_COMMANDS(STRUCT)
#undef STRUCT

enum vulkan_command {
#define NUMBER(name, number) VULKAN_##name = number,
    VULKAN_FRAME_COMMANDS(NUMBER)
#undef NUMBER
        VULKAN_COMMAND_LIMIT
};

// Parameters of a function, and the arguments of a call with the members of `s`.
#define PARAMETER_V(type, name) , type name
#define PARAMETER_F(name) , float name
#define PARAMETER_H(KIND, type, name) , type name
#define PARAMETER_M(KIND, type, name, count) , const type *name
#define PARAMETER_A(type, name, count) , const type *name
#define PARAMETER_P(type, name) , const type *name
#define PARAMETER_B(name, count) , const void *name
#define PARAMETERS(call)                                                                                     \
    CALL_##call(PARAMETER_V, PARAMETER_F, PARAMETER_H, PARAMETER_H, PARAMETER_M, PARAMETER_A, PARAMETER_P,   \
                PARAMETER_B)

#endif
