// SPDX-License-Identifier: Apache-2.0
// Reading, writing, copying, filling, mapping and migrating buffers. Rules: agent.h. The form of a wrapper:
// command.h.
#include "command.h"

// A rectangle or box in elements of `size` bytes; 0 without a region.
static uint64_t region_size(const size_t *region, uint64_t size) {
    return region ? (uint64_t)region[0] * region[1] * region[2] * size : 0;
}

static void command_migrate(struct command *command, cl_uint count, const cl_mem *memory,
                            cl_mem_migration_flags flags) {
    uint64_t bytes = 0;
    for (cl_uint i = 0; memory && i < count && !(flags & CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED); i++) {
        const struct object *object = object_find(OBJECT_MEMORY, memory[i]);
        bytes += object ? object->memory.bytes : 0;
    }
    const bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
    // To a device: from the host or from another device, the driver knows.
    command_copy(command, TSMITH_OPERATION_MIGRATE,
                 to_host ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_NONE, bytes, NULL,
                 memory && count == 1 ? memory[0] : NULL);
    command_flags(command, flags);
}

cl_int layer_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                 size_t size, void *to, cl_uint count, const cl_event *waits,
                                 cl_event *event) {
    ENQUEUE(
        clEnqueueReadBuffer, blocking_of(blocking),
        command_copy(&command, TSMITH_OPERATION_READ, TSMITH_DIRECTION_DEVICE_TO_HOST, size, buffer, NULL),
        queue, buffer, blocking, offset, size, to, count, waits);
}

cl_int layer_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                     const size_t *buffer_origin, const size_t *host_origin,
                                     const size_t *region, size_t buffer_row, size_t buffer_slice,
                                     size_t host_row, size_t host_slice, void *to, cl_uint count,
                                     const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueReadBufferRect, blocking_of(blocking),
            command_copy(&command, TSMITH_OPERATION_READ_RECT, TSMITH_DIRECTION_DEVICE_TO_HOST,
                         region_size(region, 1), buffer, NULL),
            queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
            host_slice, to, count, waits);
}

cl_int layer_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                                  size_t size, const void *from, cl_uint count, const cl_event *waits,
                                  cl_event *event) {
    ENQUEUE(
        clEnqueueWriteBuffer, blocking_of(blocking),
        command_copy(&command, TSMITH_OPERATION_WRITE, TSMITH_DIRECTION_HOST_TO_DEVICE, size, NULL, buffer),
        queue, buffer, blocking, offset, size, from, count, waits);
}

cl_int layer_clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                      const size_t *buffer_origin, const size_t *host_origin,
                                      const size_t *region, size_t buffer_row, size_t buffer_slice,
                                      size_t host_row, size_t host_slice, const void *from, cl_uint count,
                                      const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueWriteBufferRect, blocking_of(blocking),
            command_copy(&command, TSMITH_OPERATION_WRITE_RECT, TSMITH_DIRECTION_HOST_TO_DEVICE,
                         region_size(region, 1), NULL, buffer),
            queue, buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
            host_slice, from, count, waits);
}

cl_int layer_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem source, cl_mem destination,
                                 size_t source_offset, size_t destination_offset, size_t size, cl_uint count,
                                 const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueCopyBuffer, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_COPY, TSMITH_DIRECTION_DEVICE_TO_DEVICE, size, source,
                         destination),
            queue, source, destination, source_offset, destination_offset, size, count, waits);
}

cl_int layer_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem source, cl_mem destination,
                                     const size_t *source_origin, const size_t *destination_origin,
                                     const size_t *region, size_t source_row, size_t source_slice,
                                     size_t destination_row, size_t destination_slice, cl_uint count,
                                     const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueCopyBufferRect, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_COPY_RECT, TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                         region_size(region, 1), source, destination),
            queue, source, destination, source_origin, destination_origin, region, source_row, source_slice,
            destination_row, destination_slice, count, waits);
}

cl_int layer_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
                                 size_t pattern_size, size_t offset, size_t size, cl_uint count,
                                 const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueFillBuffer, BLOCKING_NEVER, command_fill(&command, TSMITH_OPERATION_FILL, size, buffer),
            queue, buffer, pattern, pattern_size, offset, size, count, waits);
}

void *layer_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags,
                               size_t offset, size_t size, cl_uint count, const cl_event *waits,
                               cl_event *event, cl_int *error) {
    struct command command;
    if (!command_begin(&command, CALL_clEnqueueMapBuffer, queue, blocking_of(blocking), event))
        return opencl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, waits,
                                              event, error);
    cl_int result = CL_SUCCESS;
    void *mapped = opencl_next.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, waits,
                                                  command.event, &result);
    command_returned(&command);
    command_map(&command, TSMITH_OPERATION_MAP, flags, size, buffer);
    command_end(&command, result, count, waits);
    if (error)
        *error = result;
    return mapped;
}

cl_int layer_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *mapped, cl_uint count,
                                     const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueUnmapMemObject, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_UNMAP, TSMITH_DIRECTION_HOST_TO_DEVICE, 0, NULL, memory),
            queue, memory, mapped, count, waits);
}

cl_int layer_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint memory_count, const cl_mem *memory,
                                        cl_mem_migration_flags flags, cl_uint count, const cl_event *waits,
                                        cl_event *event) {
    ENQUEUE(clEnqueueMigrateMemObjects, BLOCKING_NEVER,
            command_migrate(&command, memory_count, memory, flags), queue, memory_count, memory, flags, count,
            waits);
}
