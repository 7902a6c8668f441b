// SPDX-License-Identifier: Apache-2.0
// Contexts and queues. Rules: agent.h.
//
// A queue is always created with profiling enabled; that it is, and that its
// properties are not the program's, is hidden by query.c. A driver that refuses gets the program's own
// properties: the commands of that queue then have no times. That goes for queues made while recording is off, too
// (tsmith_profiler_start may come): a queue cannot be switched later, and commands without times are of little use.
// Once the session is over, new queues are created as the program requests.

#include "agentkit/device.h"
#include "agentkit/sums.h"
#include "command.h"
#include "object_event.h"
#include "pending.h"

// ---- contexts

static void context_created(struct call *call, cl_context context, cl_int result) {
    struct object *object =
        context && result == CL_SUCCESS ? object_add(OBJECT_CONTEXT, context, NULL) : NULL;
    object_record(call, TSMITH_OPERATION_CREATE_CONTEXT, result, object);
}

CREATE(clCreateContext, call_begin, context_created(&call, made, result))
CREATE(clCreateContextFromType, call_begin, context_created(&call, made, result))

#define RELEASE(function, type, handle, operation)                                                           \
    cl_int layer_##function(handle released) {                                                               \
        struct call call = call_begin(CALL_##function);                                                      \
        struct object *object = object_find(type, released);                                                 \
        if (object && object_is_last(object))                                                                \
            pending_reap_all(true); /* what we hold of its events would keep it alive */                     \
        const bool last = object && object_release(object);                                                  \
        const cl_int result = opencl_next.function(released);                                                \
        if (last)                                                                                            \
            object_end(&call, operation, object);                                                            \
        return result;                                                                                       \
    }

OBJECT_RETAIN(clRetainContext, OBJECT_CONTEXT, cl_context)

RELEASE(clReleaseContext, OBJECT_CONTEXT, cl_context, TSMITH_OPERATION_DESTROY_CONTEXT)

// ---- queues

static uint32_t queue_track(const struct object *queue, bool program_profiles) {
    const int flags = (queue->queue.pending.out_of_order ? TSMITH_TRACK_OUT_OF_ORDER : 0) |
                      (program_profiles ? TSMITH_TRACK_PROGRAM_PROFILED : 0);
    return device_queue_track("queue", queue->handle.number, (uint16_t)flags,
                              queue->queue.device ? queue->queue.device->device.id : 0, queue->parent_number);
}

static struct object *queue_add(cl_command_queue queue, cl_context context, cl_device_id device,
                                cl_command_queue_properties asked, bool hidden) {
    struct object *object_of_device = object_device(device);
    struct object *object = object_add(OBJECT_QUEUE, queue, object_find(OBJECT_CONTEXT, context));
    if (!object)
        return NULL;
    object->queue.device = object_of_device;
    object->queue.hidden = hidden;
    object->queue.pending.out_of_order = asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    object->queue.no_complete_time = object_of_device && !object_of_device->device.enqueues;
    object->queue.track = queue_track(object, asked & CL_QUEUE_PROFILING_ENABLE);
    object->queue.work_track =
        sums_on ? sums_track(object_of_device ? object_of_device->device.id : 0, 0) : object->queue.track;
    return object;
}

// One that was made before us: profiling cannot be switched on any more.
struct object *queue_adopt(cl_command_queue queue) {
    cl_context context = NULL;
    cl_device_id device = NULL;
    cl_command_queue_properties asked = 0;
    if (opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) != CL_SUCCESS)
        return NULL;
    opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof asked, &asked, NULL);
    return queue_add(queue, context, device, asked, false);
}

// Whether a queue gets profiling that the program did not ask for. A late agent leaves again, and could not hide it any more.
static bool profiles_all(void) {
    return channel_live(agent.channel) && !objects_adopt;
}

// Whether a driver may have refused for the sake of what we added.
static bool refused_properties(cl_int result) {
    return result == CL_INVALID_QUEUE_PROPERTIES || result == CL_INVALID_VALUE ||
           result == CL_INVALID_PROPERTY;
}

cl_command_queue layer_clCreateCommandQueue(cl_context context, cl_device_id device,
                                            cl_command_queue_properties properties, cl_int *error) {
    struct call call = call_begin(CALL_clCreateCommandQueue);
    bool hidden = profiles_all() && !(properties & CL_QUEUE_PROFILING_ENABLE);
    cl_int result = CL_SUCCESS;
    cl_command_queue queue = opencl_next.clCreateCommandQueue(
        context, device, properties | (hidden ? CL_QUEUE_PROFILING_ENABLE : 0), &result);
    if (!queue && hidden && refused_properties(result)) {
        hidden = false;
        result = CL_SUCCESS;
        queue = opencl_next.clCreateCommandQueue(context, device, properties, &result);
    }
    struct object *object = queue ? queue_add(queue, context, device, properties, hidden) : NULL;
    object_record(&call, TSMITH_OPERATION_CREATE_QUEUE, result, object);
    if (error)
        *error = result;
    return queue;
}

struct property_list {
    cl_queue_properties values[QUEUE_PROPERTIES_MAX + 2];
    uint32_t count; // of the program's own, the final 0 included; 0 without a list
    cl_command_queue_properties asked;
    bool changed;
};

// The program's list with profiling switched on. Left alone: lists longer than any in use, and queues on the
// device.
static struct property_list properties_with_profiling(const cl_queue_properties *program) {
    struct property_list list = {.count = 0};
    uint32_t at = 0;
    uint32_t place = UINT32_MAX;
    for (; program && program[at]; at += 2) {
        if (at + 2 >= QUEUE_PROPERTIES_MAX)
            return (struct property_list){.count = 0};
        if (program[at] == CL_QUEUE_PROPERTIES && place == UINT32_MAX)
            place = at + 1;
        list.values[at] = program[at];
        list.values[at + 1] = program[at + 1];
    }
    list.count = program ? at + 1 : 0;
    if (place == UINT32_MAX) {
        list.values[at] = CL_QUEUE_PROPERTIES;
        list.values[at + 1] = 0;
        place = at + 1;
        at += 2;
    }
    list.values[at] = 0;
    list.asked = list.values[place];
    list.changed = !(list.asked & (CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE));
    list.values[place] |= CL_QUEUE_PROFILING_ENABLE;
    return list;
}

cl_command_queue layer_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                          const cl_queue_properties *properties,
                                                          cl_int *error) {
    struct call call = call_begin(CALL_clCreateCommandQueueWithProperties);
    struct property_list list = properties_with_profiling(properties);
    list.changed &= profiles_all();
    cl_int result = CL_SUCCESS;
    cl_command_queue queue = opencl_next.clCreateCommandQueueWithProperties(
        context, device, list.changed ? list.values : properties, &result);
    if (!queue && list.changed && refused_properties(result)) {
        list.changed = false;
        result = CL_SUCCESS;
        queue = opencl_next.clCreateCommandQueueWithProperties(context, device, properties, &result);
    }
    struct object *object = queue ? queue_add(queue, context, device, list.asked, list.changed) : NULL;
    if (object && list.changed) {
        object->queue.has_properties = true;
        object->queue.property_count = list.count;
        if (list.count)
            memcpy(object->queue.properties, properties, list.count * sizeof *properties);
    }
    object_record(&call, TSMITH_OPERATION_CREATE_QUEUE, result, object);
    if (error)
        *error = result;
    return queue;
}

cl_int layer_clSetCommandQueueProperty(cl_command_queue queue, cl_command_queue_properties properties,
                                       cl_bool enable, cl_command_queue_properties *old) {
    struct object *object = object_find(OBJECT_QUEUE, queue);
    if (!object)
        return opencl_next.clSetCommandQueueProperty(queue, properties, enable, old);
    // Our profiling stays on for every setting of the program.
    const bool was_hidden = object->queue.hidden;
    const cl_command_queue_properties forwarded =
        enable ? properties : properties & ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    const cl_int result = opencl_next.clSetCommandQueueProperty(queue, forwarded, enable, old);
    if (result != CL_SUCCESS)
        return result;
    if (old && was_hidden)
        *old &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    if (properties & CL_QUEUE_PROFILING_ENABLE)
        object->queue.hidden = !enable;
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        object->queue.pending.out_of_order = enable;
    return result;
}

OBJECT_RETAIN(clRetainCommandQueue, OBJECT_QUEUE, cl_command_queue)

RELEASE(clReleaseCommandQueue, OBJECT_QUEUE, cl_command_queue, TSMITH_OPERATION_DESTROY_QUEUE)
