// SPDX-License-Identifier: Apache-2.0
// Handles and what they are. Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

enum { BUCKETS = 1 << 12 };

static struct object *buckets[BUCKETS];

static struct object **bucket_of(const void *handle) {
    const uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    return &buckets[mixed >> 52];
}

struct object *object_find(const void *handle, enum object_kind kind) {
    struct object *object = handle ? *bucket_of(handle) : NULL;
    while (object && (object->handle != handle || object->kind != kind))
        object = object->next;
    return object;
}

void objects_after_fork(void) {
    for (size_t i = 0; i < BUCKETS; i++)
        buckets[i] = NULL;
}

static bool is_memory(enum object_kind kind) {
    return kind == OBJECT_BUFFER || kind == OBJECT_IMAGE || kind == OBJECT_OPAQUE;
}

struct object *object_find_memory(const void *handle) {
    struct object *object = handle ? *bucket_of(handle) : NULL;
    while (object && (object->handle != handle || !is_memory(object->kind)))
        object = object->next;
    return object;
}

// Events come by the million: a handle that is used again takes the place of the event it was before.
static struct object *event_again(const void *handle) {
    struct object *object = object_find(handle, OBJECT_EVENT);
    if (object)
        object->id = ++recorder.last_id;
    return object;
}

struct object *object_add(const void *handle, enum object_kind kind) {
    struct object *object = kind == OBJECT_EVENT ? event_again(handle) : NULL;
    if (object)
        return object;
    object = calloc(1, sizeof *object);
    if (!object) {
        atomic_store(&recorder.on, false);
        static struct object none; // recording is over; only so that callers need no condition
        return &none;
    }
    struct object **bucket = bucket_of(handle);
    *object = (struct object){
        .handle = handle, .kind = kind, .id = ++recorder.last_id, .next = *bucket, .references = 1};
    *bucket = object;
    return object;
}

uint64_t object_id(const void *handle, enum object_kind kind) {
    const struct object *object = object_find(handle, kind);
    return object ? object->id : 0;
}

void object_each(enum object_kind kind, void (*each)(struct object *object, void *context), void *context) {
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct object *object = buckets[i]; object; object = object->next)
            if (object->kind == kind)
                each(object, context);
}

void object_retain(const void *handle, enum object_kind kind) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(handle, kind);
    if (object)
        object->references++;
    pthread_mutex_unlock(&recorder.lock);
}

bool object_release(const void *handle, enum object_kind kind) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(handle, kind);
    const bool last = object && object->references > 0 && --object->references == 0;
    pthread_mutex_unlock(&recorder.lock);
    return last;
}

struct object *object_root(struct object *memory) {
    while (memory->parent)
        memory = memory->parent;
    return memory;
}

void object_forget_event(const cl_event *event) {
    if (!event || !*event)
        return;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(*event, OBJECT_EVENT);
    if (object)
        object->id = 0;
    pthread_mutex_unlock(&recorder.lock);
}

// ---- commands

void put_waits(struct recording_writer *writer, cl_uint count, const cl_event *waits) {
    uint64_t *ids = count ? malloc(count * sizeof *ids) : NULL;
    writer->failed |= count && !ids;
    for (cl_uint i = 0; ids && i < count; i++)
        ids[i] = object_id(waits[i], OBJECT_EVENT);
    if (ids)
        recording_put_list(writer, RECORDING_KEY_WAITS, ids, count);
    free(ids);
}

void put_sizes(struct recording_writer *writer, enum recording_key key, const size_t *sizes, size_t count) {
    uint64_t values[RECORDING_DIMENSIONS];
    for (size_t i = 0; sizes && i < count && i < RECORDING_DIMENSIONS; i++)
        values[i] = sizes[i];
    if (sizes)
        recording_put_list(writer, key, values, count < RECORDING_DIMENSIONS ? count : RECORDING_DIMENSIONS);
}

void put_memory(struct recording_writer *writer, enum recording_key key, cl_mem memory) {
    const struct object *object = object_find_memory(memory);
    recording_put(writer, key, object ? object->id : 0);
}

void put_thread(struct recording_writer *writer) {
    recording_put(writer, RECORDING_KEY_THREAD, range_thread());
}

struct recording_writer *command_open(enum recording_command command, cl_command_queue queue, cl_uint count,
                                      const cl_event *waits) {
    struct recording_writer *writer = record_open(RECORDING_COMMAND);
    struct object *object = object_find(queue, OBJECT_QUEUE);
    const uint64_t correlation = recorder_correlation();
    recording_put(writer, RECORDING_KEY_COMMAND, command);
    recording_put(writer, RECORDING_KEY_QUEUE, object ? object->id : 0);
    put_thread(writer);
    if (correlation)
        recording_put(writer, RECORDING_KEY_CORRELATION, correlation);
    if (object)
        object->waiting = true;
    put_waits(writer, count, waits);
    return writer;
}

void command_close(const cl_event *event) {
    if (event && *event)
        recording_put(&recorder.writer, RECORDING_KEY_EVENT, object_add(*event, OBJECT_EVENT)->id);
    record_close();
}
