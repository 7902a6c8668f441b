// SPDX-License-Identifier: Apache-2.0
// Images, and handing objects to and from the graphics APIs. Rules: agent.h. The form of a wrapper:
// command.h.
#include "command.h"

static uint64_t image_bytes(cl_mem image, const size_t *region) {
    const struct object *object = object_find(OBJECT_MEMORY, image);
    if (!object || !region)
        return 0;
    return (uint64_t)region[0] * region[1] * region[2] * object->memory.element_size;
}

cl_int layer_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                const size_t *region, size_t row, size_t slice, void *to, cl_uint count,
                                const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueReadImage, blocking_of(blocking),
            command_copy(&command, TSMITH_OPERATION_READ_IMAGE, TSMITH_DIRECTION_DEVICE_TO_HOST,
                         image_bytes(image, region), image, NULL),
            queue, image, blocking, origin, region, row, slice, to, count, waits);
}

cl_int layer_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                 const size_t *region, size_t row, size_t slice, const void *from,
                                 cl_uint count, const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueWriteImage, blocking_of(blocking),
            command_copy(&command, TSMITH_OPERATION_WRITE_IMAGE, TSMITH_DIRECTION_HOST_TO_DEVICE,
                         image_bytes(image, region), NULL, image),
            queue, image, blocking, origin, region, row, slice, from, count, waits);
}

cl_int layer_clEnqueueCopyImage(cl_command_queue queue, cl_mem source, cl_mem destination,
                                const size_t *source_origin, const size_t *destination_origin,
                                const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueCopyImage, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_COPY_IMAGE, TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                         image_bytes(source, region), source, destination),
            queue, source, destination, source_origin, destination_origin, region, count, waits);
}

cl_int layer_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem source, cl_mem destination,
                                        const size_t *origin, const size_t *region, size_t offset,
                                        cl_uint count, const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueCopyImageToBuffer, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_COPY_IMAGE_TO_BUFFER, TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                         image_bytes(source, region), source, destination),
            queue, source, destination, origin, region, offset, count, waits);
}

cl_int layer_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem source, cl_mem destination,
                                        size_t offset, const size_t *origin, const size_t *region,
                                        cl_uint count, const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueCopyBufferToImage, BLOCKING_NEVER,
            command_copy(&command, TSMITH_OPERATION_COPY_BUFFER_TO_IMAGE, TSMITH_DIRECTION_DEVICE_TO_DEVICE,
                         image_bytes(destination, region), source, destination),
            queue, source, destination, offset, origin, region, count, waits);
}

cl_int layer_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color, const size_t *origin,
                                const size_t *region, cl_uint count, const cl_event *waits, cl_event *event) {
    ENQUEUE(clEnqueueFillImage, BLOCKING_NEVER,
            command_fill(&command, TSMITH_OPERATION_FILL_IMAGE, image_bytes(image, region), image), queue,
            image, color, origin, region, count, waits);
}

void *layer_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                              const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                              cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
    struct command command;
    if (!command_begin(&command, CALL_clEnqueueMapImage, queue, blocking_of(blocking), event))
        return opencl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, count,
                                             waits, event, error);
    cl_int result = CL_SUCCESS;
    void *mapped = opencl_next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
                                                 count, waits, command.event, &result);
    command_returned(&command);
    command_map(&command, TSMITH_OPERATION_MAP_IMAGE, flags, image_bytes(image, region), image);
    command_end(&command, result, count, waits);
    if (error)
        *error = result;
    return mapped;
}

#define SHARE(function)                                                                                      \
    cl_int layer_##function(cl_command_queue queue, cl_uint memory_count, const cl_mem *memory,              \
                            cl_uint count, const cl_event *waits, cl_event *event) {                         \
        ENQUEUE(function, BLOCKING_NEVER, command.name = agent_call_name(CALL_##function), queue,            \
                memory_count, memory, count, waits);                                                         \
    }
SHARE(clEnqueueAcquireGLObjects)
SHARE(clEnqueueReleaseGLObjects)
SHARE(clEnqueueAcquireEGLObjectsKHR)
SHARE(clEnqueueReleaseEGLObjectsKHR)
