// SPDX-License-Identifier: Apache-2.0
// Keeps which objects were released, and which are arguments of kernels, in maps of a fixed size: what has no room in them is not
// reported. Rules: agent.h.
#include "released.h"

#include <stdio.h>
#include <string.h>

enum { LOG2_RELEASED = 12, LOG2_ARGUMENTS = 13, ARGUMENTS_MOST = 64 };

bool released_on;
static uint16_t marker_shape;
RECORD_PART(released_words, RELEASED_WORDS)
RECORD_PART_SHAPE(released_words, RELEASED_WORDS)

static struct map released;          // address -> number of the object
static struct map pointers, numbers; // kernel and index -> address, and number, of the argument

// Once: a map stays for the life of the process.
static bool init(struct map *map, uint32_t log2_buckets) {
    return map->slots || map_init(map, log2_buckets);
}

void released_begin(struct channel *channel) {
    if (!agent_option(OPENCL_API, "released"))
        return;
    if (!marker_shape) {
        struct record_shape of = record_shape_begin(TSMITH_KIND_MARKER, RECORD_SUBJECT_NAME);
        released_words_add(&of);
        marker_shape = channel_shape(channel, &of);
    }
    released_on = marker_shape && init(&released, LOG2_RELEASED) && init(&pointers, LOG2_ARGUMENTS) &&
                  init(&numbers, LOG2_ARGUMENTS);
}

void released_again(struct channel *channel) {
    released_on = false;
    map_clear(&released);
    map_clear(&pointers);
    map_clear(&numbers);
    released_begin(channel);
}

static void write_marker(const char *name, enum call_id function, uint32_t stack, uint64_t number,
                         int argument) {
    char text[96];
    struct ring *ring = channel_ring(agent.channel);
    snprintf(text, sizeof text, argument < 0 ? "%s" : "%s, argument %d", agent_call_names[function],
             argument);
    RECORD_WRITE(ring, marker_shape, channel_string_cstr(agent.channel, name), released_words,
                 .start = agent_tick(), .object = number, .text = channel_string_cstr(agent.channel, text),
                 .stack = stack);
}

void released_note(const struct call *call, const void *key, const struct object *object) {
    if (!object) {
        if (key && !object_find(OBJECT_MEMORY, key))
            released_passed(call->function, call->stack, key, 0, -1);
        return;
    }
    if (map_put(&released, key, object->handle.number) && agent_on())
        write_marker(RELEASED_MARKER, call->function, call->stack, object->handle.number, -1);
    // After the driver's call another thread may have been given the address before it was put here.
    if (object_find(OBJECT_MEMORY, key))
        map_remove(&released, key);
}

void released_given_out(const void *key) {
    map_remove(&released, key);
}

void released_passed(enum call_id function, uint32_t stack, const void *key, uint64_t number, int argument) {
    const uint64_t was = map_get(&released, key);
    if (was && (!number || was == number) && agent_on())
        write_marker(RELEASED_USE, function, stack, was, argument);
}

// ---- arguments of kernels

static const void *argument_key(const struct object *kernel, uint32_t index) {
    return (const void *)(uintptr_t)(kernel->handle.number * ARGUMENTS_MOST + index + 2);
}

static void note_argument(cl_kernel kernel, cl_uint index, const void *pointer) {
    struct object *of = object_find(OBJECT_KERNEL, kernel);
    if (!of || index >= ARGUMENTS_MOST)
        return;
    const struct object *memory = pointer ? object_find(OBJECT_MEMORY, pointer) : NULL;
    const void *key = argument_key(of, index);
    if (!memory) {
        map_remove(&pointers, key);
    } else if (map_put(&numbers, key, memory->handle.number) &&
               map_put(&pointers, key, (uint64_t)(uintptr_t)pointer)) {
        uint32_t now = atomic_load_explicit(&of->kernel.arguments, memory_order_relaxed);
        if (now <= index)
            atomic_store_explicit(&of->kernel.arguments, index + 1, memory_order_relaxed);
    }
}

cl_int released_set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
    const cl_int result = opencl_next.clSetKernelArg(kernel, index, size, value);
    const void *pointer = NULL;
    if (result != CL_SUCCESS)
        return result;
    if (size == sizeof pointer && value)
        memcpy(&pointer, value, sizeof pointer);
    note_argument(kernel, index, pointer);
    return result;
}

void released_set_pointer(cl_kernel kernel, cl_uint index, const void *pointer, uint32_t stack) {
    const struct object *memory = pointer ? object_find(OBJECT_MEMORY, pointer) : NULL;
    if (pointer && !memory)
        released_passed(CALL_clSetKernelArgMemPointerINTEL, stack, pointer, 0, -1);
    note_argument(kernel, index, pointer);
}

void released_launch(cl_kernel kernel, uint32_t stack) {
    const struct object *of = object_find(OBJECT_KERNEL, kernel);
    const uint32_t count = of ? atomic_load_explicit(&of->kernel.arguments, memory_order_relaxed) : 0;
    for (uint32_t i = 0; i < count; i++) {
        const void *key = argument_key(of, i);
        const void *pointer = (const void *)(uintptr_t)map_get(&pointers, key);
        if (pointer && !object_find(OBJECT_MEMORY, pointer))
            released_passed(CALL_clEnqueueNDRangeKernel, stack, pointer, map_get(&numbers, key), (int)i);
    }
}

void released_kernel_gone(const struct object *kernel) {
    const uint32_t count = atomic_load_explicit(&kernel->kernel.arguments, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        map_remove(&pointers, argument_key(kernel, i));
        map_remove(&numbers, argument_key(kernel, i));
    }
}
