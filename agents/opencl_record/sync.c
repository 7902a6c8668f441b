// SPDX-License-Identifier: Apache-2.0
// User events, and where the host waits or sees that a command is complete: that orders what it enqueues afterwards.
// Rules: recorder.h.
#include "recorder.h"

#include <stdlib.h>

cl_event record_clCreateUserEvent(cl_context context, cl_int *status) {
    cl_event event = recorder.next.clCreateUserEvent(context, status);
    if (recorder_on() && event) {
        struct recording_writer *writer = record_open(RECORDING_USER_EVENT);
        recording_put(writer, RECORDING_KEY_OBJECT, object_add(event, OBJECT_EVENT)->id);
        recording_put(writer, RECORDING_KEY_CONTEXT, object_id(context, OBJECT_CONTEXT));
        record_close();
    }
    return event;
}

// Written down before: another thread may be let go by it, and enqueue.
cl_int record_clSetUserEventStatus(cl_event event, cl_int value) {
    if (recorder_on()) {
        struct recording_writer *writer = record_open(RECORDING_USER_STATUS);
        recording_put(writer, RECORDING_KEY_OBJECT, object_id(event, OBJECT_EVENT));
        recording_put(writer, RECORDING_KEY_STATUS, (uint64_t)(int64_t)value);
        record_close();
    }
    return recorder.next.clSetUserEventStatus(event, value);
}

// The host waited for these; those that nothing recorded has do not matter.
static void note_wait(cl_uint count, const cl_event *events) {
    struct recording_writer *writer = record_open(RECORDING_WAIT);
    bool any = false;
    for (cl_uint i = 0; i < count; i++)
        any |= object_id(events[i], OBJECT_EVENT) != 0;
    if (!any) {
        record_cancel();
        return;
    }
    put_thread(writer);
    put_objects(writer, RECORDING_KEY_WAITS, OBJECT_EVENT, count, events);
    record_close();
}

cl_int record_clWaitForEvents(cl_uint count, const cl_event *events) {
    const uint64_t inflight = recorder_on() ? inflight_check() : 0;
    const cl_int status = recorder.next.clWaitForEvents(count, events);
    if (recorder_on() && status == CL_SUCCESS) {
        note_wait(count, events);
        range_waited();
    }
    inflight_forget(inflight);
    return status;
}

static uint64_t enqueued_in(cl_command_queue queue) {
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(queue, OBJECT_QUEUE);
    const uint64_t enqueued = object ? object->enqueued : 0;
    pthread_mutex_unlock(&recorder.lock);
    return enqueued;
}

cl_int record_clFinish(cl_command_queue queue) {
    const bool begun = recorder_on() && recorder_begun(); // before, nothing recorded is in it
    const uint64_t enqueued = begun ? enqueued_in(queue) : 0;
    const uint64_t inflight = begun ? inflight_check() : 0;
    const cl_int status = recorder.next.clFinish(queue);
    inflight_forget(inflight);
    if (recorder_on() && status == CL_SUCCESS)
        range_waited();
    if (!recorder_on() || status != CL_SUCCESS || !begun)
        return status;
    markers_finished(queue);
    struct recording_writer *writer = record_open(RECORDING_WAIT);
    struct object *object = object_find(queue, OBJECT_QUEUE);
    if (object)
        object->finished = enqueued;
    if (object && object->waiting) {
        object->waiting = false;
        recording_put(writer, RECORDING_KEY_QUEUE, object->id);
        put_thread(writer);
        record_close();
    } else {
        record_cancel(); // nothing recorded is in it that it waited for
    }
    snapshot_reap();
    shared_waited(queue);
    return status;
}

// A program that polls has seen it complete: once is enough.
cl_int record_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret) {
    const cl_int status = recorder.next.clGetEventInfo(event, what, size, value, size_ret);
    if (!recorder_on() || status != CL_SUCCESS || what != CL_EVENT_COMMAND_EXECUTION_STATUS || !value ||
        *(const cl_int *)value != CL_COMPLETE || recorder_asked_by_agent())
        return status;
    inflight_forget(inflight_check());
    struct recording_writer *writer = record_open(RECORDING_WAIT);
    struct object *object = object_find(event, OBJECT_EVENT);
    if (object && object->id && object->flags != object->id) {
        object->flags = object->id; // seen
        put_thread(writer);
        put_objects(writer, RECORDING_KEY_WAITS, OBJECT_EVENT, 1, &event);
        record_close();
    } else {
        record_cancel(); // nothing to report
    }
    return status;
}

// ---- callbacks: what a program does in one, and after it, comes after the command

struct callback {
    void(CL_CALLBACK *function)(cl_event, cl_int, void *);
    void *user;
};

static void CL_CALLBACK call_back(cl_event event, cl_int status, void *user) {
    const struct callback callback = *(struct callback *)user;
    free(user);
    if (recorder_on() && status == CL_COMPLETE) {
        inflight_forget(inflight_check());
        note_wait(1, &event);
    }
    callback.function(event, status, callback.user);
}

// The driver calls ours, which calls the program's. Without memory for it the order it makes is not known.
cl_int record_clSetEventCallback(cl_event event, cl_int when,
                                 void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *user) {
    struct callback *callback = recorder_on() && function ? malloc(sizeof *callback) : NULL;
    if (!callback) {
        if (recorder_on() && function)
            refuse("clSetEventCallback", "out of memory while recording the order that a callback makes",
                   NULL, 0, NULL);
        return recorder.next.clSetEventCallback(event, when, function, user);
    }
    *callback = (struct callback){function, user};
    const cl_int status = recorder.next.clSetEventCallback(event, when, call_back, callback);
    if (status != CL_SUCCESS)
        free(callback);
    return status;
}
