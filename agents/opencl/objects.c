// SPDX-License-Identifier: Apache-2.0
// Keeps the table of the program's objects; the invariants are in objects.h. Rules: agent.h.
#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "identity.h"
#include "wire/memory.h"

enum { LOG2_BUCKETS = 14, SLAB_OBJECTS = 64 };

struct map objects_table;
_Atomic uint32_t objects_generation;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;      // guards free_lists
static pthread_mutex_t describing = PTHREAD_MUTEX_INITIALIZER; // one thread at a time asks about a device
static pthread_mutex_t adopting = PTHREAD_MUTEX_INITIALIZER; // one thread at a time asks about an old object
static struct object *free_lists[OBJECT_TYPES];
bool objects_adopt;
static _Atomic uint64_t numbers[OBJECT_TYPES];

bool objects_init(void) {
    return map_init(&objects_table, LOG2_BUCKETS);
}

void objects_after_fork_child(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_mutex_init(&describing, NULL);
    pthread_mutex_init(&adopting, NULL);
}

// A new slab of entries; called with the mutex held.
static void slab_add(enum object_type type) {
    struct object *slab = memory_take(SLAB_OBJECTS * sizeof *slab);
    for (uint32_t i = SLAB_OBJECTS; slab && i-- > 0;) {
        slab[i].next_free = free_lists[type];
        free_lists[type] = &slab[i];
    }
}

static void note_change(enum object_type type) {
    if (type == OBJECT_QUEUE || type == OBJECT_KERNEL)
        atomic_fetch_add(&objects_generation, 1);
}

static struct object *entry_take(enum object_type type) {
    pthread_mutex_lock(&mutex);
    if (!free_lists[type])
        slab_add(type);
    struct object *object = free_lists[type];
    if (object)
        free_lists[type] = object->next_free;
    pthread_mutex_unlock(&mutex);
    return object;
}

void object_recycle(struct object *object) {
    pthread_mutex_lock(&mutex);
    object->next_free = free_lists[object->type];
    free_lists[object->type] = object;
    pthread_mutex_unlock(&mutex);
}

void object_linger(struct object *object) {
    static struct object *lingering[LINGERING_MAX];
    static uint32_t next;
    pthread_mutex_lock(&mutex);
    struct object *oldest = lingering[next];
    lingering[next] = object;
    next = (next + 1) % LINGERING_MAX;
    if (oldest && map_get(&objects_table, oldest->key) == (uint64_t)(uintptr_t)oldest)
        map_remove(&objects_table, oldest->key);
    pthread_mutex_unlock(&mutex);
    if (oldest)
        object_recycle(oldest);
}

struct object *object_add(enum object_type type, const void *key, const struct object *parent) {
    struct object *object = entry_take(type);
    if (!object) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return NULL;
    }
    memset(object, 0, sizeof *object);
    object->key = key;
    object->type = type;
    object->parent_number = object_number(parent);
    object->number = atomic_fetch_add(&numbers[type], 1) + 1;
    atomic_store(&object->references, 1);
    pthread_mutex_lock(&mutex); // see object_linger
    const bool put = map_put(&objects_table, key, (uint64_t)(uintptr_t)object);
    note_change(type);
    pthread_mutex_unlock(&mutex);
    if (!put) {
        object_recycle(object);
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return NULL;
    }
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

void objects_forget(void) {
    for (size_t i = 0; i < (size_t)MAP_SLOTS << LOG2_BUCKETS; i++) {
        struct map_slot *slot = &objects_table.slots[i];
        struct object *object = (struct object *)(uintptr_t)atomic_load(&slot->value);
        // Devices stay: their ids are those of the channel, which is continued.
        if (!atomic_load(&slot->key) || object->type == OBJECT_DEVICE)
            continue;
        atomic_store(&slot->key, 0);
        object_recycle(object);
    }
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
    note_change(object->type);
    // Out of the table before the driver frees it: the next object may have the same address. A queue lingers: there
    // the next one of that address replaces it.
    if (object->type != OBJECT_QUEUE)
        map_remove(&objects_table, object->key);
    return true;
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
