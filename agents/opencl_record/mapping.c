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
    const void *memory; // handle of the buffer or image, or the address that was mapped
    uint64_t object;
    uint64_t id;
    struct rows rows; // as the driver laid them out
    bool writes;
    uint8_t *before; // one row after the other; NULL: not known
};

static struct mapping *mappings; // under recorder.lock

void mappings_after_fork(void) {
    mappings = NULL;
}

struct map_call {
    cl_map_flags flags;
    const void *memory;
    struct object *object;
    size_t offset;                 // of a buffer, of shared memory
    const size_t *origin, *region; // of an image
};

static void access_map(struct access *access, const struct map_call *map, bool whole) {
    unsigned how = ACCESS_READS;
    if (map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))
        how |= ACCESS_WRITES;
    if (whole && (map->flags & CL_MAP_WRITE_INVALIDATE_REGION))
        how |= ACCESS_WHOLE; // what it held is given up
    access_object(access, map->object, how);
}

static void note_map(const struct access *access, const struct map_call *map, const struct rows *rows,
                     const void *at, const cl_event *event) {
    struct mapping *mapping = calloc(1, sizeof *mapping);
    struct payload payload = {.size = rows_bytes(rows)};
    if (!mapping) {
        atomic_store(&recorder.on, false); // what is written into it would be missing
        return;
    }
    *mapping = (struct mapping){.at = at, .memory = map->memory, .rows = *rows};
    mapping->writes = (map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) != 0;
    // Without an invalidation the content is the device's.
    const bool known = access->blocking && !(map->flags & CL_MAP_WRITE_INVALIDATE_REGION);
    const bool read = known && (!map->flags || (map->flags & CL_MAP_READ));
    if (known && (mapping->writes || read))
        mapping->before = rows_pack(rows, at);
    if (read && mapping->before)
        payload_take(&payload, mapping->before, payload.size);
    struct recording_writer *writer = command_open(RECORDING_COMMAND_MAP, access);
    mapping->object = map->object ? map->object->id : 0;
    mapping->id = ++recorder.last_id;
    mapping->next = mappings;
    mappings = mapping;
    recording_put(writer, RECORDING_KEY_MAPPING, mapping->id);
    recording_put(writer, RECORDING_KEY_SOURCE, mapping->object);
    if (map->region) {
        put_sizes(writer, RECORDING_KEY_SOURCE_ORIGIN, map->origin, RECORDING_DIMENSIONS);
        put_sizes(writer, RECORDING_KEY_REGION, map->region, RECORDING_DIMENSIONS);
    } else {
        recording_put(writer, RECORDING_KEY_OFFSET, map->offset);
    }
    recording_put(writer, RECORDING_KEY_FLAGS, map->flags);
    recording_put(writer, RECORDING_KEY_BLOCKING, access->blocking);
    payload_put(writer, &payload);
    command_close(event);
}

static struct object *find_memory(cl_mem memory) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    pthread_mutex_unlock(&recorder.lock);
    return object;
}

void *record_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                                size_t offset, size_t size, cl_uint count, const cl_event *waits,
                                cl_event *event, cl_int *status) {
    struct map_call map = {flags, buffer, NULL, offset, NULL, NULL};
    const struct rows rows = {size, 1, 1, size, size};
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    access_blocks(&access, blocking);
    map.object = access.on ? find_memory(buffer) : NULL;
    access_map(&access, &map, access.on && (access_writes(&access, buffer, offset, size) & ACCESS_WHOLE));
    void *at = recorder.next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, access.count,
                                                access.waits, event, status);
    if (access_end(&access, at ? CL_SUCCESS : CL_INVALID_VALUE, event))
        note_map(&access, &map, &rows, at, event);
    return at;
}

void *record_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                               const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                               cl_uint count, const cl_event *waits, cl_event *event, cl_int *status) {
    struct map_call map = {flags, image, NULL, 0, origin, region};
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    access_blocks(&access, blocking);
    map.object = access.on ? find_memory(image) : NULL;
    access_map(&access, &map, false);
    void *at = recorder.next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
                                               access.count, access.waits, event, status);
    if (access_end(&access, at ? CL_SUCCESS : CL_INVALID_VALUE, event) && map.object &&
        map.object->kind == OBJECT_IMAGE) {
        const struct rows rows = image_rows(map.object->image, region, *row, slice ? *slice : 0);
        note_map(&access, &map, &rows, at, event);
    }
    return at;
}

cl_int record_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory,
                              size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
    struct map_call map = {flags, memory, NULL, 0, NULL, NULL};
    const struct rows rows = {size, 1, 1, size, size};
    struct access access;
    access_begin(&access, queue, NULL, count, waits);
    access_blocks(&access, blocking);
    map.object = access.on ? shared_block(memory) : NULL;
    access_map(&access, &map, map.object && memory == map.object->handle && size == map.object->size);
    const cl_int status = recorder.next.clEnqueueSVMMap(queue, blocking, flags, memory, size, access.count,
                                                        access.waits, event);
    if (access_end(&access, status, event) && map.object) {
        map.offset = (size_t)((uintptr_t)memory - (uintptr_t)map.object->handle);
        note_map(&access, &map, &rows, memory, event);
    }
    return status;
}

// The recorded mapping that ends; NULL when there is none.
static struct mapping *take_mapping(const void *memory, const void *at) {
    pthread_mutex_lock(&recorder.lock);
    struct mapping **link = &mappings;
    while (*link && ((*link)->memory != memory || (*link)->at != at))
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
    const size_t size = rows_bytes(&mapping->rows);
    uint8_t *now = rows_pack(&mapping->rows, mapping->at);
    changes->bytes = malloc(size ? size : 1);
    changes->failed = !changes->bytes || !now;
    if (!changes->failed) {
        find_changes(changes, mapping->before, now, size);
        payload_take(payload, changes->bytes, changes->length);
    }
    free(now);
}

struct unmap {
    struct mapping *mapping; // NULL: it was not recorded, and so its end is not
    struct changes changes;
    struct payload payload;
    struct access access;
};

static void unmap_begin(struct unmap *unmap, cl_command_queue queue, struct object *object,
                        const void *memory, const void *at, cl_uint count, const cl_event *waits) {
    *unmap = (struct unmap){.mapping = NULL};
    access_begin(&unmap->access, queue, NULL, count, waits);
    if (!unmap->access.on)
        return;
    unmap->mapping = take_mapping(memory, at);
    unmap->access.recorded = unmap->mapping != NULL;
    if (unmap->mapping && unmap->mapping->writes)
        take_changes(&unmap->changes, &unmap->payload, unmap->mapping);
    if (!unmap->mapping || unmap->mapping->writes)
        access_object(&unmap->access, object, unmap->mapping ? ACCESS_READS | ACCESS_WRITES : ACCESS_WRITES);
}

static cl_int unmap_end(struct unmap *unmap, cl_int status, const cl_event *event) {
    struct mapping *mapping = unmap->mapping;
    if (access_end(&unmap->access, status, event) && !unmap->changes.failed) {
        struct recording_writer *writer = command_open(RECORDING_COMMAND_UNMAP, &unmap->access);
        recording_put(writer, RECORDING_KEY_MAPPING, mapping->id);
        recording_put(writer, RECORDING_KEY_TARGET, mapping->object);
        recording_put_list(writer, RECORDING_KEY_RANGES, unmap->changes.ranges, unmap->changes.count);
        payload_put(writer, &unmap->payload);
        command_close(event);
        if (mapping->writes)
            access_after(&unmap->access);
    } else if (unmap->changes.failed) {
        atomic_store(&recorder.on, false); // memory ran out, and what was written would be missing
    }
    payload_drop(&unmap->payload);
    free(unmap->changes.ranges);
    free(unmap->changes.bytes);
    if (mapping)
        free(mapping->before);
    free(mapping);
    return status;
}

cl_int record_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *at, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
    struct unmap unmap;
    unmap_begin(&unmap, queue, recorder_on() ? find_memory(memory) : NULL, memory, at, count, waits);
    const cl_int status = recorder.next.clEnqueueUnmapMemObject(queue, memory, at, unmap.access.count,
                                                                unmap.access.waits, event);
    return unmap_end(&unmap, status, event);
}

cl_int record_clEnqueueSVMUnmap(cl_command_queue queue, void *memory, cl_uint count, const cl_event *waits,
                                cl_event *event) {
    struct unmap unmap;
    unmap_begin(&unmap, queue, recorder_on() ? shared_block(memory) : NULL, memory, memory, count, waits);
    const cl_int status =
        recorder.next.clEnqueueSVMUnmap(queue, memory, unmap.access.count, unmap.access.waits, event);
    return unmap_end(&unmap, status, event);
}
