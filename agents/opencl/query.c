// SPDX-License-Identifier: Apache-2.0
// Where the program could see what we added, it sees what it would without us. Rules: agent.h.
//
// - A queue's properties, as a mask and as a list: the program's own.
// - Times of commands of a queue the program did not ask to profile: CL_PROFILING_INFO_NOT_AVAILABLE.
// - Reference counts: of an event, less the reference we hold; of queues and contexts, which a driver may
//   hold from events, after what is complete has been given back.
#include <sched.h>
#include <string.h>

#include "agent.h"
#include "events.h"
#include "objects.h"
#include "pending.h"

enum { TRIES = 1000 };

static cl_int queue_mask(cl_command_queue queue, const struct queue *known, size_t size, void *value,
                         size_t *size_ret) {
    const cl_int result =
        opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, size, value, size_ret);
    cl_command_queue_properties mask;
    if (result != CL_SUCCESS || !value || !known->hidden)
        return result;
    memcpy(&mask, value, sizeof mask);
    mask &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
    memcpy(value, &mask, sizeof mask);
    return result;
}

static cl_int queue_list(cl_command_queue queue, const struct queue *known, size_t size, void *value,
                         size_t *size_ret) {
    const size_t needed = known->property_count * sizeof known->properties[0];
    size_t unused = 0;
    // The driver reports any other error of the query here.
    const cl_int result =
        opencl_next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 0, NULL, &unused);
    if (result != CL_SUCCESS)
        return result;
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, known->properties, needed);
    if (size_ret)
        *size_ret = needed;
    return CL_SUCCESS;
}

cl_int layer_clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what, size_t size,
                                   void *value, size_t *size_ret) {
    const struct object *object = object_find(OBJECT_QUEUE, queue);
    if (object && what == CL_QUEUE_PROPERTIES)
        return queue_mask(queue, &object->queue, size, value, size_ret);
    if (object && what == CL_QUEUE_PROPERTIES_ARRAY && object->queue.has_properties)
        return queue_list(queue, &object->queue, size, value, size_ret);
    if (what == CL_QUEUE_REFERENCE_COUNT)
        pending_reap_all(true);
    return opencl_next.clGetCommandQueueInfo(queue, what, size, value, size_ret);
}

cl_int layer_clGetContextInfo(cl_context context, cl_context_info what, size_t size, void *value,
                              size_t *size_ret) {
    if (what == CL_CONTEXT_REFERENCE_COUNT)
        pending_reap_all(true);
    return opencl_next.clGetContextInfo(context, what, size, value, size_ret);
}

// The driver's count and whether we hold one of it must be of the same moment: no other thread may release in between.
static cl_int event_references(cl_event event, size_t size, void *value, size_t *size_ret) {
    cl_int result = CL_SUCCESS;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t epoch = pending_epoch();
        const bool held = events_held(event);
        result = opencl_next.clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, size, value, size_ret);
        if (i + 1 < TRIES && (epoch % 2 != 0 || pending_epoch() != epoch)) {
            sched_yield();
            continue;
        }
        if (result == CL_SUCCESS && value && held) {
            cl_uint count;
            memcpy(&count, value, sizeof count);
            count--;
            memcpy(value, &count, sizeof count);
        }
        break;
    }
    return result;
}

cl_int layer_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret) {
    if (what == CL_EVENT_REFERENCE_COUNT)
        return event_references(event, size, value, size_ret);
    return opencl_next.clGetEventInfo(event, what, size, value, size_ret);
}

cl_int layer_clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size, void *value,
                                     size_t *size_ret) {
    cl_command_queue queue = NULL;
    if (opencl_next.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) == CL_SUCCESS) {
        const struct object *object = object_find(OBJECT_QUEUE, queue);
        if (object && object->queue.hidden)
            return CL_PROFILING_INFO_NOT_AVAILABLE;
    }
    return opencl_next.clGetEventProfilingInfo(event, what, size, value, size_ret);
}
