// SPDX-License-Identifier: Apache-2.0
// Buffers. Rules: recorder.h.
#include "recorder.h"

static void note_buffer(cl_mem buffer, cl_context context, cl_mem_flags flags, size_t size,
                        struct payload *payload) {
    const bool given = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR);
    const bool readable = !(flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY));
    const bool known = given || (readable && snapshot_initial(context, buffer, size, payload));
    struct recording_writer *writer = record_open(RECORDING_BUFFER);
    struct object *object = object_add(buffer, OBJECT_BUFFER);
    object->context = object_find(context, OBJECT_CONTEXT);
    object->flags = flags;
    object->size = size;
    recording_put(writer, RECORDING_KEY_OBJECT, object->id);
    recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    if (known)
        payload_put(writer, payload);
    else
        recording_put(writer, RECORDING_KEY_SIZE, size);
    record_close();
}

// The host pointer's content, of a call that was good: it may be no memory in a wrong one.
static void take_host(struct payload *payload, cl_mem_flags flags, size_t size, const void *host) {
    if (recorder_on() && host && size && (flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
        payload_take(payload, host, size);
}

cl_mem record_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host,
                             cl_int *status) {
    struct payload payload = {0};
    cl_mem buffer = recorder.next.clCreateBuffer(context, flags, size, host, status);
    if (buffer)
        take_host(&payload, flags, size, host);
    if (recorder_on() && buffer)
        note_buffer(buffer, context, flags, size, &payload);
    payload_drop(&payload);
    return buffer;
}

cl_mem record_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                           cl_mem_flags flags, size_t size, void *host, cl_int *status) {
    struct payload payload = {0};
    cl_mem buffer =
        recorder.next.clCreateBufferWithProperties(context, properties, flags, size, host, status);
    if (buffer)
        take_host(&payload, flags, size, host);
    if (recorder_on() && buffer) {
        note_buffer(buffer, context, flags, size, &payload);
        if (properties && properties[0])
            refuse("clCreateBufferWithProperties", "memory of another API may be behind the buffer", &buffer,
                   1, NULL);
    }
    payload_drop(&payload);
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

cl_int record_clRetainMemObject(cl_mem memory) {
    const cl_int status = recorder.next.clRetainMemObject(memory);
    if (recorder_on() && status == CL_SUCCESS)
        object_retain(memory, OBJECT_BUFFER);
    return status;
}

// The program's last reference goes: what the device wrote is copied now. A sub-buffer's goes with its own buffer's.
cl_int record_clReleaseMemObject(cl_mem memory) {
    if (!recorder_on())
        return recorder.next.clReleaseMemObject(memory);
    snapshot_reap();
    if (object_release(memory, OBJECT_BUFFER)) {
        pthread_mutex_lock(&recorder.lock);
        struct object *object = object_find(memory, OBJECT_BUFFER);
        struct object *root = object ? object_root(object) : NULL;
        bool gone = root == object;
        for (; object && object->parent; object = object->parent)
            gone = --object->parent->references == 0;
        bool take = root && gone && root->written;
        uint64_t id = object_id(memory, OBJECT_BUFFER);
        if (take)
            root->written = false;
        pthread_mutex_unlock(&recorder.lock);
        if (take)
            snapshot_take(root);
        recording_put(record_open(RECORDING_RELEASE), RECORDING_KEY_OBJECT, id);
        record_close();
    }
    return recorder.next.clReleaseMemObject(memory);
}
