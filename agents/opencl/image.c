// SPDX-License-Identifier: Apache-2.0
// Images, and handing objects to and from the graphics APIs. Rules: agent.h. The form of a wrapper:
// command.h.
#include "command.h"

static uint64_t image_bytes(cl_mem image, const size_t *region) {
    const struct object *object = object_used(OBJECT_MEMORY, image);
    if (!object || !region)
        return 0;
    return (uint64_t)region[0] * region[1] * region[2] * object->memory.element_size;
}

ENQUEUE_COPY(clEnqueueReadImage, blocking_of(blocking), READ_IMAGE, DEVICE_TO_HOST,
             image_bytes(image, region), image, NULL)

ENQUEUE_COPY(clEnqueueWriteImage, blocking_of(blocking), WRITE_IMAGE, HOST_TO_DEVICE,
             image_bytes(image, region), NULL, image)

ENQUEUE_COPY(clEnqueueCopyImage, BLOCKING_NEVER, COPY_IMAGE, DEVICE_TO_DEVICE, image_bytes(source, region),
             source, destination)

ENQUEUE_COPY(clEnqueueCopyImageToBuffer, BLOCKING_NEVER, COPY_IMAGE_TO_BUFFER, DEVICE_TO_DEVICE,
             image_bytes(source, region), source, destination)

ENQUEUE_COPY(clEnqueueCopyBufferToImage, BLOCKING_NEVER, COPY_BUFFER_TO_IMAGE, DEVICE_TO_DEVICE,
             image_bytes(destination, region), source, destination)

ENQUEUE(clEnqueueFillImage, BLOCKING_NEVER,
        command_fill(&command, TSMITH_OPERATION_FILL_IMAGE, image_bytes(image, region), image))

ENQUEUE_MAP(clEnqueueMapImage,
            command_map(&command, TSMITH_OPERATION_MAP_IMAGE, flags, image_bytes(image, region), image))

// Handing over to and from a graphics API: a marker with the name of the function.
#define SHARE(function) ENQUEUE(function, BLOCKING_NEVER, command.name = agent_call_name(CALL_##function))
SHARE(clEnqueueAcquireGLObjects)
SHARE(clEnqueueReleaseGLObjects)
SHARE(clEnqueueAcquireEGLObjectsKHR)
SHARE(clEnqueueReleaseEGLObjectsKHR)
