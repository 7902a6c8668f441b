// SPDX-License-Identifier: Apache-2.0
// Keeps the tables of the program's objects, as described in objects.h. Rules: agent.h.
#include "objects.h"

#include "agent.h"

enum { MAP_LOG2 = 13 };

static struct handles objects;
static struct map buffer_sizes;
_Static_assert((int)OBJECT_KINDS <= (int)HANDLE_KINDS, "each kind has a map");

bool objects_init(void) {
    return map_init(&buffer_sizes, MAP_LOG2) &&
           handles_init(&objects, sizeof(struct object), offsetof(struct object, queue), OBJECT_KINDS - 1,
                        MAP_LOG2);
}

// A key of 0 or 1 is none; handles that are not pointers may begin there.
static const void *key_of(uint64_t handle) {
    return (const void *)(uintptr_t)(handle < 2 ? ~handle : handle);
}

struct object *object_find(enum object_kind kind, uint64_t handle) {
    return handle ? handles_find(&objects, kind, key_of(handle)) : NULL;
}

struct object *object_add(enum object_kind kind, uint64_t handle, struct device *device) {
    struct object *object = handles_replace(&objects, kind, key_of(handle));
    if (object)
        object->device = device;
    return object;
}

void object_remove(struct object *object) {
    handles_remove(&objects, &object->handle);
}

uint64_t size_of_buffer(VkBuffer buffer) {
    return map_get(&buffer_sizes, key_of(HANDLE(buffer)));
}

void size_add(VkBuffer buffer, uint64_t bytes) {
    (void)map_put(&buffer_sizes, key_of(HANDLE(buffer)), bytes);
}

void size_remove(VkBuffer buffer) {
    map_remove(&buffer_sizes, key_of(HANDLE(buffer)));
}

struct visit {
    const struct device *device;
    void (*each)(struct object *object);
};

static void visit_object(void *entry, void *context) {
    const struct visit *visit = context;
    struct object *object = entry;
    if (object->device == visit->device)
        visit->each(object);
}

void objects_each(enum object_kind kind, const struct device *device, void (*each)(struct object *object)) {
    struct visit visit = {.device = device, .each = each};
    handles_each(&objects, kind, visit_object, &visit);
}
