// SPDX-License-Identifier: Apache-2.0
// Writes the records of one call and of its command; the wrappers call it. Rules: agent.h.
#include "enqueued.h"

#include "released.h"

#include <string.h>

__thread uint64_t command_spare[BODY_MAX];

void call_record(struct call *call, cl_int result) {
    if (!call->end)
        call->end = agent_tick();
    call_write(channel_ring(agent.channel), call, result, BLOCKING_NEVER);
}

bool command_begin(struct command *command, cl_event **event, cl_event *own) {
    if (!agent_on() || !overhead_admit())
        return false;
    command->entered = agent_overhead_entered();
    command->program_has_event = event && *event;
    if (event && !*event) {
        *own = NULL;
        *event = own;
    }
    command->call.stack = stacks_capture();
    command->call.start = agent_tick();
    return true;
}

void command_returned(struct command *command, enum call_id function, cl_command_queue queue,
                      enum blocking blocking, cl_uint wait_count) {
    command->call.end = agent_tick();
    command->call.function = function;
    command->call.queue = object_used(OBJECT_QUEUE, queue);
    command->blocking = blocking;
    command->first_launch = false;
    command->name = 0;
    command->body_words = BODY_FIXED;
    command_plain(command, CLASS_MARKER, TSMITH_OPERATION_MARKER);
    command_place(command, wait_count);
}

void command_plain(struct command *command, enum device_class class, tsmith_operation operation) {
    command->class = class;
    command->operation = operation;
}

// The object's number. One that is not known may have been released.
static uint64_t number_of(const struct command *command, cl_mem memory) {
    const struct object *object = object_used(OBJECT_MEMORY, memory);
    if (released_on && memory && !object)
        released_passed(command->call.function, command->call.stack, memory, 0, -1);
    return object_number(object);
}

void command_copy(struct command *command, tsmith_operation operation, tsmith_direction direction,
                  uint64_t bytes, cl_mem source, cl_mem destination) {
    command_plain(command, CLASS_COPY, operation);
    RECORD_SET(command->body + BODY_FIXED, copy_words, .direction = direction, .bytes = bytes,
               .source = number_of(command, source), .destination = number_of(command, destination));
    command->body_words = BODY_FIXED + RECORD_PART_WORDS(copy_words);
}

void command_flags(struct command *command, uint64_t flags) {
    struct copy_words *copy = (struct copy_words *)(void *)(command->body + BODY_FIXED);
    copy->flags = flags;
}

void command_objects(struct command *command, uint64_t source, uint64_t destination) {
    struct copy_words *copy = (struct copy_words *)(void *)(command->body + BODY_FIXED);
    copy->source = source;
    copy->destination = destination;
}

void command_filled(struct command *command, uint64_t destination) {
    struct fill_words *fill = (struct fill_words *)(void *)(command->body + BODY_FIXED);
    fill->destination = destination;
}

void command_map(struct command *command, tsmith_operation operation, cl_map_flags flags, uint64_t bytes,
                 cl_mem memory) {
    // A region that is mapped to be overwritten need not be moved to the host.
    const bool moves = !(flags & CL_MAP_WRITE_INVALIDATE_REGION);
    command_copy(command, operation, moves ? TSMITH_DIRECTION_DEVICE_TO_HOST : TSMITH_DIRECTION_NONE, bytes,
                 memory, NULL);
    command_flags(command, flags);
}

void command_fill(struct command *command, tsmith_operation operation, uint64_t bytes, cl_mem destination) {
    command_plain(command, CLASS_FILL, operation);
    RECORD_SET(command->body + BODY_FIXED, fill_words, .bytes = bytes,
               .destination = number_of(command, destination));
    command->body_words = BODY_FIXED + RECORD_PART_WORDS(fill_words);
}

cl_int command_end(struct command *command, const cl_event *event, cl_int result, cl_uint wait_count,
                   const cl_event *waits) {
    enqueue_end(command, event, result, wait_count, waits);
    if (command->blocking == BLOCKING_YES && result == CL_SUCCESS && *event) {
        sync_record(&command->call, TSMITH_OPERATION_BLOCKING_CALL, 0, NULL);
        pending_reap_own();
    }
    return result;
}

cl_int command_end_eventless(struct command *command, cl_int result, cl_uint wait_count,
                             const cl_event *waits) {
    struct call *call = &command->call;
    const bool listed = waits && wait_count, has_stack = call->stack != 0;
    const uint32_t fixed = 1u + RECORD_PART_WORDS(untimed_words) + has_stack + command->body_words;
    struct ring *ring = channel_ring(agent.channel);
    call->correlation = agent_correlation();
    call_write(ring, call, result, command->blocking);
    if (result != CL_SUCCESS || !call->queue)
        return result;
    channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
    if (sums_on) {
        sums_add(sums_what((tsmith_kind)shapes_kinds[command->class], 0, command->operation, 0,
                           agent_operation_name(command->operation)),
                 sums_who(call->queue->queue.work_track, call->stack), 0, 0, 0);
        return result;
    }
    uint64_t *at = ring ? ring_reserve(ring, fixed + (listed ? events_list_room(wait_count) : 0)) : NULL;
    if (!at)
        return result;
    body_finish(ring, command);
    const uint32_t words = fixed + (listed ? events_list(at + fixed, wait_count, waits) : 0);
    *at++ = record_head(shapes.untimed[command->class][listed][has_stack], words, call->queue->queue.track);
    RECORD_PUT(at, untimed_words, .start = call->end, .certainty = TSMITH_CERTAINTY_UNTIMED);
    if (has_stack)
        RECORD_PUT(at, stack_words, call->stack);
    memcpy(at, command->body, command->body_words * 8);
    ring_commit(ring, words);
    return result;
}

void sync_record(const struct call *call, tsmith_operation operation, uint32_t wait_count,
                 const cl_event *waits) {
    enum { FIXED = 1 + RECORD_PART_WORDS(sync_words) };
    if (sums_on) {
        sums_add(sums_what(TSMITH_KIND_SYNC, SUMS_TIMED | SUMS_TICKS, operation, 0,
                           agent_call_name(call->function)),
                 sums_who(sums_host, call->stack), call->end - call->start, 0, 0);
        return;
    }
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = ring ? ring_reserve(ring, FIXED + (wait_count ? events_list_room(wait_count) : 0)) : NULL;
    if (!at)
        return;
    uint32_t words = FIXED;
    if (wait_count)
        words += events_list(at + FIXED, wait_count, waits);
    *at++ = record_head(shapes.sync[wait_count != 0], words, agent_call_name(call->function));
    RECORD_PUT(at, sync_words, .start = call->start, .end = call->end, .operation = operation,
               .queue = call->queue ? call->queue->queue.track : 0, .correlation = call->correlation);
    ring_commit(ring, words);
}
