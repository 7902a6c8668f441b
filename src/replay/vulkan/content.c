// SPDX-License-Identifier: Apache-2.0
// Content of buffers and images: put there before a frame, and compared after its submissions.
#include "recording/vulkan/headers.h"
#ifdef RECORDING_HAS_VULKAN

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "recording/vulkan/formats.h"
#include "replay/vulkan/vulkan.h"

static const uint64_t most_bytes = (uint64_t)4 << 30;

static bool have_staging(struct vulkan_device *device, uint64_t bytes) {
    if (bytes <= device->staging_bytes)
        return true;
    if (device->staging)
        device->DestroyBuffer(device->handle, device->staging, NULL);
    if (device->staging_memory)
        device->FreeMemory(device->handle, device->staging_memory, NULL);
    device->staging = VK_NULL_HANDLE;
    device->staging_memory = VK_NULL_HANDLE;
    device->staging_bytes = 0;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes,
                                     .usage =
                                         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    void *at = NULL;
    if (device->CreateBuffer(device->handle, &info, NULL, &device->staging) != VK_SUCCESS)
        return false;
    device->GetBufferMemoryRequirements(device->handle, device->staging, &needs);
    device->staging_memory = vulkan_memory(
        device, &needs, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    if (!device->staging_memory ||
        device->BindBufferMemory(device->handle, device->staging, device->staging_memory, 0) != VK_SUCCESS ||
        device->MapMemory(device->handle, device->staging_memory, 0, VK_WHOLE_SIZE, 0, &at) != VK_SUCCESS)
        return false;
    device->staging_at = at;
    device->staging_bytes = bytes;
    return true;
}

static uint64_t bytes_of(const struct vulkan_live *live, VkBufferImageCopy copies[VULKAN_COPIES_MOST],
                         uint32_t *count) {
    const struct vulkan_texels texels = {live->image.format, live->image.extent, live->image.mipLevels,
                                         live->image.arrayLayers};
    uint64_t bytes = live->bytes;
    *count = 0;
    if (live->kind == VULKAN_IMAGE && (live->image.samples != VK_SAMPLE_COUNT_1_BIT ||
                                       live->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT))
        return 0; // no command copies it
    if (live->kind == VULKAN_IMAGE)
        *count = vulkan_image_copies(&texels, most_bytes, copies, &bytes);
    return bytes;
}

static void memory_barrier(const struct vulkan_device *device, VkCommandBuffer commands) {
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT};
    device->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                               &barrier, 0, NULL, 0, NULL);
}

// The layouts that the image has in the recording; the second one of its stencil if it has depth too.
struct layouts {
    VkImageLayout all[2];
};

static struct layouts layouts_of(const struct recording_record *record) {
    struct layouts layouts;
    for (int i = 0; i < 2; i++) {
        const VkImageLayout layout = vulkan_layouts_get(recording_value(record, RECORDING_KEY_FORM), i == 1);
        layouts.all[i] = layout == VK_IMAGE_LAYOUT_UNDEFINED || layout == VK_IMAGE_LAYOUT_PREINITIALIZED ||
                                 layout == VK_IMAGE_LAYOUT_MAX_ENUM
                             ? VK_IMAGE_LAYOUT_GENERAL
                             : layout;
    }
    return layouts;
}

// Layouts that differ change one by one, which a device may not have.
static bool is_apart(const struct vulkan_live *live, const struct layouts *layouts) {
    return live->kind == VULKAN_IMAGE && vulkan_format_both(live->image.format) &&
           layouts->all[0] != layouts->all[1];
}

static void transition(const struct vulkan_live *image, VkCommandBuffer commands, const struct layouts *from,
                       const struct layouts *to) {
    static const VkImageAspectFlags aspects[2] = {VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT};
    const bool apart = is_apart(image, from) || is_apart(image, to);
    VkImageMemoryBarrier barriers[2];
    for (int i = 0; i < 2; i++) {
        barriers[i] =
            vulkan_transition((VkImage)(uintptr_t)image->handle, image->image.format, image->image.mipLevels,
                              image->image.arrayLayers, from->all[i], to->all[i]);
        if (apart)
            barriers[i].subresourceRange.aspectMask = aspects[i];
    }
    image->device->CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                      VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, apart ? 2 : 1,
                                      barriers);
}

static void copy(const struct vulkan_live *live, VkCommandBuffer commands, const struct layouts *layouts,
                 const VkBufferImageCopy *copies, uint32_t count, bool upload) {
    static const struct layouts nothing = {{VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_UNDEFINED}},
                                written = {{VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL}},
                                read = {{VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                         VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL}};
    const struct vulkan_device *device = live->device;
    const VkBufferCopy region = {0, 0, live->bytes};
    memory_barrier(device, commands);
    if (live->kind == VULKAN_BUFFER) {
        VkBuffer buffer = (VkBuffer)(uintptr_t)live->handle;
        device->CmdCopyBuffer(commands, upload ? device->staging : buffer, upload ? buffer : device->staging,
                              1, &region);
    } else if (upload) {
        transition(live, commands, &nothing, &written);
        device->CmdCopyBufferToImage(commands, device->staging, (VkImage)(uintptr_t)live->handle,
                                     written.all[0], count, copies);
        transition(live, commands, &written, layouts);
    } else {
        transition(live, commands, layouts, &read);
        device->CmdCopyImageToBuffer(commands, (VkImage)(uintptr_t)live->handle, read.all[0], device->staging,
                                     count, copies);
        transition(live, commands, &read, layouts);
    }
    memory_barrier(device, commands);
}

static tsmith_status run_copy(struct vulkan_run *run, const struct vulkan_live *live,
                              const struct layouts *layouts, const VkBufferImageCopy *copies, uint32_t count,
                              bool upload) {
    struct vulkan_device *device = live->device;
    VkCommandBuffer commands = vulkan_begin(device);
    if (!commands)
        return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "the device is out of memory");
    copy(live, commands, layouts, copies, count, upload);
    tsmith_status status = device->EndCommandBuffer(commands) == VK_SUCCESS
                               ? vulkan_submit(run, device, &commands, 1)
                               : status_set(run->error, TSMITH_ERROR_IO, "a copy cannot be recorded");
    if (status != TSMITH_ERROR_LIMIT)
        device->FreeCommandBuffers(device->handle, device->pool, 1, &commands);
    return status;
}

static struct vulkan_live *resource_of(struct vulkan_run *run, const struct recording_record *record) {
    const uint64_t number = recording_value(record, RECORDING_KEY_OBJECT);
    struct vulkan_live *live = vulkan_find(run, number, VULKAN_BUFFER);
    if (!live)
        live = vulkan_find(run, number, VULKAN_IMAGE);
    return live && live->handle ? live : NULL;
}

static const char apart[] =
    "its depth and stencil have layouts of their own, which this device does not have";

tsmith_status vulkan_content(struct vulkan_run *run, const struct recording_record *record) {
    const struct layouts layouts = layouts_of(record);
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    const uint64_t state =
        chunk_table_find(&run->states, chunk_key_of(recording_value(record, RECORDING_KEY_VERIFY)));
    const unsigned long long number = recording_value(record, RECORDING_KEY_OBJECT);
    struct vulkan_live *live = resource_of(run, record);
    uint32_t count;
    size_t size = 0;
    if (!live) {
        vulkan_give_up(run, "object %llu, which has content, cannot be made on this device", number);
        return TSMITH_OK;
    }
    uint8_t *bytes =
        state ? recording_payload(run->recording, &run->process->records[state - 1], &size) : NULL;
    if (!bytes || !size || size != bytes_of(live, copies, &count)) {
        vulkan_give_up(run, "the content of object %llu: %s", number,
                       bytes ? "its size is not that of the object" : recording_missing(run->recording));
        free(bytes);
        return TSMITH_OK;
    }
    if (is_apart(live, &layouts) && !live->device->v12.separateDepthStencilLayouts) {
        vulkan_give_up(run, "the content of object %llu: %s", number, apart);
        free(bytes);
        return TSMITH_OK;
    }
    tsmith_status status = TSMITH_OK;
    if (!have_staging(live->device, size)) {
        status = status_set(run->error, TSMITH_ERROR_NO_MEMORY, "the device is out of memory");
    } else {
        memcpy(live->device->staging_at, bytes, size);
        status = run_copy(run, live, &layouts, copies, count, true);
        if (live->kind == VULKAN_IMAGE)
            vulkan_layouts_set(run, live, layouts.all);
    }
    free(bytes);
    return status;
}

tsmith_status vulkan_read(struct vulkan_run *run, const struct vulkan_live *buffer, uint64_t offset,
                          uint64_t size, const uint8_t **bytes) {
    struct vulkan_device *device = buffer->device;
    const VkBufferCopy region = {offset, 0, size};
    *bytes = NULL;
    if (!buffer->handle || size > buffer->bytes || offset > buffer->bytes - size)
        return TSMITH_OK;
    VkCommandBuffer commands = have_staging(device, size) ? vulkan_begin(device) : NULL;
    if (!commands)
        return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "the device is out of memory");
    memory_barrier(device, commands);
    device->CmdCopyBuffer(commands, (VkBuffer)(uintptr_t)buffer->handle, device->staging, 1, &region);
    memory_barrier(device, commands);
    tsmith_status status = device->EndCommandBuffer(commands) == VK_SUCCESS
                               ? vulkan_submit(run, device, &commands, 1)
                               : status_set(run->error, TSMITH_ERROR_IO, "a copy cannot be recorded");
    if (status != TSMITH_ERROR_LIMIT)
        device->FreeCommandBuffers(device->handle, device->pool, 1, &commands);
    if (status == TSMITH_OK)
        *bytes = device->staging_at;
    return status;
}

// Texels that nothing wrote may be anything.
static void give_result(struct vulkan_run *run, uint64_t buffer, const uint8_t *bytes, size_t size,
                        const char *why) {
    const uint64_t flags = recording_value(&run->process->records[run->at], RECORDING_KEY_FLAGS);
    const char *doubt =
        flags & RECORDING_VERIFY_UNDEFINED
            ? "parts may not have been written by a command, or by others who share the memory"
            : NULL;
    run->client->result(run->client->context, &(struct execute_result){.record = run->at,
                                                                       .bytes = bytes,
                                                                       .size = size,
                                                                       .why = why,
                                                                       .doubt = doubt,
                                                                       .buffer = buffer,
                                                                       .writer = run->submissions,
                                                                       .element = TSMITH_ELEMENT_U8});
}

tsmith_status vulkan_verify(struct vulkan_run *run, const struct recording_record *record) {
    const struct layouts layouts = layouts_of(record);
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    const uint64_t number = recording_value(record, RECORDING_KEY_OBJECT);
    struct vulkan_live *live = resource_of(run, record);
    uint32_t count = 0;
    const uint64_t size = live ? bytes_of(live, copies, &count) : 0;
    if (run->why[0] || !size) {
        give_result(run, number, NULL, 0,
                    run->why[0] ? "its frame cannot be replayed on this device; see the notes"
                                : "it cannot be made on this device");
        return TSMITH_OK;
    }
    if (live->kind == VULKAN_IMAGE && !vulkan_layouts_are(run, live, layouts.all)) {
        give_result(run, number, NULL, 0, "it does not have the layout that it was recorded with");
        return TSMITH_OK;
    }
    if (is_apart(live, &layouts) && !live->device->v12.separateDepthStencilLayouts) {
        give_result(run, number, NULL, 0, apart);
        return TSMITH_OK;
    }
    if (!have_staging(live->device, size))
        return status_set(run->error, TSMITH_ERROR_NO_MEMORY, "the device is out of memory");
    const tsmith_status status = run_copy(run, live, &layouts, copies, count, false);
    if (live->kind == VULKAN_IMAGE && status == TSMITH_OK)
        vulkan_clear_unused(live->image.format, copies, count, live->device->staging_at, size);
    if (status == TSMITH_OK)
        give_result(run, number, live->device->staging_at, size, NULL);
    return status;
}

#endif
