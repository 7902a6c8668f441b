// SPDX-License-Identifier: Apache-2.0
// Maps. What the host wrote into one is found at the unmap: against a copy made when a blocking map returned, so that only
// what changed is kept (and what the device computed is not hidden by it); of any other map that may write, all of it.
// Rules: recorder.h.
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

enum { GAP = 32 }; // unchanged bytes between two changes that are not worth a range of their own

struct mapping {
    struct mapping *next;
    const void *at;
    cl_mem buffer;
    uint64_t id;
    size_t size;
    bool writes;
    uint8_t *before; // NULL: not known
};

static struct mapping *mappings; // under recorder.lock

static void note_map(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                     size_t offset, size_t size, void *at, cl_uint count, const cl_event *waits,
                     const cl_event *event) {
    struct mapping *mapping = calloc(1, sizeof *mapping);
    struct payload payload = {.size = size};
    if (!mapping) {
        refuse("clEnqueueMapBuffer", "there was no memory to follow the map", &buffer, 1, event);
        return;
    }
    *mapping = (struct mapping){.at = at, .buffer = buffer, .size = size};
    mapping->writes = (flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    // Without an invalidation the content is the device's.
    const bool known = blocking && !(flags & CL_MAP_WRITE_INVALIDATE_REGION);
    if (known && mapping->writes && (mapping->before = malloc(size ? size : 1)) != NULL)
        memcpy(mapping->before, at, size);
    if (known && (flags & CL_MAP_READ))
        payload_take(&payload, at, size);
    struct recording_writer *writer = command_open(RECORDING_COMMAND_MAP, queue, count, waits);
    const struct object *object = object_find_memory(buffer);
    mapping->id = ++recorder.last_id;
    mapping->next = mappings;
    mappings = mapping;
    recording_put(writer, RECORDING_KEY_MAPPING, mapping->id);
    recording_put(writer, RECORDING_KEY_SOURCE, object ? object->id : 0);
    recording_put(writer, RECORDING_KEY_OFFSET, offset);
    recording_put(writer, RECORDING_KEY_FLAGS, flags);
    recording_put(writer, RECORDING_KEY_BLOCKING, blocking);
    payload_put(writer, &payload);
    command_close(event);
}

void *record_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                cl_event *event, cl_int *status) {
    void *at = recorder.next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, waits,
                                                event, status);
    if (recorder_on() && at)
        note_map(queue, buffer, blocking, flags, offset, size, at, count, waits, event);
    return at;
}

// The mapping that ends; NULL when it is none of a buffer's.
static struct mapping *take_mapping(cl_mem buffer, const void *at) {
    pthread_mutex_lock(&recorder.lock);
    struct mapping **link = &mappings;
    while (*link && ((*link)->buffer != buffer || (*link)->at != at))
        link = &(*link)->next;
    struct mapping *mapping = *link;
    if (mapping)
        *link = mapping->next;
    pthread_mutex_unlock(&recorder.lock);
    return mapping;
}

struct changes {
    uint64_t *ranges; // offset and length, in turns
    size_t capacity, count;
    uint8_t *bytes; // one range after the other
    size_t length;
    bool failed;
};

static void add_change(struct changes *changes, const uint8_t *from, size_t offset, size_t length) {
    if (changes->count + 2 > changes->capacity) {
        const size_t capacity = changes->capacity ? changes->capacity * 2 : 64;
        uint64_t *ranges = realloc(changes->ranges, capacity * sizeof *ranges);
        changes->failed |= !ranges;
        if (!ranges)
            return;
        changes->ranges = ranges;
        changes->capacity = capacity;
    }
    changes->ranges[changes->count++] = offset;
    changes->ranges[changes->count++] = length;
    memcpy(changes->bytes + changes->length, from + offset, length);
    changes->length += length;
}

static void find_changes(struct changes *changes, const uint8_t *before, const uint8_t *now, size_t size) {
    size_t begin = 0, end = 0; // of the range being made; empty at first
    for (size_t i = 0; before && i < size; i++) {
        if (before[i] == now[i])
            continue;
        if (end > begin && i - end > GAP) {
            add_change(changes, now, begin, end - begin);
            begin = i;
        } else if (end == begin) {
            begin = i;
        }
        end = i + 1;
    }
    if (!before)
        end = size;
    if (end > begin)
        add_change(changes, now, begin, end - begin);
}

static void take_changes(struct changes *changes, struct payload *payload, const struct mapping *mapping) {
    changes->bytes = malloc(mapping->size ? mapping->size : 1);
    changes->failed = !changes->bytes;
    if (changes->failed)
        return;
    find_changes(changes, mapping->before, mapping->at, mapping->size);
    payload_take(payload, changes->bytes, changes->length);
}

cl_int record_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem buffer, void *at, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
    struct changes changes = {0};
    struct payload payload = {0};
    struct mapping *mapping = recorder_on() ? take_mapping(buffer, at) : NULL;
    if (mapping && mapping->writes)
        take_changes(&changes, &payload, mapping);
    const cl_int status = recorder.next.clEnqueueUnmapMemObject(queue, buffer, at, count, waits, event);
    if (recorder_on() && status == CL_SUCCESS && mapping && !changes.failed) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_UNMAP, queue, count, waits);
        const struct object *object = object_find_memory(buffer);
        recording_put(writer, RECORDING_KEY_MAPPING, mapping->id);
        recording_put(writer, RECORDING_KEY_TARGET, object ? object->id : 0);
        recording_put_list(writer, RECORDING_KEY_RANGES, changes.ranges, changes.count);
        payload_put(writer, &payload);
        command_close(event);
    } else if (recorder_on() && status == CL_SUCCESS) {
        refuse("clEnqueueUnmapMemObject", "it is not known what was written into the map", &buffer, 1, event);
    }
    payload_drop(&payload);
    free(changes.ranges);
    free(changes.bytes);
    if (mapping)
        free(mapping->before);
    free(mapping);
    return status;
}
