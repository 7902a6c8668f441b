// SPDX-License-Identifier: Apache-2.0
// Follows commands from their append to their times, as described in commands.h. Rules: agent.h.
#include "commands.h"

#include <string.h>
#include <sys/mman.h>

#include "agentkit/control.h"
#include "events.h"
#include "record.h"
#include "times.h"
#include "wire/memory.h"

enum { COMMANDS_FIRST = 64 };

struct entry {
    struct pending_entry head; // first
    struct command command;
    struct launch launch;
    struct object *list;
    uint32_t list_generation;
    bool asking;         // since poll, until it is released: the list is not invalidated in between
    uint64_t start, end; // on the trace clock, from poll
};
enum { ENTRY_WORDS = (sizeof(struct entry) + 7) / 8 };

static bool own_events; // the user did not switch them off

// ---- what the kit asks for

static enum pending_answer ask_for_times(struct entry *entry, struct pending_times *times) {
    struct zero_timestamps stamps;
    const struct object *device = entry->list->list.device;
    const int result = zero.zeEventQueryKernelTimestamp(entry->command.handle, &stamps);
    if (result == ZERO_NOT_READY)
        return PENDING_RUNNING;
    return result == ZERO_SUCCESS && device &&
                   times_convert(&device->device, &stamps, entry->launch.not_before, &times->now,
                                 &entry->start, &entry->end)
               ? PENDING_TIMED
               : PENDING_UNTIMED;
}

static enum pending_answer poll(struct pending_entry *head, struct pending_times *times) {
    struct entry *entry = (struct entry *)head;
    struct object *event = entry->command.event;
    enum pending_answer answer = PENDING_UNTIMED;
    entry->asking = object_ask(entry->list, entry->list_generation);
    if (!entry->asking)
        return PENDING_UNTIMED;
    if (!event || object_ask(event, entry->command.generation)) {
        answer = ask_for_times(entry, times);
        if (event)
            object_asked(event);
    }
    if (answer == PENDING_RUNNING)
        object_asked(entry->list);
    return answer;
}

static void record(struct pending_entry *head, const struct pending_times *times,
                   enum pending_answer answer) {
    const struct entry *entry = (const struct entry *)head;
    const bool timed = answer == PENDING_TIMED;
    (void)times;
    record_command(&entry->command, &entry->launch, timed ? entry->start : 0, timed ? entry->end : 0);
}

static void release(struct pending_entry *head) {
    struct entry *entry = (struct entry *)head;
    struct object *list = entry->list;
    if (!entry->asking)
        return; // given up: so is the event
    if (entry->command.own && zero.zeEventHostReset(entry->command.handle) == ZERO_SUCCESS &&
        list->list.immediate)
        event_give_back(list->list.context, entry->command.own);
    if (!list->list.immediate)
        atomic_fetch_sub(&list->list.in_flight, 1);
    object_asked(list);
}

PENDING_FINISH(finish, poll, record, release)

static bool periodic_pass(void) {
    times_refresh();
    pending_reap_neglected();
    return true;
}

static void last_pass(void) {
    pending_reap_all(true);
}

static void control_begin(void) {
    static const struct agent_control_work work = {
        .look = periodic_pass, .last_pass = last_pass, .period_ms = 20, .last_pass_ms = 1000};
    agent_control_start(&work, agent.channel);
}

void commands_begin(void) {
    static const struct pending_work work = {.finish = finish, .begin = control_begin};
    own_events = !agent_option("level-zero", "program-events") && events_init();
    pending_start(&work);
}

// ---- launching

static bool add_pending(const struct command *command, const struct launch *launch, struct object *list,
                        struct pending_queue *queue) {
    struct entry *entry = (struct entry *)pending_reserve(ENTRY_WORDS);
    if (!entry)
        return false;
    entry->command = *command;
    entry->launch = *launch;
    entry->list = list;
    entry->list_generation = atomic_load(&list->handle.generation);
    pending_commit(&entry->head, ENTRY_WORDS, queue);
    return true;
}

static struct launch launch_of(const struct frame *frame, uint32_t track, uint32_t stack) {
    return (struct launch){.correlation = frame->correlation,
                           .track = track,
                           .host_track = channel_thread_track(agent.channel),
                           .stack = stack,
                           .not_before = frame->start,
                           .not_after = frame->end};
}

// Whether the event's next times will be those of the command that signals it next. An event that was not reset keeps those of
// the command before, or loses them.
static bool event_claim(struct object *event) {
    if (event->event.device_reset)
        return false;
    if (!atomic_exchange(&event->event.used, true))
        return true;
    object_invalidate(event);
    return false;
}

void command_prepare(struct frame *frame, void **signal) {
    struct object *list = frame->list;
    if (!list)
        return;
    if (!*signal) {
        frame->own = own_events && list->list.device && list->list.device->device.nominal > 0
                         ? event_take(list->list.context)
                         : 0;
        if (frame->own)
            *signal = event_handle(frame->own);
        return;
    }
    frame->event = object_find(OBJECT_EVENT, *signal);
    if (!frame->event)
        return;
    frame->event_usable = !list->list.immediate || event_claim(frame->event);
    frame->generation = atomic_load(&frame->event->handle.generation);
}

static bool list_append(struct list *list, const struct command *command) {
    struct command *commands =
        memory_grow(list->commands, list->count, &list->capacity, COMMANDS_FIRST, sizeof *commands);
    if (!commands)
        return false;
    list->commands = commands;
    list->commands[list->count++] = *command;
    return true;
}

void command_appended(struct frame *frame, struct command *command) {
    struct object *list = frame->list;
    if (frame->result != ZERO_SUCCESS) {
        if (frame->own)
            event_give_back(list->list.context, frame->own);
        if (frame->event && frame->event_usable)
            atomic_store(&frame->event->event.used, false);
        return;
    }
    if (!list) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
        return;
    }
    command->stack = frame->stack;
    command->own = frame->own;
    command->event = frame->own || !frame->event_usable ? NULL : frame->event;
    command->generation = frame->generation;
    command->handle = frame->own       ? event_handle(frame->own)
                      : command->event ? command->event->handle.key
                                       : NULL;
    if (!list->list.immediate) {
        if (!list_append(&list->list, command))
            channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return;
    }
    const struct launch launch = launch_of(frame, list->list.track, frame->stack);
    if (!command->handle || !add_pending(command, &launch, list, &list->list.pending))
        record_command(command, &launch, 0, 0);
}

// ---- executions of lists

static void reset_own_events(struct list *list) {
    agent_thread.busy++;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->commands[i].own)
            zero.zeEventHostReset(list->commands[i].handle);
    agent_thread.busy--;
}

void list_prepare(struct object *object) {
    struct list *list = &object->list;
    list->timed = true;
    if (atomic_load(&list->in_flight))
        pending_reap_all(true);
    if (atomic_load(&list->in_flight)) { // its events would be signaled twice
        object_invalidate(object);
        atomic_store(&list->in_flight, 0);
        list->ambiguous = true;
        list->timed = false;
    } else if (list->ambiguous) {
        // Only once the program has seen that the last execution is complete, the events are at rest.
        list->timed = list->queue && list->queue->handle.kind == OBJECT_QUEUE &&
                      atomic_load(&list->queue->queue.completed) >= list->submission;
        list->ambiguous = !list->timed;
        if (list->timed)
            reset_own_events(list);
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct command *command = &list->commands[i];
        if (command->event &&
            (command->event->handle.kind != OBJECT_EVENT || command->event->handle.key != command->handle))
            command->event = command->handle = NULL; // it was destroyed
        if (!command->event)
            continue;
        command->is_claimed = event_claim(command->event);
        command->generation = atomic_load(&command->event->handle.generation);
    }
}

void list_executed(struct object *object, struct object *queue, const struct frame *frame) {
    struct list *list = &object->list;
    list->queue = queue;
    list->submission = frame->submission;
    // Recording is off: the times are not read, and the events stay as the device leaves them.
    if (!frame->start) {
        list->ambiguous = true;
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const struct command *command = &list->commands[i];
        const struct launch launch = launch_of(frame, queue->queue.track, frame->stack);
        const bool timed = list->timed && command->handle && (!command->event || command->is_claimed);
        if (timed) {
            atomic_fetch_add(&list->in_flight, 1);
            if (add_pending(command, &launch, object, &queue->queue.pending))
                continue;
            atomic_fetch_sub(&list->in_flight, 1);
        }
        record_command(command, &launch, 0, 0);
    }
}

void list_clear(struct object *object) {
    struct list *list = &object->list;
    object_invalidate(object);
    if (atomic_exchange(&list->in_flight, 0) || list->ambiguous)
        reset_own_events(list); // the program may not reset a list that is being executed
    for (uint32_t i = 0; i < list->count; i++)
        if (list->commands[i].own)
            event_give_back(list->context, list->commands[i].own);
    list->count = 0;
    list->ambiguous = false;
}
