// SPDX-License-Identifier: Apache-2.0
// Handles the callbacks of the loader's tracing layer; handlers.h says when they are called. Rules: agent.h.
#include "handlers.h"

#include <string.h>
#include <sys/mman.h>

#include "commands.h"
#include "events.h"
#include "record.h"

static bool is_recorded(const struct frame *frame) {
    return frame->start != 0;
}

// The handle of an object that the call has made, if it has: where it is written is the last argument but `after`.
static void *created_handle(void **arguments, uint32_t index, int result) {
    void **out = ARGUMENT(arguments, void **, index);
    return result == ZERO_SUCCESS && out ? *out : NULL;
}

static void forget_enter(struct frame *frame, void **arguments) {
    static const enum object_kind kinds[] = {OBJECT_FENCE, OBJECT_KERNEL, OBJECT_POOL};
    (void)frame;
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct object *object = object_find(kinds[i], ARGUMENT(arguments, void *, 0));
        if (object)
            object_remove(object);
    }
}

// ---- commands of lists

static void list_enter(struct frame *frame, void **arguments) {
    frame->list = object_find(OBJECT_LIST, ARGUMENT(arguments, void *, 0));
    frame->track = frame->list ? frame->list->list.track : 0;
}

static void append_enter(struct frame *frame, void **arguments) {
    list_enter(frame, arguments);
    // Of another list the commands are followed from the moment that it is filled, whether they are recorded then or not.
    if (is_recorded(frame) || (frame->list && !frame->list->list.immediate))
        command_prepare(frame, arguments[call_rows[frame->function].signal]);
}

static void command_ended(struct frame *frame, struct command *command, int result) {
    if (!is_recorded(frame) && (!frame->list || frame->list->list.immediate))
        return;
    if (result == ZERO_SUCCESS && (!frame->list || frame->list->list.immediate))
        frame->correlation = agent_correlation();
    command_appended(frame, command, result == ZERO_SUCCESS);
}

static void kernel_append(struct frame *frame, void **arguments, int result,
                          const struct zero_groups *groups) {
    struct command command = {.class = CLASS_KERNEL, .operation = TSMITH_OPERATION_NDRANGE};
    const struct object *kernel = object_find(OBJECT_KERNEL, ARGUMENT(arguments, void *, 1));
    if (kernel) {
        command.name = kernel->kernel.name;
        memcpy(command.local, kernel->kernel.local, sizeof command.local);
    }
    for (int i = 0; groups && i < 3; i++)
        command.global[i] = (uint64_t)groups->count[i] * command.local[i];
    command_ended(frame, &command, result);
}

static void launch_leave(struct frame *frame, void **arguments, int result) {
    kernel_append(frame, arguments, result, ARGUMENT(arguments, const struct zero_groups *, 2));
}

// The number of groups is in memory, and is read by the device.
static void indirect_leave(struct frame *frame, void **arguments, int result) {
    kernel_append(frame, arguments, result, NULL);
}

// So is how many kernels run: they have no events in the trace.
static void multiple_leave(struct frame *frame, void **arguments, int result) {
    (void)arguments;
    if (result == ZERO_SUCCESS && is_recorded(frame))
        channel_lose(agent.channel, TSMITH_REASON_UNTRACED, 1);
}

static bool is_on_device(const struct frame *frame, const void *at) {
    struct zero_memory_properties properties = {.stype = ZERO_MEMORY_PROPERTIES};
    const struct object *memory = object_find(OBJECT_MEMORY, at);
    if (memory)
        return memory->memory.operation == TSMITH_OPERATION_BUFFER;
    if (!frame->list || !frame->list->list.context)
        return false;
    agent_thread.busy++;
    const int result =
        zero.zeMemGetAllocProperties(frame->list->list.context->handle.key, at, &properties, NULL);
    agent_thread.busy--;
    return result == ZERO_SUCCESS && properties.type == ZERO_MEMORY_DEVICE;
}

static void copy_append(struct frame *frame, const void *to, const void *from, uint64_t bytes, int result) {
    struct command command = {.class = CLASS_COPY, .has_bytes = true, .bytes = bytes};
    const bool to_device = is_on_device(frame, to), from_device = is_on_device(frame, from);
    command.operation = to_device == from_device ? TSMITH_OPERATION_COPY
                        : to_device              ? TSMITH_OPERATION_WRITE
                                                 : TSMITH_OPERATION_READ;
    command.direction =
        to_device     ? from_device ? TSMITH_DIRECTION_DEVICE_TO_DEVICE : TSMITH_DIRECTION_HOST_TO_DEVICE
        : from_device ? TSMITH_DIRECTION_DEVICE_TO_HOST
                      : TSMITH_DIRECTION_HOST_TO_HOST;
    command_ended(frame, &command, result);
}

static void copy_leave(struct frame *frame, void **arguments, int result) {
    copy_append(frame, ARGUMENT(arguments, const void *, 1), ARGUMENT(arguments, const void *, 2),
                ARGUMENT(arguments, size_t, 3), result);
}

static void context_copy_leave(struct frame *frame, void **arguments, int result) {
    copy_append(frame, ARGUMENT(arguments, const void *, 1), ARGUMENT(arguments, const void *, 3),
                ARGUMENT(arguments, size_t, 4), result);
}

static void region_leave(struct frame *frame, void **arguments, int result) {
    const struct zero_region *region = ARGUMENT(arguments, const struct zero_region *, 2);
    const uint64_t bytes =
        region ? (uint64_t)region->width * region->height * (region->depth ? region->depth : 1) : 0;
    copy_append(frame, ARGUMENT(arguments, const void *, 1), ARGUMENT(arguments, const void *, 5), bytes,
                result);
}

static void fill_leave(struct frame *frame, void **arguments, int result) {
    struct command command = {.class = CLASS_FILL,
                              .operation = TSMITH_OPERATION_FILL,
                              .has_bytes = true,
                              .bytes = ARGUMENT(arguments, size_t, 4)};
    command_ended(frame, &command, result);
}

// The size of an image's element is not known: no bytes.
static void image_append(struct frame *frame, tsmith_operation operation, tsmith_direction direction,
                         int result) {
    struct command command = {
        .class = CLASS_COPY, .operation = (uint8_t)operation, .direction = (uint8_t)direction};
    command_ended(frame, &command, result);
}

static void image_leave(struct frame *frame, void **arguments, int result) {
    (void)arguments;
    image_append(frame, TSMITH_OPERATION_COPY_IMAGE, TSMITH_DIRECTION_DEVICE_TO_DEVICE, result);
}

static void image_read_leave(struct frame *frame, void **arguments, int result) {
    (void)arguments;
    image_append(frame, TSMITH_OPERATION_READ_IMAGE, TSMITH_DIRECTION_NONE, result);
}

static void image_write_leave(struct frame *frame, void **arguments, int result) {
    (void)arguments;
    image_append(frame, TSMITH_OPERATION_WRITE_IMAGE, TSMITH_DIRECTION_NONE, result);
}

// ---- lists and queues

static struct object *list_create(void **arguments, int result) {
    void *handle = created_handle(arguments, 3, result);
    struct object *list = handle ? object_add(OBJECT_LIST, handle) : NULL;
    if (!list)
        return NULL;
    list->list.context = object_context(ARGUMENT(arguments, void *, 0));
    list->list.device = object_device(ARGUMENT(arguments, void *, 1));
    return list;
}

static void list_create_leave(struct frame *frame, void **arguments, int result) {
    (void)frame;
    list_create(arguments, result);
}

static void immediate_create_leave(struct frame *frame, void **arguments, int result) {
    struct object *list = list_create(arguments, result);
    if (!list)
        return;
    list->list.immediate = true;
    list->list.track = record_queue_track(list, "immediate list", list->list.device, list->list.context);
    frame->track = list->list.track;
}

static void list_reset_enter(struct frame *frame, void **arguments) {
    list_enter(frame, arguments);
    if (frame->list)
        list_clear(frame->list);
}

static void list_destroy_enter(struct frame *frame, void **arguments) {
    list_reset_enter(frame, arguments);
    if (!frame->list)
        return;
    struct list *list = &frame->list->list;
    if (list->commands)
        munmap(list->commands, list->capacity * sizeof *list->commands);
    object_remove(frame->list);
}

static void queue_create_leave(struct frame *frame, void **arguments, int result) {
    void *handle = created_handle(arguments, 3, result);
    struct object *queue = handle ? object_add(OBJECT_QUEUE, handle) : NULL;
    if (!queue)
        return;
    queue->queue.device = object_device(ARGUMENT(arguments, void *, 1));
    queue->queue.track = record_queue_track(queue, "queue", queue->queue.device,
                                            object_context(ARGUMENT(arguments, void *, 0)));
    frame->track = queue->queue.track;
}

static struct object *queue_find(struct frame *frame, void **arguments) {
    struct object *queue = object_find(OBJECT_QUEUE, ARGUMENT(arguments, void *, 0));
    frame->track = queue ? queue->queue.track : 0;
    return queue;
}

static void queue_destroy_enter(struct frame *frame, void **arguments) {
    struct object *queue = queue_find(frame, arguments);
    if (!queue)
        return;
    pending_reap_all(true);
    object_remove(queue);
}

static void execute_enter(struct frame *frame, void **arguments) {
    struct object *queue = queue_find(frame, arguments);
    void *const *lists = ARGUMENT(arguments, void *const *, 2);
    for (uint32_t i = 0; queue && lists && i < ARGUMENT(arguments, uint32_t, 1); i++) {
        struct object *list = object_find(OBJECT_LIST, lists[i]);
        if (list)
            list_prepare(list);
    }
}

static void execute_leave(struct frame *frame, void **arguments, int result) {
    struct object *queue = queue_find(frame, arguments);
    void *const *lists = ARGUMENT(arguments, void *const *, 2);
    struct object *fence = object_find(OBJECT_FENCE, ARGUMENT(arguments, void *, 3));
    if (!queue || !lists || result != ZERO_SUCCESS)
        return;
    frame->submission = atomic_fetch_add(&queue->queue.submitted, 1) + 1;
    if (fence)
        atomic_store(&fence->fence.submission, frame->submission);
    if (is_recorded(frame))
        frame->correlation = agent_correlation();
    for (uint32_t i = 0; i < ARGUMENT(arguments, uint32_t, 1); i++) {
        struct object *list = object_find(OBJECT_LIST, lists[i]);
        if (list)
            list_executed(list, queue, frame);
    }
}

// ---- waiting

// A wait of 0 ns only asks.
static void wait_ended(const struct frame *frame, tsmith_operation operation, uint64_t timeout) {
    if (is_recorded(frame) && timeout)
        record_wait(frame, operation);
    pending_reap_own();
}

static void queue_completed(struct object *queue, uint64_t submission) {
    uint64_t known = atomic_load(&queue->queue.completed);
    while (known < submission && !atomic_compare_exchange_weak(&queue->queue.completed, &known, submission))
        ;
}

static void queue_wait_enter(struct frame *frame, void **arguments) {
    struct object *queue = queue_find(frame, arguments);
    frame->submission = queue ? atomic_load(&queue->queue.submitted) : 0;
}

static void queue_wait_leave(struct frame *frame, void **arguments, int result) {
    struct object *queue = queue_find(frame, arguments);
    if (queue && result == ZERO_SUCCESS)
        queue_completed(queue, frame->submission);
    wait_ended(frame, TSMITH_OPERATION_FINISH, ARGUMENT(arguments, uint64_t, 1));
}

static void list_wait_leave(struct frame *frame, void **arguments, int result) {
    (void)result;
    wait_ended(frame, TSMITH_OPERATION_FINISH, ARGUMENT(arguments, uint64_t, 1));
}

static void fence_create_leave(struct frame *frame, void **arguments, int result) {
    void *handle = created_handle(arguments, 2, result);
    struct object *fence = handle ? object_add(OBJECT_FENCE, handle) : NULL;
    if (fence)
        fence->fence.queue = queue_find(frame, arguments);
}

static void fence_wait_leave(struct frame *frame, void **arguments, int result) {
    const struct object *fence = object_find(OBJECT_FENCE, ARGUMENT(arguments, void *, 0));
    if (fence && fence->fence.queue && fence->fence.queue->handle.kind == OBJECT_QUEUE) {
        frame->track = fence->fence.queue->queue.track;
        if (result == ZERO_SUCCESS)
            queue_completed(fence->fence.queue, atomic_load(&fence->fence.submission));
    }
    wait_ended(frame, TSMITH_OPERATION_WAIT, ARGUMENT(arguments, uint64_t, 1));
}

static void event_wait_leave(struct frame *frame, void **arguments, int result) {
    (void)result;
    wait_ended(frame, TSMITH_OPERATION_WAIT, ARGUMENT(arguments, uint64_t, 1));
}

// ---- events of the program

// Pools get the flag for timestamps, unless it cannot be combined with what the program asked for.
static void pool_create_enter(struct frame *frame, void **arguments) {
    const struct zero_event_pool_desc *desc = ARGUMENT(arguments, const struct zero_event_pool_desc *, 1);
    const bool is_plain = desc && !desc->next && !(desc->flags & ~(uint32_t)ZERO_POOL_KNOWN) &&
                          !(desc->flags & (ZERO_POOL_IPC | ZERO_POOL_TIMESTAMP));
    if (!is_plain || agent_option("level-zero", "program-events"))
        return;
    frame->pool = *desc;
    frame->pool.flags |= ZERO_POOL_TIMESTAMP;
    ARGUMENT(arguments, const struct zero_event_pool_desc *, 1) = &frame->pool;
}

static void pool_create_leave(struct frame *frame, void **arguments, int result) {
    const struct zero_event_pool_desc *desc = ARGUMENT(arguments, const struct zero_event_pool_desc *, 1);
    void *handle = created_handle(arguments, 4, result);
    struct object *pool = handle ? object_add(OBJECT_POOL, handle) : NULL;
    (void)frame;
    if (pool)
        pool->pool.has_times = desc && desc->flags & ZERO_POOL_TIMESTAMP;
}

static void event_create_leave(struct frame *frame, void **arguments, int result) {
    const struct object *pool = object_find(OBJECT_POOL, ARGUMENT(arguments, void *, 0));
    void *handle = created_handle(arguments, 2, result);
    (void)frame;
    if (pool && pool->pool.has_times && handle)
        (void)object_add(OBJECT_EVENT, handle);
}

static void event_destroy_enter(struct frame *frame, void **arguments) {
    struct object *event = object_find(OBJECT_EVENT, ARGUMENT(arguments, void *, 0));
    (void)frame;
    if (!event)
        return;
    object_invalidate(event);
    object_remove(event);
}

static void event_reset_enter(struct frame *frame, void **arguments) {
    struct object *event = object_find(OBJECT_EVENT, ARGUMENT(arguments, void *, 0));
    (void)frame;
    if (!event || !atomic_load(&event->event.used))
        return;
    object_invalidate(event);
    atomic_store(&event->event.used, false);
}

// What is signaled by the host, or by a command of its own, has no times.
static void event_signal_enter(struct frame *frame, void **arguments) {
    struct object *event = object_find(OBJECT_EVENT, ARGUMENT(arguments, void *, 0));
    (void)frame;
    if (event && atomic_exchange(&event->event.used, true))
        object_invalidate(event);
}

static void signal_enter(struct frame *frame, void **arguments) {
    list_enter(frame, arguments);
    event_signal_enter(frame, arguments + 1);
}

static void device_reset_enter(struct frame *frame, void **arguments) {
    struct object *event = object_find(OBJECT_EVENT, ARGUMENT(arguments, void *, 1));
    list_enter(frame, arguments);
    if (!event)
        return;
    object_invalidate(event);
    if (frame->list && frame->list->list.immediate)
        atomic_store(&event->event.used, false);
    else
        event->event.device_reset = true;
}

// ---- modules and kernels

static void module_create_leave(struct frame *frame, void **arguments, int result) {
    const struct zero_module_desc *desc = ARGUMENT(arguments, const struct zero_module_desc *, 2);
    if (is_recorded(frame))
        record_compile(frame, desc ? desc->options : NULL, result);
}

static void kernel_create_leave(struct frame *frame, void **arguments, int result) {
    const struct zero_kernel_desc *desc = ARGUMENT(arguments, const struct zero_kernel_desc *, 1);
    void *handle = created_handle(arguments, 2, result);
    struct object *kernel = handle ? object_add(OBJECT_KERNEL, handle) : NULL;
    (void)frame;
    if (kernel && desc && desc->name)
        kernel->kernel.name = channel_function(agent.channel, desc->name);
}

static void group_size_leave(struct frame *frame, void **arguments, int result) {
    struct object *kernel = object_find(OBJECT_KERNEL, ARGUMENT(arguments, void *, 0));
    (void)frame;
    for (uint32_t i = 0; kernel && result == ZERO_SUCCESS && i < 3; i++)
        kernel->kernel.local[i] = ARGUMENT(arguments, uint32_t, i + 1);
}

// ---- memory

static _Atomic uint64_t live_bytes; // counted while recording is off as well

static void memory_allocated(struct frame *frame, void *at, uint64_t bytes, tsmith_operation operation) {
    struct object *memory = at ? object_add(OBJECT_MEMORY, at) : NULL;
    if (!memory)
        return;
    memory->memory = (struct memory){
        .at = at, .number = memory->handle.number, .operation = (uint8_t)operation, .bytes = bytes};
    const uint64_t live = atomic_fetch_add(&live_bytes, bytes) + bytes;
    if (is_recorded(frame))
        record_memory(frame, TSMITH_KIND_ALLOC, &memory->memory, live);
}

static void alloc_device_leave(struct frame *frame, void **arguments, int result) {
    memory_allocated(frame, created_handle(arguments, 5, result), ARGUMENT(arguments, size_t, 2),
                     TSMITH_OPERATION_BUFFER);
}

static void alloc_host_leave(struct frame *frame, void **arguments, int result) {
    memory_allocated(frame, created_handle(arguments, 4, result), ARGUMENT(arguments, size_t, 2),
                     TSMITH_OPERATION_SVM);
}

static void alloc_shared_leave(struct frame *frame, void **arguments, int result) {
    memory_allocated(frame, created_handle(arguments, 6, result), ARGUMENT(arguments, size_t, 3),
                     TSMITH_OPERATION_SVM);
}

// Taken out before the driver can give the address to another object.
static void free_enter(struct frame *frame, void **arguments) {
    struct object *memory = object_find(OBJECT_MEMORY, ARGUMENT(arguments, void *, 1));
    if (!memory)
        return;
    frame->freed = memory->memory;
    object_remove(memory);
}

static void free_leave(struct frame *frame, void **arguments, int result) {
    (void)arguments;
    const struct memory *freed = &frame->freed;
    if (!freed->at || result != ZERO_SUCCESS)
        return;
    const uint64_t live = atomic_fetch_sub(&live_bytes, freed->bytes) - freed->bytes;
    if (is_recorded(frame))
        record_memory(frame, TSMITH_KIND_FREE, freed, live);
}

// ---- contexts

static void list_of_context(void *entry, void *context) {
    struct object *list = entry;
    if (list->list.context == context)
        object_invalidate(list);
}

static void context_destroy_enter(struct frame *frame, void **arguments) {
    struct object *context = object_find(OBJECT_CONTEXT, ARGUMENT(arguments, void *, 0));
    (void)frame;
    if (!context)
        return;
    handles_each(&objects, OBJECT_LIST, list_of_context, context);
    events_destroy(context);
    object_remove(context);
}

const struct call_row call_rows[CALL_LIMIT] = {
#define CALL_ROW(name, signal, enter, leave) {signal, enter, leave},
    LEVEL_ZERO_CALLS(CALL_ROW)
#undef CALL_ROW
};
