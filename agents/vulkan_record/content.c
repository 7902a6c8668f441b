// SPDX-License-Identifier: Apache-2.0
// Copies of what buffers and images hold, by commands of the recorder's own on the program's queue, while a frame is captured. Rules:
// recorder.h; all with the lock held.
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "recorder.h"
#include "recording/vulkan/formats.h"

static const uint64_t most_bytes = (uint64_t)2 << 30;

static uint32_t find_type(const struct device *device, uint32_t allowed) {
    const VkMemoryPropertyFlags needed =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t found = UINT32_MAX;
    for (uint32_t i = device->memory.memoryTypeCount; i-- > 0;) {
        const VkMemoryPropertyFlags flags = device->memory.memoryTypes[i].propertyFlags;
        if (allowed >> i & 1 && (flags & needed) == needed &&
            (found == UINT32_MAX || flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT))
            found = i;
    }
    return found;
}

static void drop_staging(struct device *device) {
    if (device->staging)
        device->next.DestroyBuffer(device->handle, device->staging, NULL);
    if (device->staging_memory)
        device->next.FreeMemory(device->handle, device->staging_memory, NULL);
    device->staging = VK_NULL_HANDLE;
    device->staging_memory = VK_NULL_HANDLE;
    device->staging_bytes = 0;
}

static bool have_staging(struct device *device, VkDeviceSize bytes) {
    const struct next *next = &device->next;
    if (bytes <= device->staging_bytes)
        return true;
    drop_staging(device);
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes + bytes / 2 + 4096,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryRequirements needs;
    if (next->CreateBuffer(device->handle, &info, NULL, &device->staging) != VK_SUCCESS)
        return false;
    next->GetBufferMemoryRequirements(device->handle, device->staging, &needs);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = find_type(device, needs.memoryTypeBits)};
    void *at = NULL;
    if (memory.memoryTypeIndex == UINT32_MAX ||
        next->AllocateMemory(device->handle, &memory, NULL, &device->staging_memory) != VK_SUCCESS ||
        next->BindBufferMemory(device->handle, device->staging, device->staging_memory, 0) != VK_SUCCESS ||
        next->MapMemory(device->handle, device->staging_memory, 0, VK_WHOLE_SIZE, 0, &at) != VK_SUCCESS) {
        drop_staging(device);
        return false;
    }
    device->staging_at = at;
    device->staging_bytes = info.size;
    return true;
}

static void drop_commands(const struct device *device, struct queue *queue) {
    if (queue->fence)
        device->next.DestroyFence(device->handle, queue->fence, NULL);
    if (queue->pool)
        device->next.DestroyCommandPool(device->handle, queue->pool, NULL);
    queue->fence = VK_NULL_HANDLE;
    queue->pool = VK_NULL_HANDLE;
}

// What was not complete when it was waited for may be complete now.
static bool is_free(const struct device *device, struct queue *queue) {
    if (queue->stuck && device->next.GetFenceStatus(device->handle, queue->fence) == VK_SUCCESS)
        queue->stuck = device->next.ResetFences(device->handle, 1, &queue->fence) != VK_SUCCESS;
    return !queue->stuck;
}

static bool have_commands(struct device *device, struct queue *queue) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = queue->family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    if (queue->pool)
        return is_free(device, queue);
    if (device->next.CreateCommandPool(device->handle, &pool, NULL, &queue->pool) != VK_SUCCESS)
        return false;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = queue->pool,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    if (device->next.CreateFence(device->handle, &fence, NULL, &queue->fence) == VK_SUCCESS &&
        device->next.AllocateCommandBuffers(device->handle, &info, &queue->commands) == VK_SUCCESS) {
        // The loader sets the dispatch pointer of objects that programs create; this one is not a program's, and layers below need it.
        memcpy(queue->commands, device->handle, sizeof(void *));
        return true;
    }
    drop_commands(device, queue);
    return false;
}

void content_device_gone(struct device *device) {
    drop_staging(device);
    for (uint32_t i = 0; i < device->queue_count; i++)
        drop_commands(device, &device->queues[i]);
}

// Another thread of the program may wait for this queue.
static bool lock_queue(struct queue *queue, uint64_t patience) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(patience / 1000000000);
    return pthread_mutex_timedlock(&queue->lock, &until) == 0;
}

static bool run(struct device *device, struct queue *queue, const VkSubmitInfo *info, uint64_t patience) {
    const struct next *next = &device->next;
    if (!lock_queue(queue, patience))
        return false;
    const VkResult result = next->QueueSubmit(queue->handle, info ? 1 : 0, info, queue->fence);
    pthread_mutex_unlock(&queue->lock);
    queue->stuck = result == VK_SUCCESS &&
                   (next->WaitForFences(device->handle, 1, &queue->fence, VK_TRUE, patience) != VK_SUCCESS ||
                    next->ResetFences(device->handle, 1, &queue->fence) != VK_SUCCESS);
    return result == VK_SUCCESS && !queue->stuck;
}

bool content_wait(struct device *device, struct queue *queue, uint64_t patience) {
    const bool good = have_commands(device, queue) && run(device, queue, NULL, patience);
    queue->busy &= !good;
    return good;
}

// ---- copies

static uint32_t copies_of(const struct object *image, VkBufferImageCopy copies[VULKAN_COPIES_MOST],
                          uint64_t *bytes) {
    const struct vulkan_texels texels = {image->format, image->extent, image->levels, image->layers};
    return vulkan_image_copies(&texels, most_bytes, copies, bytes);
}

bool content_is_defined(const struct object *image) {
    for (uint32_t i = 0; i < image->plane_count; i++)
        if (image->planes[i].layout == VK_IMAGE_LAYOUT_UNDEFINED ||
            image->planes[i].layout == VK_IMAGE_LAYOUT_PREINITIALIZED)
            return false;
    return true;
}

VkDeviceSize content_bytes(const struct object *object) {
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    uint64_t bytes = 0;
    if (object->kind == VULKAN_BUFFER)
        return object->memory && object->size <= most_bytes ? object->size : 0;
    const bool good = object->kind == VULKAN_IMAGE && (object->memory || object->parent) &&
                      !object->planes[0].mixed && !object->planes[1].mixed && object->samples == 1 &&
                      !(object->usage & VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT);
    if (good)
        copies_of(object, copies, &bytes);
    return bytes;
}

// To the layout of copies, or back. Planes of one layout change it at once: programs need a feature for more.
static void transition(const struct device *device, VkCommandBuffer commands, const struct object *image,
                       bool back) {
    static const VkImageAspectFlags aspects[PLANES_MOST] = {VK_IMAGE_ASPECT_DEPTH_BIT,
                                                            VK_IMAGE_ASPECT_STENCIL_BIT};
    const VkImageLayout copied = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    const bool apart = image->plane_count > 1 && image->planes[0].layout != image->planes[1].layout;
    VkImageMemoryBarrier barriers[PLANES_MOST];
    for (uint32_t i = 0; i < PLANES_MOST; i++) {
        const VkImageLayout layout = image->planes[i].layout;
        barriers[i] = vulkan_transition((VkImage)(uintptr_t)image->handle, image->format, image->levels,
                                        image->layers, back ? copied : layout, back ? layout : copied);
        if (apart)
            barriers[i].subresourceRange.aspectMask = aspects[i];
    }
    device->next.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                    VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, apart ? 2 : 1,
                                    barriers);
}

static void copy(const struct device *device, VkCommandBuffer commands, const struct object *object,
                 VkDeviceSize at) {
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    uint64_t bytes;
    if (object->kind == VULKAN_BUFFER) {
        const VkBufferCopy region = {0, at, object->size};
        device->next.CmdCopyBuffer(commands, (VkBuffer)(uintptr_t)object->handle, device->staging, 1,
                                   &region);
        return;
    }
    const uint32_t count = copies_of(object, copies, &bytes);
    for (uint32_t i = 0; i < count; i++)
        copies[i].bufferOffset += at;
    transition(device, commands, object, false);
    device->next.CmdCopyImageToBuffer(commands, (VkImage)(uintptr_t)object->handle,
                                      VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, device->staging, count, copies);
    transition(device, commands, object, true);
}

static void barrier(const struct device *device, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags wrote, VkPipelineStageFlags to, VkAccessFlags reads) {
    const VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = reads};
    device->next.CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

static VkDeviceSize align(VkDeviceSize at) {
    enum { ALIGNMENT = 192 }; // of the largest texel, and of four bytes
    return (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool copy_all(struct device *device, struct queue *queue, const struct content_want *wants,
                     size_t count) {
    const struct next *next = &device->next;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &queue->commands};
    if (next->BeginCommandBuffer(queue->commands, &begin) != VK_SUCCESS)
        return false;
    barrier(device, queue->commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_ACCESS_MEMORY_WRITE_BIT,
            VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT);
    VkDeviceSize at = 0;
    for (size_t i = 0; i < count; i++) {
        copy(device, queue->commands, wants[i].object, at);
        at = align(at + content_bytes(wants[i].object));
    }
    barrier(device, queue->commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    return next->EndCommandBuffer(queue->commands) == VK_SUCCESS &&
           run(device, queue, &info, content_patience);
}

static void clear_unused(const struct object *object, uint8_t *bytes, VkDeviceSize size) {
    VkBufferImageCopy copies[VULKAN_COPIES_MOST];
    uint64_t all;
    if (object->kind == VULKAN_IMAGE)
        vulkan_clear_unused(object->format, copies, copies_of(object, copies, &all), bytes, size);
}

// Whether nothing but recorded commands may have written it.
static bool is_certain(const struct object *object) {
    return object->defined && !(object->memory && object->memory->shared);
}

// A content that is as it was recorded last is not written again.
static void write_one(struct object *object, const uint8_t *bytes, VkDeviceSize size, bool verify) {
    static struct recording_writer state;
    const uint64_t number = ++recorder.numbers;
    recording_begin(&state, RECORDING_STATE);
    recording_put(&state, RECORDING_KEY_VERIFY, number);
    const struct chunk_hash hash = record_payload(&state, bytes, size);
    const bool same = object->has_hash && chunk_hash_equal(hash, object->hash);
    object->has_hash = true;
    object->hash = hash;
    if (same && !verify)
        return;
    struct recording_writer *writer = record_open(verify ? RECORDING_VERIFY : RECORDING_CONTENT);
    recording_put(writer, RECORDING_KEY_VERIFY, number);
    recording_put(writer, RECORDING_KEY_OBJECT, object->number);
    if (verify)
        recording_put(writer, RECORDING_KEY_FLAGS,
                      RECORDING_VERIFY_COMMAND | (is_certain(object) ? 0 : RECORDING_VERIFY_UNDEFINED));
    if (object->kind == VULKAN_IMAGE)
        recording_put(
            writer, RECORDING_KEY_FORM,
            vulkan_layouts_put(object->planes[0].layout, object->planes[object->plane_count - 1].layout));
    record_close();
    record_made(&state);
}

static struct queue *queue_of(struct device *device, const struct object *object, struct queue *other) {
    for (uint32_t i = 0; object->owner && object->owner != other->family + 1 && i < device->queue_count; i++)
        if (device->queues[i].family + 1 == object->owner)
            return &device->queues[i];
    return other;
}

bool content_write(struct device *device, struct queue *queue, const struct content_want *wants,
                   size_t count) {
    enum { TOGETHER = 64 << 20 };
    size_t done = 0;
    for (uint32_t i = 0; i < device->queue_count; i++)
        if (!is_free(device, &device->queues[i]))
            return false; // it may still write to the staging memory
    while (done < count) {
        struct queue *owner = queue_of(device, wants[done].object, queue);
        VkDeviceSize bytes = 0;
        size_t until = done;
        for (; until < count && (until == done || bytes < TOGETHER) &&
               queue_of(device, wants[until].object, queue) == owner;
             until++)
            bytes = align(bytes + content_bytes(wants[until].object));
        if (!have_commands(device, owner) || !have_staging(device, bytes) ||
            !copy_all(device, owner, wants + done, until - done))
            return false;
        VkDeviceSize at = 0;
        for (; done < until; done++) {
            const VkDeviceSize size = content_bytes(wants[done].object);
            clear_unused(wants[done].object, device->staging_at + at, size);
            write_one(wants[done].object, device->staging_at + at, size, wants[done].verify);
            at = align(at + size);
        }
    }
    return true;
}
