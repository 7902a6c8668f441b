// SPDX-License-Identifier: Apache-2.0
// Copies memory before a command uses it: memory that it reads and that is not recorded yet, and memory that recorded
// commands computed and that it overwrites. The first use of memory by a recorded command costs a copy; any other use
// costs a lookup of the object. Rules: recorder.h.
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "recorder.h"

static unsigned how_of(const struct argument *argument, const struct object *target) {
    const bool writes = !argument->constant && !(target->flags & CL_MEM_READ_ONLY);
    return writes ? ACCESS_READS | ACCESS_WRITES : ACCESS_READS;
}

// With the lock held.
static void add_writer(struct object *memory, struct object *queue) {
    enum { MOST = sizeof memory->writers / sizeof *memory->writers };
    for (size_t i = 0; i < memory->writer_count; i++)
        if (memory->writers[i] == queue)
            return;
    if (queue && memory->writer_count < MOST)
        memory->writers[memory->writer_count++] = object_name(queue);
    else
        memory->many_writers = true;
}

// With the lock held. What a launch that is not recorded writes is unknown from now on. False when copies must be made first,
// or waited for: then it goes the long way.
static bool pass_launch(struct access *access, struct object *queue) {
    const struct kernel *kernel = access->kernel->kernel;
    if (kernel->use_count)
        return false;
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct object *target = kernel->arguments[i].target;
        if (target && (object_root(target)->written || object_root(target)->hold))
            return false;
    }
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct object *target = kernel->arguments[i].target;
        if (!target || !(how_of(&kernel->arguments[i], target) & ACCESS_WRITES))
            continue;
        add_writer(object_root(target), queue);
        object_root(target)->known = false;
    }
    if (queue)
        queue->enqueued++;
    return true;
}

static void not_counted(struct object *object, void *context) {
    (void)context;
    buffer_tell(object);
    if (object->kind == OBJECT_QUEUE)
        object->enqueued++; // who knows what is in it
    else
        object->many_writers = true;
}

// With the lock held. What memory holds is not known, and any queue may still be writing it.
static void begin_recording(void) {
    object_each(OBJECT_QUEUE, not_counted, NULL);
    object_each(OBJECT_BUFFER, not_counted, NULL);
    object_each(OBJECT_IMAGE, not_counted, NULL);
    object_each(OBJECT_SHARED, not_counted, NULL);
    file_write_held();
}

void access_begin(struct access *access, cl_command_queue queue, cl_kernel kernel, cl_uint count,
                  const cl_event *waits) {
    // One by one: a compiler clears a whole one with a string instruction, which costs as much as the rest of an idle call.
    access->queue = queue;
    access->count = access->given_count = count;
    access->waits = access->given = waits;
    access->on = recorder_on();
    access->recorded = access->early = access->passed = access->blocking = false;
    access->enqueued = access->inflight = 0;
    access->own = NULL;
    access->held = 0;
    access->kernel = access->whole = NULL;
    access->written_count = 0;
    if (!access->on) {
        snapshot_too_late();
        return;
    }
    if (!recorder_begun() && range_waits(kernel)) {
        access->early = true;
        access->on = false;
        return;
    }
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(queue, OBJECT_QUEUE);
    access->enqueued = object ? object->enqueued : 0;
    access->kernel = object_find(kernel, OBJECT_KERNEL);
    access->recorded = range_takes(object, access->kernel);
    if (access->recorded && !recorder_begun())
        begin_recording();
    access->early = !recorder_begun();
    if (access->kernel && !access->early)
        kernel_settle(access->kernel->kernel);
    access->passed = !access->early && !access->recorded && access->kernel && pass_launch(access, object);
    pthread_mutex_unlock(&recorder.lock);
    access->on = !access->passed && !access->early;
}

void access_blocks(struct access *access, bool blocking) {
    access->blocking = blocking;
    access->inflight = blocking && access->on ? inflight_check() : 0;
}

// The program's list with one more; without memory for it the copy may come too late, and is not believed.
bool access_wait(struct access *access, cl_event event) {
    cl_event *own = realloc(access->own, (access->count + 1u) * sizeof *own);
    if (!own)
        return false;
    for (cl_uint i = 0; !access->own && i < access->count; i++)
        own[i] = access->waits[i];
    own[access->count++] = event;
    access->waits = access->own = own;
    access->held++;
    return true;
}

// The copy of this memory that has not arrived, with a reference; NULL when there is none.
static cl_event take_hold(struct object *memory) {
    cl_event done = NULL, hold;
    cl_int status = CL_COMPLETE;
    pthread_mutex_lock(&recorder.lock);
    hold = memory->hold;
    if (hold)
        recorder.next.clGetEventInfo(hold, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (hold && status <= CL_COMPLETE) {
        done = hold;
        memory->hold = hold = NULL;
    }
    if (hold && recorder.next.clRetainEvent(hold) != CL_SUCCESS)
        hold = NULL;
    pthread_mutex_unlock(&recorder.lock);
    if (done)
        recorder.next.clReleaseEvent(done);
    return hold;
}

bool access_wait_for_copier(const struct object *memory) {
    static const int64_t PATIENCE = 10000000000; // ns
    const struct timespec nap = {.tv_nsec = 50000};
    if (!memory->copier || memory->copier == range_thread())
        return true;
    const int64_t until = clock_trace_now() + PATIENCE;
    while (memory->copier && clock_trace_now() < until) {
        pthread_mutex_unlock(&recorder.lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&recorder.lock);
    }
    return !memory->copier;
}

// The copies that must be made of memory before a command touches it.
static void copy_before(const struct access *access, struct object *memory, unsigned how) {
    const bool fine = memory->kind == OBJECT_SHARED && (memory->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER);
    pthread_mutex_lock(&recorder.lock);
    const bool in_turn = access_wait_for_copier(memory);
    if (memory->ended) {
        pthread_mutex_unlock(&recorder.lock);
        return; // another thread's doing, while we looked at all there is
    }
    const bool content = access->recorded && (!memory->known || fine) && !(how & ACCESS_WHOLE);
    const bool verify = !access->recorded && memory->written && (how & (ACCESS_WRITES | ACCESS_WHOLE));
    memory->known |= content;
    if (verify)
        memory->written = false;
    if (content || verify)
        memory->copier = range_thread();
    pthread_mutex_unlock(&recorder.lock);
    if (!in_turn)
        refuse("threads",
               "the driver refused a copy of memory that one thread's command reads before another thread's "
               "command could change it",
               NULL, 0, NULL);
    if (content)
        snapshot_take(memory, RECORDING_CONTENT, 0);
    if (verify && !fine)
        snapshot_take(memory, RECORDING_VERIFY, 0);
    if (content || verify) {
        pthread_mutex_lock(&recorder.lock);
        memory->copier = 0;
        pthread_mutex_unlock(&recorder.lock);
    }
}

void access_object(struct access *access, struct object *memory, unsigned how) {
    if (!access->on || !memory)
        return;
    memory = object_root(memory);
    if (memory->kind == OBJECT_OPAQUE)
        return;
    copy_before(access, memory, how);
    if (!(how & (ACCESS_WRITES | ACCESS_WHOLE)))
        return;
    if (how & ACCESS_WHOLE)
        access->whole = memory;
    if (access->written_count < sizeof access->written / sizeof *access->written)
        access->written[access->written_count++] = memory;
    cl_event hold = take_hold(memory);
    if (hold)
        markers_flush(access->queue, memory);
    if (hold && !access_wait(access, hold))
        recorder.next.clReleaseEvent(hold);
}

void access_memory(struct access *access, cl_mem memory, unsigned how) {
    if (!access->on)
        return;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    pthread_mutex_unlock(&recorder.lock);
    access_object(access, object, how);
}

unsigned access_writes(const struct access *access, cl_mem buffer, size_t offset, size_t size) {
    if (!access->on || !access->recorded)
        return ACCESS_WRITES;
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(buffer, OBJECT_BUFFER);
    const bool whole = object && !object->parent && offset == 0 && size == object->size;
    pthread_mutex_unlock(&recorder.lock);
    return whole ? ACCESS_WRITES | ACCESS_WHOLE : ACCESS_WRITES;
}

void access_arguments(struct access *access) {
    if (!access->on || !access->kernel)
        return;
    const struct kernel *kernel = access->kernel->kernel;
    for (cl_uint i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].target)
            access_object(access, kernel->arguments[i].target,
                          how_of(&kernel->arguments[i], kernel->arguments[i].target));
    for (size_t i = 0; i < kernel->use_count; i++)
        access_object(access, kernel->uses[i], ACCESS_READS | ACCESS_WRITES);
}

// What the command wrote, one after the other.
static void each_written(struct access *access, void (*each)(struct access *access, struct object *memory)) {
    const struct kernel *kernel = access->kernel ? access->kernel->kernel : NULL;
    for (size_t i = 0; !kernel && i < access->written_count; i++)
        each(access, access->written[i]);
    for (cl_uint i = 0; kernel && i < kernel->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        if (argument->target && (how_of(argument, argument->target) & ACCESS_WRITES))
            each(access, object_root(argument->target));
    }
    for (size_t i = 0; kernel && i < kernel->use_count; i++)
        each(access, object_root(kernel->uses[i]));
}

// With the lock held.
static void note_write(struct access *access, struct object *memory) {
    add_writer(memory, object_find(access->queue, OBJECT_QUEUE));
    memory->written |= access->recorded;
    if (!access->recorded)
        memory->known = false;
    else if (access->whole == memory)
        memory->known = true;
}

bool access_end(struct access *access, cl_int status, const cl_event *event) {
    for (cl_uint i = 0; i < access->held; i++)
        recorder.next.clReleaseEvent(access->own[access->count - 1 - i]);
    free(access->own);
    access->own = NULL;
    inflight_forget(access->inflight);
    if (access->blocking && status == CL_SUCCESS)
        range_waited();
    if (access->passed || access->early)
        object_forget_event(event);
    // Another thread's command was the first of the range before the driver had this one.
    if (access->early && recorder_begun())
        access_everything_unknown();
    if (!access->on || status != CL_SUCCESS)
        return false;
    pthread_mutex_lock(&recorder.lock);
    struct object *queue = object_find(access->queue, OBJECT_QUEUE);
    if (queue)
        queue->enqueued++;
    // So is everything before it, where the queue keeps its order.
    if (queue && access->blocking && !(queue->flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        queue->finished = access->enqueued + 1;
    each_written(access, note_write);
    pthread_mutex_unlock(&recorder.lock);
    if (!access->recorded)
        object_forget_event(event);
    return access->recorded;
}

static void copy_written(struct access *access, struct object *memory) {
    (void)access;
    if (memory->kind != OBJECT_OPAQUE)
        snapshot_take(memory, RECORDING_VERIFY, RECORDING_VERIFY_COMMAND);
}

void access_after(struct access *access) {
    if (recorder_options.hashes)
        each_written(access, copy_written);
}

void access_unknown(cl_command_queue queue, const cl_mem *memory, cl_uint count) {
    pthread_mutex_lock(&recorder.lock);
    for (cl_uint i = 0; i < count; i++) {
        struct object *object = object_find_memory(memory[i]);
        if (!object)
            continue;
        object = object_root(object);
        add_writer(object, object_find(queue, OBJECT_QUEUE));
        object->known = false;
    }
    pthread_mutex_unlock(&recorder.lock);
}

// ---- a command that may write unknown memory

struct everything {
    struct object **memory; // named: another thread may end them meanwhile
    size_t count, capacity;
};

static void add_memory(struct object *object, void *context) {
    struct everything *all = context;
    if (object->parent || object->references <= 0)
        return;
    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? all->capacity * 2 : 64;
        void *memory = realloc(all->memory, capacity * sizeof(struct object *));
        if (!memory) {
            atomic_store(&recorder.on, false); // what it wrote would be taken for known
            return;
        }
        all->memory = memory;
        all->capacity = capacity;
    }
    all->memory[all->count++] = object_name(object);
}

static void drop_everything(struct everything *all) {
    pthread_mutex_lock(&recorder.lock);
    for (size_t i = 0; i < all->count; i++)
        object_drop(all->memory[i]);
    pthread_mutex_unlock(&recorder.lock);
    free(all->memory);
}

static struct everything find_everything(void) {
    struct everything all = {0};
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_BUFFER, add_memory, &all);
    object_each(OBJECT_IMAGE, add_memory, &all);
    object_each(OBJECT_SHARED, add_memory, &all);
    pthread_mutex_unlock(&recorder.lock);
    return all;
}

void access_everything(struct access *access) {
    if (!access->on)
        return;
    struct everything all = find_everything();
    for (size_t i = 0; i < all.count; i++)
        access_object(access, all.memory[i], ACCESS_WRITES);
    drop_everything(&all);
}

static void add_unseen_command(struct object *queue, void *context) {
    (void)context;
    queue->enqueued++;
}

// The queue through which it was written is not known either: no queue counts as idle until the program waits for it again.
void access_everything_unknown(void) {
    struct everything all = find_everything();
    pthread_mutex_lock(&recorder.lock);
    object_each(OBJECT_QUEUE, add_unseen_command, NULL);
    for (size_t i = 0; i < all.count; i++) {
        all.memory[i]->many_writers = true;
        all.memory[i]->known = false;
    }
    pthread_mutex_unlock(&recorder.lock);
    drop_everything(&all);
}
