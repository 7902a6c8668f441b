// SPDX-License-Identifier: Apache-2.0
// The callbacks of the loader's tracing layer, made of the table in calls.h, and the functions that the table names. They are called
// while recording is off as well. Rules: agent.h.
#include <string.h>
#include <sys/mman.h>

#include "agentkit/device.h"
#include "agentkit/stacks.h"
#include "agentkit/texts.h"
#include "commands.h"
#include "events.h"

static bool is_recorded(const struct frame *frame) {
    return frame->call.start != 0;
}

// The handle of an object that the call has made, if it has: where it is written is this argument.
static void *created(const struct frame *frame, int index) {
    void **out = ARGUMENT(void **, index);
    return frame->result == ZERO_SUCCESS && out ? *out : NULL;
}

static struct object *created_object(const struct frame *frame, enum object_kind kind, int index) {
    void *handle = created(frame, index);
    return handle ? object_add(kind, handle) : NULL;
}

static void forget_object(enum object_kind kind, const void *handle) {
    struct object *object = object_find(kind, handle);
    if (object)
        object_remove(object);
}

// ---- commands of lists

static void list_of(struct frame *frame) {
    frame->list = object_find(OBJECT_LIST, ARGUMENT(void *, 0));
    frame->call.track = frame->list ? frame->list->list.track : 0;
}

static bool is_immediate(const struct frame *frame) {
    return !frame->list || frame->list->list.immediate;
}

// `signal` is the place of the signal event. Whether the command is followed: those of a list that is not immediate are from the moment
// that it is filled, whether they are recorded then or not.
static bool append(struct frame *frame, int signal) {
    list_of(frame);
    if (!is_recorded(frame) && is_immediate(frame))
        return false;
    command_prepare(frame, frame->arguments[signal]);
    return true;
}

static void appended(struct frame *frame) {
    if (!is_recorded(frame) && is_immediate(frame))
        return;
    if (frame->result == ZERO_SUCCESS && is_immediate(frame))
        frame->call.correlation = agent_correlation();
    command_appended(frame);
}

// `groups`: where their number is; 0: it is not known.
static void kernel_append(struct frame *frame, int signal, int groups) {
    if (!append(frame, signal))
        return;
    struct command_facts *facts = &frame->facts;
    const struct object *kernel = object_find(OBJECT_KERNEL, ARGUMENT(void *, 1));
    const struct zero_groups *number = groups ? ARGUMENT(const struct zero_groups *, groups) : NULL;
    *facts = (struct command_facts){.class = COMMAND_KERNEL, .operation = TSMITH_OPERATION_NDRANGE};
    if (kernel) {
        facts->name = kernel->kernel.name;
        memcpy(facts->local, kernel->kernel.local, sizeof facts->local);
    }
    for (int i = 0; number && i < 3; i++)
        facts->global[i] = (uint64_t)number->count[i] * facts->local[i];
}

static void unknown_appended(const struct frame *frame) {
    if (frame->result == ZERO_SUCCESS && is_recorded(frame))
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

static void copy_append(struct frame *frame, int signal, int to, int from, uint64_t bytes) {
    if (!append(frame, signal))
        return;
    const bool to_device = is_on_device(frame, ARGUMENT(const void *, to));
    const tsmith_direction direction =
        device_direction(is_on_device(frame, ARGUMENT(const void *, from)), to_device);
    frame->facts = (struct command_facts){.class = COMMAND_COPY,
                                          .name = TEXT_ONCE("copy"),
                                          .operation = (uint8_t)device_copy_operation(direction),
                                          .direction = (uint8_t)direction,
                                          .has_bytes = true,
                                          .bytes = bytes};
}

static void region_append(struct frame *frame) {
    const struct zero_region *region = ARGUMENT(const struct zero_region *, 2);
    copy_append(frame, 9, 1, 5,
                region ? (uint64_t)region->width * region->height * (region->depth ? region->depth : 1) : 0);
}

static void fill_append(struct frame *frame) {
    if (append(frame, 5))
        frame->facts = (struct command_facts){.class = COMMAND_FILL,
                                              .name = TEXT_ONCE("fill"),
                                              .operation = TSMITH_OPERATION_FILL,
                                              .has_bytes = true,
                                              .bytes = ARGUMENT(size_t, 4)};
}

// The size of an image's element is not known: no bytes.
static void image_append(struct frame *frame, int signal, tsmith_operation operation) {
    if (append(frame, signal))
        frame->facts = (struct command_facts){.class = COMMAND_COPY,
                                              .name = TEXT_ONCE("copy"),
                                              .operation = (uint8_t)operation,
                                              .direction = operation == TSMITH_OPERATION_COPY_IMAGE
                                                               ? TSMITH_DIRECTION_DEVICE_TO_DEVICE
                                                               : TSMITH_DIRECTION_NONE};
}

// ---- lists and queues

static uint32_t queue_track(const struct object *queue, const char *what, const struct object *device,
                            const struct object *context) {
    return device_queue_track(what, queue->handle.number,
                              device && device->device.simulated ? TSMITH_TRACK_SIMULATED : 0,
                              device ? device->device.id : 0, context ? context->handle.number : 0);
}

static struct object *list_created(const struct frame *frame) {
    struct object *list = created_object(frame, OBJECT_LIST, 3);
    if (!list)
        return NULL;
    list->list.context = object_context(ARGUMENT(void *, 0));
    list->list.device = object_device(ARGUMENT(void *, 1));
    return list;
}

static void immediate_created(struct frame *frame) {
    struct object *list = list_created(frame);
    if (!list)
        return;
    list->list.immediate = true;
    list->list.track = queue_track(list, "immediate list", list->list.device, list->list.context);
    frame->call.track = list->list.track;
}

static void list_reset(struct frame *frame) {
    list_of(frame);
    if (frame->list)
        list_clear(frame->list);
}

static void list_destroyed(struct frame *frame) {
    list_reset(frame);
    if (!frame->list)
        return;
    struct list *list = &frame->list->list;
    if (list->commands)
        munmap(list->commands, list->capacity * sizeof *list->commands);
    object_remove(frame->list);
}

static void queue_created(struct frame *frame) {
    struct object *queue = created_object(frame, OBJECT_QUEUE, 3);
    if (!queue)
        return;
    queue->queue.device = object_device(ARGUMENT(void *, 1));
    queue->queue.track =
        queue_track(queue, "queue", queue->queue.device, object_context(ARGUMENT(void *, 0)));
    frame->call.track = queue->queue.track;
}

static struct object *queue_of(struct frame *frame) {
    struct object *queue = object_find(OBJECT_QUEUE, ARGUMENT(void *, 0));
    frame->call.track = queue ? queue->queue.track : 0;
    return queue;
}

static void queue_destroyed(struct frame *frame) {
    struct object *queue = queue_of(frame);
    if (!queue)
        return;
    pending_reap_all(true);
    object_remove(queue);
}

static void execute(struct frame *frame) {
    const struct object *queue = queue_of(frame);
    void *const *lists = ARGUMENT(void *const *, 2);
    for (uint32_t i = 0; queue && lists && i < ARGUMENT(uint32_t, 1); i++) {
        struct object *list = object_find(OBJECT_LIST, lists[i]);
        if (list)
            list_prepare(list);
    }
}

static void executed(struct frame *frame) {
    struct object *queue = queue_of(frame);
    void *const *lists = ARGUMENT(void *const *, 2);
    struct object *fence = object_find(OBJECT_FENCE, ARGUMENT(void *, 3));
    if (!queue || !lists || frame->result != ZERO_SUCCESS)
        return;
    frame->submission = atomic_fetch_add(&queue->queue.submitted, 1) + 1;
    if (fence)
        atomic_store(&fence->fence.submission, frame->submission);
    if (is_recorded(frame))
        frame->call.correlation = agent_correlation();
    for (uint32_t i = 0; i < ARGUMENT(uint32_t, 1); i++) {
        struct object *list = object_find(OBJECT_LIST, lists[i]);
        if (list)
            list_executed(list, queue, frame);
    }
}

// ---- waiting

// A wait of 0 ns only asks.
static void wait_ended(const struct frame *frame, tsmith_operation operation) {
    if (is_recorded(frame) && ARGUMENT(uint64_t, 1))
        call_record_wait(&frame->call, operation, 0, NULL);
    pending_reap_own();
}

static void queue_completed(struct object *queue, uint64_t submission) {
    uint64_t known = atomic_load(&queue->queue.completed);
    while (known < submission && !atomic_compare_exchange_weak(&queue->queue.completed, &known, submission))
        ;
}

static void queue_waits(struct frame *frame) {
    const struct object *queue = queue_of(frame);
    frame->submission = queue ? atomic_load(&queue->queue.submitted) : 0;
}

static void queue_waited(struct frame *frame) {
    struct object *queue = queue_of(frame);
    if (queue && frame->result == ZERO_SUCCESS)
        queue_completed(queue, frame->submission);
    wait_ended(frame, TSMITH_OPERATION_FINISH);
}

static void fence_created(struct frame *frame) {
    struct object *fence = created_object(frame, OBJECT_FENCE, 2);
    if (fence)
        fence->fence.queue = queue_of(frame);
}

static void fence_waited(struct frame *frame) {
    const struct object *fence = object_find(OBJECT_FENCE, ARGUMENT(void *, 0));
    if (fence && fence->fence.queue && fence->fence.queue->handle.kind == OBJECT_QUEUE) {
        frame->call.track = fence->fence.queue->queue.track;
        if (frame->result == ZERO_SUCCESS)
            queue_completed(fence->fence.queue, atomic_load(&fence->fence.submission));
    }
    wait_ended(frame, TSMITH_OPERATION_WAIT);
}

// ---- events of the program

// Pools get the flag for timestamps, unless it cannot be combined with what the program asked for.
static void pool_create(struct frame *frame) {
    const struct zero_event_pool_desc *desc = ARGUMENT(const struct zero_event_pool_desc *, 1);
    const bool is_plain = desc && !desc->next && !(desc->flags & ~(uint32_t)ZERO_POOL_KNOWN) &&
                          !(desc->flags & (ZERO_POOL_IPC | ZERO_POOL_TIMESTAMP));
    if (!is_plain || agent_option("level-zero", "program-events"))
        return;
    frame->pool = *desc;
    frame->pool.flags |= ZERO_POOL_TIMESTAMP;
    ARGUMENT(const struct zero_event_pool_desc *, 1) = &frame->pool;
}

static void pool_created(const struct frame *frame) {
    const struct zero_event_pool_desc *desc = ARGUMENT(const struct zero_event_pool_desc *, 1);
    struct object *pool = created_object(frame, OBJECT_POOL, 4);
    if (pool)
        pool->pool.has_times = desc && desc->flags & ZERO_POOL_TIMESTAMP;
}

static void event_created(const struct frame *frame) {
    const struct object *pool = object_find(OBJECT_POOL, ARGUMENT(void *, 0));
    if (pool && pool->pool.has_times)
        (void)created_object(frame, OBJECT_EVENT, 2);
}

static void event_destroyed(const void *handle) {
    struct object *event = object_find(OBJECT_EVENT, handle);
    if (!event)
        return;
    object_invalidate(event);
    object_remove(event);
}

static void event_reset(const void *handle) {
    struct object *event = object_find(OBJECT_EVENT, handle);
    if (!event || !atomic_load(&event->event.used))
        return;
    object_invalidate(event);
    atomic_store(&event->event.used, false);
}

// What is signaled by the host, or by a command of its own, has no times.
static void event_signaled(const void *handle) {
    struct object *event = object_find(OBJECT_EVENT, handle);
    if (event && atomic_exchange(&event->event.used, true))
        object_invalidate(event);
}

static void event_reset_by_device(struct frame *frame) {
    struct object *event = object_find(OBJECT_EVENT, ARGUMENT(void *, 1));
    list_of(frame);
    if (!event)
        return;
    object_invalidate(event);
    if (frame->list && frame->list->list.immediate)
        atomic_store(&event->event.used, false);
    else
        event->event.device_reset = true;
}

// ---- modules and kernels

static void module_created(const struct frame *frame) {
    const struct zero_module_desc *desc = ARGUMENT(const struct zero_module_desc *, 2);
    if (is_recorded(frame))
        call_record_compile(&frame->call, 0, desc ? desc->options : NULL, frame->result);
}

static void kernel_created(const struct frame *frame) {
    const struct zero_kernel_desc *desc = ARGUMENT(const struct zero_kernel_desc *, 1);
    struct object *kernel = created_object(frame, OBJECT_KERNEL, 2);
    if (kernel && desc && desc->name)
        kernel->kernel.name = channel_function(agent.channel, desc->name);
}

static void group_size_set(const struct frame *frame) {
    struct object *kernel = object_find(OBJECT_KERNEL, ARGUMENT(void *, 0));
    for (int i = 0; kernel && frame->result == ZERO_SUCCESS && i < 3; i++)
        kernel->kernel.local[i] = ARGUMENT(uint32_t, i + 1);
}

// ---- memory

static void memory_allocated(const struct frame *frame, int out, int size, tsmith_operation operation) {
    void *at = created(frame, out);
    struct object *memory = at ? object_add(OBJECT_MEMORY, at) : NULL;
    if (!memory)
        return;
    memory->memory = (struct memory_facts){.address = (uintptr_t)at,
                                           .number = memory->handle.number,
                                           .operation = (uint8_t)operation,
                                           .bytes = ARGUMENT(size_t, size)};
    call_record_alloc(&frame->call, &memory->memory);
}

// Not found any more before the driver can give the address to another object.
static void memory_free(struct frame *frame) {
    frame->freed = object_find(OBJECT_MEMORY, ARGUMENT(void *, 1));
    if (frame->freed)
        handles_hide(&objects, &frame->freed->handle);
}

// What the driver refused to free lives on.
static void memory_freed(const struct frame *frame) {
    struct object *freed = frame->freed;
    if (!freed)
        return;
    if (frame->result != ZERO_SUCCESS) {
        handles_show(&objects, &freed->handle);
        return;
    }
    call_record_free(&frame->call, &freed->memory);
    object_remove(freed);
}

// ---- contexts

static void list_of_context(void *entry, void *context) {
    struct object *list = entry;
    if (list->list.context != context)
        return;
    object_invalidate(list);
    list->list.context = NULL;
    list->list.events = 0;
    list->list.count = 0; // their events end with the context, and the list is not executed any more
}

static void context_destroyed(const void *handle) {
    struct object *context = object_find(OBJECT_CONTEXT, handle);
    if (!context)
        return;
    handles_each(&objects, OBJECT_LIST, list_of_context, context);
    events_destroy(context);
    object_remove(context);
}

// ---- the callbacks

static uint32_t call_names[CALL_LIMIT];

enum { FRAMES = 4 }; // a driver may be built on another Level Zero

static __thread struct frame frames_here[FRAMES];
// The same, found without a call. All of them there would be much of the little room that a process has for it.
static __thread struct frame *frames __attribute__((tls_model("initial-exec")));

static struct frame *enter(enum call_id function, void **arguments, void **instance) {
    int at = 0;
    *instance = NULL;
    if (agent_thread.busy || !agent_recording())
        return NULL;
    if (!frames)
        frames = frames_here;
    while (at < FRAMES && frames[at].taken)
        at++;
    if (at == FRAMES) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return NULL;
    }
    struct frame *frame = &frames[at];
    memset(frame, 0, offsetof(struct frame, facts));
    frame->call.name = call_names[function];
    frame->arguments = arguments;
    frame->taken = true;
    *instance = frame;
    if (agent_on()) {
        frame->call.stack = stacks_capture();
        frame->call.start = agent_tick();
    }
    return frame;
}

static struct frame *leave(struct frame *frame, void **arguments, int result) {
    if (!frame)
        return NULL;
    frame->taken = false;
    if (!agent_recording())
        return NULL;
    frame->arguments = arguments;
    frame->result = result;
    frame->call.end = agent_tick();
    return frame;
}

#define CALLBACKS(name, on_enter, on_leave)                                                                  \
    static void enter_##name(void **arguments, int result, void *user, void **instance) {                    \
        struct frame *const frame = enter(CALL_##name, arguments, instance);                                 \
        (void)result, (void)user;                                                                            \
        if (frame)                                                                                           \
            on_enter;                                                                                        \
    }                                                                                                        \
    static void leave_##name(void **arguments, int result, void *user, void **instance) {                    \
        struct frame *const frame = leave(*instance, arguments, result);                                     \
        (void)user;                                                                                          \
        if (!frame)                                                                                          \
            return;                                                                                          \
        on_leave;                                                                                            \
        if (is_recorded(frame))                                                                              \
            call_record(&frame->call, frame->result);                                                        \
    }
LEVEL_ZERO_CALLS(CALLBACKS)
#undef CALLBACKS

const struct call_row call_rows[CALL_LIMIT] = {
#define CALL_ROW(name, on_enter, on_leave) {"ze" #name, enter_##name, leave_##name},
    LEVEL_ZERO_CALLS(CALL_ROW)
#undef CALL_ROW
};

void handlers_begin(void) {
    for (int i = 0; i < CALL_LIMIT; i++)
        call_names[i] = channel_string_cstr(agent.channel, call_rows[i].name);
}
