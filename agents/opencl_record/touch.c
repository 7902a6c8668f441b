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
    return writes ? TOUCH_READS | TOUCH_WRITES : TOUCH_READS;
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
static bool pass_launch(struct touch *touch, struct object *queue) {
    const struct kernel *kernel = touch->kernel->kernel;
    if (kernel->use_count)
        return false;
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct object *target = kernel->arguments[i].target;
        if (target && (object_root(target)->written || object_root(target)->hold))
            return false;
    }
    for (cl_uint i = 0; i < kernel->argument_count; i++) {
        struct object *target = kernel->arguments[i].target;
        if (!target || !(how_of(&kernel->arguments[i], target) & TOUCH_WRITES))
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

void touch_begin(struct touch *touch, cl_command_queue queue, cl_kernel kernel, cl_uint count,
                 const cl_event *waits) {
    // One by one: a compiler clears a whole one with a string instruction, which costs as much as the rest of an idle call.
    touch->queue = queue;
    touch->count = touch->given_count = count;
    touch->waits = touch->given = waits;
    touch->on = recorder_on();
    touch->recorded = touch->early = touch->passed = touch->blocking = false;
    touch->enqueued = touch->inflight = 0;
    touch->own = NULL;
    touch->held = 0;
    touch->kernel = touch->whole = NULL;
    touch->written_count = 0;
    if (!touch->on) {
        snapshot_too_late();
        return;
    }
    if (!recorder_begun() && range_waits(kernel)) {
        touch->early = true;
        touch->on = false;
        return;
    }
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find(queue, OBJECT_QUEUE);
    touch->enqueued = object ? object->enqueued : 0;
    touch->kernel = object_find(kernel, OBJECT_KERNEL);
    touch->recorded = range_takes(object, touch->kernel);
    if (touch->recorded && !recorder_begun())
        begin_recording();
    touch->early = !recorder_begun();
    if (touch->kernel && !touch->early)
        kernel_settle(touch->kernel->kernel);
    touch->passed = !touch->early && !touch->recorded && touch->kernel && pass_launch(touch, object);
    pthread_mutex_unlock(&recorder.lock);
    touch->on = !touch->passed && !touch->early;
}

void touch_blocks(struct touch *touch, bool blocking) {
    touch->blocking = blocking;
    touch->inflight = blocking && touch->on ? inflight_check() : 0;
}

// The program's list with one more; without memory for it the copy may come too late, and is not believed.
bool touch_wait(struct touch *touch, cl_event event) {
    cl_event *own = realloc(touch->own, (touch->count + 1u) * sizeof *own);
    if (!own)
        return false;
    for (cl_uint i = 0; !touch->own && i < touch->count; i++)
        own[i] = touch->waits[i];
    own[touch->count++] = event;
    touch->waits = touch->own = own;
    touch->held++;
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

bool touch_wait_for_copier(const struct object *memory) {
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
static void copy_before(const struct touch *touch, struct object *memory, unsigned how) {
    const bool fine = memory->kind == OBJECT_SHARED && (memory->flags & CL_MEM_SVM_FINE_GRAIN_BUFFER);
    pthread_mutex_lock(&recorder.lock);
    const bool in_turn = touch_wait_for_copier(memory);
    if (memory->ended) {
        pthread_mutex_unlock(&recorder.lock);
        return; // another thread's doing, while we looked at all there is
    }
    const bool content = touch->recorded && (!memory->known || fine) && !(how & TOUCH_WHOLE);
    const bool verify = !touch->recorded && memory->written && (how & (TOUCH_WRITES | TOUCH_WHOLE));
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

void touch_object(struct touch *touch, struct object *memory, unsigned how) {
    if (!touch->on || !memory)
        return;
    memory = object_root(memory);
    if (memory->kind == OBJECT_OPAQUE)
        return;
    copy_before(touch, memory, how);
    if (!(how & (TOUCH_WRITES | TOUCH_WHOLE)))
        return;
    if (how & TOUCH_WHOLE)
        touch->whole = memory;
    if (touch->written_count < sizeof touch->written / sizeof *touch->written)
        touch->written[touch->written_count++] = memory;
    cl_event hold = take_hold(memory);
    if (hold)
        markers_flush(touch->queue, memory);
    if (hold && !touch_wait(touch, hold))
        recorder.next.clReleaseEvent(hold);
}

void touch_memory(struct touch *touch, cl_mem memory, unsigned how) {
    if (!touch->on)
        return;
    pthread_mutex_lock(&recorder.lock);
    struct object *object = object_find_memory(memory);
    pthread_mutex_unlock(&recorder.lock);
    touch_object(touch, object, how);
}

unsigned touch_writes(const struct touch *touch, cl_mem buffer, size_t offset, size_t size) {
    if (!touch->on || !touch->recorded)
        return TOUCH_WRITES;
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(buffer, OBJECT_BUFFER);
    const bool whole = object && !object->parent && offset == 0 && size == object->size;
    pthread_mutex_unlock(&recorder.lock);
    return whole ? TOUCH_WRITES | TOUCH_WHOLE : TOUCH_WRITES;
}

void touch_arguments(struct touch *touch) {
    if (!touch->on || !touch->kernel)
        return;
    const struct kernel *kernel = touch->kernel->kernel;
    for (cl_uint i = 0; i < kernel->argument_count; i++)
        if (kernel->arguments[i].target)
            touch_object(touch, kernel->arguments[i].target,
                         how_of(&kernel->arguments[i], kernel->arguments[i].target));
    for (size_t i = 0; i < kernel->use_count; i++)
        touch_object(touch, kernel->uses[i], TOUCH_READS | TOUCH_WRITES);
}

// What the command wrote, one after the other.
static void each_written(struct touch *touch, void (*each)(struct touch *touch, struct object *memory)) {
    const struct kernel *kernel = touch->kernel ? touch->kernel->kernel : NULL;
    for (size_t i = 0; !kernel && i < touch->written_count; i++)
        each(touch, touch->written[i]);
    for (cl_uint i = 0; kernel && i < kernel->argument_count; i++) {
        const struct argument *argument = &kernel->arguments[i];
        if (argument->target && (how_of(argument, argument->target) & TOUCH_WRITES))
            each(touch, object_root(argument->target));
    }
    for (size_t i = 0; kernel && i < kernel->use_count; i++)
        each(touch, object_root(kernel->uses[i]));
}

// With the lock held.
static void note_write(struct touch *touch, struct object *memory) {
    add_writer(memory, object_find(touch->queue, OBJECT_QUEUE));
    memory->written |= touch->recorded;
    if (!touch->recorded)
        memory->known = false;
    else if (touch->whole == memory)
        memory->known = true;
}

bool touch_end(struct touch *touch, cl_int status, const cl_event *event) {
    for (cl_uint i = 0; i < touch->held; i++)
        recorder.next.clReleaseEvent(touch->own[touch->count - 1 - i]);
    free(touch->own);
    touch->own = NULL;
    inflight_forget(touch->inflight);
    if (touch->passed || touch->early)
        object_forget_event(event);
    // Another thread's command was the first of the range before the driver had this one.
    if (touch->early && recorder_begun())
        touch_everything_unknown();
    if (!touch->on || status != CL_SUCCESS)
        return false;
    pthread_mutex_lock(&recorder.lock);
    struct object *queue = object_find(touch->queue, OBJECT_QUEUE);
    if (queue)
        queue->enqueued++;
    // So is everything before it, where the queue keeps its order.
    if (queue && touch->blocking && !(queue->flags & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
        queue->finished = touch->enqueued + 1;
    each_written(touch, note_write);
    pthread_mutex_unlock(&recorder.lock);
    if (!touch->recorded)
        object_forget_event(event);
    return touch->recorded;
}

static void copy_written(struct touch *touch, struct object *memory) {
    (void)touch;
    if (memory->kind != OBJECT_OPAQUE)
        snapshot_take(memory, RECORDING_VERIFY, RECORDING_VERIFY_COMMAND);
}

void touch_after(struct touch *touch) {
    if (recorder_options.hashes)
        each_written(touch, copy_written);
}

void touch_unknown(cl_command_queue queue, const cl_mem *memory, cl_uint count) {
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

void touch_everything(struct touch *touch) {
    if (!touch->on)
        return;
    struct everything all = find_everything();
    for (size_t i = 0; i < all.count; i++)
        touch_object(touch, all.memory[i], TOUCH_WRITES);
    drop_everything(&all);
}

static void add_unseen_command(struct object *queue, void *context) {
    (void)context;
    queue->enqueued++;
}

// The queue through which it was written is not known either: no queue counts as idle until the program waits for it again.
void touch_everything_unknown(void) {
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
