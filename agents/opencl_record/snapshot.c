// SPDX-License-Identifier: Apache-2.0
// How a buffer looks after all that was enqueued: read through a queue of ours that waits for a marker in each of the
// program's queues of that context. Nobody waits for it: it is written down by a later call, or at exit.
// Rules: recorder.h.
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "recorder.h"

enum { MARKERS_MOST = 256 };
static const int64_t EXIT_PATIENCE = 10000000000; // ns, for all together

struct snapshot {
    struct snapshot *next;
    uint64_t verify;
    cl_command_queue queue;
    cl_event done;
    size_t size;
    uint8_t *bytes;
};

static struct snapshot *pending; // under recorder.lock

// Markers that stand for queues that are gone, until they are complete.
static struct {
    cl_event event;
    struct object *context;
} gone[MARKERS_MOST];
static size_t gone_count; // under recorder.lock

struct markers {
    struct object *context;
    cl_command_queue queues[MARKERS_MOST];
    size_t queue_count;
    cl_event events[MARKERS_MOST];
    size_t event_count;
    bool too_many;
};

// With the lock held, so that none goes meanwhile: retaining runs nothing of the program's.
static void add_queue(struct object *object, void *context) {
    struct markers *markers = context;
    if (object->context != markers->context || object->references <= 0)
        return;
    if (markers->queue_count == MARKERS_MOST) {
        markers->too_many = true;
        return;
    }
    cl_command_queue queue = (cl_command_queue)(uintptr_t)object->handle;
    if (recorder.next.clRetainCommandQueue(queue) == CL_SUCCESS)
        markers->queues[markers->queue_count++] = queue;
}

static cl_event put_marker(cl_command_queue queue) {
    cl_event event = NULL;
    const cl_int status = recorder.next.clEnqueueMarkerWithWaitList
                              ? recorder.next.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event)
                              : recorder.next.clEnqueueMarker(queue, &event);
    if (status != CL_SUCCESS)
        return NULL;
    recorder.next.clFlush(queue);
    return event;
}

static void make_markers(struct markers *markers) {
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_QUEUE, add_queue, markers);
    for (size_t i = 0; i < gone_count && markers->event_count < MARKERS_MOST; i++)
        if (gone[i].context == markers->context && recorder.next.clRetainEvent(gone[i].event) == CL_SUCCESS)
            markers->events[markers->event_count++] = gone[i].event;
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < markers->queue_count; i++) {
        cl_event event = markers->event_count < MARKERS_MOST ? put_marker(markers->queues[i]) : NULL;
        markers->too_many |= !event;
        if (event)
            markers->events[markers->event_count++] = event;
    }
}

static void drop_markers(struct markers *markers) {
    for (size_t i = 0; i < markers->event_count; i++)
        recorder.next.clReleaseEvent(markers->events[i]);
    for (size_t i = 0; i < markers->queue_count; i++)
        recorder.next.clReleaseCommandQueue(markers->queues[i]);
}

static void forget(struct snapshot *snapshot) {
    if (snapshot->done)
        recorder.next.clReleaseEvent(snapshot->done);
    if (snapshot->queue)
        recorder.next.clReleaseCommandQueue(snapshot->queue);
    free(snapshot->bytes);
    free(snapshot);
}

static void write_missing(uint64_t verify, const char *why) {
    struct recording_writer *writer = record_open(RECORDING_STATE);
    recording_put(writer, RECORDING_KEY_VERIFY, verify);
    recording_put_text(writer, RECORDING_KEY_TEXT, why);
    record_close();
}

// What the read said: 1 when it is still on its way.
static int look(const struct snapshot *snapshot) {
    cl_int status = CL_COMPLETE;
    recorder.next.clGetEventInfo(snapshot->done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                 NULL);
    return status > CL_COMPLETE ? 1 : status;
}

static void write_down(struct snapshot *snapshot, int status) {
    if (status < 0) {
        write_missing(snapshot->verify, "a command before it failed, and so did the copy");
    } else {
        struct payload payload;
        payload_take(&payload, snapshot->bytes, snapshot->size);
        struct recording_writer *writer = record_open(RECORDING_STATE);
        recording_put(writer, RECORDING_KEY_VERIFY, snapshot->verify);
        payload_put(writer, &payload);
        record_close();
    }
    forget(snapshot);
}

static uint64_t write_verify(struct object *buffer) {
    struct recording_writer *writer = record_open(RECORDING_VERIFY);
    const uint64_t verify = ++recorder.last_id;
    recording_put(writer, RECORDING_KEY_VERIFY, verify);
    recording_put(writer, RECORDING_KEY_OBJECT, buffer->id);
    recording_put(writer, RECORDING_KEY_SIZE, buffer->size);
    record_close();
    return verify;
}

// NULL, or why there is no copy.
static const char *start(struct snapshot *snapshot, struct object *buffer) {
    struct markers markers = {.context = buffer->context};
    cl_device_id device = NULL;
    cl_device_id devices[64];
    if (!buffer->context)
        return "its context was not seen being created";
    if (buffer->flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY))
        return "the program created it so that the host may not read it";
    cl_context context = (cl_context)(uintptr_t)buffer->context->handle;
    if (recorder.next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL))
        return "its context does not say which devices it has";
    device = devices[0];
    snapshot->size = buffer->size;
    snapshot->bytes = malloc(buffer->size ? buffer->size : 1);
    if (!snapshot->bytes)
        return "there was no memory for a copy";
    snapshot->queue = recorder.next.clCreateCommandQueue(context, device, 0, NULL);
    if (!snapshot->queue)
        return "the driver gave no queue to copy it with";
    make_markers(&markers);
    cl_int status = CL_OUT_OF_RESOURCES;
    if (!markers.too_many)
        status = recorder.next.clEnqueueReadBuffer(
            snapshot->queue, (cl_mem)(uintptr_t)buffer->handle, CL_FALSE, 0, buffer->size, snapshot->bytes,
            (cl_uint)markers.event_count, markers.event_count ? markers.events : NULL, &snapshot->done);
    drop_markers(&markers);
    if (status != CL_SUCCESS)
        return "the driver refused to copy it";
    recorder.next.clFlush(snapshot->queue);
    return NULL;
}

// Makes one that is on its way; NULL after writing down why there is none.
static struct snapshot *begin(struct object *buffer) {
    const uint64_t verify = write_verify(buffer);
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    const char *why = snapshot ? start(snapshot, buffer) : "there was no memory for a copy";
    if (!why) {
        snapshot->verify = verify;
        return snapshot;
    }
    write_missing(verify, why);
    if (snapshot)
        forget(snapshot);
    return NULL;
}

void snapshot_take(struct object *buffer) {
    struct snapshot *snapshot = begin(buffer);
    if (!snapshot)
        return;
    pthread_mutex_lock(&recorder.lock);
    snapshot->next = pending;
    pending = snapshot;
    pthread_mutex_unlock(&recorder.lock);
}

static struct snapshot *take_pending(void) {
    pthread_mutex_lock(&recorder.lock);
    struct snapshot *list = pending;
    pending = NULL;
    pthread_mutex_unlock(&recorder.lock);
    return list;
}

// Markers of queues that are gone hold their queue, and that its context.
static void reap_gone(void) {
    cl_event done[MARKERS_MOST];
    size_t done_count = 0, kept = 0;
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < gone_count; i++) {
        cl_int status = CL_COMPLETE;
        recorder.next.clGetEventInfo(gone[i].event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                     NULL);
        if (status <= CL_COMPLETE)
            done[done_count++] = gone[i].event;
        else
            gone[kept++] = gone[i];
    }
    gone_count = kept;
    pthread_mutex_unlock(&recorder.lock);
    for (size_t i = 0; i < done_count; i++)
        recorder.next.clReleaseEvent(done[i]);
}

void snapshot_reap(void) {
    struct snapshot *list = take_pending(), *next;
    reap_gone();
    for (; list; list = next) {
        next = list->next;
        const int status = look(list);
        if (status <= 0) {
            write_down(list, status);
            continue;
        }
        pthread_mutex_lock(&recorder.lock);
        list->next = pending;
        pending = list;
        pthread_mutex_unlock(&recorder.lock);
    }
}

void snapshot_queue_goes(cl_command_queue queue) {
    cl_event event = put_marker(queue), old = NULL;
    if (!event)
        return;
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(queue, OBJECT_QUEUE);
    // The oldest makes room: by then it is complete, or the program waits for nothing.
    if (gone_count == MARKERS_MOST) {
        old = gone[0].event;
        for (size_t i = 1; i < gone_count; i++)
            gone[i - 1] = gone[i];
        gone_count--;
    }
    gone[gone_count].event = event;
    gone[gone_count++].context = object ? object->context : NULL;
    pthread_mutex_unlock(&recorder.lock);
    if (old)
        recorder.next.clReleaseEvent(old);
}

// ---- at creation

bool snapshot_initial(cl_context context, cl_mem buffer, size_t size, struct payload *payload) {
    cl_device_id devices[64];
    uint8_t *bytes = NULL;
    if (recorder.next.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL))
        return false;
    cl_command_queue queue = recorder.next.clCreateCommandQueue(context, devices[0], 0, NULL);
    bool taken = queue && (bytes = malloc(size ? size : 1)) != NULL &&
                 recorder.next.clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, bytes, 0, NULL, NULL) ==
                     CL_SUCCESS;
    if (taken)
        payload_take(payload, bytes, size);
    if (queue)
        recorder.next.clReleaseCommandQueue(queue);
    free(bytes);
    return taken;
}

// ---- at exit

static int64_t exit_until;

static bool wait_for(const struct snapshot *snapshot, int *status) {
    const struct timespec nap = {.tv_nsec = 200000};
    while ((*status = look(snapshot)) > 0) {
        if (clock_trace_now() > exit_until)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

// One that does not come is left to its queue: its memory may still be written to.
static void conclude(struct snapshot *snapshot) {
    int status;
    if (wait_for(snapshot, &status))
        write_down(snapshot, status);
    else
        write_missing(snapshot->verify, "the program ended before what was enqueued had been executed");
}

struct left {
    struct object **buffers;
    size_t count, capacity;
};

static void add_left(struct object *object, void *context) {
    struct left *left = context;
    if (object->parent || !object->written || object->references <= 0)
        return;
    if (left->count == left->capacity) {
        const size_t capacity = left->capacity ? left->capacity * 2 : 64;
        void *buffers = realloc(left->buffers, capacity * sizeof(struct object *));
        if (!buffers)
            return;
        left->buffers = buffers;
        left->capacity = capacity;
    }
    left->buffers[left->count++] = object;
}

static int by_id(const void *a, const void *b) {
    const struct object *const *left = a, *const *right = b;
    return (*left)->id < (*right)->id ? -1 : 1;
}

// Registered when the first context was made: runs before the exit handlers of the driver.
void snapshot_at_exit(void) {
    struct left left = {0};
    struct snapshot *next;
    if (!recorder_on())
        return;
    exit_until = clock_trace_now() + EXIT_PATIENCE;
    for (struct snapshot *list = take_pending(); list; list = next) {
        next = list->next;
        conclude(list);
    }
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_BUFFER, add_left, &left);
    pthread_mutex_unlock(&recorder.lock);
    if (left.count)
        qsort(left.buffers, left.count, sizeof *left.buffers, by_id);
    for (size_t i = 0; i < left.count; i++) {
        struct snapshot *snapshot = begin(left.buffers[i]);
        if (snapshot)
            conclude(snapshot);
    }
    free(left.buffers);
    record_open(RECORDING_END);
    record_close();
    atomic_store(&recorder.on, false);
}
