// SPDX-License-Identifier: Apache-2.0
// Makes, resets, writes and reads the queries of command buffers, as described in queries.h. Rules: agent.h.
#include "queries.h"

#include "agent.h"

enum { LIMIT = 1 << 20 };

static _Atomic int64_t left;

void queries_begin(uint32_t limit) {
    atomic_store(&left, limit ? limit : LIMIT);
}

// Memory for the results of the newest chunk, which the device copies them to.
static bool add_copy(const struct object *object) {
    const struct device *device = object->device;
    const uint32_t chunk = object->buffer->chunk_count;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = QUERIES_OF_CHUNK * 2 * sizeof(uint64_t),
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                   .memoryTypeIndex = device->host_type};
    VkMemoryRequirements needs;
    void *at = NULL;
    __typeof__(object->buffer->copies[0]) *copy = &object->buffer->copies[chunk];
    *copy = (__typeof__(*copy)){.at = NULL};
    if (device->next.CreateBuffer(device->handle, &info, NULL, &copy->buffer) != VK_SUCCESS) {
        copy->buffer = VK_NULL_HANDLE;
        return false;
    }
    device->next.GetBufferMemoryRequirements(device->handle, copy->buffer, &needs);
    memory.allocationSize = needs.size;
    if (!(needs.memoryTypeBits >> device->host_type & 1) ||
        device->next.AllocateMemory(device->handle, &memory, NULL, &copy->memory) != VK_SUCCESS) {
        copy->memory = VK_NULL_HANDLE;
        return false;
    }
    if (device->next.BindBufferMemory(device->handle, copy->buffer, copy->memory, 0) != VK_SUCCESS ||
        device->next.MapMemory(device->handle, copy->memory, 0, VK_WHOLE_SIZE, 0, &at) != VK_SUCCESS)
        return false;
    copy->at = at;
    return true;
}

static void free_copy(const struct object *object, uint32_t chunk) {
    const struct device *device = object->device;
    __typeof__(object->buffer->copies[0]) *copy = &object->buffer->copies[chunk];
    device->next.DestroyBuffer(device->handle, copy->buffer, NULL);
    device->next.FreeMemory(device->handle, copy->memory, NULL);
    *copy = (__typeof__(*copy)){.at = NULL};
}

static bool add_chunk(struct object *object) {
    struct buffer *buffer = object->buffer;
    const struct device *device = object->device;
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = QUERIES_OF_CHUNK};
    if (buffer->chunk_count == CHUNKS_MAX)
        return false;
    if (atomic_fetch_sub(&left, QUERIES_OF_CHUNK) < QUERIES_OF_CHUNK ||
        device->next.CreateQueryPool(device->handle, &info, NULL, &buffer->chunks[buffer->chunk_count]) !=
            VK_SUCCESS) {
        atomic_fetch_add(&left, QUERIES_OF_CHUNK);
        return false;
    }
    if (device->reading_waits && !add_copy(object)) {
        free_copy(object, buffer->chunk_count);
        device->next.DestroyQueryPool(device->handle, buffer->chunks[buffer->chunk_count], NULL);
        atomic_fetch_add(&left, QUERIES_OF_CHUNK);
        return false;
    }
    buffer->chunk_count++;
    return true;
}

uint32_t queries_take(struct object *object) {
    struct buffer *buffer = object->buffer;
    const struct next *next = &object->device->next;
    if (!buffer->can_time || buffer->in_pass || buffer->suspended)
        return NO_QUERY;
    const uint32_t query = buffer->queries, chunk = query / QUERIES_OF_CHUNK;
    if (chunk == buffer->chunk_count && !add_chunk(object))
        return NO_QUERY;
    if (query % QUERIES_OF_CHUNK == 0)
        next->CmdResetQueryPool((VkCommandBuffer)(uintptr_t)object->handle.key, buffer->chunks[chunk], 0,
                                QUERIES_OF_CHUNK);
    buffer->queries += 2;
    return query;
}

void queries_write(const struct object *object, uint32_t query, VkPipelineStageFlagBits stage) {
    object->device->next.CmdWriteTimestamp((VkCommandBuffer)(uintptr_t)object->handle.key, stage,
                                           object->buffer->chunks[query / QUERIES_OF_CHUNK],
                                           query % QUERIES_OF_CHUNK);
}

static uint32_t used_of(const struct buffer *buffer, uint32_t chunk) {
    const uint32_t before = chunk * QUERIES_OF_CHUNK;
    return buffer->queries - before < QUERIES_OF_CHUNK ? buffer->queries - before : QUERIES_OF_CHUNK;
}

// The device waits for the timestamps, not the host.
void queries_copy(const struct object *object) {
    const struct buffer *buffer = object->buffer;
    if (!buffer->queries || buffer->suspended || buffer->in_pass)
        return;
    for (uint32_t chunk = 0; chunk * QUERIES_OF_CHUNK < buffer->queries; chunk++)
        object->device->next.CmdCopyQueryPoolResults(
            (VkCommandBuffer)(uintptr_t)object->handle.key, buffer->chunks[chunk], 0, used_of(buffer, chunk),
            buffer->copies[chunk].buffer, 0, sizeof buffer->copies[chunk].at[0],
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT | VK_QUERY_RESULT_WAIT_BIT);
}

const uint64_t (*queries_read(const struct object *object, uint32_t query))[2] {
    static uint64_t results[QUERIES_OF_CHUNK][2];
    const struct buffer *buffer = object->buffer;
    const struct device *device = object->device;
    const uint32_t chunk = query / QUERIES_OF_CHUNK, used = used_of(buffer, chunk);
    if (device->reading_waits)
        return (const uint64_t(*)[2])buffer->copies[chunk].at;
    const VkResult result = device->next.GetQueryPoolResults(
        device->handle, buffer->chunks[chunk], 0, used, sizeof results, results, sizeof results[0],
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    return result >= VK_SUCCESS ? results : NULL;
}

void queries_free(struct object *object) {
    struct buffer *buffer = object->buffer;
    for (uint32_t i = 0; i < buffer->chunk_count; i++) {
        object->device->next.DestroyQueryPool(object->device->handle, buffer->chunks[i], NULL);
        if (object->device->reading_waits)
            free_copy(object, i);
    }
    atomic_fetch_add(&left, (int64_t)buffer->chunk_count * QUERIES_OF_CHUNK);
    buffer->chunk_count = 0;
}
