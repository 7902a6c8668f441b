// SPDX-License-Identifier: Apache-2.0
// Markers in the program's queues: a copy of memory waits for them, so that it comes after the commands that wrote
// it. Rules: recorder.h.
//
// A queue whose commands the program has waited for gets none. A marker is not flushed: the program flushes its
// queue, or waits, as it would alone. Two cases need our clFlush, because otherwise a thread would wait for a command
// that was never submitted: a command in another queue waits for the copy, or we wait for it ourselves (clSVMFree,
// the end of the process). In some drivers clFinish does not wait after a flush (Mesa 22.3): after such a flush of
// ours the program's next clFinish of that queue waits for the marker too.
#include "recorder.h"

struct placed {
    cl_event event;
    cl_command_queue queue; // a handle, not a reference
    struct object *context; // named; of a queue that is gone
    bool flushed, gone;
};

// Under recorder.lock: the newest marker of each queue, which implies the earlier ones, and those of released queues,
// unless they were complete at the last check.
static struct placed all[MARKERS_MOST];
static size_t count;

void markers_after_fork(void) {
    count = 0;
}

bool markers_any(void) {
    return count != 0;
}

static bool is_complete(cl_event event) {
    cl_int status = CL_COMPLETE;
    recorder.next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

static cl_event enqueue_marker(cl_command_queue queue) {
    cl_event event = NULL;
    const cl_int status = recorder.next.clEnqueueMarkerWithWaitList
                              ? recorder.next.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event)
                              : recorder.next.clEnqueueMarker(queue, &event);
    return status == CL_SUCCESS ? event : NULL;
}

// With the lock held, as the next one.
static bool has_written(const struct object *queue, const struct object *memory) {
    bool writer = memory->many_writers;
    for (size_t i = 0; i < memory->writer_count; i++)
        writer |= memory->writers[i] == queue;
    return writer && queue->context == memory->context;
}

static bool may_still_write(const struct object *queue, const struct object *memory) {
    return has_written(queue, memory) && queue->references > 0 && queue->enqueued != queue->finished;
}

static void add_queue(struct object *object, void *context) {
    struct markers *markers = context;
    if (!may_still_write(object, markers->memory))
        return;
    if (markers->queue_count == MARKERS_MOST) {
        markers->too_many = true;
        return;
    }
    // Nothing of the program's runs in this, and none can go meanwhile.
    cl_command_queue queue = (cl_command_queue)(uintptr_t)object->handle;
    if (recorder.next.clRetainCommandQueue(queue) == CL_SUCCESS)
        markers->queues[markers->queue_count++] = queue;
}

// Remembers it until it is complete. False when there is no room, or it cannot be kept.
static bool place_marker(cl_event event, cl_command_queue queue) {
    cl_event old = NULL;
    size_t at = 0;
    pthread_mutex_lock(&recorder.lock);
    while (at < count && (all[at].queue != queue || all[at].gone))
        at++;
    const bool room = at < MARKERS_MOST && recorder.next.clRetainEvent(event) == CL_SUCCESS;
    if (room && at < count)
        old = all[at].event;
    else if (room)
        count++;
    if (room)
        all[at] = (struct placed){.event = event, .queue = queue};
    pthread_mutex_unlock(&recorder.lock);
    if (old)
        recorder.next.clReleaseEvent(old);
    return room;
}

void markers_make(struct markers *markers) {
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_QUEUE, add_queue, markers);
    for (size_t i = 0; i < count && markers->event_count < MARKERS_MOST; i++)
        if (all[i].gone && all[i].context == markers->memory->context &&
            recorder.next.clRetainEvent(all[i].event) == CL_SUCCESS)
            markers->events[markers->event_count++] = all[i].event;
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < markers->queue_count; i++) {
        cl_event event = markers->event_count < MARKERS_MOST ? enqueue_marker(markers->queues[i]) : NULL;
        markers->too_many |= !event;
        if (!event)
            continue;
        markers->events[markers->event_count++] = event;
        markers->too_many |= !place_marker(event, markers->queues[i]);
    }
}

void markers_drop(struct markers *markers) {
    for (size_t i = 0; i < markers->event_count; i++)
        recorder.next.clReleaseEvent(markers->events[i]);
    for (size_t i = 0; i < markers->queue_count; i++)
        recorder.next.clReleaseCommandQueue(markers->queues[i]);
}

// With the lock held.
static bool needs_flush(const struct placed *placed, cl_command_queue except, const struct object *memory) {
    const struct object *queue = object_find(placed->queue, OBJECT_QUEUE);
    return !placed->gone && !placed->flushed && placed->queue != except && queue &&
           (!memory || has_written(queue, memory)) && !is_complete(placed->event);
}

void markers_flush(cl_command_queue except, const struct object *memory) {
    cl_command_queue queues[MARKERS_MOST];
    size_t queue_count = 0;
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < count; i++) {
        if (!needs_flush(&all[i], except, memory) ||
            recorder.next.clRetainCommandQueue(all[i].queue) != CL_SUCCESS)
            continue;
        queues[queue_count++] = all[i].queue;
        all[i].flushed = true;
    }
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < queue_count; i++) {
        recorder.next.clFlush(queues[i]);
        recorder.next.clReleaseCommandQueue(queues[i]);
    }
}

void markers_finished(cl_command_queue queue) {
    cl_event ours[MARKERS_MOST];
    size_t our_count = 0;
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < count; i++)
        if (all[i].queue == queue && all[i].flushed && !all[i].gone &&
            recorder.next.clRetainEvent(all[i].event) == CL_SUCCESS)
            ours[our_count++] = all[i].event;
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < our_count; i++) {
        if (!is_complete(ours[i]))
            recorder.next.clWaitForEvents(1, &ours[i]);
        recorder.next.clReleaseEvent(ours[i]);
    }
}

void markers_reap(void) {
    cl_event done[MARKERS_MOST];
    size_t done_count = 0, kept = 0;
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < count; i++) {
        if (!is_complete(all[i].event)) {
            all[kept++] = all[i];
            continue;
        }
        done[done_count++] = all[i].event;
        object_drop(all[i].context);
    }
    count = kept;
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < done_count; i++)
        recorder.next.clReleaseEvent(done[i]);
}

// The release that comes next submits what is in the queue, the marker with it.
void markers_queue_goes(cl_command_queue queue) {
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(queue, OBJECT_QUEUE);
    const bool idle = object && recorder_begun() && object->enqueued == object->finished;
    for (size_t i = 0; i < count; i++)
        if (all[i].queue == queue && !all[i].gone) {
            all[i].gone = true;
            all[i].context = object ? object_name(object->context) : NULL;
        }
    pthread_mutex_unlock(&recorder.lock);
    cl_event event = idle ? NULL : enqueue_marker(queue), old = NULL;
    if (!event)
        return;
    pthread_mutex_lock(&recorder.lock);
    // The oldest makes room: by then it is complete, or the program waits for nothing.
    if (count == MARKERS_MOST) {
        old = all[0].event;
        object_drop(all[0].context);
        for (size_t i = 1; i < count; i++)
            all[i - 1] = all[i];
        count--;
    }
    all[count++] = (struct placed){.event = event,
                                   .queue = queue,
                                   .context = object ? object_name(object->context) : NULL,
                                   .gone = true};
    pthread_mutex_unlock(&recorder.lock);
    if (old)
        recorder.next.clReleaseEvent(old);
}
