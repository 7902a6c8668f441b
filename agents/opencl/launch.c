// SPDX-License-Identifier: Apache-2.0
// Kernels, native kernels, markers and barriers. Rules: agent.h.
#include "base/probe.h"
#include "enqueued.h"
#include "released.h"

static struct map launched; // hashes of all that was launched once

bool launches_init(void) {
    enum { LOG2_BUCKETS = 11 };
    return map_init(&launched, LOG2_BUCKETS);
}

// Apart from its caller, which has no registers to save for it then.
static __attribute__((noinline)) bool is_new(uint64_t hash) {
    hash = (hash ^ hash >> 29) * 0xc4ceb9fe1a85ec53u | 2; // 0 and 1 are no keys
    _Atomic uint64_t *seen = map_add(&launched, (const void *)(uintptr_t)hash);
    return seen && !atomic_exchange(seen, 1);
}

// Whether this is the first launch of the kernel for this work-group size on this device. Remembers one
// launch per kernel object and all there were; without room for more it returns false.
static bool is_first_launch(struct kernel *kernel, uint64_t program, uint64_t device, cl_uint dimensions,
                            const size_t *size) {
    // One odd factor for each, so that sums seldom meet; the hash below mixes what is kept.
    static const uint64_t factors[3] = {1, 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
    uint64_t hash = device * 0x165667b19e3779f9u + 1;
    for (cl_uint i = 0; size && i < dimensions && i < 3; i++)
        hash += size[i] * factors[i];
    if (atomic_load_explicit(&kernel->last_launch, memory_order_relaxed) == hash)
        return false;
    atomic_store_explicit(&kernel->last_launch, hash, memory_order_relaxed);
    return is_new((hash ^ program << 32 ^ kernel->name) * 0xff51afd7ed558ccdu);
}

// The size in a dimension; 0: there is none, or the driver chooses it.
static uint64_t size_of(cl_uint dimensions, const size_t *sizes, cl_uint dimension) {
    return sizes && dimension < dimensions ? sizes[dimension] : 0;
}

static void command_kernel(struct command *command, tsmith_operation operation, cl_kernel kernel,
                           cl_uint dimensions, const size_t *offset, const size_t *global,
                           const size_t *local) {
    struct object *object = object_used(OBJECT_KERNEL, kernel);
    const struct object *device = command->call.queue ? command->call.queue->queue.device : NULL;
    uint64_t *body = command->body + BODY_FIXED;
    command->operation = operation;
    command->name = object ? object->kernel.name : 0;
    if (dimensions == 1 && !offset && global) {
        command->class = CLASS_KERNEL_1D;
        RECORD_SET(body, kernel_1d_words, .global = global[0], .local = local ? local[0] : 0);
        command->body_words = BODY_FIXED + RECORD_PART_WORDS(kernel_1d_words);
    } else {
        command->class = CLASS_KERNEL;
        RECORD_SET(body, kernel_words, .global_x = size_of(dimensions, global, 0),
                   .global_y = size_of(dimensions, global, 1), .global_z = size_of(dimensions, global, 2),
                   .local_x = size_of(dimensions, local, 0), .local_y = size_of(dimensions, local, 1),
                   .local_z = size_of(dimensions, local, 2), .offset_x = size_of(dimensions, offset, 0),
                   .offset_y = size_of(dimensions, offset, 1), .offset_z = size_of(dimensions, offset, 2));
        command->body_words = BODY_FIXED + RECORD_PART_WORDS(kernel_words);
    }
    // Without a local size the driver chooses one for the global size.
    if (object && device && device->device.compiles_at_launch)
        command->first_launch = is_first_launch(&object->kernel, object->parent_number, device->handle.number,
                                                dimensions, local ? local : global);
}

static __attribute__((noinline)) cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                               const size_t *offset, const size_t *global,
                                               const size_t *local, cl_uint count, const cl_event *waits,
                                               cl_event *event) {
    struct command command;
    cl_event own;
    if (!command_begin(&command, &event, &own))
        return opencl_next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                                  waits, event);
    if (released_on)
        released_launch(kernel, command.call.stack);
    const cl_int result = opencl_next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                             count, waits, event);
    command_returned(&command, CALL_clEnqueueNDRangeKernel, queue, BLOCKING_NEVER, waits ? count : 0);
    command_kernel(&command, TSMITH_OPERATION_NDRANGE, kernel, dimensions, offset, global, local);
    PROBE2(launch, (uintptr_t)queue, (uintptr_t)kernel);
    return command_end(&command, event, result, count, waits);
}

// The most frequent launches: over one dimension, of the same kernels in the same queues for the same size, and for an event
// of ours. What a thread knows of some of them holds as long as no queue or kernel comes or goes.
static __thread struct repeated {
    cl_kernel kernel;
    cl_command_queue queue;
    size_t local;
    struct object *known; // the queue
    uint32_t name, generation;
} repeated[4] __attribute__((tls_model("initial-exec")));

static struct repeated *repeated_at(cl_kernel kernel) {
    return &repeated[(uint64_t)(uintptr_t)kernel * 0x9e3779b97f4a7c15u >> 62];
}

static __attribute__((noinline)) cl_int launch_remembered(cl_command_queue queue, cl_kernel kernel,
                                                          const size_t *global, const size_t *local) {
    const uint32_t generation = atomic_load_explicit(&objects_generation, memory_order_relaxed);
    const cl_int result = launch(queue, kernel, 1, NULL, global, local, 0, NULL, NULL);
    const struct object *object = object_used(OBJECT_KERNEL, kernel);
    struct object *known = object_used(OBJECT_QUEUE, queue);
    if (object && object->kernel.name && known && result == CL_SUCCESS)
        *repeated_at(kernel) = (struct repeated){.kernel = kernel,
                                                 .queue = queue,
                                                 .local = *local,
                                                 .known = known,
                                                 .name = object->kernel.name,
                                                 .generation = generation};
    return result;
}

static __attribute__((noinline)) cl_int launch_plain(cl_command_queue queue, cl_kernel kernel,
                                                     const size_t *global, const size_t *local) {
    enum { WORDS = BODY_FIXED + RECORD_PART_WORDS(kernel_1d_words) };
    const struct repeated *of = repeated_at(kernel);
    if (of->kernel != kernel || of->queue != queue || of->local != *local ||
        of->generation != atomic_load_explicit(&objects_generation, memory_order_relaxed))
        return launch_remembered(queue, kernel, global, local);
    cl_event event = NULL;
    const uint64_t start = agent_tick();
    const cl_int result =
        opencl_next.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, global, local, 0, NULL, &event);
    struct command command = {.call = {.start = start,
                                       .end = agent_tick(),
                                       .queue = of->known,
                                       .function = CALL_clEnqueueNDRangeKernel},
                              .class = CLASS_KERNEL_1D,
                              .operation = TSMITH_OPERATION_NDRANGE,
                              .name = of->name,
                              .body_words = WORDS};
    if (!command.call.queue)
        __builtin_unreachable();
    PROBE2(launch, (uintptr_t)queue, (uintptr_t)kernel);
    command_place(&command, 0);
    RECORD_SET(command.body + BODY_FIXED, kernel_1d_words, .global = *global, .local = of->local);
    enqueue_end(&command, &event, result, 0, NULL);
    return result;
}

// When nothing is recorded, it is no more than a jump.
cl_int layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                    const size_t *offset, const size_t *global, const size_t *local,
                                    cl_uint count, const cl_event *waits, cl_event *event) {
    if (!agent_on())
        return opencl_next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                                  waits, event);
    const uintptr_t others =
        (uintptr_t)offset | (uintptr_t)waits | (uintptr_t)event | count | (dimensions ^ 1);
    if (!others && global && local && !stacks_on && !agent_overhead.on && !released_on)
        return launch_plain(queue, kernel, global, local);
    return launch(queue, kernel, dimensions, offset, global, local, count, waits, event);
}

static const size_t one = 1;
ENQUEUE(clEnqueueTask, BLOCKING_NEVER,
        command_kernel(&command, TSMITH_OPERATION_TASK, kernel, 1, NULL, &one, &one))

ENQUEUE(clEnqueueNativeKernel, BLOCKING_NEVER, command_plain(&command, CLASS_HOST, TSMITH_OPERATION_NATIVE))

// The marker without a wait list has no form without an event: NULL is an error there, and stays one.
cl_int layer_clEnqueueMarker(cl_command_queue queue, cl_event *event) {
    struct command command;
    if (!event || !command_begin(&command, &event, NULL))
        return opencl_next.clEnqueueMarker(queue, event);
    const cl_int result = opencl_next.clEnqueueMarker(queue, event);
    command_returned(&command, CALL_clEnqueueMarker, queue, BLOCKING_NEVER, 0);
    return command_end(&command, event, result, 0, NULL);
}

ENQUEUE(clEnqueueMarkerWithWaitList, BLOCKING_NEVER,
        command_plain(&command, CLASS_MARKER, TSMITH_OPERATION_MARKER))

ENQUEUE(clEnqueueBarrierWithWaitList, BLOCKING_NEVER,
        command_plain(&command, CLASS_BARRIER, TSMITH_OPERATION_BARRIER))

// The old barriers give no event: their call is recorded, their times are not to be had.
cl_int layer_clEnqueueBarrier(cl_command_queue queue) {
    struct command command;
    if (!command_begin(&command, NULL, NULL))
        return opencl_next.clEnqueueBarrier(queue);
    const cl_int result = opencl_next.clEnqueueBarrier(queue);
    command_returned(&command, CALL_clEnqueueBarrier, queue, BLOCKING_NEVER, 0);
    command_plain(&command, CLASS_BARRIER, TSMITH_OPERATION_BARRIER);
    return command_end_eventless(&command, result, 0, NULL);
}

cl_int layer_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits) {
    struct command command;
    if (!command_begin(&command, NULL, NULL))
        return opencl_next.clEnqueueWaitForEvents(queue, count, waits);
    const cl_int result = opencl_next.clEnqueueWaitForEvents(queue, count, waits);
    command_returned(&command, CALL_clEnqueueWaitForEvents, queue, BLOCKING_NEVER, 0);
    command_plain(&command, CLASS_BARRIER, TSMITH_OPERATION_BARRIER);
    return command_end_eventless(&command, result, count, waits);
}
