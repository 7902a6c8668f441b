// SPDX-License-Identifier: Apache-2.0
// The entries of the program's objects, as handles.h describes them. The OpenCL, Level Zero and Vulkan agents use them.
#include "agentkit/handles.h"

#include <string.h>

#include "agentkit/agent.h"
#include "wire/memory.h"

enum { CHUNK_ENTRIES = 128 };

struct handle_chunk {
    struct handle_chunk *next;
    struct handle entries[]; // each with the rest of the agent's struct
};

bool handles_init(struct handles *handles, size_t size, size_t kept, uint32_t kinds, uint32_t log2_buckets) {
    handles->size = (uint32_t)size;
    handles->kept = (uint32_t)kept;
    handles_after_fork_child(handles);
    for (uint32_t kind = 1; kind <= kinds; kind++)
        if (!map_init(&handles->maps[kind], log2_buckets))
            return false;
    return true;
}

void handles_after_fork_child(struct handles *handles) {
    pthread_mutex_init(&handles->mutex, NULL);
}

static struct handle *chunk_entry(const struct handles *handles, struct handle_chunk *chunk, uint32_t index) {
    return (struct handle *)(void *)((char *)chunk->entries + (size_t)index * handles->size);
}

// With the mutex held.
static void chunk_add(struct handles *handles, uint32_t kind) {
    struct handle_chunk *chunk = memory_take(sizeof *chunk + (size_t)CHUNK_ENTRIES * handles->size);
    if (!chunk)
        return;
    for (uint32_t i = CHUNK_ENTRIES; i-- > 0;) {
        struct handle *entry = chunk_entry(handles, chunk, i);
        entry->next_free = handles->free[kind];
        handles->free[kind] = entry;
    }
    chunk->next = atomic_load(&handles->chunks[kind]);
    atomic_store(&handles->chunks[kind], chunk);
}

void *handles_add(struct handles *handles, uint32_t kind, const void *key) {
    pthread_mutex_lock(&handles->mutex);
    if (!handles->free[kind])
        chunk_add(handles, kind);
    struct handle *entry = handles->free[kind];
    if (entry) {
        memset((char *)entry + handles->kept, 0, handles->size - handles->kept);
        entry->number = ++handles->numbers[kind];
        entry->key = (void *)(uintptr_t)key;
        atomic_store(&entry->kind, kind);
        if (map_put(&handles->maps[kind], key, (uintptr_t)entry))
            handles->free[kind] = entry->next_free;
        else
            atomic_store(&entry->kind, 0), entry = NULL;
    }
    pthread_mutex_unlock(&handles->mutex);
    if (!entry)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return entry;
}

static void hide_entry(struct handles *handles, const struct handle *entry, uint32_t kind) {
    if (handles_find(handles, kind, entry->key) == entry)
        map_remove(&handles->maps[kind], entry->key);
}

void handles_hide(struct handles *handles, struct handle *entry) {
    pthread_mutex_lock(&handles->mutex);
    hide_entry(handles, entry, atomic_load(&entry->kind));
    pthread_mutex_unlock(&handles->mutex);
}

void handles_show(struct handles *handles, struct handle *entry) {
    pthread_mutex_lock(&handles->mutex);
    const uint32_t kind = atomic_load(&entry->kind);
    const bool shown = !kind || handles_find(handles, kind, entry->key) ||
                       map_put(&handles->maps[kind], entry->key, (uintptr_t)entry);
    pthread_mutex_unlock(&handles->mutex);
    if (!shown)
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
}

void handles_remove(struct handles *handles, struct handle *entry) {
    pthread_mutex_lock(&handles->mutex);
    const uint32_t kind = atomic_exchange(&entry->kind, 0);
    if (kind) {
        hide_entry(handles, entry, kind);
        atomic_fetch_add(&entry->generation, 1);
        entry->next_free = handles->free[kind];
        handles->free[kind] = entry;
    }
    pthread_mutex_unlock(&handles->mutex);
}

void *handles_replace(struct handles *handles, uint32_t kind, const void *key) {
    struct handle *before = handles_find(handles, kind, key);
    if (before)
        handles_remove(handles, before);
    return handles_add(handles, kind, key);
}

void handles_each(const struct handles *handles, uint32_t kind, void (*each)(void *entry, void *context),
                  void *context) {
    for (struct handle_chunk *chunk = atomic_load(&handles->chunks[kind]); chunk; chunk = chunk->next)
        for (uint32_t i = 0; i < CHUNK_ENTRIES; i++) {
            struct handle *entry = chunk_entry(handles, chunk, i);
            if (atomic_load(&entry->kind) == kind)
                each(entry, context);
        }
}
