// SPDX-License-Identifier: Apache-2.0
// What the files of struct descriptions share. For structs*.c alone.
#ifndef RECORDING_VULKAN_STRUCTS_H
#define RECORDING_VULKAN_STRUCTS_H

#include <vulkan/vulkan_core.h>

#include "recording/vulkan/calls.h"
#include "recording/vulkan/formats.h"
#include "recording/vulkan/words.h"

// Writing: a struct in the chain means something that the words do not have, unless it is `known` or only a hint.
void words_chain(struct words *words, const char *name, const void *chain, VkStructureType known);
void words_chain_of(struct words *words, const char *name, const void *chain, const VkStructureType *known,
                    size_t count);
// The struct of this type in a chain; NULL: there is none.
const void *words_in_chain(const void *chain, VkStructureType type);

// A struct with a type and no chain; with the parameters `words` and `s`.
#define HEAD_WITH(type, TYPE, known)                                                                         \
    do {                                                                                                     \
        if (words->reading)                                                                                  \
            s->sType = VK_STRUCTURE_TYPE_##TYPE;                                                             \
        else                                                                                                 \
            words_chain(words, #type, s->pNext, known);                                                      \
    } while (0)
// The same with several that are known.
#define HEAD_OF(type, TYPE, ...)                                                                             \
    do {                                                                                                     \
        static const VkStructureType known_[] = {__VA_ARGS__};                                               \
        if (words->reading)                                                                                  \
            s->sType = VK_STRUCTURE_TYPE_##TYPE;                                                             \
        else                                                                                                 \
            words_chain_of(words, #type, s->pNext, known_, sizeof known_ / sizeof *known_);                  \
    } while (0)
#define HEAD(type, TYPE) HEAD_WITH(type, TYPE, VK_STRUCTURE_TYPE_MAX_ENUM)

// An enumeration from 0 to `last`. Drivers use the values as indexes.
#define ENUM(field, last)                                                                                    \
    do {                                                                                                     \
        WORD(field);                                                                                         \
        words->failed |= words->reading && (uint64_t)(s->field) > (uint64_t)(last);                          \
    } while (0)
// What an unused member has may be anything: another value is the first one.
#define UNUSED_ENUM(field, last)                                                                             \
    do {                                                                                                     \
        WORD(field);                                                                                         \
        if (words->reading && (uint64_t)(s->field) > (uint64_t)(last))                                       \
            s->field = 0;                                                                                    \
    } while (0)
#define FORMAT(field)                                                                                        \
    do {                                                                                                     \
        WORD(field);                                                                                         \
        words->failed |= words->reading && !vulkan_format_known(s->field);                                   \
    } while (0)
// One bit of up to 64 samples.
#define SAMPLES(field)                                                                                       \
    do {                                                                                                     \
        WORD(field);                                                                                         \
        words->failed |= words->reading && (!(s->field) || (s->field) > VK_SAMPLE_COUNT_64_BIT ||            \
                                            ((s->field) & ((s->field) - 1)));                                \
    } while (0)

#define LAYOUT(field)                                                                                        \
    do {                                                                                                     \
        WORD(field);                                                                                         \
        if (words->reading)                                                                                  \
            s->field = vulkan_layout_read(s->field);                                                         \
        else if (s->field == VK_IMAGE_LAYOUT_ATTACHMENT_FEEDBACK_LOOP_OPTIMAL_EXT)                           \
            words_missing(words, "a layout of VK_EXT_attachment_feedback_loop_layout");                      \
    } while (0)

#endif
