// SPDX-License-Identifier: Apache-2.0
// Buffers, images, pipes: created, retained, given back. Rules: agent.h.
//
// Live bytes are what the program has asked the driver to allocate and not given back. Sub-buffers and images
// over a buffer own none; memory that the program lends (CL_MEM_USE_HOST_PTR) is not allocated and counts
// none either.
#include "memory.h"

#include "released.h"

static _Atomic uint64_t live_bytes;

static void memory_write(uint16_t shape, struct call *call, const struct object *object, uint64_t live) {
    RECORD_WRITE(channel_ring(agent.channel), shape, agent_call_name(call->function), memory_words,
                 .start = call->start, .end = call->end, .operation = object->memory.operation,
                 .bytes = object->memory.bytes, .flags = object->memory.flags,
                 .object = object->handle.number, .parent = object->parent_number, .live_bytes = live);
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
    if (released_on)
        released_given_out(key);
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

void memory_forgotten(const struct object *object) {
    atomic_fetch_sub(&live_bytes, object->memory.owned);
}

// The driver's size of an object that was just created; 0: there is none. The call ends before the question, which is ours.
static uint64_t created_size(struct call *call, cl_mem memory, cl_int result) {
    size_t bytes = 0;
    call->end = agent_tick();
    if (memory && result == CL_SUCCESS)
        opencl_next.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    return bytes;
}

// Its bytes do not count as live: those of other objects that were made before are not known either.
struct object *memory_adopt(cl_mem memory) {
    size_t bytes = 0, element = 0;
    if (opencl_next.clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof bytes, &bytes, NULL) != CL_SUCCESS)
        return NULL;
    struct object *object = object_add(OBJECT_MEMORY, memory, NULL);
    if (!object)
        return NULL;
    cl_mem_object_type type = CL_MEM_OBJECT_BUFFER;
    opencl_next.clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, NULL);
    if (type != CL_MEM_OBJECT_BUFFER)
        opencl_next.clGetImageInfo(memory, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    object->memory = (struct memory){.bytes = bytes, .element_size = element};
    return object;
}

static void buffer_created(struct call *call, cl_mem buffer, cl_int result, cl_mem_flags flags, size_t size) {
    memory_created(call, TSMITH_OPERATION_BUFFER, buffer, result, NULL,
                   (struct memory){.bytes = size, .owned = size, .flags = flags});
}

static void sub_buffer_created(struct call *call, cl_mem part, cl_int result, cl_mem_flags flags,
                               cl_mem buffer) {
    const struct memory memory = {.bytes = created_size(call, part, result), .flags = flags};
    memory_created(call, TSMITH_OPERATION_SUB_BUFFER, part, result, object_find(OBJECT_MEMORY, buffer),
                   memory);
}

static void pipe_created(struct call *call, cl_mem pipe, cl_int result, cl_mem_flags flags) {
    const uint64_t bytes = created_size(call, pipe, result);
    memory_created(call, TSMITH_OPERATION_PIPE, pipe, result, NULL,
                   (struct memory){.bytes = bytes, .owned = bytes, .flags = flags});
}

static void image_created(struct call *call, cl_mem image, cl_int result, cl_mem_flags flags) {
    struct memory memory = {.bytes = created_size(call, image, result), .flags = flags};
    struct object *parent = NULL;
    if (image && result == CL_SUCCESS) {
        size_t element = 0;
        cl_mem buffer = NULL;
        opencl_next.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
        memory.element_size = element;
        if (opencl_next.clGetMemObjectInfo(image, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof buffer, &buffer,
                                           NULL) == CL_SUCCESS)
            parent = object_find(OBJECT_MEMORY, buffer);
        memory.owned = parent ? 0 : memory.bytes;
    }
    memory_created(call, TSMITH_OPERATION_IMAGE, image, result, parent, memory);
}

CREATE(clCreateBuffer, call_begin_with_stack, buffer_created(&call, made, result, flags, size))
CREATE(clCreateBufferWithProperties, call_begin_with_stack, buffer_created(&call, made, result, flags, size))
CREATE(clCreateSubBuffer, call_begin_with_stack, sub_buffer_created(&call, made, result, flags, buffer))
#define CREATE_IMAGE(name) CREATE(name, call_begin_with_stack, image_created(&call, made, result, flags))
CREATE_IMAGE(clCreateImage)
CREATE_IMAGE(clCreateImageWithProperties)
CREATE_IMAGE(clCreateImage2D)
CREATE_IMAGE(clCreateImage3D)
CREATE(clCreatePipe, call_begin_with_stack, pipe_created(&call, made, result, flags))

OBJECT_RETAIN(clRetainMemObject, OBJECT_MEMORY, cl_mem)

cl_int layer_clReleaseMemObject(cl_mem memory) {
    struct call call = call_begin_to_release(CALL_clReleaseMemObject);
    struct object *object = memory_forget(memory);
    if (released_on)
        released_note(&call, memory, object);
    const cl_int result = opencl_next.clReleaseMemObject(memory);
    memory_freed(&call, object);
    return result;
}
