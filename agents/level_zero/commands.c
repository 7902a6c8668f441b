// SPDX-License-Identifier: Apache-2.0
// Follows commands from their append to their times, as described in commands.h. Rules: agent.h.
#include "commands.h"

#include <string.h>
#include <sys/mman.h>

#include "agentkit/control.h"
#include "events.h"
#include "times.h"
#include "wire/memory.h"

enum { COMMANDS_FIRST = 64 };

struct entry {
    struct pending_entry head; // first
    struct command_facts facts;
    struct command_launch launch;
    struct timing timing;
    struct object *list;
    uint32_t list_generation;
};
enum { ENTRY_WORDS = (sizeof(struct entry) + 7) / 8 };

static bool own_events; // the user did not switch them off
static const struct command_times no_times;

// ---- what the kit asks for

// What a pass over a thread's commands holds: most commands of a pass are of one list. While it holds the list the driver may be asked
// for what is of it, and the events that it has read are given back together.
struct pass {
    struct object *list; // NULL: none
    uint32_t generation;
    struct event_chain events;
    struct command_times ran; // of the command that was asked for last
};
static __thread struct pass pass __attribute__((tls_model("initial-exec")));

static enum pending_answer ask_for_times(const struct entry *entry, struct pending_times *times) {
    struct zero_timestamps stamps;
    const struct object *device = entry->list->list.device;
    const int result = zero.zeEventQueryKernelTimestamp(entry->timing.handle, &stamps);
    if (result == ZERO_NOT_READY)
        return PENDING_RUNNING;
    const bool known =
        result == ZERO_SUCCESS && device &&
        times_convert(&device->device, &stamps, entry->launch.not_before, &times->now, &pass.ran);
    return known ? PENDING_TIMED : PENDING_UNTIMED;
}

static void pass_let_go(void) {
    if (!pass.list)
        return;
    events_give_back(pass.list->list.context, &pass.events);
    object_asked(pass.list);
    pass.list = NULL;
}

static bool pass_holds(const struct entry *entry) {
    return pass.list == entry->list && pass.generation == entry->list_generation;
}

// False: the list was invalidated since the command was appended.
static bool pass_hold(const struct entry *entry) {
    const uint32_t now = atomic_load_explicit(&entry->list->handle.generation, memory_order_relaxed);
    if (pass_holds(entry) && pass.generation == now)
        return true;
    pass_let_go();
    if (!object_ask(entry->list, entry->list_generation))
        return false;
    pass.list = entry->list;
    pass.generation = entry->list_generation;
    return true;
}

static enum pending_answer poll(struct pending_entry *head, struct pending_times *times) {
    const struct entry *entry = (const struct entry *)head;
    struct object *event = entry->timing.event;
    if (!pass_hold(entry) || (event && !object_ask(event, entry->timing.generation)))
        return PENDING_UNTIMED;
    const enum pending_answer answer = ask_for_times(entry, times);
    if (event)
        object_asked(event);
    return answer;
}

static void record(struct pending_entry *head, const struct pending_times *times,
                   enum pending_answer answer) {
    const struct entry *entry = (const struct entry *)head;
    (void)times;
    command_record(&entry->facts, &entry->launch, answer == PENDING_TIMED ? &pass.ran : &no_times);
}

// What was given up with its list keeps its event.
static void release(struct pending_entry *head) {
    const struct entry *entry = (const struct entry *)head;
    struct list *list = &entry->list->list;
    if (!pass_holds(entry))
        return;
    if (entry->timing.own && zero.zeEventHostReset(entry->timing.handle) == ZERO_SUCCESS && list->immediate)
        event_chain_add(&pass.events, entry->timing.own);
    if (!list->immediate)
        atomic_fetch_sub(&list->in_flight, 1);
}

static void finish(struct pending_list *list, uint32_t limit) {
    pending_finish(list, limit, poll, record, release);
    pass_let_go();
}

// The tracing layer passes on at once what is called inside a callback, and other calls take it as long as a call of the program.
// So the control thread calls what asks for nothing, and looks inside the callback of that.
static __thread bool wants_look __attribute__((tls_model("initial-exec")));

static void look_if_wanted(void) {
    if (!wants_look)
        return;
    wants_look = false;
    pending_reap_neglected();
}

void commands_inside(void **arguments, int result, void *user, void **instance) {
    (void)arguments, (void)result, (void)user, (void)instance;
    look_if_wanted();
}

static bool periodic_pass(void) {
    uint32_t count = 0;
    times_refresh();
    wants_look = true;
    if (pending_any())
        zero.zeDriverGet(&count, NULL);
    look_if_wanted();
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

static struct command_launch launch_of(const struct frame *frame, uint32_t track) {
    return (struct command_launch){.correlation = frame->call.correlation,
                                   .track = track,
                                   .host_track = channel_thread_track(agent.channel),
                                   .stack = frame->call.stack,
                                   .not_before = frame->call.start,
                                   .not_after = frame->call.end};
}

// The command is recorded when its times are known; without `timing` now, as they will not be.
static inline void launched(const struct frame *frame, const struct command_facts *facts,
                            const struct timing *timing, uint32_t track, struct object *list,
                            struct pending_queue *queue) {
    struct entry *entry = timing ? (struct entry *)pending_reserve(ENTRY_WORDS) : NULL;
    if (!entry) {
        const struct command_launch launch = launch_of(frame, track);
        command_record(facts, &launch, &no_times);
        return;
    }
    entry->facts = *facts;
    entry->launch = launch_of(frame, track);
    entry->timing = *timing;
    entry->list = list;
    entry->list_generation = atomic_load(&list->handle.generation);
    if (!list->list.immediate)
        atomic_fetch_add(&list->list.in_flight, 1);
    pending_commit(&entry->head, ENTRY_WORDS, queue);
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
    struct object *list = frame->list, *event;
    if (!list)
        return;
    if (!*signal) {
        const struct object *device = list->list.device;
        if (own_events && device && device->device.nominal > 0 && event_take(&list->list, &frame->timing))
            *signal = frame->timing.handle;
        return;
    }
    event = object_find(OBJECT_EVENT, *signal);
    // Of another list the event is claimed when a queue executes the list.
    if (event && (!list->list.immediate || event_claim(event)))
        frame->timing = (struct timing){.event = event,
                                        .generation = atomic_load(&event->handle.generation),
                                        .handle = event->handle.key};
}

// The driver has refused the command.
static void not_appended(const struct frame *frame) {
    if (frame->timing.own)
        event_put_back(&frame->list->list, frame->timing.own);
    else if (frame->timing.event && frame->list->list.immediate)
        atomic_store(&frame->timing.event->event.used, false);
}

static void list_append(struct list *list, const struct frame *frame) {
    struct command *commands =
        memory_grow(list->commands, list->count, &list->capacity, COMMANDS_FIRST, sizeof *commands);
    if (!commands) {
        channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
        return;
    }
    list->commands = commands;
    list->commands[list->count++] = (struct command){.facts = frame->facts, .timing = frame->timing};
}

void command_appended(const struct frame *frame) {
    struct object *list = frame->list;
    if (frame->result != ZERO_SUCCESS) {
        not_appended(frame);
    } else if (!list) {
        channel_lose(agent.channel, TSMITH_REASON_TABLE_FULL, 1);
    } else if (list->list.immediate) {
        launched(frame, &frame->facts, frame->timing.handle ? &frame->timing : NULL, list->list.track, list,
                 &list->list.pending);
    } else {
        list_append(&list->list, frame);
    }
}

// ---- executions of lists

static void reset_own_events(struct list *list) {
    agent_thread.busy++;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->commands[i].timing.own)
            zero.zeEventHostReset(list->commands[i].timing.handle);
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
        struct timing *timing = &list->commands[i].timing;
        struct object *event = timing->event;
        if (!event)
            continue;
        if (event->handle.kind != OBJECT_EVENT || event->handle.key != timing->handle) {
            *timing = (struct timing){0}; // it was destroyed
            continue;
        }
        list->commands[i].is_claimed = event_claim(event);
        timing->generation = atomic_load(&event->handle.generation);
    }
}

void list_executed(struct object *object, struct object *queue, const struct frame *frame) {
    struct list *list = &object->list;
    list->queue = queue;
    list->submission = frame->submission;
    // Recording is off: the times are not read, and the events stay as the device leaves them.
    if (!frame->call.start) {
        list->ambiguous = true;
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        const struct command *command = &list->commands[i];
        const struct timing *timing = &command->timing;
        const bool timed = list->timed && timing->handle && (timing->own || command->is_claimed);
        launched(frame, &command->facts, timed ? timing : NULL, queue->queue.track, object,
                 &queue->queue.pending);
    }
}

void list_clear(struct object *object) {
    struct list *list = &object->list;
    object_invalidate(object);
    if (atomic_exchange(&list->in_flight, 0) || list->ambiguous)
        reset_own_events(list); // the program may not reset a list that is being executed
    for (uint32_t i = 0; i < list->count; i++)
        if (list->commands[i].timing.own)
            event_put_back(list, list->commands[i].timing.own);
    events_leave(list);
    list->count = 0;
    list->ambiguous = false;
}
