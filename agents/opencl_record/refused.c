// SPDX-License-Identifier: Apache-2.0
// What is passed on and cannot be replayed: written down with its reason. Rules: recorder.h.
#include <stdlib.h>

#include "recorder.h"

void refuse(const char *function, const char *why, const cl_mem *written, cl_uint count,
            const cl_event *event) {
    struct recording_writer *writer = record_open(RECORDING_REFUSED);
    recording_put_text(writer, RECORDING_KEY_NAME, function);
    recording_put_text(writer, RECORDING_KEY_TEXT, why);
    uint64_t *ids = count ? malloc(count * sizeof *ids) : NULL;
    for (cl_uint i = 0; ids && i < count; i++) {
        struct object *memory = object_find_memory(written[i]);
        object_written(memory);
        ids[i] = memory ? memory->id : 0;
    }
    if (ids)
        recording_put_list(writer, RECORDING_KEY_WRITES, ids, count);
    free(ids);
    command_close(event);
}

static const char images[] = "images are not recorded yet", pipes[] = "pipes are not recorded",
                  shared[] = "shared virtual memory is not recorded yet",
                  interop[] = "memory of another API is not recorded";

static cl_mem note_memory(cl_mem memory, const char *function, const char *why) {
    if (recorder_on() && memory) {
        pthread_mutex_lock(&recorder.lock);
        object_add(memory, OBJECT_IMAGE);
        pthread_mutex_unlock(&recorder.lock);
        refuse(function, why, &memory, 1, NULL);
    }
    return memory;
}

// Passes a command on; it wrote `memory`, or nothing that is known.
#define PASS(function, why, count, memory, event, ...)                                                       \
    cl_int passed = recorder.next.function(__VA_ARGS__);                                                     \
    if (recorder_on() && passed == CL_SUCCESS)                                                               \
        refuse(#function, why, memory, count, event);                                                        \
    return passed

cl_mem record_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                            const cl_image_desc *desc, void *host, cl_int *status) {
    return note_memory(recorder.next.clCreateImage(context, flags, format, desc, host, status),
                       "clCreateImage", images);
}

cl_mem record_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
                                          cl_mem_flags flags, const cl_image_format *format,
                                          const cl_image_desc *desc, void *host, cl_int *status) {
    return note_memory(
        recorder.next.clCreateImageWithProperties(context, properties, flags, format, desc, host, status),
        "clCreateImageWithProperties", images);
}

cl_mem record_clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                              size_t width, size_t height, size_t pitch, void *host, cl_int *status) {
    return note_memory(
        recorder.next.clCreateImage2D(context, flags, format, width, height, pitch, host, status),
        "clCreateImage2D", images);
}

cl_mem record_clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                              size_t width, size_t height, size_t depth, size_t row, size_t slice, void *host,
                              cl_int *status) {
    return note_memory(
        recorder.next.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, status),
        "clCreateImage3D", images);
}

cl_mem record_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet, cl_uint packets,
                           const cl_pipe_properties *properties, cl_int *status) {
    return note_memory(recorder.next.clCreatePipe(context, flags, packet, packets, properties, status),
                       "clCreatePipe", pipes);
}

cl_int record_clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK *function)(void *),
                                    void *arguments, size_t bytes, cl_uint count, const cl_mem *memory,
                                    const void **places, cl_uint waits, const cl_event *list,
                                    cl_event *event) {
    PASS(clEnqueueNativeKernel, "a function of the program ran as a kernel", count, memory, event, queue,
         function, arguments, bytes, count, memory, places, waits, list, event);
}

cl_int record_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t *origin,
                                 const size_t *region, size_t row, size_t slice, void *to, cl_uint waits,
                                 const cl_event *list, cl_event *event) {
    PASS(clEnqueueReadImage, images, 0, NULL, event, queue, image, blocking, origin, region, row, slice, to,
         waits, list, event);
}

cl_int record_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                  const size_t *origin, const size_t *region, size_t row, size_t slice,
                                  const void *from, cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueWriteImage, images, 1, &image, event, queue, image, blocking, origin, region, row, slice,
         from, waits, list, event);
}

cl_int record_clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
                                 const size_t *to_origin, const size_t *region, cl_uint waits,
                                 const cl_event *list, cl_event *event) {
    PASS(clEnqueueCopyImage, images, 1, &to, event, queue, from, to, from_origin, to_origin, region, waits,
         list, event);
}

cl_int record_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from, cl_mem to, const size_t *origin,
                                         const size_t *region, size_t offset, cl_uint waits,
                                         const cl_event *list, cl_event *event) {
    PASS(clEnqueueCopyImageToBuffer, images, 1, &to, event, queue, from, to, origin, region, offset, waits,
         list, event);
}

cl_int record_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from, cl_mem to, size_t offset,
                                         const size_t *origin, const size_t *region, cl_uint waits,
                                         const cl_event *list, cl_event *event) {
    PASS(clEnqueueCopyBufferToImage, images, 1, &to, event, queue, from, to, offset, origin, region, waits,
         list, event);
}

cl_int record_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color,
                                 const size_t *origin, const size_t *region, cl_uint waits,
                                 const cl_event *list, cl_event *event) {
    PASS(clEnqueueFillImage, images, 1, &image, event, queue, image, color, origin, region, waits, list,
         event);
}

void *record_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                               const size_t *origin, const size_t *region, size_t *row, size_t *slice,
                               cl_uint waits, const cl_event *list, cl_event *event, cl_int *status) {
    void *mapped = recorder.next.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
                                                   waits, list, event, status);
    if (recorder_on() && mapped)
        refuse("clEnqueueMapImage", images, &image, 1, event);
    return mapped;
}

void *record_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment) {
    void *memory = recorder.next.clSVMAlloc(context, flags, size, alignment);
    if (recorder_on() && memory)
        refuse("clSVMAlloc", shared, NULL, 0, NULL);
    return memory;
}

cl_int record_clEnqueueSVMFree(cl_command_queue queue, cl_uint count, void *pointers[],
                               void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *),
                               void *user, cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueSVMFree, shared, 0, NULL, event, queue, count, pointers, function, user, waits, list,
         event);
}

cl_int record_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
                                 size_t size, cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueSVMMemcpy, shared, 0, NULL, event, queue, blocking, to, from, size, waits, list, event);
}

cl_int record_clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern, size_t length,
                                  size_t size, cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueSVMMemFill, shared, 0, NULL, event, queue, to, pattern, length, size, waits, list, event);
}

cl_int record_clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void *memory,
                              size_t size, cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueSVMMap, shared, 0, NULL, event, queue, blocking, flags, memory, size, waits, list, event);
}

cl_int record_clEnqueueSVMUnmap(cl_command_queue queue, void *memory, cl_uint waits, const cl_event *list,
                                cl_event *event) {
    PASS(clEnqueueSVMUnmap, shared, 0, NULL, event, queue, memory, waits, list, event);
}

cl_int record_clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint count, const void **memory,
                                     const size_t *sizes, cl_mem_migration_flags flags, cl_uint waits,
                                     const cl_event *list, cl_event *event) {
    PASS(clEnqueueSVMMigrateMem, shared, 0, NULL, event, queue, count, memory, sizes, flags, waits, list,
         event);
}

cl_int record_clEnqueueAcquireGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *memory,
                                        cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueAcquireGLObjects, interop, count, memory, event, queue, count, memory, waits, list, event);
}

cl_int record_clEnqueueReleaseGLObjects(cl_command_queue queue, cl_uint count, const cl_mem *memory,
                                        cl_uint waits, const cl_event *list, cl_event *event) {
    PASS(clEnqueueReleaseGLObjects, interop, 0, NULL, event, queue, count, memory, waits, list, event);
}

cl_int record_clSetEventCallback(cl_event event, cl_int when,
                                 void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *user) {
    const cl_int status = recorder.next.clSetEventCallback(event, when, function, user);
    if (recorder_on() && status == CL_SUCCESS)
        refuse("clSetEventCallback", "the order that a callback makes between commands is not kept", NULL, 0,
               NULL);
    return status;
}
