// SPDX-License-Identifier: Apache-2.0
// Makes, resets, writes and reads the queries of command buffers, as described in queries.h. Rules: agent.h.
#include "queries.h"

#include "agent.h"

enum { LIMIT = 1 << 20 };

static _Atomic int64_t left;

void queries_begin(uint32_t limit) {
    atomic_store(&left, limit ? limit : LIMIT);
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
        next->CmdResetQueryPool((VkCommandBuffer)(uintptr_t)object->key, buffer->chunks[chunk], 0,
                                QUERIES_OF_CHUNK);
    buffer->queries += 2;
    return query;
}

void queries_write(const struct object *object, uint32_t query, VkPipelineStageFlagBits stage) {
    object->device->next.CmdWriteTimestamp((VkCommandBuffer)(uintptr_t)object->key, stage,
                                           object->buffer->chunks[query / QUERIES_OF_CHUNK],
                                           query % QUERIES_OF_CHUNK);
}

const uint64_t (*queries_read(const struct object *object, uint32_t query))[2] {
    static uint64_t results[QUERIES_OF_CHUNK][2];
    const struct buffer *buffer = object->buffer;
    const struct device *device = object->device;
    const uint32_t chunk = query / QUERIES_OF_CHUNK, before = chunk * QUERIES_OF_CHUNK;
    const uint32_t used =
        buffer->queries - before < QUERIES_OF_CHUNK ? buffer->queries - before : QUERIES_OF_CHUNK;
    const VkResult result = device->next.GetQueryPoolResults(
        device->handle, buffer->chunks[chunk], 0, used, sizeof results, results, sizeof results[0],
        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
    return result >= VK_SUCCESS ? results : NULL;
}

void queries_free(struct object *object) {
    struct buffer *buffer = object->buffer;
    for (uint32_t i = 0; i < buffer->chunk_count; i++)
        object->device->next.DestroyQueryPool(object->device->handle, buffer->chunks[i], NULL);
    atomic_fetch_add(&left, (int64_t)buffer->chunk_count * QUERIES_OF_CHUNK);
    buffer->chunk_count = 0;
}
