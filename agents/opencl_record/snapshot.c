// SPDX-License-Identifier: Apache-2.0
// Copies the content of memory after all enqueued commands: read through a queue of ours (copy_queue.c) that waits
// for a marker in each of the program's queues that may still be writing it (markers.c). No thread is blocked by it:
// commands that write the memory wait for the copy on the device (access.c), and the copy is recorded by a later call,
// or at exit. Rules: recorder.h.
#include <stdlib.h>
#include <time.h>

#include "agentkit/thread.h"
#include "base/clock.h"
#include "recorder.h"

static const int64_t EXIT_PATIENCE = 10000000000; // ns, for all together

struct snapshot {
    struct snapshot *next;
    uint64_t verify;
    bool hashes; // are enough
    struct copy_queue *through;
    cl_command_queue queue; // the same
    cl_event done;
    cl_mem staging; // of what the host may not read
    size_t size;
    uint8_t *bytes;
};

static struct snapshot *pending; // under recorder.lock

static atomic_bool outstanding; // there are some, or markers; written under recorder.lock

void snapshot_after_fork(void) {
    pending = NULL;
    atomic_store(&outstanding, false);
    markers_after_fork();
    copy_queues_after_fork();
}

static void release_read(struct snapshot *snapshot) {
    if (snapshot->done)
        recorder.next.clReleaseEvent(snapshot->done);
    if (snapshot->staging)
        recorder.next.clReleaseMemObject(snapshot->staging);
    copy_queue_drop(snapshot->through);
    free(snapshot->bytes);
    free(snapshot);
}

static void write_missing(uint64_t verify, const char *why) {
    struct recording_writer *writer = record_open(RECORDING_STATE);
    recording_put(writer, RECORDING_KEY_VERIFY, verify);
    recording_put_text(writer, RECORDING_KEY_TEXT, why);
    record_close();
}

// The result of the read: 1 while it is in progress.
static int read_status(const struct snapshot *snapshot) {
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
        if (snapshot->hashes)
            payload_hash(&payload, snapshot->bytes, snapshot->size);
        else
            payload_take(&payload, snapshot->bytes, snapshot->size);
        struct recording_writer *writer = record_open(RECORDING_STATE);
        recording_put(writer, RECORDING_KEY_VERIFY, snapshot->verify);
        if (snapshot->hashes)
            recording_put(writer, RECORDING_KEY_FLAGS, RECORDING_STATE_HASHES);
        payload_put(writer, &payload);
        record_close();
    }
    release_read(snapshot);
}

static uint64_t write_place(const struct object *memory, enum recording_type type, uint64_t flags) {
    struct recording_writer *writer = record_open(type);
    const uint64_t verify = ++recorder.last_id;
    recording_put(writer, RECORDING_KEY_VERIFY, verify);
    recording_put(writer, RECORDING_KEY_OBJECT, memory->id);
    recording_put(writer, RECORDING_KEY_SIZE, memory->size);
    if (flags)
        recording_put(writer, RECORDING_KEY_FLAGS, flags);
    record_close();
    return verify;
}

// The host may not read it: a buffer of ours may be read, and the device copies.
static cl_int read_staged(struct snapshot *snapshot, cl_context context, cl_mem buffer, cl_uint count,
                          const cl_event *waits) {
    cl_int status;
    cl_event copied = NULL;
    snapshot->staging =
        recorder.next.clCreateBuffer(context, CL_MEM_READ_WRITE, snapshot->size, NULL, &status);
    if (!snapshot->staging)
        return status;
    status = recorder.next.clEnqueueCopyBuffer(snapshot->queue, buffer, snapshot->staging, 0, 0,
                                               snapshot->size, count, waits, &copied);
    if (status != CL_SUCCESS)
        return status;
    status = recorder.next.clEnqueueReadBuffer(snapshot->queue, snapshot->staging, CL_FALSE, 0,
                                               snapshot->size, snapshot->bytes, 1, &copied, &snapshot->done);
    recorder.next.clReleaseEvent(copied);
    return status;
}

static cl_int read_memory(struct snapshot *snapshot, const struct object *memory, cl_uint count,
                          const cl_event *waits) {
    cl_mem handle = (cl_mem)(uintptr_t)memory->handle;
    size_t origin[RECORDING_DIMENSIONS] = {0}, region[RECORDING_DIMENSIONS];
    if (memory->kind == OBJECT_SHARED)
        return recorder.next.clEnqueueSVMMemcpy(snapshot->queue, CL_FALSE, snapshot->bytes, memory->handle,
                                                memory->size, count, waits, &snapshot->done);
    if (memory->kind == OBJECT_IMAGE) {
        image_region(memory->image, region);
        return recorder.next.clEnqueueReadImage(snapshot->queue, handle, CL_FALSE, origin, region, 0, 0,
                                                snapshot->bytes, count, waits, &snapshot->done);
    }
    if (memory->flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY))
        return read_staged(snapshot, (cl_context)(uintptr_t)memory->context->handle, handle, count, waits);
    return recorder.next.clEnqueueReadBuffer(snapshot->queue, handle, CL_FALSE, 0, memory->size,
                                             snapshot->bytes, count, waits, &snapshot->done);
}

// NULL, or why there is no copy.
static const char *start(struct snapshot *snapshot, const struct object *memory) {
    struct markers markers = {.memory = memory};
    if (!memory->context)
        return "its context was not seen being created";
    if (memory->kind == OBJECT_IMAGE && (memory->flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_WRITE_ONLY)))
        return "the program created it so that the host may not read it";
    snapshot->size = memory->size;
    snapshot->bytes = malloc(memory->size ? memory->size : 1);
    if (!snapshot->bytes)
        return "out of memory while copying it";
    snapshot->through = copy_queue_take(memory->context, &snapshot->queue);
    if (!snapshot->through)
        return memory->context->references > 0 ? "the driver created no queue to copy it with"
                                               : "the program had released its context";
    markers_make(&markers);
    if (markers.event_count) {
        pthread_mutex_lock(&recorder.lock);
        atomic_store(&outstanding, true);
        pthread_mutex_unlock(&recorder.lock);
    }
    cl_int status = CL_OUT_OF_RESOURCES;
    if (!markers.too_many)
        status = read_memory(snapshot, memory, (cl_uint)markers.event_count,
                             markers.event_count ? markers.events : NULL);
    markers_drop(&markers);
    if (status != CL_SUCCESS || !snapshot->done)
        return "the driver refused to copy it";
    recorder.next.clFlush(snapshot->queue);
    return NULL;
}

// Makes one that is on its way; NULL after writing down why there is none.
static struct snapshot *begin(const struct object *memory, enum recording_type type, uint64_t flags) {
    const uint64_t verify = write_place(memory, type, flags);
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    const char *why = snapshot ? start(snapshot, memory) : "out of memory while copying it";
    if (!why) {
        snapshot->verify = verify;
        snapshot->hashes = flags & RECORDING_VERIFY_COMMAND;
        return snapshot;
    }
    write_missing(verify, why);
    if (snapshot)
        release_read(snapshot);
    return NULL;
}

// Whether nothing that may have written it can still run: then its copy waits for nothing, and may be waited for.
static bool is_idle(const struct object *memory) {
    pthread_mutex_lock(&recorder.lock);
    bool idle = !memory->many_writers;
    for (size_t i = 0; i < memory->writer_count; i++)
        idle = idle && memory->writers[i]->enqueued == memory->writers[i]->finished;
    pthread_mutex_unlock(&recorder.lock);
    return idle;
}

void snapshot_take(struct object *memory, enum recording_type type, uint64_t flags) {
    const bool idle = is_idle(memory);
    struct snapshot *snapshot = begin(memory, type, flags);
    if (!snapshot)
        return;
    if (idle)
        recorder.next.clWaitForEvents(1, &snapshot->done);
    if (read_status(snapshot) <= 0) {
        write_down(snapshot, read_status(snapshot));
        return;
    }
    recorder.next.clRetainEvent(snapshot->done);
    pthread_mutex_lock(&recorder.lock);
    cl_event before = memory->hold;
    memory->hold = snapshot->done;
    snapshot->next = pending;
    pending = snapshot;
    atomic_store(&outstanding, true);
    pthread_mutex_unlock(&recorder.lock);
    if (before)
        recorder.next.clReleaseEvent(before);
}

static struct snapshot *take_pending(void) {
    pthread_mutex_lock(&recorder.lock);
    struct snapshot *list = pending;
    pending = NULL;
    pthread_mutex_unlock(&recorder.lock);
    return list;
}

void snapshot_reap(void) {
    if (!atomic_load_explicit(&outstanding, memory_order_acquire))
        return;
    struct snapshot *list = take_pending(), *next;
    markers_reap();
    pthread_mutex_lock(&recorder.lock);
    atomic_store(&outstanding, markers_any()); // and if a copy is put back
    pthread_mutex_unlock(&recorder.lock);
    for (; list; list = next) {
        next = list->next;
        const int status = read_status(list);
        if (status <= 0) {
            write_down(list, status);
            continue;
        }
        pthread_mutex_lock(&recorder.lock);
        list->next = pending;
        pending = list;
        atomic_store(&outstanding, true);
        pthread_mutex_unlock(&recorder.lock);
    }
}

// Its context is not held longer than the program holds it, where the program has waited for all that is in it.
void snapshot_queue_goes(cl_command_queue queue) {
    markers_queue_goes(queue);
    pthread_mutex_lock(&recorder.lock);
    if (markers_any())
        atomic_store(&outstanding, true);
    pthread_mutex_unlock(&recorder.lock);
}

// ---- at exit

static int64_t exit_until;
static atomic_bool concluded; // and nothing came since

static bool wait_for(const struct snapshot *snapshot, int *status) {
    const struct timespec nap = {.tv_nsec = 200000};
    while ((*status = read_status(snapshot)) > 0) {
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
        write_missing(snapshot->verify, "the program ended before the enqueued commands were executed");
}

struct left {
    struct object **buffers; // and other memory
    size_t count, capacity;
};

static void add_left(struct object *object, void *context) {
    struct left *left = context;
    if (object->parent || !object->written || object->references <= 0 ||
        (object->kind == OBJECT_SHARED && (object->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)))
        return; // the host may have changed fine-grained memory since
    if (left->count == left->capacity) {
        const size_t capacity = left->capacity ? left->capacity * 2 : 64;
        void *buffers = realloc(left->buffers, capacity * sizeof(struct object *));
        if (!buffers)
            return;
        left->buffers = buffers;
        left->capacity = capacity;
    }
    object->copier = range_thread(); // other threads still run, and may release it
    left->buffers[left->count++] = object;
}

static int by_id(const void *a, const void *b) {
    const struct object *const *left = a, *const *right = b;
    return (*left)->id < (*right)->id ? -1 : 1;
}

// Copies what the program left in memory, on a thread of its own.
static void copy_left(void) {
    struct left left = {0};
    struct snapshot *next;
    exit_until = clock_trace_now() + EXIT_PATIENCE;
    markers_flush(NULL, NULL); // the program sends nothing any more
    for (struct snapshot *list = take_pending(); list; list = next) {
        next = list->next;
        conclude(list);
    }
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_BUFFER, add_left, &left);
    object_each(OBJECT_IMAGE, add_left, &left);
    object_each(OBJECT_SHARED, add_left, &left);
    pthread_mutex_unlock(&recorder.lock);
    if (left.count)
        qsort(left.buffers, left.count, sizeof *left.buffers, by_id);
    for (size_t i = 0; i < left.count; i++) {
        struct snapshot *snapshot = begin(left.buffers[i], RECORDING_VERIFY, 0);
        pthread_mutex_lock(&recorder.lock);
        left.buffers[i]->copier = 0;
        pthread_mutex_unlock(&recorder.lock);
        markers_flush(NULL, NULL);
        if (snapshot)
            conclude(snapshot);
    }
    free(left.buffers);
}

static void give_up_pending(void) {
    struct snapshot *next;
    for (struct snapshot *list = take_pending(); list; list = next) {
        next = list->next;
        write_missing(list->verify, "no thread could be created to copy it when the program ended");
    }
}

// Registered when the first context was made: runs before the exit handlers of the driver.
void snapshot_at_exit(void) {
    if (!recorder_on())
        return;
    if (!agent_thread_run(copy_left))
        give_up_pending();
    record_open(RECORDING_END);
    record_close();
    pthread_mutex_lock(&recorder.lock);
    file_write_held();
    pthread_mutex_unlock(&recorder.lock);
    atomic_store(&concluded, recorder_on());
    atomic_store(&recorder.on, false);
}

// An exit handler of the program's that was registered before its first context runs after ours.
void snapshot_too_late(void) {
    if (!atomic_load_explicit(&concluded, memory_order_relaxed) || !atomic_exchange(&concluded, false))
        return;
    struct recording_writer *writer = record_open(RECORDING_REFUSED);
    recording_put_text(writer, RECORDING_KEY_NAME, "exit handlers");
    recording_put_text(writer, RECORDING_KEY_TEXT,
                       "commands that the program enqueued at exit, after its recording ended");
    recorder.last_word = true;
    record_close();
}
