// SPDX-License-Identifier: Apache-2.0
// The objects of a recording, made again on the device.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "recording/vulkan/formats.h"
#include "replay/vulkan/vulkan.h"

// ---- by their numbers

static struct vulkan_live *find_any(struct vulkan_run *run, uint64_t number) {
    const uint64_t index = number ? chunk_table_find(&run->by_number, chunk_key_of(number)) : 0;
    return index ? &run->lives[index - 1] : NULL;
}

struct vulkan_live *vulkan_find(struct vulkan_run *run, uint64_t number, enum vulkan_kind kind) {
    struct vulkan_live *live = find_any(run, number);
    return live && live->kind == (uint32_t)kind ? live : NULL;
}

// Handles of one kind and device differ while their objects live; those of others may be the same number.
static uint64_t key_of(uint64_t handle, uint32_t kind, const struct vulkan_device *device) {
    return table_hash(handle) ^ table_hash((uint64_t)(uintptr_t)device + kind);
}

static bool is_it(const struct vulkan_live *live, uint64_t handle, uint32_t kind,
                  const struct vulkan_device *device) {
    return live->handle == handle && live->kind == kind && live->device == device;
}

// What has the same key as another, or no place for want of memory, is searched for.
const struct vulkan_live *vulkan_find_handle(struct vulkan_run *run, uint64_t handle, enum vulkan_kind kind) {
    const uint64_t *index = handle ? table_find(&run->by_handle, key_of(handle, kind, run->device)) : NULL;
    if (index && is_it(&run->lives[*index - 1], handle, kind, run->device))
        return &run->lives[*index - 1];
    for (size_t i = 0; handle && i < run->live_count; i++)
        if (is_it(&run->lives[i], handle, kind, run->device))
            return &run->lives[i];
    return NULL;
}

static void add_handle(struct vulkan_run *run, const struct vulkan_live *live) {
    uint64_t *index = table_add(&run->by_handle, key_of(live->handle, live->kind, live->device), NULL);
    if (index)
        *index = (uint64_t)(live - run->lives) + 1;
}

// Keys of objects that are gone are left out when they are more than the others.
void vulkan_know_handle(struct vulkan_run *run, const struct vulkan_live *live) {
    enum { FEW = 1024 };
    if (run->by_handle.count > FEW + 2 * run->live_count) {
        table_finish(&run->by_handle);
        for (size_t i = 0; i < run->live_count; i++)
            if (run->lives[i].handle)
                add_handle(run, &run->lives[i]);
    }
    add_handle(run, live);
}

struct vulkan_live *vulkan_add(struct vulkan_run *run, uint64_t number, uint32_t kind,
                               struct vulkan_device *device) {
    if (!number || find_any(run, number) ||
        !ARRAY_RESERVE(run->lives, run->live_capacity, run->live_count + 1) ||
        !chunk_table_add(&run->by_number, chunk_key_of(number), run->live_count + 1))
        return NULL;
    run->lives[run->live_count] = (struct vulkan_live){.number = number, .kind = kind, .device = device};
    return &run->lives[run->live_count++];
}

void vulkan_give_up(struct vulkan_run *run, const char *format, ...) {
    if (run->why[0])
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->why, sizeof run->why, format, arguments);
    va_end(arguments);
    run->client->note(run->client->context, run->why);
}

static uint64_t handle_of(void *context, enum vulkan_kind kind, uint64_t number, bool written) {
    (void)written;
    struct vulkan_run *run = context;
    const struct vulkan_live *live = vulkan_find(run, number, kind);
    return live && live->device == run->device ? live->handle : 0;
}

struct words vulkan_words(struct vulkan_run *run, const struct vulkan_device *device, const uint8_t *bytes,
                          size_t length) {
    run->device = device;
    return (struct words){.reading = true,
                          .at = bytes,
                          .end = bytes ? bytes + length : NULL,
                          .translate = handle_of,
                          .context = run};
}

// ---- making them

static bool bind(struct vulkan_live *live) {
    const struct vulkan_device *device = live->device;
    VkMemoryRequirements needs;
    if (live->kind == VULKAN_BUFFER)
        device->GetBufferMemoryRequirements(device->handle, (VkBuffer)(uintptr_t)live->handle, &needs);
    else
        device->GetImageMemoryRequirements(device->handle, (VkImage)(uintptr_t)live->handle, &needs);
    live->memory = vulkan_memory(device, &needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (!live->memory)
        live->memory = vulkan_memory(device, &needs, 0);
    if (!live->memory)
        return false;
    return (live->kind == VULKAN_BUFFER
                ? device->BindBufferMemory(device->handle, (VkBuffer)(uintptr_t)live->handle, live->memory, 0)
                : device->BindImageMemory(device->handle, (VkImage)(uintptr_t)live->handle, live->memory,
                                          0)) == VK_SUCCESS;
}

// What an object needs besides the struct that it was made of, before and after it is made.
#define PLAIN(type)                                                                                          \
    static void prepare_##type(struct vulkan_run *run, struct vulkan_live *live, type *info) {               \
        (void)run, (void)live, (void)info;                                                                   \
    }
PLAIN(VkSamplerCreateInfo)

// One that is not sound has no shader, so no pipeline is made of it (check_shader.c).
static void prepare_VkShaderModuleCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                             VkShaderModuleCreateInfo *info) {
    (void)run;
    live->shader = vulkan_shader_of(info->pCode, info->codeSize / sizeof(uint32_t));
}

static uint64_t number_of(struct vulkan_run *run, uint64_t handle, enum vulkan_kind kind) {
    const struct vulkan_live *live = vulkan_find_handle(run, handle, kind);
    return live ? live->number : 0;
}

static void prepare_VkBufferViewCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                           VkBufferViewCreateInfo *info) {
    const struct vulkan_live *buffer =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->buffer, VULKAN_BUFFER);
    live->of = buffer ? buffer->number : 0;
    live->usage = buffer ? buffer->usage : 0;
}

// A set that is left out is an empty one for the driver. No set is bound there, and no shader uses it: it has no number.
static void prepare_VkPipelineLayoutCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                               VkPipelineLayoutCreateInfo *info) {
    VkDescriptorSetLayout *sets = (VkDescriptorSetLayout *)(uintptr_t)info->pSetLayouts; // of the words
    live->set_count = info->setLayoutCount;
    live->numbers = calloc(info->setLayoutCount + (size_t)1, sizeof *live->numbers);
    live->ranges = calloc(info->pushConstantRangeCount + (size_t)1, sizeof *live->ranges);
    for (uint32_t i = 0; live->numbers && i < info->setLayoutCount; i++)
        live->numbers[i] = number_of(run, (uint64_t)(uintptr_t)info->pSetLayouts[i], VULKAN_SET_LAYOUT);
    for (uint32_t i = 0; i < info->setLayoutCount; i++)
        sets[i] = sets[i] ? sets[i] : live->device->empty;
    for (uint32_t i = 0; live->ranges && i < info->pushConstantRangeCount; i++)
        live->ranges[live->range_count++] = info->pPushConstantRanges[i];
}

static struct vulkan_part part_of(const VkRenderPassCreateInfo *info, const VkSubpassDescription *pass) {
    struct vulkan_part part = {.colors = pass->colorAttachmentCount};
    for (uint32_t i = 0; i < pass->colorAttachmentCount && i < VULKAN_COLORS_MOST; i++)
        if (pass->pColorAttachments[i].attachment != VK_ATTACHMENT_UNUSED) {
            const VkAttachmentDescription *color = &info->pAttachments[pass->pColorAttachments[i].attachment];
            part.samples = color->samples;
            part.formats[i] = color->format;
            part.uses_colors = true;
        }
    const VkAttachmentReference *depth = pass->pDepthStencilAttachment;
    if (depth && depth->attachment != VK_ATTACHMENT_UNUSED) {
        const VkFormat format = info->pAttachments[depth->attachment].format;
        const VkImageAspectFlags aspects = vulkan_format_aspect(format);
        part.samples = info->pAttachments[depth->attachment].samples;
        part.depth = aspects & VK_IMAGE_ASPECT_DEPTH_BIT ? format : VK_FORMAT_UNDEFINED;
        part.stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT ? format : VK_FORMAT_UNDEFINED;
        part.uses_depth = true;
    }
    return part;
}

// The usages that images of the attachments need.
static void add_usages(struct vulkan_surface *surfaces, const VkAttachmentReference *references,
                       uint32_t count, VkImageUsageFlags usage) {
    for (uint32_t i = 0; references && i < count; i++)
        if (references[i].attachment != VK_ATTACHMENT_UNUSED)
            surfaces[references[i].attachment].usage |= usage;
}

static void prepare_VkRenderPassCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                           VkRenderPassCreateInfo *info) {
    (void)run;
    live->attachments = info->attachmentCount;
    live->subpasses = info->subpassCount;
    live->surfaces = calloc(info->attachmentCount + (size_t)1, sizeof *live->surfaces);
    live->parts = calloc(info->subpassCount + (size_t)1, sizeof *live->parts);
    for (uint32_t i = 0; live->surfaces && i < info->attachmentCount; i++) {
        const VkAttachmentDescription *at = &info->pAttachments[i];
        const VkImageAspectFlags aspects = vulkan_format_aspect(at->format);
        const bool stencil = aspects & VK_IMAGE_ASPECT_STENCIL_BIT,
                   other = aspects != VK_IMAGE_ASPECT_STENCIL_BIT;
        live->surfaces[i] =
            (struct vulkan_surface){at->format, at->samples, 0, at->initialLayout, at->finalLayout};
        if ((other && at->loadOp == VK_ATTACHMENT_LOAD_OP_CLEAR) ||
            (stencil && at->stencilLoadOp == VK_ATTACHMENT_LOAD_OP_CLEAR))
            live->clear_values = i + 1;
    }
    for (uint32_t i = 0; live->parts && i < info->subpassCount; i++)
        live->parts[i] = part_of(info, &info->pSubpasses[i]);
    for (uint32_t i = 0; live->surfaces && i < info->subpassCount; i++) {
        const VkSubpassDescription *pass = &info->pSubpasses[i];
        add_usages(live->surfaces, pass->pColorAttachments, pass->colorAttachmentCount,
                   VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
        add_usages(live->surfaces, pass->pResolveAttachments, pass->colorAttachmentCount,
                   VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
        add_usages(live->surfaces, pass->pDepthStencilAttachment, 1,
                   VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
        add_usages(live->surfaces, pass->pInputAttachments, pass->inputAttachmentCount,
                   VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT);
    }
}

static void prepare_VkFramebufferCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                            VkFramebufferCreateInfo *info) {
    const struct vulkan_live *pass =
        vulkan_find_handle(run, (uint64_t)(uintptr_t)info->renderPass, VULKAN_PASS);
    live->attachments = info->attachmentCount;
    live->layers = info->layers;
    live->surfaces = calloc(info->attachmentCount + (size_t)1, sizeof *live->surfaces);
    for (uint32_t i = 0; live->surfaces && pass && pass->surfaces && i < info->attachmentCount; i++)
        live->surfaces[i] = pass->surfaces[i];
    live->numbers = calloc(info->attachmentCount + (size_t)1, sizeof *live->numbers);
    for (uint32_t i = 0; live->numbers && i < info->attachmentCount; i++)
        live->numbers[i] = number_of(run, (uint64_t)(uintptr_t)info->pAttachments[i], VULKAN_IMAGE_VIEW);
    live->extent = (VkExtent2D){info->width, info->height};
}

// The image was found before (check.c).
static void prepare_VkImageViewCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                          VkImageViewCreateInfo *info) {
    const struct vulkan_live *image = vulkan_find_handle(run, (uint64_t)(uintptr_t)info->image, VULKAN_IMAGE);
    const uint32_t level = info->subresourceRange.baseMipLevel & 31;
    if (!image)
        return;
    const VkExtent3D size = image->image.extent;
    const VkImageSubresourceRange *range = &info->subresourceRange;
    const bool slices = image->image.imageType == VK_IMAGE_TYPE_3D && info->viewType != VK_IMAGE_VIEW_TYPE_3D;
    const uint32_t depth = size.depth >> level ? size.depth >> level : 1,
                   layers = slices ? depth : image->image.arrayLayers;
    live->of = image->number;
    live->base_level = range->baseMipLevel;
    live->base_layer = range->baseArrayLayer;
    live->aspects = range->aspectMask;
    live->usage = image->usage;
    live->image = image->image;
    live->image.format = info->format;
    live->image.mipLevels = range->levelCount == VK_REMAINING_MIP_LEVELS
                                ? image->image.mipLevels - range->baseMipLevel
                                : range->levelCount;
    live->image.arrayLayers =
        range->layerCount == VK_REMAINING_ARRAY_LAYERS ? layers - range->baseArrayLayer : range->layerCount;
    live->extent = (VkExtent2D){size.width >> level ? size.width >> level : 1,
                                size.height >> level ? size.height >> level : 1};
}

static void prepare_VkBufferCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                       VkBufferCreateInfo *info) {
    (void)run;
    live->usage = info->usage;
    info->usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    live->bytes = info->size;
}

static void prepare_VkImageCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                      VkImageCreateInfo *info) {
    (void)run;
    live->usage = info->usage;
    if (!(info->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT))
        info->usage |= VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    live->image = *info;
}

static void prepare_VkDescriptorSetLayoutCreateInfo(struct vulkan_run *run, struct vulkan_live *live,
                                                    VkDescriptorSetLayoutCreateInfo *info) {
    vulkan_know_set_layout(run, live, info);
}

#define MAKE(name, type, KIND, handle_type)                                                                  \
    static VkResult make_##name(struct vulkan_run *run, struct words *words, struct vulkan_live *live) {     \
        type info = {0};                                                                                     \
        handle_type out = VK_NULL_HANDLE;                                                                    \
        words_##type(words, &info);                                                                          \
        if (words->failed || words->missing[0] || live->kind != VULKAN_##KIND || !live->device->name)        \
            return VK_ERROR_UNKNOWN;                                                                         \
        if (!vulkan_check_##type(run, &info))                                                                \
            return VK_ERROR_VALIDATION_FAILED_EXT;                                                           \
        prepare_##type(run, live, &info);                                                                    \
        const VkResult result = live->device->name(live->device->handle, &info, NULL, &out);                 \
        live->handle = (uint64_t)(uintptr_t)out;                                                             \
        return result;                                                                                       \
    }
VULKAN_CREATE_CALLS(MAKE)

#define MAKE_PIPELINE(name, type)                                                                            \
    static VkResult make_##name(struct vulkan_run *run, struct words *words, struct vulkan_live *live) {     \
        type info = {0};                                                                                     \
        VkPipeline out = VK_NULL_HANDLE;                                                                     \
        words_##type(words, &info);                                                                          \
        if (words->failed || words->missing[0] || live->kind != VULKAN_PIPELINE)                             \
            return VK_ERROR_UNKNOWN;                                                                         \
        if (!vulkan_check_##type(run, &info) || !vulkan_know_##type(run, live, &info))                       \
            return VK_ERROR_VALIDATION_FAILED_EXT;                                                           \
        const VkResult result =                                                                              \
            live->device->name(live->device->handle, VK_NULL_HANDLE, 1, &info, NULL, &out);                  \
        live->handle = (uint64_t)(uintptr_t)out;                                                             \
        return result;                                                                                       \
    }
VULKAN_PIPELINE_CALLS(MAKE_PIPELINE)

// Each set has a pool of its own, of just its size.
VkResult vulkan_allocate(struct vulkan_live *live, const struct vulkan_live *layout) {
    VkDescriptorPoolSize sizes[11];
    VkDescriptorSet set = VK_NULL_HANDLE;
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (layout->descriptors[i])
            sizes[count++] = (VkDescriptorPoolSize){(VkDescriptorType)i, layout->descriptors[i]};
    if (!count)
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_SAMPLER, 1};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = 1,
                                             .poolSizeCount = count,
                                             .pPoolSizes = sizes};
    VkResult result = live->device->CreateDescriptorPool(live->device->handle, &pool, NULL, &live->pool);
    if (result != VK_SUCCESS)
        return result;
    VkDescriptorSetLayout handle = (VkDescriptorSetLayout)(uintptr_t)layout->handle;
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = live->pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &handle};
    result = live->device->AllocateDescriptorSets(live->device->handle, &info, &set);
    live->handle = result == VK_SUCCESS ? (uint64_t)(uintptr_t)set : 0;
    live->made_of = layout->number;
    return result;
}

static VkResult make_set(struct vulkan_run *run, const struct recording_record *record,
                         struct vulkan_live *live) {
    const struct vulkan_live *layout =
        vulkan_find(run, recording_value(record, RECORDING_KEY_TARGET), VULKAN_SET_LAYOUT);
    if (!layout || !layout->handle || live->kind != VULKAN_SET || layout->device != live->device)
        return VK_ERROR_UNKNOWN;
    return vulkan_allocate(live, layout);
}

static VkResult make_object(struct vulkan_run *run, const struct recording_record *record,
                            const char *function, struct words *words, struct vulkan_live *live) {
    if (strcmp(function, "vkAllocateDescriptorSets") == 0)
        return make_set(run, record, live);
    if (strcmp(function, "vkGetSwapchainImagesKHR") == 0)
        function = "vkCreateImage";
#define ROW(name, ...)                                                                                       \
    if (strcmp(function, "vk" #name) == 0)                                                                   \
        return make_##name(run, words, live);
    VULKAN_CREATE_CALLS(ROW)
    VULKAN_PIPELINE_CALLS(ROW)
#undef ROW
    return VK_ERROR_UNKNOWN;
}

static void note_failure(struct vulkan_run *run, const struct vulkan_live *live, const char *function,
                         const struct words *words, VkResult result) {
    char text[256], error[48];
    const char *why = error;
    snprintf(error, sizeof error, "Vulkan error %d", (int)result);
    if (result == VK_ERROR_VALIDATION_FAILED_EXT)
        why = run->reason ? run->reason : "it has values out of the bounds of the device or of what it uses";
    else if (result == VK_SUCCESS)
        why = "the device is out of memory";
    else if (words->missing[0])
        why = words->missing;
    else if (words->failed)
        why = "it uses an object that is missing, or has an unknown value";
    snprintf(text, sizeof text, "record %zu: %.64s of object %llu cannot be replayed here: %s", run->at,
             function, (unsigned long long)live->number, why);
    run->client->note(run->client->context, text);
}

tsmith_status vulkan_object(struct vulkan_run *run, const struct recording_record *record) {
    const struct vulkan_live *owner =
        vulkan_find(run, recording_value(record, RECORDING_KEY_CONTEXT), VULKAN_NONE);
    const char *function = recording_text(run->recording, record, RECORDING_KEY_NAME);
    const uint64_t kind = recording_value(record, RECORDING_KEY_INDEX);
    const uint8_t *bytes = NULL;
    size_t length = 0;
    recording_get_bytes(record, RECORDING_KEY_DATA, &bytes, &length);
    if (!owner || !function || kind == VULKAN_NONE || kind >= VULKAN_KIND_LIMIT)
        return TSMITH_OK; // whatever uses it finds nothing
    struct vulkan_live *live =
        vulkan_add(run, recording_value(record, RECORDING_KEY_OBJECT), (uint32_t)kind, owner->device);
    if (!live)
        return TSMITH_OK;
    struct words words = vulkan_words(run, live->device, bytes, length);
    run->reason = NULL;
    const VkResult result = make_object(run, record, function, &words, live);
    if (result == VK_SUCCESS && (live->kind == VULKAN_BUFFER || live->kind == VULKAN_IMAGE) && !bind(live))
        vulkan_release(live);
    if (result != VK_SUCCESS || !live->handle) {
        note_failure(run, live, function, &words, result);
        live->handle = 0;
    }
    if (live->handle)
        vulkan_know_handle(run, live);
    words_finish(&words);
    return TSMITH_OK;
}

// What was written to it before is not valid any more where it is not written again (agents/vulkan_record/descriptors.c).
tsmith_status vulkan_set(struct vulkan_run *run, const struct recording_record *record) {
    struct vulkan_live *set = vulkan_find(run, recording_value(record, RECORDING_KEY_OBJECT), VULKAN_SET);
    const uint8_t *bytes = NULL;
    size_t length = 0;
    recording_get_bytes(record, RECORDING_KEY_DATA, &bytes, &length);
    if (!set || !set->handle)
        return TSMITH_OK;
    struct words words = vulkan_words(run, set->device, bytes, length);
    const uint64_t count = words_value(&words, 0);
    run->reason = NULL;
    vulkan_forget_writes(set);
    run->changes++;
    for (uint64_t i = 0; i < count && !words.failed; i++) {
        VkWriteDescriptorSet write = {0};
        words_VkWriteDescriptorSet(&words, &write);
        write.dstSet = (VkDescriptorSet)(uintptr_t)set->handle;
        words.failed |=
            !words.failed && (!vulkan_check_write(run, set, &write) || !vulkan_know_write(run, set, &write));
        if (!words.failed)
            set->device->UpdateDescriptorSets(set->device->handle, 1, &write, 0, NULL);
    }
    words.failed |= !words.failed && !vulkan_fill_arrays(run, set);
    if (words.failed)
        vulkan_give_up(run, "record %zu: descriptor set %llu: %s", run->at, (unsigned long long)set->number,
                       run->reason ? run->reason
                                   : "it names something that is missing, or has values out of bounds");
    words_finish(&words);
    return TSMITH_OK;
}

// ---- their ends

void vulkan_release(struct vulkan_live *live) {
    const struct vulkan_device *device = live->device;
    if (live->handle)
        switch (live->kind) {
#define END(name, KIND, type)                                                                                \
    case VULKAN_##KIND:                                                                                      \
        device->name(device->handle, (type)(uintptr_t)live->handle, NULL);                                   \
        break;
            VULKAN_DESTROY_CALLS(END)
#undef END
        default:
            break;
        }
    if (live->memory)
        device->FreeMemory(device->handle, live->memory, NULL);
    if (live->pool)
        device->DestroyDescriptorPool(device->handle, live->pool, NULL);
    vulkan_shader_end(live->shader);
    if (live->needs)
        free(live->needs->slots);
    free(live->needs);
    free(live->surfaces);
    free(live->parts);
    free(live->numbers);
    free(live->ranges);
    free(live->layouts);
    free(live->stage_counts);
    free(live->valid_at);
    vulkan_forget_writes(live);
    live->shader = NULL;
    live->needs = NULL;
    live->bindings = NULL;
    live->surfaces = NULL;
    live->parts = NULL;
    live->numbers = NULL;
    live->ranges = NULL;
    live->layouts = NULL;
    live->stage_counts = NULL;
    live->valid_at = NULL;
    live->binding_count = live->set_count = live->range_count = 0;
    live->memory = VK_NULL_HANDLE;
    live->pool = VK_NULL_HANDLE;
    live->handle = 0;
}

#endif
