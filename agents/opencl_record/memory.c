// SPDX-License-Identifier: Apache-2.0
// Buffers, and the end of all memory objects. Rules: recorder.h.
#include "recorder.h"

static void note_buffer(cl_mem buffer, cl_context context, cl_mem_flags flags, size_t size,
                        const void *host) {
    struct payload payload = {0};
    const bool given = host && size && (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR));
    // Of a range nobody knows whether it will come to this buffer: it is copied when it does.
    const bool known = given && range_whole();
    if (known)
        payload_take(&payload, host, size);
    struct recording_writer *writer = record_open(RECORDING_BUFFER);
    struct object *object = object_add(buffer, OBJECT_BUFFER);
    object->context = object_find(context, OBJECT_CONTEXT);
    object->flags = flags;
    object->size = size;
    object->known = known;
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    if (known)
        payload_put(writer, &payload);
    else
        recording_put(writer, RECORDING_KEY_SIZE, size);
    record_close();
}

cl_mem record_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *status) {
    cl_mem buffer = recorder.next.clCreateBuffer(context, flags, size, host, status);
    if (recorder_on() && buffer)
        note_buffer(buffer, context, flags, size, host);
    return buffer;
}

cl_mem record_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                           cl_mem_flags flags, size_t size, void *host, cl_int *status) {
    cl_mem buffer =
        recorder.next.clCreateBufferWithProperties(context, properties, flags, size, host, status);
    if (!recorder_on() || !buffer)
        return buffer;
    note_buffer(buffer, context, flags, size, host);
    if (properties && properties[0])
        refuse("clCreateBufferWithProperties", "memory of another API may be behind the buffer", &buffer, 1,
               NULL);
    return buffer;
}

cl_mem record_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags, cl_buffer_create_type type,
                                const void *info, cl_int *status) {
    cl_mem buffer = recorder.next.clCreateSubBuffer(parent, flags, type, info, status);
    if (!recorder_on() || !buffer || type != CL_BUFFER_CREATE_TYPE_REGION)
        return buffer;
    const cl_buffer_region *region = info;
    struct recording_writer *writer = record_open(RECORDING_SUB_BUFFER);
    struct object *object = object_add(buffer, OBJECT_BUFFER);
    object->parent = object_find(parent, OBJECT_BUFFER);
    object->size = region->size;
    object->flags = flags;
    if (object->parent) {
        object->context = object->parent->context;
        object->parent->references++; // its content is of use as long as the part of it is
    }
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_PARENT, object_id(parent, OBJECT_BUFFER));
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    recording_put(writer, RECORDING_KEY_OFFSET, region->origin);
    recording_put(writer, RECORDING_KEY_SIZE, region->size);
    record_close();
    return buffer;
}

static enum object_kind kind_of(cl_mem memory) {
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find_memory(memory);
    const enum object_kind kind = object ? object->kind : OBJECT_BUFFER;
    pthread_mutex_unlock(&recorder.lock);
    return kind;
}

cl_int record_clRetainMemObject(cl_mem memory) {
    const cl_int status = recorder.next.clRetainMemObject(memory);
    if (recorder_on() && status == CL_SUCCESS)
        object_retain(memory, kind_of(memory));
    return status;
}

// With the lock held: the program's last reference went, and what the device wrote is copied, if it was to be.
static cl_event conclude(const struct object *object, struct object *root, bool gone) {
    cl_event hold = NULL;
    if (root && gone) {
        hold = root->hold;
        root->hold = NULL;
    }
    recording_put(record_open_inner(RECORDING_RELEASE), RECORDING_KEY_OBJECT, object->id);
    record_close_inner();
    return hold;
}

// What lies in another object goes with that.
static void release(cl_mem memory) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    const bool last = object && object->references > 0 && --object->references == 0;
    if (!last || object->kind == OBJECT_OPAQUE) {
        pthread_mutex_unlock(&recorder.lock);
        return;
    }
    struct object *root = object_root(object);
    bool gone = root == object;
    for (struct object *part = object; part->parent; part = part->parent)
        gone = --part->parent->references == 0;
    if (gone && root->written) {
        root->written = false;
        pthread_mutex_unlock(&recorder.lock);
        snapshot_take(root, RECORDING_VERIFY, 0);
        pthread_mutex_lock(&recorder.lock);
    }
    cl_event hold = conclude(object, root, gone);
    pthread_mutex_unlock(&recorder.lock);
    if (hold)
        recorder.next.clReleaseEvent(hold);
}

cl_int record_clReleaseMemObject(cl_mem memory) {
    if (recorder_on()) {
        snapshot_reap();
        release(memory);
    }
    return recorder.next.clReleaseMemObject(memory);
}
