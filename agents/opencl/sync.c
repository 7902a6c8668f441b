// SPDX-License-Identifier: Apache-2.0
// Waiting, user events, and the program's references on events. Rules: agent.h.
//
// A call that waits is an API event, and also a SYNC event when there was something to wait for: a queue
// in which commands were enqueued since it was last finished, an event that was not complete when the call
// came.
#include "command.h"
#include "events.h"
#include "pending.h"

cl_int layer_clFinish(cl_command_queue queue) {
    if (!agent_on())
        return opencl_next.clFinish(queue);
    struct call call = call_begin_with_stack(CALL_clFinish);
    call.queue = object_used(OBJECT_QUEUE, queue);
    const bool busy = call.queue && atomic_exchange(&call.queue->queue.busy, false);
    // What is complete already is recorded while the device does the rest: the wait is as long without it. No flush before
    // it: the program sent none, and there are drivers whose clFinish then waits for nothing (Mesa 22.3).
    if (busy)
        pending_reap_own();
    const cl_int result = opencl_next.clFinish(queue);
    call_record(&call, result);
    if (busy && result == CL_SUCCESS)
        sync_record(&call, TSMITH_OPERATION_FINISH, 0, NULL);
    pending_reap_own();
    return result;
}

static bool any_unfinished(cl_uint count, const cl_event *events) {
    for (cl_uint i = 0; events && i < count; i++) {
        cl_int status = CL_COMPLETE;
        if (opencl_next.clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                       NULL) != CL_SUCCESS)
            return false; // not an event: the driver will return the error
        if (status > CL_COMPLETE)
            return true;
    }
    return false;
}

cl_int layer_clWaitForEvents(cl_uint count, const cl_event *events) {
    if (!agent_on())
        return opencl_next.clWaitForEvents(count, events);
    struct call call = call_begin_with_stack(CALL_clWaitForEvents);
    const bool waits = any_unfinished(count, events);
    const cl_int result = opencl_next.clWaitForEvents(count, events);
    call_record(&call, result);
    if (waits)
        sync_record(&call, TSMITH_OPERATION_WAIT, count, events);
    pending_reap_own();
    return result;
}

cl_int layer_clFlush(cl_command_queue queue) {
    if (!agent_on())
        return opencl_next.clFlush(queue);
    struct call call = call_begin(CALL_clFlush);
    call.queue = object_used(OBJECT_QUEUE, queue);
    const cl_int result = opencl_next.clFlush(queue);
    call_record(&call, result);
    return result;
}

// A user event has a number of its own, that of its creation and of the call that sets it.
cl_event layer_clCreateUserEvent(cl_context context, cl_int *error) {
    if (!agent_on())
        return opencl_next.clCreateUserEvent(context, error);
    struct call call = call_begin(CALL_clCreateUserEvent);
    cl_int result = CL_SUCCESS;
    cl_event event = opencl_next.clCreateUserEvent(context, &result);
    call.correlation = agent_correlation();
    call_record(&call, result);
    if (event && result == CL_SUCCESS)
        events_add(event, call.correlation, false);
    if (error)
        *error = result;
    return event;
}

cl_int layer_clSetUserEventStatus(cl_event event, cl_int status) {
    if (!agent_on())
        return opencl_next.clSetUserEventStatus(event, status);
    struct call call = call_begin(CALL_clSetUserEventStatus);
    call.correlation = events_correlation(event);
    const cl_int result = opencl_next.clSetUserEventStatus(event, status);
    call_record(&call, result);
    return result;
}

cl_int layer_clRetainEvent(cl_event event) {
    const cl_int result = opencl_next.clRetainEvent(event);
    if (result == CL_SUCCESS)
        events_retain(event);
    return result;
}

cl_int layer_clReleaseEvent(cl_event event) {
    events_release(event);
    return opencl_next.clReleaseEvent(event);
}
