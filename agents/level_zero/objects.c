// SPDX-License-Identifier: Apache-2.0
// Keeps the table of the program's objects, as described in objects.h. Rules: agent.h.
#include "objects.h"

#include <sched.h>

#include "times.h"

enum { MAP_LOG2 = 13 };

struct handles objects;

bool objects_init(void) {
    return handles_init(&objects, sizeof(struct object), offsetof(struct object, device), OBJECT_MEMORY,
                        MAP_LOG2);
}

void object_invalidate(struct object *object) {
    pending_reap_all(true);
    atomic_fetch_add(&object->handle.generation, 1);
    while (atomic_load(&object->asking))
        sched_yield();
}

bool object_ask(struct object *object, uint32_t generation) {
    atomic_fetch_add(&object->asking, 1);
    if (atomic_load(&object->handle.generation) == generation)
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
        times_device(&device->device, handle, (uint32_t)device->handle.number);
    return device;
}
