// SPDX-License-Identifier: Apache-2.0
// Keeps what is pending, and records it when it is complete, as described in pending.h. Rules: agent.h.
#include "pending.h"

#include <pthread.h>

#include "commands.h"
#include "queries.h"
#include "record.h"
#include "times.h"

enum { LIST = 0, NESTED_MAX = 4 }; // LIST: that of channel_begun

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t in_flight; // commands

void pending_lock(void) {
    pthread_mutex_lock(&mutex);
}

void pending_unlock(void) {
    pthread_mutex_unlock(&mutex);
}

uint64_t pending_left(void) {
    return atomic_load(&in_flight);
}

static bool is_there(const struct command *command) {
    return command->secondary->handle.kind == OBJECT_BUFFER &&
           command->secondary->handle.generation == command->secondary_generation;
}

// What an execution of the buffer is: how many commands, and whether any has queries.
static uint32_t count(const struct buffer *buffer, bool *has_queries, int depth) {
    uint32_t commands = 0;
    *has_queries |= buffer->queries != 0;
    for (uint32_t i = 0; i < buffer->count; i++) {
        const struct command *command = &buffer->commands[i];
        if (command->facts.class != CLASS_SECONDARY)
            commands++;
        else if (depth && is_there(command))
            commands += count(command->secondary->buffer, has_queries, depth - 1);
    }
    return commands;
}

// ---- reading

struct reading {
    const struct command_launch *launch;
    uint64_t mask; // of the queue's timestamps
    bool can_read;
    int64_t now;
    uint32_t wait_count; // for the first command
    const uint64_t *waits;
};

// Where the clock may be, from the first and the last time.
static void bound(const struct object *object, const struct reading *reading) {
    const struct buffer *buffer = object->buffer;
    const uint32_t last = buffer->queries - 1;
    const uint64_t(*results)[2] = queries_read(object, 0);
    if (!results || !results[0][1])
        return;
    const uint64_t first = results[0][0];
    results = queries_read(object, last);
    if (results && results[last % QUERIES_OF_CHUNK][1])
        times_bound(object->device, first, results[last % QUERIES_OF_CHUNK][0], reading->mask,
                    (int64_t)reading->launch->not_before);
}

static bool times_known(const struct device *device, uint64_t first, uint64_t last,
                        const struct reading *reading, struct command_times *times) {
    const struct device_clock *clock = &device->anchor.clock;
    times->inferred = device->anchor.inferred;
    return clock->trace && reading->mask &&
           device_clock_convert(clock, first, last, reading->mask, (int64_t)reading->launch->not_before,
                                reading->now, times);
}

static void record_all(const struct object *object, struct reading *reading, int depth) {
    const struct buffer *buffer = object->buffer;
    const uint64_t(*results)[2] = NULL;
    uint32_t loaded = UINT32_MAX;
    if (reading->can_read && buffer->queries && times_inferred(object->device))
        bound(object, reading);
    for (uint32_t i = 0; i < buffer->count; i++) {
        const struct command *command = &buffer->commands[i];
        struct command_times times = {.start = 0};
        if (command->facts.class == CLASS_SECONDARY) {
            if (depth && is_there(command))
                record_all(command->secondary, reading, depth - 1);
            loaded = UINT32_MAX; // the results are in one place for all
            continue;
        }
        const uint32_t at = command->query % QUERIES_OF_CHUNK, chunk = command->query / QUERIES_OF_CHUNK;
        if (reading->can_read && command->query != NO_QUERY) {
            if (chunk != loaded)
                results = queries_read(object, command->query);
            loaded = chunk;
            if (!results || !results[at][1] || !results[at + 1][1] ||
                !times_known(object->device, results[at][0], results[at + 1][0], reading, &times))
                times.start = 0;
        }
        record_command(command, reading->launch, reading->wait_count, reading->waits, &times);
        reading->wait_count = 0;
    }
}

static void finish(struct object *object, bool can_read) {
    struct buffer *buffer = object->buffer;
    struct reading reading = {.launch = &buffer->launch,
                              .mask = object->device->family_mask[buffer->queue->queue.family],
                              .can_read = can_read,
                              .wait_count = buffer->wait_count,
                              .waits = buffer->waits};
    if (can_read)
        reading.now = times_refresh(object->device);
    record_all(object, &reading, NESTED_MAX);
    buffer->pending = false;
    channel_ended(agent.channel, LIST, buffer->launched);
    atomic_fetch_sub(&in_flight, buffer->launched);
}

static void unlink_buffer(struct object *object) {
    struct queue *queue = &object->buffer->queue->queue;
    struct object *before = NULL;
    for (struct object *at = queue->first; at && at != object; at = at->buffer->next_pending)
        before = at;
    if (before)
        before->buffer->next_pending = object->buffer->next_pending;
    else
        queue->first = object->buffer->next_pending;
    if (queue->last == object)
        queue->last = before;
}

static bool executes(const struct object *primary, const struct object *secondary) {
    for (uint32_t i = 0; i < primary->buffer->count; i++) {
        const struct command *command = &primary->buffer->commands[i];
        if (command->facts.class == CLASS_SECONDARY && command->secondary == secondary && is_there(command))
            return true;
    }
    return false;
}

static void drain(struct object *object) {
    struct object *primary = object->buffer->primary;
    if (object->buffer->pending) {
        unlink_buffer(object);
        finish(object, true);
    } else if (primary && primary->handle.kind == OBJECT_BUFFER && primary->buffer->pending &&
               executes(primary, object)) {
        drain(primary);
    }
}

// Whether the execution is complete, though the program may not have asked: its fence shows it, if it is still that of the
// submission.
static bool is_complete(const struct object *object) {
    const struct buffer *buffer = object->buffer;
    const struct object *fence = object_find(OBJECT_FENCE, HANDLE(buffer->fence));
    return buffer->submission <= buffer->queue->queue.completed ||
           (fence && fence->fence.queue == buffer->queue && fence->fence.submission == buffer->submission &&
            object->device->next.GetFenceStatus(object->device->handle, buffer->fence) == VK_SUCCESS);
}

void pending_before_submit(struct object *object) {
    struct buffer *buffer = object->buffer;
    pending_lock();
    if (buffer->simultaneous && buffer->pending && !is_complete(object)) {
        unlink_buffer(object);
        finish(object, false);
    } else {
        drain(object);
    }
    pending_unlock();
}

void pending_drain(struct object *object) {
    pending_lock();
    drain(object);
    pending_unlock();
}

// ---- what the program does

void pending_add(struct object *object, struct object *queue, uint64_t submission, VkFence fence,
                 const struct command_launch *launch, uint32_t wait_count, const uint64_t *waits) {
    struct buffer *buffer = object->buffer;
    bool has_queries = false;
    const uint32_t commands = count(buffer, &has_queries, NESTED_MAX);
    if (!commands)
        return;
    pending_lock();
    if (has_queries) {
        buffer->pending = true;
        buffer->submission = submission;
        buffer->launched = commands;
        buffer->queue = queue;
        buffer->fence = fence;
        buffer->launch = *launch;
        buffer->wait_count = wait_count;
        for (uint32_t i = 0; i < wait_count; i++)
            buffer->waits[i] = waits[i];
        buffer->next_pending = NULL;
        if (queue->queue.last)
            queue->queue.last->buffer->next_pending = object;
        else
            queue->queue.first = object;
        queue->queue.last = object;
        channel_begun(agent.channel, LIST, commands);
        atomic_fetch_add(&in_flight, commands);
    } else {
        struct reading reading = {.launch = launch, .wait_count = wait_count, .waits = waits};
        record_all(object, &reading, NESTED_MAX);
    }
    pending_unlock();
}

// Records what is complete of a queue. Submissions may be complete in any order, but what is known to be is a beginning.
static void record_completed(struct object *object) {
    struct queue *queue = &object->queue;
    while (queue->first && queue->first->buffer->submission <= queue->completed) {
        struct object *buffer = queue->first;
        unlink_buffer(buffer);
        finish(buffer, true);
    }
}

void pending_complete(struct object *object, uint64_t submission) {
    pending_lock();
    if (object->handle.kind == OBJECT_QUEUE) {
        if (object->queue.completed < submission)
            object->queue.completed = submission;
        record_completed(object);
    }
    pending_unlock();
}

static void queue_idle(struct object *queue) {
    pending_complete(queue, queue->queue.submitted);
}

void pending_device_idle(struct device *device) {
    objects_each(OBJECT_QUEUE, device, queue_idle);
}

// A program may destroy its device with work in flight, which is not valid, and the driver may finish that work first.
static void end_of_device(struct object *object) {
    struct buffer *buffer = object->buffer;
    pending_lock();
    if (buffer->pending) {
        const bool complete = is_complete(object);
        unlink_buffer(object);
        finish(object, complete || !object->device->reading_waits);
        object->device->busy |= !complete;
    }
    pending_unlock();
}

// What the device may still write is left to it.
static void leave_queries(struct object *object) {
    object->buffer->chunk_count = 0;
}

void pending_device_gone(struct device *device) {
    objects_each(OBJECT_BUFFER, device, end_of_device);
    if (device->busy)
        objects_each(OBJECT_BUFFER, device, leave_queries);
    objects_each(OBJECT_BUFFER, device, command_buffer_gone);
    for (int kind = 1; kind < OBJECT_KINDS; kind++)
        objects_each((enum object_kind)kind, device, object_remove);
}
