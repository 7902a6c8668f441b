// SPDX-License-Identifier: Apache-2.0
// Buffers, images, pipes: created, retained, given back. Rules: agent.h.
//
// Live bytes are what the program has asked the driver to allocate and not given back. Sub-buffers and images
// over a buffer own none; memory that the program lends (CL_MEM_USE_HOST_PTR) is not allocated and counts
// none either.
#include "memory.h"

static _Atomic uint64_t live_bytes;

static void memory_write(uint16_t shape, struct call *call, const struct object *object, uint64_t live) {
    enum { WORDS = 1 + RECORD_PART_WORDS(memory_words) };
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = record_begin(ring, shape, WORDS, agent_call_name(call->function));
    if (!at)
        return;
    RECORD_PUT(at, memory_words, .start = call->start, .end = call->end,
               .operation = object->memory.operation, .bytes = object->memory.bytes,
               .flags = object->memory.flags, .object = object->number, .parent = object->parent_number,
               .live_bytes = live);
    ring_commit(ring, WORDS);
}

void memory_created(struct call *call, tsmith_operation operation, void *key, cl_int result,
                    struct object *parent, struct memory memory) {
    if (!call->end)
        call->end = agent_tick();
    if (agent_on())
        call_record(call, result);
    if (result != CL_SUCCESS || !key)
        return;
    struct object *object = object_add(OBJECT_MEMORY, key, parent);
    if (!object)
        return;
    if (parent)
        object_retain(parent); // it lives as long as its parts
    memory.operation = operation;
    memory.whole = parent;
    object->memory = memory;
    const uint64_t live = atomic_fetch_add(&live_bytes, memory.owned) + memory.owned;
    if (agent_on())
        memory_write(shapes.memory[0], call, object, live);
}

struct object *memory_forget(const void *key) {
    struct object *object = object_find(OBJECT_MEMORY, key);
    return object && object_release(object) ? object : NULL;
}

void memory_freed(struct call *call, struct object *object) {
    if (!call->end)
        call->end = agent_tick();
    while (object) {
        struct object *whole = object->memory.whole;
        const uint64_t live = atomic_fetch_sub(&live_bytes, object->memory.owned) - object->memory.owned;
        if (agent_on())
            memory_write(shapes.memory[1], call, object, live);
        object_recycle(object);
        object = whole && object_release(whole) ? whole : NULL;
    }
}

// The driver's facts about an object that was just created.
static uint64_t size_of(cl_mem memory) {
    size_t bytes = 0;
    opencl_next.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return bytes;
}

static void buffer_created(struct call *call, cl_mem buffer, cl_int result, cl_mem_flags flags, size_t size) {
    memory_created(call, TSMITH_OPERATION_BUFFER, buffer, result, NULL,
                   (struct memory){.bytes = size, .owned = size, .flags = flags});
}

static void image_created(struct call *call, cl_mem image, cl_int result, cl_mem_flags flags) {
    struct memory memory = {.flags = flags};
    struct object *parent = NULL;
    call->end = agent_tick(); // the questions below are ours
    if (image && result == CL_SUCCESS) {
        size_t element = 0;
        cl_mem buffer = NULL;
        memory.bytes = size_of(image);
        opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
        memory.element_size = element;
        if (opencl_next.clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof buffer, &buffer,
                                           NULL) == CL_SUCCESS)
            parent = object_find(OBJECT_MEMORY, buffer);
        memory.owned = parent ? 0 : memory.bytes;
    }
    memory_created(call, TSMITH_OPERATION_IMAGE, image, result, parent, memory);
}

cl_mem layer_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateBuffer);
    cl_int result = CL_SUCCESS;
    cl_mem buffer = opencl_next.clCreateBuffer(context, flags, size, host, &result);
    buffer_created(&call, buffer, result, flags, size);
    if (error)
        *error = result;
    return buffer;
}

cl_mem layer_clCreateBufferWithProperties(cl_context context, const cl_mem_properties *properties,
                                          cl_mem_flags flags, size_t size, void *host, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateBufferWithProperties);
    cl_int result = CL_SUCCESS;
    cl_mem buffer = opencl_next.clCreateBufferWithProperties(context, properties, flags, size, host, &result);
    buffer_created(&call, buffer, result, flags, size);
    if (error)
        *error = result;
    return buffer;
}

cl_mem layer_clCreateSubBuffer(cl_mem buffer, cl_mem_flags flags, cl_buffer_create_type type,
                               const void *info, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateSubBuffer);
    cl_int result = CL_SUCCESS;
    cl_mem part = opencl_next.clCreateSubBuffer(buffer, flags, type, info, &result);
    call.end = agent_tick();
    memory_created(
        &call, TSMITH_OPERATION_SUB_BUFFER, part, result, object_find(OBJECT_MEMORY, buffer),
        (struct memory){.bytes = part && result == CL_SUCCESS ? size_of(part) : 0, .flags = flags});
    if (error)
        *error = result;
    return part;
}

cl_mem layer_clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *description, void *host, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateImage);
    cl_int result = CL_SUCCESS;
    cl_mem image = opencl_next.clCreateImage(context, flags, format, description, host, &result);
    image_created(&call, image, result, flags);
    if (error)
        *error = result;
    return image;
}

cl_mem layer_clCreateImageWithProperties(cl_context context, const cl_mem_properties *properties,
                                         cl_mem_flags flags, const cl_image_format *format,
                                         const cl_image_desc *description, void *host, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateImageWithProperties);
    cl_int result = CL_SUCCESS;
    cl_mem image = opencl_next.clCreateImageWithProperties(context, properties, flags, format, description,
                                                           host, &result);
    image_created(&call, image, result, flags);
    if (error)
        *error = result;
    return image;
}

cl_mem layer_clCreateImage2D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                             size_t width, size_t height, size_t row, void *host, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateImage2D);
    cl_int result = CL_SUCCESS;
    cl_mem image = opencl_next.clCreateImage2D(context, flags, format, width, height, row, host, &result);
    image_created(&call, image, result, flags);
    if (error)
        *error = result;
    return image;
}

cl_mem layer_clCreateImage3D(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                             size_t width, size_t height, size_t depth, size_t row, size_t slice, void *host,
                             cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreateImage3D);
    cl_int result = CL_SUCCESS;
    cl_mem image =
        opencl_next.clCreateImage3D(context, flags, format, width, height, depth, row, slice, host, &result);
    image_created(&call, image, result, flags);
    if (error)
        *error = result;
    return image;
}

cl_mem layer_clCreatePipe(cl_context context, cl_mem_flags flags, cl_uint packet_size, cl_uint packets,
                          const cl_pipe_properties *properties, cl_int *error) {
    struct call call = call_begin_with_stack(CALL_clCreatePipe);
    cl_int result = CL_SUCCESS;
    cl_mem pipe = opencl_next.clCreatePipe(context, flags, packet_size, packets, properties, &result);
    call.end = agent_tick();
    const uint64_t bytes = pipe && result == CL_SUCCESS ? size_of(pipe) : 0;
    memory_created(&call, TSMITH_OPERATION_PIPE, pipe, result, NULL,
                   (struct memory){.bytes = bytes, .owned = bytes, .flags = flags});
    if (error)
        *error = result;
    return pipe;
}

OBJECT_RETAIN(clRetainMemObject, OBJECT_MEMORY, cl_mem)

cl_int layer_clReleaseMemObject(cl_mem memory) {
    struct call call = call_begin(CALL_clReleaseMemObject);
    struct object *object = memory_forget(memory);
    const cl_int result = opencl_next.clReleaseMemObject(memory);
    memory_freed(&call, object);
    return result;
}
