// SPDX-License-Identifier: Apache-2.0
// The parameters of Vulkan's commands as words, from the list in calls.h.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <string.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/formats.h"
#include "recording/vulkan/words.h"

// Drivers use enumerations as indexes.
#define UNTIL(name, last) words->failed |= words->reading && (uint64_t)(s->name) > (uint64_t)(last);
// Commands of secondary buffers are in the primary: a render pass has them inline. Other types are as they were recorded.
#define READ_VkSubpassContents(name)                                                                         \
    if (words->reading)                                                                                      \
        s->name = VK_SUBPASS_CONTENTS_INLINE;
#define READ_VkPipelineBindPoint(name) UNTIL(name, VK_PIPELINE_BIND_POINT_COMPUTE)
#define READ_uint32_t(name)
#define READ_int32_t(name)
#define READ_VkDeviceSize(name)
#define READ_VkBool32(name)
#define READ_VkStencilFaceFlags(name)
#define READ_VkStencilOp(name) UNTIL(name, VK_STENCIL_OP_DECREMENT_AND_WRAP)
#define READ_VkCompareOp(name) UNTIL(name, VK_COMPARE_OP_ALWAYS)
#define READ_VkIndexType(name)                                                                               \
    words->failed |= words->reading && s->name > VK_INDEX_TYPE_UINT32 && s->name != VK_INDEX_TYPE_UINT8_EXT;
#define READ_VkImageLayout(name)                                                                             \
    if (words->reading)                                                                                      \
        s->name = vulkan_layout_read(s->name);
#define READ_VkFilter(name) UNTIL(name, VK_FILTER_LINEAR)
#define READ_VkPipelineStageFlags(name)
#define READ_VkDependencyFlags(name)
#define READ_VkShaderStageFlags(name)
#define READ_VkCullModeFlags(name)
#define READ_VkFrontFace(name) UNTIL(name, VK_FRONT_FACE_CLOCKWISE)
#define READ_VkPrimitiveTopology(name) UNTIL(name, VK_PRIMITIVE_TOPOLOGY_PATCH_LIST)
#define READ_uint16_t(name)
#define READ_VkLogicOp(name) UNTIL(name, VK_LOGIC_OP_SET)
#define READ_VkPolygonMode(name) UNTIL(name, VK_POLYGON_MODE_POINT)
#define READ_VkProvokingVertexModeEXT(name) UNTIL(name, VK_PROVOKING_VERTEX_MODE_LAST_VERTEX_EXT)
#define READ_VkLineRasterizationModeEXT(name) UNTIL(name, VK_LINE_RASTERIZATION_MODE_RECTANGULAR_SMOOTH_EXT)
#define READ_VkSampleCountFlagBits(name)                                                                     \
    words->failed |=                                                                                         \
        words->reading && (!s->name || s->name > VK_SAMPLE_COUNT_64_BIT || (s->name & (s->name - 1)) != 0);
#define WORDS_V(type, name)                                                                                  \
    WORD(name);                                                                                              \
    READ_##type(name)
#define WORDS_F(name) FLOAT(name);
#define WORDS_H(KIND, type, name) HANDLE_OF(KIND, name, false, false);
#define WORDS_W(KIND, type, name) HANDLE_OF(KIND, name, true, false);
#define WORDS_M(KIND, type, name, count) HANDLES(KIND, type, s->count, name, false, false);
#define WORDS_A(type, name, count) ITEMS_OF(type, COUNT_##count, name, OPTIONAL_##count);
#define WORDS_P(type, name) ITEMS(type, 1, name);
#define WORDS_B(name, count) BYTES(s->count, name);
// A count is a parameter, or a number. Of an array that may be NULL it is named maybe_.
#define COUNT_n s->n
#define COUNT_k s->k
#define COUNT_l s->l
#define COUNT_samples ((uint32_t)s->v + 31) / 32 // bits of a mask
#define COUNT_4 4
#define COUNT_maybe_n s->n
#define OPTIONAL_n false
#define OPTIONAL_k false
#define OPTIONAL_l false
#define OPTIONAL_samples false
#define OPTIONAL_4 false
#define OPTIONAL_maybe_n true

#define DEFINE(name, number)                                                                                 \
    void words_call_##name(struct words *words, struct call_##name *s) {                                     \
        CALL_##name(WORDS_V, WORDS_F, WORDS_H, WORDS_W, WORDS_M, WORDS_A, WORDS_P, WORDS_B)(void) words;     \
        (void)s;                                                                                             \
    }
VULKAN_FRAME_COMMANDS(DEFINE)

#endif
