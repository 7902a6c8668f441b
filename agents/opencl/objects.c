// SPDX-License-Identifier: Apache-2.0
// Keeps the table of the program's objects; the invariants are in objects.h. Rules: agent.h.
#include "objects.h"

#include <stdio.h>
#include <string.h>

#include "identity.h"
#include "memory.h"

enum { LOG2_BUCKETS = 14 };

struct handles objects;
_Atomic uint32_t objects_generation;
static pthread_mutex_t describing = PTHREAD_MUTEX_INITIALIZER; // one thread at a time asks about a device
static pthread_mutex_t adopting = PTHREAD_MUTEX_INITIALIZER; // one thread at a time asks about an old object
static struct object *_Atomic lingering[LINGERING_MAX];
bool objects_adopt;

bool objects_init(void) {
    return handles_init(&objects, sizeof(struct object), offsetof(struct object, parent_number),
                        OBJECT_TYPES - 1, LOG2_BUCKETS);
}

void objects_after_fork_child(void) {
    handles_after_fork_child(&objects);
    pthread_mutex_init(&describing, NULL);
    pthread_mutex_init(&adopting, NULL);
}

static void note_change(enum object_type type) {
    if (type == OBJECT_QUEUE || type == OBJECT_KERNEL)
        atomic_fetch_add(&objects_generation, 1);
}

void object_recycle(struct object *object) {
    handles_remove(&objects, &object->handle);
}

void object_linger(struct object *object) {
    static _Atomic uint32_t next;
    struct object *oldest = atomic_exchange(&lingering[atomic_fetch_add(&next, 1) % LINGERING_MAX], object);
    if (oldest)
        object_recycle(oldest);
}

struct object *object_add(enum object_type type, const void *key, const struct object *parent) {
    struct object *object = handles_add(&objects, type, key);
    if (!object)
        return NULL;
    object->parent_number = object_number(parent);
    atomic_store(&object->references, 1);
    note_change(type);
    return object;
}

static struct object *adopt(enum object_type type, const void *key) {
    void *handle = (void *)(uintptr_t)key;
    switch (type) {
    case OBJECT_QUEUE:
        return queue_adopt(handle);
    case OBJECT_KERNEL:
        return kernel_adopt(handle);
    case OBJECT_MEMORY:
        return memory_adopt(handle);
    default:
        return NULL;
    }
}

struct object *object_adopt(enum object_type type, const void *key) {
    enum {
        UNKNOWN = 1 << 30
    }; // references: how many the program has cannot be known, so the agent never sees the last one go
    if (!key)
        return NULL;
    pthread_mutex_lock(&adopting);
    struct object *object = object_find(type, key);
    if (!object && (object = adopt(type, key)))
        atomic_store(&object->references, UNKNOWN);
    pthread_mutex_unlock(&adopting);
    return object;
}

static void forget_object(void *entry, void *context) {
    struct object *object = entry;
    (void)context;
    if (atomic_load(&object->handle.kind) == OBJECT_MEMORY)
        memory_forgotten(object);
    object_recycle(object);
}

// Devices too: their ids, as those of tracks, are of the session that ended.
void objects_forget(void) {
    for (uint32_t i = 0; i < LINGERING_MAX; i++)
        atomic_store(&lingering[i], NULL);
    for (uint32_t type = 1; type < OBJECT_TYPES; type++)
        handles_each(&objects, type, forget_object, NULL);
    atomic_fetch_add(&objects_generation, 1);
}

void object_retain(struct object *object) {
    atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
}

bool object_is_last(const struct object *object) {
    return atomic_load(&object->references) == 1;
}

bool object_release(struct object *object) {
    if (atomic_fetch_sub(&object->references, 1) != 1)
        return false;
    const uint32_t type = atomic_load(&object->handle.kind);
    note_change((enum object_type)type);
    // Out of the table before the driver frees it: the next object may have the same address. A queue lingers: there
    // the next one of that address replaces it.
    if (type != OBJECT_QUEUE)
        handles_hide(&objects, &object->handle);
    return true;
}

void object_keep(struct object *object) {
    atomic_store(&object->references, 1);
    handles_show(&objects, &object->handle);
}

static uint32_t device_string(cl_device_id device, cl_device_info what) {
    char text[256] = "";
    if (opencl_next.clGetDeviceInfo(device, what, sizeof text - 1, text, NULL) != CL_SUCCESS)
        return 0;
    return channel_string_cstr(agent.channel, text);
}

static cl_platform_id device_platform(cl_device_id device, char name[256]) {
    cl_platform_id platform = NULL;
    name[0] = '\0';
    if (opencl_next.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL) !=
        CL_SUCCESS)
        return NULL;
    opencl_next.clGetPlatformInfo(platform, CL_PLATFORM_NAME, 255, name, NULL);
    return platform;
}

// "Platform name, driver version".
static uint32_t device_driver(cl_device_id device, const char *platform) {
    char text[512] = "", version[128] = "";
    opencl_next.clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
    snprintf(text, sizeof text, "%s%s%s", platform, platform[0] && version[0] ? ", " : "", version);
    return channel_string_cstr(agent.channel, text);
}

static void device_describe(cl_device_id id, struct device *out) {
    cl_device_type type = 0;
    cl_ulong bytes = 0;
    cl_uint units = 0;
    cl_uint clock = 0, queues = 0;
    char platform_name[256];
    struct identity identity;
    const cl_platform_id platform = device_platform(id, platform_name);
    opencl_next.clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    opencl_next.clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    opencl_next.clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    opencl_next.clGetDeviceInfo(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock, NULL);
    // 0, or refused: there is no such queue, so a command has no children that end after it.
    out->enqueues = opencl_next.clGetDeviceInfo(id, CL_DEVICE_MAX_ON_DEVICE_QUEUES, sizeof queues, &queues,
                                                NULL) == CL_SUCCESS &&
                    queues > 0;
    out->compiles_at_launch = strcmp(platform_name, "Portable Computing Language") == 0;
    identity_find(id, platform, platform_name, &identity);
    const tsmith_device device = {
        .name = device_string(id, CL_DEVICE_NAME),
        .vendor = device_string(id, CL_DEVICE_VENDOR),
        .driver = device_driver(id, platform_name),
        .api = channel_string_cstr(agent.channel, OPENCL_API),
        .type = channel_string_cstr(agent.channel, agent_device_type(type)),
        .memory_bytes = bytes,
        .compute_units = units,
        .clock_mhz = clock,
        .number = identity.number,
    };
    out->id = channel_device_identified(agent.channel, &device, identity.text);
    if (identity.other[0])
        channel_device_described(agent.channel, out->id, &device, identity.other);
}

struct object *object_device(cl_device_id id) {
    struct object *object = object_find(OBJECT_DEVICE, id);
    if (object || !id)
        return object;
    pthread_mutex_lock(&describing);
    object = object_find(OBJECT_DEVICE, id);
    if (!object) {
        struct device device = {0};
        device_describe(id, &device);
        object = object_add(OBJECT_DEVICE, id, NULL);
        if (object)
            object->device = device;
    }
    pthread_mutex_unlock(&describing);
    return object;
}
