// SPDX-License-Identifier: Apache-2.0
// Vulkan's structs as words: one description of a struct, which writes it in the recorder and reads it in the replay. A word is
// a varint; arrays are their bytes, or their elements one after the other; handles are numbers that the recorder gave.
//
// What is read is untrusted: every length is checked against the bytes that are left, every handle is found or the whole fails,
// and the memory that is taken is limited.
#ifndef RECORDING_VULKAN_WORDS_H
#define RECORDING_VULKAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// X(NAME, type, name): the kinds of objects. Numbers in recordings do not contain the kind, a reader knows it from the record.
#define VULKAN_KIND_TABLE(X)                                                                                 \
    X(BUFFER, VkBuffer, "buffer")                                                                            \
    X(BUFFER_VIEW, VkBufferView, "buffer view")                                                              \
    X(IMAGE, VkImage, "image")                                                                               \
    X(IMAGE_VIEW, VkImageView, "image view")                                                                 \
    X(SAMPLER, VkSampler, "sampler")                                                                         \
    X(MODULE, VkShaderModule, "shader module")                                                               \
    X(SET_LAYOUT, VkDescriptorSetLayout, "descriptor set layout")                                            \
    X(LAYOUT, VkPipelineLayout, "pipeline layout")                                                           \
    X(PASS, VkRenderPass, "render pass")                                                                     \
    X(FRAMEBUFFER, VkFramebuffer, "framebuffer")                                                             \
    X(PIPELINE, VkPipeline, "pipeline")                                                                      \
    X(SET, VkDescriptorSet, "descriptor set")                                                                \
    X(COMMANDS, VkCommandBuffer, "command buffer")

enum vulkan_kind {
    VULKAN_NONE,
#define VULKAN_KIND_ENUM(NAME, type, name) VULKAN_##NAME,
    VULKAN_KIND_TABLE(VULKAN_KIND_ENUM)
#undef VULKAN_KIND_ENUM
        VULKAN_KIND_LIMIT
};
const char *vulkan_kind_name(uint32_t kind); // "object" for an unknown one

struct words {
    bool reading;
    bool failed; // out of memory, or what was read is not sound
    // Writing: what cannot be recorded, the first of it; "": nothing.
    char missing[96];
    uint8_t *bytes; // writing: free() by the caller
    size_t length, capacity;
    const uint8_t *at, *end; // reading
    void **taken;            // reading: memory that what was read points to, until words_finish
    size_t taken_count, taken_capacity, taken_bytes;
    bool extended;   // a pipeline with what extensions say of its state
    bool partial;    // a pipeline of which parts may be missing: only in the recorder's memory
    uint32_t family; // writing commands: the queue family that executes them + 1; 0: unknown
    // Writing: the number of a handle, which the command writes to if `written`; 0: not known. Reading: the handle of a number.
    // Never called with 0.
    uint64_t (*translate)(void *context, enum vulkan_kind kind, uint64_t handle, bool written);
    void *context;
};

void words_finish(struct words *words); // of reading: frees the memory

uint64_t words_value(struct words *words, uint64_t value);
// Reading: 0 fails the whole unless it may be there.
uint64_t words_handle(struct words *words, enum vulkan_kind kind, uint64_t handle, bool written,
                      bool optional);
const void *words_bytes(struct words *words, const void *bytes, uint64_t count);
// Whether the array is there, and memory for it when reading. NULL with elements fails unless it may be.
void *words_items(struct words *words, const void *items, uint64_t count, size_t element, bool optional);
const char *words_text(struct words *words, const char *text);
// Writing: cannot be recorded. Format as of printf.
void words_missing(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Whether a barrier moves a resource from one queue family to another, and whether these commands are those of the first. A replay has one
// queue: of the two barriers it changes an image's layout by the second.
static inline bool words_family_changes(uint32_t from, uint32_t to) {
    const uint32_t other = UINT32_MAX - 2; // no family: ignored, external, foreign
    return from != to && from < other && to < other;
}
static inline bool words_family_releases(const struct words *words, uint32_t from, uint32_t to) {
    return words_family_changes(from, to) && words->family == from + 1;
}

// In functions with `words` and the struct `s`.
#define WORD(field)                                                                                          \
    do {                                                                                                     \
        const uint64_t word_ = words_value(words, words->reading ? 0 : (uint64_t)(s->field));                \
        if (words->reading)                                                                                  \
            s->field = (__typeof__(s->field))word_;                                                          \
    } while (0)
#define FLOAT(field)                                                                                         \
    do {                                                                                                     \
        uint32_t bits_ = 0;                                                                                  \
        memcpy(&bits_, &s->field, sizeof bits_);                                                             \
        bits_ = (uint32_t)words_value(words, bits_);                                                         \
        if (words->reading)                                                                                  \
            memcpy(&s->field, &bits_, sizeof bits_);                                                         \
    } while (0)
#define HANDLE_OF(KIND, field, written, optional)                                                            \
    do {                                                                                                     \
        const uint64_t handle_ =                                                                             \
            words_handle(words, VULKAN_##KIND, (uint64_t)(uintptr_t)s->field, written, optional);            \
        if (words->reading)                                                                                  \
            s->field = (__typeof__(s->field))(uintptr_t)handle_;                                             \
    } while (0)
#define ITEMS_OF(type, count, field, optional)                                                               \
    do {                                                                                                     \
        type *items_ = words_items(words, s->field, (uint64_t)(count), sizeof(type), optional);              \
        if (words->reading)                                                                                  \
            s->field = items_;                                                                               \
        for (uint64_t i_ = 0; items_ && i_ < (uint64_t)(count) && !words->failed; i_++)                      \
            words_##type(words, &items_[i_]);                                                                \
    } while (0)
#define HANDLES(KIND, type, count, field, written, optional)                                                 \
    do {                                                                                                     \
        type *items_ = words_items(words, s->field, (uint64_t)(count), sizeof(type), false);                 \
        if (words->reading)                                                                                  \
            s->field = items_;                                                                               \
        for (uint64_t i_ = 0; items_ && i_ < (uint64_t)(count) && !words->failed; i_++) {                    \
            const uint64_t handle_ =                                                                         \
                words_handle(words, VULKAN_##KIND, (uint64_t)(uintptr_t)items_[i_], written, optional);      \
            if (words->reading)                                                                              \
                items_[i_] = (type)(uintptr_t)handle_;                                                       \
        }                                                                                                    \
    } while (0)
#define HANDLE(KIND, field) HANDLE_OF(KIND, field, false, false)
#define ITEMS(type, count, field) ITEMS_OF(type, count, field, false)
#define BYTES(count, field)                                                                                  \
    do {                                                                                                     \
        const void *bytes_ = words_bytes(words, s->field, (uint64_t)(count));                                \
        if (words->reading)                                                                                  \
            s->field = (__typeof__(s->field))(uintptr_t)bytes_;                                              \
    } while (0)

#endif
