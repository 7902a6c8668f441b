// SPDX-License-Identifier: Apache-2.0
// Handles and their objects. Rules: recorder.h.
//
// An object has an end: the program's last reference to memory goes, or the driver gives its handle to another. From
// then on it cannot be found; it stays while others refer to it (an argument, a part of it, an object in a context).
// Then it is reused for another object of its kind, and never freed: a program that uses a released handle makes us
// read a wrong object, not freed memory.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

enum { FIRST_BUCKETS = 1 << 10 };

static struct object *first_buckets[FIRST_BUCKETS];
static struct object **buckets = first_buckets; // a power of two
static size_t bucket_count = FIRST_BUCKETS, object_count;
static atomic_bool any_event; // is known
static struct object *spare[OBJECT_KINDS];

static struct object **bucket_in(struct object **table, size_t count, const void *handle) {
    const uint64_t mixed = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    return &table[(mixed >> 32) & (count - 1)];
}

static struct object **bucket_of(const void *handle) {
    return bucket_in(buckets, bucket_count, handle);
}

struct object *object_find(const void *handle, enum object_kind kind) {
    struct object *object = handle ? *bucket_of(handle) : NULL;
    while (object && (object->handle != handle || object->kind != kind))
        object = object->next;
    return object;
}

void objects_after_fork(void) {
    for (size_t i = 0; i < bucket_count; i++)
        buckets[i] = NULL;
    object_count = 0;
    for (size_t i = 0; i < OBJECT_KINDS; i++)
        spare[i] = NULL;
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

// Without memory for more of them the chains become longer.
static void more_buckets(void) {
    const size_t count = bucket_count * 2;
    struct object **table = calloc(count, sizeof(struct object *));
    if (!table)
        return;
    for (size_t i = 0; i < bucket_count; i++)
        for (struct object *object = buckets[i], *next; object; object = next) {
            struct object **bucket = bucket_in(table, count, object->handle);
            next = object->next;
            object->next = *bucket;
            *bucket = object;
        }
    if (buckets != first_buckets)
        free(buckets);
    buckets = table;
    bucket_count = count;
}

struct object *object_name(struct object *object) {
    if (object)
        object->named++;
    return object;
}

static void finish_kernel(struct kernel *kernel) {
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        object_drop(kernel->arguments[i].target);
        free(kernel->arguments[i].value);
    }
    for (size_t i = 0; i < kernel->use_count; i++)
        object_drop(kernel->uses[i]);
    free(kernel->arguments);
    free(kernel->uses);
    free(kernel->name);
    free(kernel);
}

void object_enter(struct object *object, struct object *context) {
    object->context = object_name(context);
    object->inside = context != NULL;
    if (context)
        context->insiders++;
}

// The program has released it.
static void leave(struct object *object) {
    struct object *context = object->kind == OBJECT_CONTEXT ? object : NULL;
    if (object->inside) {
        context = object->context;
        context->insiders--;
        object->inside = false;
    }
    if (context && context->references <= 0 && !context->insiders)
        copy_queues_leave(context);
}

// Called when no handle and no reference leads to the object any more.
static void put_away(struct object *object) {
    object_drop(object->parent);
    object_drop(object->context);
    for (size_t i = 0; i < object->writer_count; i++)
        object_drop(object->writers[i]);
    if (object->kind == OBJECT_KERNEL && object->kernel)
        finish_kernel(object->kernel);
    else if (object->kind == OBJECT_IMAGE)
        free(object->image);
    *object = (struct object){.kind = object->kind, .ended = true, .next = spare[object->kind]};
    spare[object->kind] = object;
}

void object_drop(struct object *object) {
    if (object && object->named && --object->named == 0 && object->ended)
        put_away(object);
}

void object_end(struct object *object) {
    struct object **place = bucket_of(object->handle);
    while (*place && *place != object)
        place = &(*place)->next;
    if (!*place)
        return;
    *place = object->next;
    object_count--;
    object->ended = true;
    leave(object);
    if (object->kind == OBJECT_CONTEXT)
        copy_queues_leave(object);
    if (!object->named)
        put_away(object);
}

// What had this handle has ended, whether that was seen or not. Events, which come by the million, become the new one.
static struct object *take_place(const void *handle, enum object_kind kind) {
    struct object *old = is_memory(kind) ? object_find_memory(handle) : object_find(handle, kind);
    if (old && kind == OBJECT_EVENT)
        return old;
    if (old)
        object_end(old);
    return NULL;
}

struct object *object_add(const void *handle, enum object_kind kind) {
    struct object *object = take_place(handle, kind);
    if (object) {
        object->id = ++recorder.last_id;
        return object;
    }
    object = spare[kind];
    if (object)
        spare[kind] = object->next;
    else
        object = malloc(sizeof *object);
    if (!object) {
        atomic_store(&recorder.on, false);
        static struct object none; // recording is over; only so that callers need no condition
        return &none;
    }
    if (object_count >= bucket_count)
        more_buckets();
    struct object **bucket = bucket_of(handle);
    *object = (struct object){
        .handle = handle, .kind = kind, .id = ++recorder.last_id, .next = *bucket, .references = 1};
    *bucket = object;
    object_count++;
    if (kind == OBJECT_EVENT)
        atomic_store_explicit(&any_event, true, memory_order_relaxed);
    return object;
}

uint64_t object_id(const void *handle, enum object_kind kind) {
    const struct object *object = object_find(handle, kind);
    return object ? object->id : 0;
}

void object_each(enum object_kind kind, void (*each)(struct object *object, void *context), void *context) {
    for (size_t i = 0; i < bucket_count; i++)
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
    if (last)
        leave(object);
    pthread_mutex_unlock(&recorder.lock);
    return last;
}

struct object *object_root(struct object *memory) {
    while (memory->parent)
        memory = memory->parent;
    return memory;
}

void object_forget_event(const cl_event *event) {
    if (!event || !*event || !atomic_load_explicit(&any_event, memory_order_relaxed))
        return;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(*event, OBJECT_EVENT);
    if (object)
        object->id = 0;
    pthread_mutex_unlock(&recorder.lock);
}

// ---- commands

void put_objects(struct recording_writer *writer, enum recording_key key, enum object_kind kind,
                 cl_uint count, const void *handles) {
    uint64_t *ids = count ? malloc(count * sizeof *ids) : NULL;
    writer->failed |= count && !ids;
    for (cl_uint i = 0; ids && i < count; i++) {
        const void *handle;
        memcpy(&handle, (const char *)handles + i * sizeof handle, sizeof handle);
        ids[i] = object_id(handle, kind);
    }
    if (ids)
        recording_put_list(writer, key, ids, count);
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

struct recording_writer *command_open(enum recording_command command, const struct access *access) {
    struct recording_writer *writer = record_open(RECORDING_COMMAND);
    struct object *object = object_find(access->queue, OBJECT_QUEUE);
    const uint64_t correlation = recorder_correlation();
    recording_put(writer, RECORDING_KEY_COMMAND, command);
    recording_put(writer, RECORDING_KEY_QUEUE, object ? object->id : 0);
    put_thread(writer);
    if (correlation)
        recording_put(writer, RECORDING_KEY_CORRELATION, correlation);
    if (object)
        object->waiting = true;
    put_objects(writer, RECORDING_KEY_WAITS, OBJECT_EVENT, access->given_count, access->given);
    return writer;
}

void command_close(const cl_event *event) {
    if (event && *event)
        recording_put(&recorder.writer, RECORDING_KEY_EVENT, object_add(*event, OBJECT_EVENT)->id);
    record_close();
}
