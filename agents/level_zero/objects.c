// SPDX-License-Identifier: Apache-2.0
// Keeps the table of the program's objects, as described in objects.h. Rules: agent.h.
#include "objects.h"

#include <sched.h>
#include <string.h>

#include "agentkit/map.h"
#include "times.h"
#include "wire/memory.h"

enum { MAP_LOG2 = 13, CHUNK = 256 };

struct chunk {
    struct chunk *next;
    struct object objects[CHUNK];
};

static struct map map;
static struct chunk *_Atomic chunks;
static struct object *free_objects;
static uint32_t numbers[OBJECT_MEMORY + 1];
static atomic_flag locked = ATOMIC_FLAG_INIT;

static void lock(void) {
    while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire))
        sched_yield();
}

static void unlock(void) {
    atomic_flag_clear_explicit(&locked, memory_order_release);
}

bool objects_init(void) {
    return map_init(&map, MAP_LOG2);
}

struct object *object_find(enum object_kind kind, const void *handle) {
    struct object *object = (struct object *)(uintptr_t)map_get(&map, handle);
    return object && object->kind == kind ? object : NULL;
}

static bool more_objects(void) {
    struct chunk *chunk = memory_take(sizeof *chunk);
    if (!chunk)
        return false;
    for (uint32_t i = 0; i < CHUNK; i++) {
        chunk->objects[i].next_free = free_objects;
        free_objects = &chunk->objects[i];
    }
    chunk->next = atomic_load(&chunks);
    atomic_store(&chunks, chunk);
    return true;
}

struct object *object_add(enum object_kind kind, void *handle) {
    struct object *old = (struct object *)(uintptr_t)map_get(&map, handle);
    if (old) // its end was not seen
        object_remove(old);
    lock();
    struct object *object = free_objects || more_objects() ? free_objects : NULL;
    if (object) {
        free_objects = object->next_free;
        memset(&object->device, 0, sizeof *object - offsetof(struct object, device));
        object->number = ++numbers[kind];
        object->key = handle;
        object->kind = kind;
    }
    unlock();
    if (object && map_put(&map, handle, (uintptr_t)object))
        return object;
    if (object)
        object_remove(object);
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    return NULL;
}

void object_remove(struct object *object) {
    if (map_get(&map, object->key) == (uintptr_t)object)
        map_remove(&map, object->key);
    atomic_fetch_add(&object->generation, 1);
    lock();
    object->kind = 0;
    object->next_free = free_objects;
    free_objects = object;
    unlock();
}

void objects_each(enum object_kind kind, void (*each)(struct object *object, void *context), void *context) {
    for (struct chunk *chunk = atomic_load(&chunks); chunk; chunk = chunk->next)
        for (uint32_t i = 0; i < CHUNK; i++)
            if (chunk->objects[i].kind == kind)
                each(&chunk->objects[i], context);
}

void object_invalidate(struct object *object) {
    pending_reap_all(true);
    atomic_fetch_add(&object->generation, 1);
    while (atomic_load(&object->asking))
        sched_yield();
}

bool object_ask(struct object *object, uint32_t generation) {
    atomic_fetch_add(&object->asking, 1);
    if (atomic_load(&object->generation) == generation)
        return true;
    atomic_fetch_sub(&object->asking, 1);
    return false;
}

void object_asked(struct object *object) {
    atomic_fetch_sub(&object->asking, 1);
}

struct object *object_context(void *handle) {
    struct object *context = object_find(OBJECT_CONTEXT, handle);
    return context || !handle ? context : object_add(OBJECT_CONTEXT, handle);
}

struct object *object_device(void *handle) {
    struct object *device = object_find(OBJECT_DEVICE, handle);
    if (device || !handle)
        return device;
    device = object_add(OBJECT_DEVICE, handle);
    if (device)
        times_device(&device->device, handle, device->number);
    return device;
}
