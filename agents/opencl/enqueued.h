// SPDX-License-Identifier: Apache-2.0
// What is done around the driver's call that enqueues a command: command.c has it for all wrappers, launch.c once more, inlined
// into the most frequent call of all. Rules: agent.h.
#ifndef OPENCL_ENQUEUED_H
#define OPENCL_ENQUEUED_H

#include "agentkit/sums.h"
#include "command.h"
#include "events.h"
#include "pending.h"

#define INLINED __attribute__((always_inline)) static inline

// Where the thread's commands are described that find no room among those in flight.
extern __thread uint64_t command_spare[BODY_MAX] __attribute__((tls_model("initial-exec")));

// A command is described where it will be in flight: nothing else gets that room before it is pushed or given up.
INLINED void command_place(struct command *command, cl_uint wait_count) {
    struct pending_entry *head =
        pending_reserve(ENTRY_WORDS + BODY_MAX + (wait_count ? events_list_room(wait_count) : 0));
    command->entry = head ? entry_of(head) : NULL;
    command->body = head ? command->entry->body : command_spare;
}

INLINED void call_write(struct ring *ring, const struct call *call, cl_int result, enum blocking blocking) {
    if (__builtin_expect(sums_on, 0)) {
        sums_add_time(
            sums_what(TSMITH_KIND_API, SUMS_TIMED | SUMS_TICKS, 0, 0, agent_call_name(call->function)),
            sums_who(sums_host, call->stack), call->end - call->start);
        return;
    }
    const bool blocks = blocking != BLOCKING_NEVER, has_stack = call->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(call_words) + has_stack + blocks;
    uint64_t *at = record_begin(ring, shapes.call[blocks][has_stack], words, agent_call_name(call->function));
    if (!at)
        return;
    RECORD_PUT(at, call_words, .start = call->start, .end = call->end, .correlation = call->correlation,
               .queue = call->queue ? call->queue->queue.track : 0, .result = (uint64_t)(int64_t)result);
    if (has_stack)
        RECORD_PUT(at, stack_words, call->stack);
    if (blocks)
        RECORD_PUT(at, blocking_words, blocking == BLOCKING_YES);
    ring_commit(ring, words);
}

INLINED void body_finish(const struct ring *ring, struct command *command) {
    RECORD_SET(command->body, command_words, .correlation = command->call.correlation,
               .host_track = ring ? ring->owner->thread_track : 0,
               .name = command->name ? command->name : agent_operation_name(command->operation),
               .operation = command->operation);
}

// Takes over a command and our reference on its event: it is recorded and the event released once complete.
INLINED void command_push(const struct command *command, cl_event event, uint32_t wait_count,
                          const cl_event *waits) {
    enum {
        CALIBRATE_FIRST = 64,
        CALIBRATE_EVERY = 16
    }; // commands of a list that calibrate the device's clock
    struct entry *entry = command->entry;
    struct queue *queue = &command->call.queue->queue;
    const uint32_t number = pending_number();
    uint32_t words = ENTRY_WORDS + command->body_words;
    if (wait_count)
        words += events_list(entry->body + command->body_words, wait_count, waits);
    const bool waited = wait_count != 0, has_stack = command->call.stack != 0;
    entry->calibrates = number < CALIBRATE_FIRST || number % CALIBRATE_EVERY == 0;
    entry->timed = shapes.timed[command->class][waited][entry->calibrates][has_stack];
    entry->untimed = shapes.untimed[command->class][waited][has_stack];
    entry->held = command->program_has_event;
    entry->first_launch = command->first_launch;
    entry->class = (uint8_t)command->class;
    entry->event = event;
    entry->track = queue->work_track;
    entry->stack = command->call.stack;
    entry->not_before = command->call.start;
    entry->not_after = command->call.end;
    pending_commit(&entry->head, words, &queue->pending);
}

// Hands a command in flight over; `event` is ours, or the program's.
INLINED void command_follow(const struct ring *ring, struct command *command, cl_event event,
                            cl_uint wait_count, const cl_event *waits) {
    const struct call *call = &command->call;
    const bool program_has_it = command->program_has_event;
    if (program_has_it)
        opencl_next.clRetainEvent(event);
    body_finish(ring, command);
    // The entry of a held event is made first: once it is pushed, the control thread may take it.
    const bool known = !program_has_it || events_add(event, call->correlation, true);
    if (__builtin_expect(call->queue && known && command->entry, 1)) {
        command_push(command, event, waits ? wait_count : 0, waits);
        return;
    }
    channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    if (program_has_it && known)
        events_unhold(event, call->correlation);
    opencl_next.clReleaseEvent(event);
}

// Inlined, a command whose place no function is given is kept in registers.
INLINED void enqueue_end(struct command *command, const cl_event *event, cl_int result, cl_uint wait_count,
                         const cl_event *waits) {
    struct call *call = &command->call;
    struct ring *ring = channel_ring(agent.channel);
    call->correlation = agent_correlation();
    call_write(ring, call, result, command->blocking);
    if (result == CL_SUCCESS && *event) {
        if (call->queue)
            atomic_store_explicit(&call->queue->queue.busy, true, memory_order_relaxed);
        command_follow(ring, command, *event, wait_count, waits);
    }
    // What a blocking one also does is finishing commands, which is measured separately.
    if (__builtin_expect(command->entered != 0, 0) && command->blocking != BLOCKING_YES)
        overhead_left(command->entered, call->start, call->end);
}

#endif
