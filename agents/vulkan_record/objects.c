// SPDX-License-Identifier: Apache-2.0
// The table of the program's objects, by kind and handle, and what each is made of. Rules: recorder.h.
//
// An object that the program destroyed stays while others are made of it: a pipeline needs its shader modules when it is replayed.
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "recorder.h"

enum { BUCKETS = 4096 };
static struct object *buckets[BUCKETS];

static struct object **bucket_of(uint32_t kind, uint64_t handle) {
    return &buckets[((handle ^ kind) * 0x9e3779b97f4a7c15u) >> 52];
}

struct object *object_find(uint32_t kind, uint64_t handle) {
    struct object *at = handle ? *bucket_of(kind, handle) : NULL;
    while (at && (at->kind != kind || at->handle != handle))
        at = at->in_bucket;
    return at;
}

static void hide_object(struct object *object) {
    struct object **at = bucket_of(object->kind, object->handle);
    while (*at && *at != object)
        at = &(*at)->in_bucket;
    if (*at)
        *at = object->in_bucket;
}

struct object *object_add(struct device *device, uint32_t kind, uint64_t handle, const char *function) {
    struct object *stale = object_find(kind, handle);
    if (stale)
        object_end(stale);
    struct object *object = recorder.on ? calloc(1, sizeof *object) : NULL;
    if (!object) {
        recorder.on = false;
        return NULL;
    }
    object->kind = kind;
    object->handle = handle;
    object->number = ++recorder.numbers;
    object->device = device;
    object->function = function;
    object->alive = true;
    object->in_bucket = *bucket_of(kind, handle);
    *bucket_of(kind, handle) = object;
    object->before = recorder.last;
    *(recorder.last ? &recorder.last->after : &recorder.first) = object;
    recorder.last = object;
    return object;
}

bool uses_add(struct use **uses, size_t *count, size_t *capacity, struct object *object, bool written) {
    enum { NEAR = 64 }; // most objects are named again soon: the others are in the list several times
    for (size_t i = *count; i-- > 0 && *count - i <= NEAR;)
        if ((*uses)[i].object == object) {
            (*uses)[i].written |= written;
            return true;
        }
    if (!ARRAY_RESERVE(*uses, *capacity, *count + 1))
        return false;
    (*uses)[(*count)++] = (struct use){object, written};
    object->references++;
    return true;
}

static void drop_if_unused(struct object *object);

void uses_drop(struct use **uses, size_t *count, size_t *capacity) {
    struct use *all = *uses;
    const size_t number = *count;
    *uses = NULL;
    *count = *capacity = 0;
    for (size_t i = 0; i < number; i++) {
        all[i].object->references--;
        drop_if_unused(all[i].object);
    }
    free(all);
}

static void drop_if_unused(struct object *object) {
    if (object->alive || object->references)
        return;
    if (object->recorded) {
        struct recording_writer *writer = record_open(RECORDING_RELEASE);
        recording_put(writer, RECORDING_KEY_OBJECT, object->number);
        record_close();
    }
    *(object->before ? &object->before->after : &recorder.first) = object->after;
    *(object->after ? &object->after->before : &recorder.last) = object->before;
    uses_drop(&object->uses, &object->use_count, &object->use_capacity);
    set_forget(object);
    free(object->words.bytes);
    free(object->effects);
    free(object->transfers);
    free(object->initial);
    free(object->final);
    free(object->clears);
    free(object->drops);
    free(object->forgets);
    free(object->subpasses);
    free(object);
}

// The object that the walk is at stays until the walk has its successor.
void objects_end(bool (*wanted)(const struct object *object, const void *context), const void *context) {
    struct object *at = recorder.first;
    if (at)
        at->references++;
    while (at) {
        if (at->alive && wanted(at, context))
            object_end(at);
        struct object *after = at->after;
        if (after)
            after->references++;
        at->references--;
        drop_if_unused(at);
        at = after;
    }
}

static bool is_child(const struct object *object, const void *parent) {
    return object->parent == parent;
}

void object_end(struct object *object) {
    if (!object || !object->alive)
        return;
    hide_object(object);
    object->alive = false;
    object->references++;
    if (object->kind > VULKAN_KIND_LIMIT)
        objects_end(is_child, object); // what refers to a pool or a swapchain goes with it
    object->references--;
    drop_if_unused(object);
}

// ---- what objects are made of

static uint64_t number_of(void *context, enum vulkan_kind kind, uint64_t handle, bool written) {
    struct describing *describing = context;
    struct object *object = object_find(kind, handle);
    if (!object ||
        !uses_add(&describing->uses, &describing->use_count, &describing->use_capacity, object, written))
        return 0;
    if (object->words.missing[0])
        words_missing(&describing->words, "%s", object->words.missing);
    return object->number;
}

void describe_begin(struct describing *describing) {
    *describing = (struct describing){.words = {.translate = number_of, .context = describing}};
}

void describe_more(struct describing *describing, const struct object *object) {
    *describing = (struct describing){.words = object->words,
                                      .uses = object->uses,
                                      .use_count = object->use_count,
                                      .use_capacity = object->use_capacity};
    describing->words.translate = number_of;
    describing->words.context = describing;
}

void describe_end(struct describing *describing, struct object *object) {
    if (!object) {
        uses_drop(&describing->uses, &describing->use_count, &describing->use_capacity);
        free(describing->words.bytes);
        return;
    }
    if (describing->words.failed)
        words_missing(&describing->words, "out of memory");
    object->words = describing->words;
    object->words.context = NULL;
    object->uses = describing->uses;
    object->use_count = describing->use_count;
    object->use_capacity = describing->use_capacity;
}

// ---- recording them

static void write_device(struct device *device) {
    if (device->written)
        return;
    struct recording_writer *writer = record_open(RECORDING_VULKAN_DEVICE);
    recording_put(writer, RECORDING_KEY_OBJECT, device->number);
    recording_put_text(writer, RECORDING_KEY_NAME, device->name);
    recording_put(writer, RECORDING_KEY_VENDOR, device->vendor);
    recording_put(writer, RECORDING_KEY_DRIVER, device->driver);
    recording_put(writer, RECORDING_KEY_VERSION, device->version);
    recording_put(writer, RECORDING_KEY_FLAGS, device->features);
    record_close();
    device->written = true;
}

static void write_object(struct object *object) {
    struct recording_writer *writer = record_open(RECORDING_VULKAN_OBJECT);
    recording_put(writer, RECORDING_KEY_OBJECT, object->number);
    recording_put(writer, RECORDING_KEY_CONTEXT, object->device->number);
    recording_put(writer, RECORDING_KEY_INDEX, object->kind);
    recording_put_text(writer, RECORDING_KEY_NAME, object->function);
    recording_put_bytes(writer, RECORDING_KEY_DATA, object->words.bytes, object->words.length);
    if (object->kind == VULKAN_SET)
        recording_put(writer, RECORDING_KEY_TARGET, object->parent ? object->uses[0].object->number : 0);
    if (object->size)
        recording_put(writer, RECORDING_KEY_SIZE, object->size);
    if (object->memory) {
        recording_put(writer, RECORDING_KEY_PARENT, object->memory->number);
        recording_put(writer, RECORDING_KEY_OFFSET, object->offset);
    }
    record_close();
    object->recorded = true;
}

void objects_write(struct device *device) {
    write_device(device);
    for (struct object *object = recorder.first; object; object = object->after)
        if (object->device == device && object->kind < VULKAN_KIND_LIMIT && object->kind != VULKAN_COMMANDS &&
            !object->recorded && !object->parts && !object->words.missing[0])
            write_object(object);
}
