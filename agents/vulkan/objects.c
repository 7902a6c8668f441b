// SPDX-License-Identifier: Apache-2.0
// Keeps the tables of the program's objects, as described in objects.h. Rules: agent.h.
#include "objects.h"

#include <pthread.h>
#include <string.h>

#include "agent.h"
#include "agentkit/map.h"
#include "wire/memory.h"

enum { MAP_LOG2 = 13, CHUNK = 128 };

struct chunk {
    struct chunk *next;
    struct object objects[CHUNK];
};

static struct map maps[OBJECT_KINDS]; // handles of different kinds may be the same number
static struct chunk *_Atomic chunks[OBJECT_KINDS];
static struct object *free_objects[OBJECT_KINDS];
static uint32_t numbers[OBJECT_KINDS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool objects_init(void) {
    for (int kind = 1; kind < OBJECT_KINDS; kind++)
        if (!map_init(&maps[kind], MAP_LOG2))
            return false;
    return true;
}

// A key of 0 or 1 is none; handles that are not pointers may begin there.
static const void *key_of(uint64_t handle) {
    return (const void *)(uintptr_t)(handle < 2 ? ~handle : handle);
}

struct object *object_find(enum object_kind kind, uint64_t handle) {
    return handle ? (struct object *)(uintptr_t)map_get(&maps[kind], key_of(handle)) : NULL;
}

static bool more_objects(enum object_kind kind) {
    struct chunk *chunk = memory_take(sizeof *chunk);
    for (uint32_t i = 0; chunk && i < CHUNK; i++) {
        chunk->objects[i].next_free = free_objects[kind];
        free_objects[kind] = &chunk->objects[i];
    }
    if (chunk) {
        chunk->next = chunks[kind];
        chunks[kind] = chunk;
    }
    return chunk != NULL;
}

struct object *object_add(enum object_kind kind, uint64_t handle, struct device *device) {
    struct object *old = object_find(kind, handle);
    if (old) // its end was not seen
        object_remove(old);
    pthread_mutex_lock(&mutex);
    struct object *object = free_objects[kind] || more_objects(kind) ? free_objects[kind] : NULL;
    if (object) {
        free_objects[kind] = object->next_free;
        struct buffer *buffer = kind == OBJECT_BUFFER ? object->buffer : NULL;
        memset(&object->queue, 0, sizeof *object - offsetof(struct object, queue));
        if (kind == OBJECT_BUFFER)
            object->buffer = buffer;
        object->number = ++numbers[kind];
        object->key = handle;
        object->device = device;
        object->kind = kind;
    }
    pthread_mutex_unlock(&mutex);
    if (object && map_put(&maps[kind], key_of(handle), (uintptr_t)object))
        return object;
    if (object)
        object_remove(object);
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return NULL;
}

void object_remove(struct object *object) {
    const uint32_t kind = object->kind;
    if (object_find((enum object_kind)kind, object->key) == object)
        map_remove(&maps[kind], key_of(object->key));
    atomic_fetch_add(&object->generation, 1);
    pthread_mutex_lock(&mutex);
    object->kind = 0;
    object->next_free = free_objects[kind];
    free_objects[kind] = object;
    pthread_mutex_unlock(&mutex);
}

void objects_each(enum object_kind kind, const struct device *device, void (*each)(struct object *object)) {
    for (struct chunk *chunk = chunks[kind]; chunk; chunk = chunk->next)
        for (uint32_t i = 0; i < CHUNK; i++)
            if (chunk->objects[i].kind == kind && chunk->objects[i].device == device)
                each(&chunk->objects[i]);
}
