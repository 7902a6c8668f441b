// SPDX-License-Identifier: Apache-2.0
// The queues of ours through which memory is copied. Rules: recorder.h.
//
// A context gets one when it is made, before the program has its handle, and not one for each copy: Intel's CPU
// runtime creates none in a context that the program has released, and queues are not cheap. The queue keeps no order
// of its own: a copy that waits for the program must not delay one that a thread waits for. Where the driver has only
// queues that keep an order, each copy on its way has a queue to itself, and one that has arrived leaves its queue to
// the next: such a driver is asked for another queue when all of a context are taken.
//
// A queue holds its context. The context must end when it would end without us, so ours are released before the
// driver gets the call by which the program lets go of the last of these: its references to the context, its memory
// objects and its queues in that context. Each of them holds the context itself, so until the last is gone ours make
// no difference. Programs, kernels, samplers and events hold it as well, but then nothing is left to copy. Shared
// virtual memory holds no context: what of it has not been freed by then is not copied any more. A copy on its way
// keeps its queue until it has arrived.
//
// When recording is over, the program's next release gives all of them back. Not the exit handler: on Mesa 22.3 a
// kernel may still be compiled then, and the end of a queue in another thread would crash it.
//
// A forked child leaves the queues of its parent alone: their threads do not exist there.
#include <stdlib.h>

#include "recorder.h"

// All under recorder.lock.
struct copy_queue {
    struct copy_queue *next; // of the same context, or of those that are to be released
    cl_command_queue queue;
    cl_device_id device;
    bool keeps_order;
    uint32_t uses;      // by its context, and by copies on their way
    cl_uint references; // that it adds to CL_CONTEXT_REFERENCE_COUNT
};

static struct copy_queue *leaving;
static atomic_bool any, any_leaving;

void copy_queues_after_fork(void) {
    leaving = NULL;
    atomic_store(&any, false);
    atomic_store(&any_leaving, false);
}

static cl_uint references_of(cl_context context) {
    cl_uint count = 0;
    recorder.next.clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL);
    return count;
}

struct copy_queue *copy_queue_make(cl_context context, cl_device_id device) {
    cl_command_queue_properties can = 0;
    struct copy_queue *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    recorder.next.clGetDeviceInfo(device, CL_DEVICE_QUEUE_PROPERTIES, sizeof can, &can, NULL);
    can &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    const cl_uint before = references_of(context);
    made->queue = recorder.next.clCreateCommandQueue(context, device, can, NULL);
    if (!made->queue) {
        free(made);
        return NULL;
    }
    const cl_uint after = references_of(context);
    made->references = after > before ? after - before : 0;
    made->device = device;
    made->keeps_order = !can;
    made->uses = 1;
    atomic_store(&any, true);
    return made;
}

void copy_queue_drop(struct copy_queue *queue) {
    if (!queue)
        return;
    pthread_mutex_lock(&recorder.lock);
    const bool last = --queue->uses == 0;
    pthread_mutex_unlock(&recorder.lock);
    if (!last)
        return;
    recorder.next.clReleaseCommandQueue(queue->queue);
    free(queue);
}

// With the lock held: one that takes a copy now.
static struct copy_queue *find_free(const struct object *context) {
    struct copy_queue *queue = context->copy_queues;
    while (queue && queue->keeps_order && queue->uses > 1)
        queue = queue->next;
    if (queue)
        queue->uses++;
    return queue;
}

struct copy_queue *copy_queue_take(struct object *context, cl_command_queue *queue) {
    pthread_mutex_lock(&recorder.lock);
    struct copy_queue *taken = find_free(context), *first = context->copy_queues;
    cl_device_id device = first ? first->device : NULL;
    const cl_uint references = first ? first->references : 0;
    pthread_mutex_unlock(&recorder.lock);
    if (!taken && first) {
        taken = copy_queue_make((cl_context)(uintptr_t)context->handle, device);
        pthread_mutex_lock(&recorder.lock);
        if (taken)
            taken->references =
                references; // other threads make and release objects while this one is counted
        // The program may have let go of the context meanwhile: then only this copy has the queue.
        if (taken && context->copy_queues) {
            taken->uses++;
            taken->next = context->copy_queues->next;
            context->copy_queues->next = taken;
        }
        pthread_mutex_unlock(&recorder.lock);
    }
    *queue = taken ? taken->queue : NULL;
    return taken;
}

void copy_queues_leave(struct object *context) {
    struct copy_queue **end = &context->copy_queues;
    if (!*end)
        return;
    while (*end)
        end = &(*end)->next;
    *end = leaving;
    leaving = context->copy_queues;
    context->copy_queues = NULL;
    atomic_store(&any_leaving, true);
}

static void leave(struct object *context, void *unused) {
    (void)unused;
    copy_queues_leave(context);
}

void copy_queues_release(void) {
    const bool over = !recorder_on() && atomic_load_explicit(&any, memory_order_relaxed);
    if (!over && !atomic_load_explicit(&any_leaving, memory_order_relaxed))
        return;
    pthread_mutex_lock(&recorder.lock);
    if (over) {
        object_each(OBJECT_CONTEXT, leave, NULL);
        atomic_store(&any, false);
    }
    struct copy_queue *list = leaving, *next;
    leaving = NULL;
    atomic_store(&any_leaving, false);
    pthread_mutex_unlock(&recorder.lock);
    for (; list; list = next) {
        next = list->next;
        copy_queue_drop(list);
    }
}

cl_uint copy_queue_references(cl_context context) {
    cl_uint count = 0;
    pthread_mutex_lock(&recorder.lock);
    const struct object *object = object_find(context, OBJECT_CONTEXT);
    for (const struct copy_queue *queue = object ? object->copy_queues : NULL; queue; queue = queue->next)
        count += queue->references;
    pthread_mutex_unlock(&recorder.lock);
    return count;
}
