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
        const struct object *object = object_used(OBJECT_MEMORY, memory[i]);
        bytes += object ? object->memory.bytes : 0;
    }
    const bool to_host = flags & CL_MIGRATE_MEM_OBJECT_HOST;
    // To a device: from the host or from another device, the driver knows.
    command_copy(command, TSMITH_OPERATION_MIGRATE,
                 to_host ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_NONE, bytes, NULL,
                 memory && count == 1 ? memory[0] : NULL);
    command_flags(command, flags);
}

ENQUEUE_COPY(clEnqueueReadBuffer, blocking_of(blocking), READ, DEVICE_TO_HOST, size, buffer, NULL)

ENQUEUE_COPY(clEnqueueReadBufferRect, blocking_of(blocking), READ_RECT, DEVICE_TO_HOST,
             region_size(region, 1), buffer, NULL)

ENQUEUE_COPY(clEnqueueWriteBuffer, blocking_of(blocking), WRITE, HOST_TO_DEVICE, size, NULL, buffer)

ENQUEUE_COPY(clEnqueueWriteBufferRect, blocking_of(blocking), WRITE_RECT, HOST_TO_DEVICE,
             region_size(region, 1), NULL, buffer)

ENQUEUE_COPY(clEnqueueCopyBuffer, BLOCKING_NEVER, COPY, DEVICE_TO_DEVICE, size, source, destination)

ENQUEUE_COPY(clEnqueueCopyBufferRect, BLOCKING_NEVER, COPY_RECT, DEVICE_TO_DEVICE, region_size(region, 1),
             source, destination)

ENQUEUE(clEnqueueFillBuffer, BLOCKING_NEVER, command_fill(&command, TSMITH_OPERATION_FILL, size, buffer))

ENQUEUE_MAP(clEnqueueMapBuffer, command_map(&command, TSMITH_OPERATION_MAP, flags, size, buffer))

ENQUEUE_COPY(clEnqueueUnmapMemObject, BLOCKING_NEVER, UNMAP, HOST_TO_DEVICE, 0, NULL, memory)

ENQUEUE(clEnqueueMigrateMemObjects, BLOCKING_NEVER, command_migrate(&command, memory_count, memory, flags))
