// SPDX-License-Identifier: Apache-2.0
// Writes the records of one call and of its command; the wrappers call it. Rules: agent.h.
#include "command.h"

#include <string.h>

#include "events.h"
#include "pending.h"

static uint64_t result_word(cl_int result) {
    return (uint64_t)(int64_t)result;
}

static void call_write(const struct call *call, cl_int result, enum blocking blocking) {
    struct ring *ring = channel_ring(agent.channel);
    const bool blocks = blocking != BLOCKING_NEVER, has_stack = call->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(call_words) + has_stack + blocks;
    uint64_t *at = record_begin(ring, shapes.call[blocks][has_stack], words, agent_call_name(call->function));
    if (!at)
        return;
    RECORD_PUT(at, call_words, .start = call->start, .end = call->end, .correlation = call->correlation,
               .queue = call->queue ? call->queue->queue.track : 0, .result = result_word(result));
    if (has_stack)
        RECORD_PUT(at, stack_words, call->stack);
    if (blocks)
        RECORD_PUT(at, blocking_words, blocking == BLOCKING_YES);
    ring_commit(ring, words);
}

void call_record(struct call *call, cl_int result) {
    if (!call->end)
        call->end = agent_tick();
    call_write(call, result, BLOCKING_NEVER);
}

bool command_begin(struct command *command, enum call_id function, cl_command_queue queue,
                   enum blocking blocking, cl_event *event) {
    if (!agent_on() || !overhead_admit())
        return false;
    command->entered = agent_overhead_entered();
    // Field by field: a struct that is built and then copied waits for its own stores.
    command->call.function = function;
    command->call.stack = stacks_capture();
    command->call.correlation = command->call.end = 0;
    command->call.queue = object_find(OBJECT_QUEUE, queue);
    command->own = NULL;
    command->event = event ? event : &command->own;
    command->blocking = blocking;
    command->class = CLASS_MARKER;
    command->operation = TSMITH_OPERATION_MARKER;
    command->first_launch = false;
    command->name = 0;
    command->body_words = BODY_FIXED;
    command->call.start = agent_tick();
    return true;
}

void command_plain(struct command *command, enum device_class class, tsmith_operation operation) {
    command->class = class;
    command->operation = operation;
}

void command_copy(struct command *command, tsmith_operation operation, tsmith_direction direction,
                  uint64_t bytes, cl_mem source, cl_mem destination) {
    command_plain(command, CLASS_COPY, operation);
    RECORD_SET(command->body + BODY_FIXED, copy_words, .direction = direction, .bytes = bytes,
               .source = object_number(object_find(OBJECT_MEMORY, source)),
               .destination = object_number(object_find(OBJECT_MEMORY, destination)));
    command->body_words = BODY_FIXED + RECORD_PART_WORDS(copy_words);
}

void command_flags(struct command *command, uint64_t flags) {
    struct copy_words *copy = (struct copy_words *)(void *)(command->body + BODY_FIXED);
    copy->flags = flags;
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
               .destination = object_number(object_find(OBJECT_MEMORY, destination)));
    command->body_words = BODY_FIXED + RECORD_PART_WORDS(fill_words);
}

static void body_finish(struct command *command) {
    RECORD_SET(command->body, command_words, .correlation = command->call.correlation,
               .host_track = channel_thread_track(agent.channel),
               .name = command->name ? command->name : agent_operation_name(command->operation),
               .operation = command->operation);
}

// Hands a command in flight over; `event` is ours, or the program's.
static void command_follow(struct command *command, cl_event event, cl_uint wait_count,
                           const cl_event *waits) {
    const struct call *call = &command->call;
    const bool program_has_it = command->event != &command->own;
    if (program_has_it)
        opencl_next.clRetainEvent(event);
    body_finish(command);
    // The entry of a held event is made first: once it is pushed, the control thread may take it.
    const bool known = !program_has_it || events_add(event, call->correlation, true);
    if (call->queue && known && pending_push(command, event, program_has_it, waits ? wait_count : 0, waits))
        return;
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    if (program_has_it && known)
        events_unhold(event, call->correlation);
    opencl_next.clReleaseEvent(event);
}

static void command_write(struct command *command, cl_int result, cl_uint wait_count, const cl_event *waits) {
    struct call *call = &command->call;
    call->correlation = agent_correlation();
    call_write(call, result, command->blocking);
    if (result != CL_SUCCESS || !*command->event)
        return;
    if (call->queue)
        atomic_store_explicit(&call->queue->queue.busy, true, memory_order_relaxed);
    command_follow(command, *command->event, wait_count, waits);
    if (command->blocking == BLOCKING_YES) {
        sync_record(call, TSMITH_OPERATION_BLOCKING_CALL, 0, NULL);
        pending_reap_own();
    }
}

cl_int command_end(struct command *command, cl_int result, cl_uint wait_count, const cl_event *waits) {
    command_write(command, result, wait_count, waits);
    // What a blocking one also does is finishing commands, which is measured separately.
    if (__builtin_expect(command->entered != 0, 0) && command->blocking != BLOCKING_YES)
        overhead_left(command->entered, command->call.start, command->call.end);
    return result;
}

cl_int command_end_eventless(struct command *command, cl_int result, cl_uint wait_count,
                             const cl_event *waits) {
    struct call *call = &command->call;
    const bool listed = waits && wait_count, has_stack = call->stack != 0;
    const uint32_t fixed = 1u + RECORD_PART_WORDS(untimed_words) + has_stack + command->body_words;
    call->correlation = agent_correlation();
    call_write(call, result, command->blocking);
    if (result != CL_SUCCESS || !call->queue)
        return result;
    channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
    struct ring *ring = channel_ring(agent.channel);
    uint64_t *at = ring ? ring_reserve(ring, fixed + (listed ? events_list_room(wait_count) : 0)) : NULL;
    if (!at)
        return result;
    body_finish(command);
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
