// SPDX-License-Identifier: Apache-2.0
// User events, and where the host waits or sees that a command is complete: that orders what it enqueues afterwards.
// Rules: recorder.h.
#include "recorder.h"

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

cl_int record_clWaitForEvents(cl_uint count, const cl_event *events) {
    const cl_int status = recorder.next.clWaitForEvents(count, events);
    if (recorder_on() && status == CL_SUCCESS) {
        put_waits(record_open(RECORDING_WAIT), count, events);
        record_close();
    }
    return status;
}

cl_int record_clFinish(cl_command_queue queue) {
    const cl_int status = recorder.next.clFinish(queue);
    if (recorder_on() && status == CL_SUCCESS) {
        struct recording_writer *writer = record_open(RECORDING_WAIT);
        recording_put(writer, RECORDING_KEY_QUEUE, object_id(queue, OBJECT_QUEUE));
        record_close();
        snapshot_reap();
    }
    return status;
}

// A program that polls has seen it complete: once is enough.
cl_int record_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value, size_t *size_ret) {
    const cl_int status = recorder.next.clGetEventInfo(event, what, size, value, size_ret);
    if (!recorder_on() || status != CL_SUCCESS || what != CL_EVENT_COMMAND_EXECUTION_STATUS || !value ||
        *(const cl_int *)value != CL_COMPLETE)
        return status;
    struct recording_writer *writer = record_open(RECORDING_WAIT);
    struct object *object = object_find(event, OBJECT_EVENT);
    if (object && object->flags != object->id) {
        object->flags = object->id; // seen
        put_waits(writer, 1, &event);
        record_close();
    } else {
        pthread_mutex_unlock(&recorder.lock); // nothing to say
    }
    return status;
}
