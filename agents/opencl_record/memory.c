// SPDX-License-Identifier: Apache-2.0
// Buffers, and the end of all memory objects. Rules: recorder.h.
//
// Most programs that wait for a range make buffers that no recorded command ever touches: before the range begins a buffer is
// written down only when something else that is written names it, and when it begins those that are left.
#include "recorder.h"

// With the lock held.
static void put_buffer(struct recording_writer *writer, const struct object *object) {
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    if (object->parent)
        recording_put(writer, RECORDING_KEY_PARENT, object->parent->id);
    else
        recording_put(writer, RECORDING_KEY_CONTEXT, object->context ? object->context->id : 0);
    recording_put(writer, RECORDING_KEY_FLAGS, object->flags);
    if (object->parent)
        recording_put(writer, RECORDING_KEY_OFFSET, object->origin);
}

void buffer_tell(struct object *object) {
    if (!object || object->kind != OBJECT_BUFFER || object->told)
        return;
    buffer_tell(object->parent);
    object->told = true;
    struct recording_writer *writer =
        record_open_inner(object->parent ? RECORDING_SUB_BUFFER : RECORDING_BUFFER);
    put_buffer(writer, object);
    recording_put(writer, RECORDING_KEY_SIZE, object->size);
    record_close_inner();
}

static void note_buffer(cl_mem buffer, cl_context context, cl_mem_flags flags, size_t size,
                        const void *host) {
    struct payload payload = {0};
    const bool given = host && size && (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR));
    // A capture range may never access this buffer, so it is copied on first access.
    const bool known = given && range_whole();
    if (known)
        payload_take(&payload, host, size);
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_add(buffer, OBJECT_BUFFER);
    object_enter(object, object_find(context, OBJECT_CONTEXT));
    object->flags = flags;
    object->size = size;
    object->known = object->told = known;
    if (known) {
        struct recording_writer *writer = record_open_inner(RECORDING_BUFFER);
        put_buffer(writer, object);
        payload_put(writer, &payload);
        record_close_inner();
    } else if (recorder_begun()) {
        buffer_tell(object);
    }
    pthread_mutex_unlock(&recorder.lock);
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
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_add(buffer, OBJECT_BUFFER);
    object->parent = object_name(object_find(parent, OBJECT_BUFFER));
    object->origin = region->origin;
    object->size = region->size;
    object->flags = flags;
    if (object->parent) {
        object_enter(object, object->parent->context);
        object->parent->references++; // its content is of use as long as the part of it is
    }
    if (recorder_begun())
        buffer_tell(object);
    pthread_mutex_unlock(&recorder.lock);
    return buffer;
}

cl_int record_clRetainMemObject(cl_mem memory) {
    const cl_int status = recorder.next.clRetainMemObject(memory);
    if (!recorder_on() || status != CL_SUCCESS)
        return status;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    if (object)
        object->references++;
    pthread_mutex_unlock(&recorder.lock);
    return status;
}

// With the lock held: nothing references the memory any more, nor its parent. Their handles may be reused once the
// driver has released them.
static void end_parts(struct object *object) {
    for (struct object *parent; object && object->references == 0; object = parent) {
        parent = object->parent;
        if (object->kind != OBJECT_OPAQUE && (object->told || object->kind != OBJECT_BUFFER)) {
            recording_put(record_open_inner(RECORDING_RELEASE), RECORDING_KEY_OBJECT, object->id);
            record_close_inner();
        }
        object_end(object);
    }
}

// A sub-object is released with its parent. Data that the device wrote is copied, if required; the caller releases
// the event that commands had to wait for.
static cl_event release(cl_mem memory) {
    cl_event hold = NULL;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    const bool last = object && object->references > 0 && --object->references == 0;
    if (last) {
        struct object *root = object_root(object);
        for (struct object *part = object; part->parent && part->references == 0; part = part->parent)
            part->parent->references--;
        if (root->references == 0)
            access_wait_for_copier(root);
        if (root->references == 0 && root->written) {
            root->written = false;
            pthread_mutex_unlock(&recorder.lock);
            snapshot_take(root, RECORDING_VERIFY, 0);
            pthread_mutex_lock(&recorder.lock);
        }
        if (root->references == 0) {
            hold = root->hold;
            root->hold = NULL;
        }
        end_parts(object);
    }
    pthread_mutex_unlock(&recorder.lock);
    return hold;
}

cl_int record_clReleaseMemObject(cl_mem memory) {
    if (recorder_on()) {
        snapshot_reap();
        cl_event hold = release(memory);
        if (hold)
            recorder.next.clReleaseEvent(hold);
    }
    copy_queues_release();
    return recorder.next.clReleaseMemObject(memory);
}
