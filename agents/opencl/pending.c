// SPDX-License-Identifier: Apache-2.0
// Commands of OpenCL in flight (agentkit/pending.h): what is known of each, the questions to the driver, and what is written
// of it. Rules: agent.h.
#include "pending.h"

#include <string.h>

#include "command.h"
#include "control.h"
#include "events.h"
#include "times.h"

enum {
    CALIBRATE_FIRST = 64, // commands of a list that calibrate the device's clock, and then every so many
    CALIBRATE_EVERY = 16,
};

struct entry {
    struct pending_entry head; // first
    uint8_t class;
    bool held;
    bool first_launch;
    bool has_waits;
    bool calibrates; // brings the host's times next to the device's
    uint32_t track;  // of its queue
    uint32_t stack;  // of its call; 0: none
    cl_event event;
    uint64_t not_before;
    uint64_t not_after;
    uint64_t body[]; // words - ENTRY_WORDS
};
enum { ENTRY_WORDS = sizeof(struct entry) / 8 };

static struct entry *entry_of(struct pending_entry *head) {
    return (struct entry *)head;
}

static struct queue *queue_of(const struct pending_entry *head) {
    static_assert(offsetof(struct queue, pending) == 0, "a queue begins with what the kit knows of it");
    return (struct queue *)head->queue;
}

// The body of a launch over one dimension, the most frequent of all, in one inlined move.
static void body_copy(uint64_t *to, const uint64_t *from, uint32_t words) {
    enum { FREQUENT = BODY_FIXED + RECORD_PART_WORDS(kernel_1d_words) };
    if (words == FREQUENT)
        memcpy(to, from, FREQUENT * 8);
    else
        memcpy(to, from, (size_t)words * 8);
}

// ---- records

// A kernel's first launch waited for the compiler between its submission (or its queue's last end) and its
// start.
static void write_first_launch(struct ring *ring, const struct entry *entry,
                               const struct pending_times *times) {
    enum { AT_LEAST = 5000000 }; // ns; below that it is scheduling, or a kernel from a cache
    enum { WORDS = 1 + RECORD_PART_WORDS(first_launch_words) };
    const uint64_t last_end = atomic_load_explicit(&queue_of(&entry->head)->last_end, memory_order_relaxed);
    // The newest end that was seen may be of a later command, of another thread's list.
    const bool before = last_end > times->submitted && last_end <= times->start;
    const uint64_t from = before ? last_end : times->submitted;
    if (times->start < from + AT_LEAST)
        return;
    uint64_t *at = record_begin(ring, shapes.first_launch, WORDS, entry->track);
    if (!at)
        return;
    const struct command_words *command = (const struct command_words *)(const void *)entry->body;
    RECORD_PUT(at, first_launch_words, .start = from, .end = times->start,
               .operation = TSMITH_OPERATION_FIRST_LAUNCH, .name = command->name,
               .correlation = command->correlation, .host_track = command->host_track,
               .certainty = TSMITH_CERTAINTY_INFERRED);
    ring_commit(ring, WORDS);
}

static void write_timed(struct ring *ring, const struct entry *entry, const struct pending_times *times) {
    const uint32_t body = entry->head.words - ENTRY_WORDS;
    const bool has_stack = entry->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(timed_words) +
                           (entry->calibrates ? RECORD_PART_WORDS(calibration_words) : 0) + has_stack + body;
    uint64_t *at =
        record_begin(ring, shapes.timed[entry->class][entry->has_waits][entry->calibrates][has_stack], words,
                     entry->track);
    if (!at)
        return;
    RECORD_PUT(at, timed_words, .start = times->start, .end = times->end, .queued = times->queued,
               .submitted = times->submitted, .complete = times->complete);
    if (entry->calibrates)
        RECORD_PUT(at, calibration_words, .not_before = entry->not_before, .not_after = entry->not_after);
    if (has_stack)
        RECORD_PUT(at, stack_words, entry->stack);
    body_copy(at, entry->body, body);
    ring_commit(ring, words);
}

static void write_untimed(struct ring *ring, const struct entry *entry, int64_t status) {
    const uint32_t body = entry->head.words - ENTRY_WORDS;
    const bool has_stack = entry->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(untimed_words) + has_stack + body;
    uint64_t *at =
        record_begin(ring, shapes.untimed[entry->class][entry->has_waits][has_stack], words, entry->track);
    if (!at)
        return;
    RECORD_PUT(at, untimed_words, .start = entry->not_after, .result = (uint64_t)status,
               .certainty = TSMITH_CERTAINTY_UNTIMED);
    if (has_stack)
        RECORD_PUT(at, stack_words, entry->stack);
    body_copy(at, entry->body, body);
    ring_commit(ring, words);
}

// ---- what the kit asks for

static enum pending_answer poll(struct pending_entry *head, struct pending_times *times) {
    const struct entry *entry = entry_of(head);
    struct queue *queue = queue_of(head);
    cl_int status = CL_COMPLETE;
    bool timed = times_get(entry->event, queue, times);
    // Oclgrind gives times of a command that runs, with an end of 0.
    if (!timed || times->end < times->start) {
        opencl_thread.asks = true;
        if (opencl_next.clGetEventInfo(entry->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                       &status, NULL) != CL_SUCCESS)
            status = CL_COMPLETE; // it will never tell
        opencl_thread.asks = false;
        if (status > CL_COMPLETE)
            return PENDING_RUNNING;
        if (status == CL_COMPLETE) // it may have become so between the two questions
            timed = times_get(entry->event, queue, times);
    }
    times->result = status;
    timed = timed && times_believed(times, queue, entry->not_before, entry->not_after, &times->now);
    return timed ? PENDING_TIMED : PENDING_UNTIMED;
}

static void record(struct pending_entry *head, const struct pending_times *times,
                   enum pending_answer answer) {
    const struct entry *entry = entry_of(head);
    struct ring *ring = channel_ring(agent.channel);
    struct queue *queue = queue_of(head);
    if (answer == PENDING_UNTIMED)
        channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
    if (!ring)
        return;
    if (answer == PENDING_UNTIMED) {
        write_untimed(ring, entry, times->result);
        return;
    }
    if (entry->first_launch)
        write_first_launch(ring, entry, times);
    write_timed(ring, entry, times);
    if (times->end > atomic_load_explicit(&queue->last_end, memory_order_relaxed))
        atomic_store_explicit(&queue->last_end, times->end, memory_order_relaxed);
}

static void release(struct pending_entry *head) {
    const struct entry *entry = entry_of(head);
    if (entry->held)
        events_unhold(entry->event, ((const struct command_words *)(const void *)entry->body)->correlation);
    opencl_next.clReleaseEvent(entry->event);
}

PENDING_FINISH(finish, poll, record, release)

void pending_begin(void) {
    static const struct pending_work work = {.finish = finish, .begin = control_start};
    pending_start(&work);
}

// ---- appending

bool pending_push(const struct command *command, cl_event event, bool held, uint32_t wait_count,
                  const cl_event *waits) {
    const uint32_t room = ENTRY_WORDS + command->body_words + (wait_count ? events_list_room(wait_count) : 0);
    struct pending_entry *head = pending_reserve(room);
    if (!head)
        return false;
    struct entry *entry = entry_of(head);
    const uint32_t number = pending_number();
    uint32_t words = ENTRY_WORDS + command->body_words;
    body_copy(entry->body, command->body, command->body_words);
    if (wait_count)
        words += events_list(entry->body + command->body_words, wait_count, waits);
    entry->class = (uint8_t)command->class;
    entry->held = held;
    entry->first_launch = command->first_launch;
    entry->has_waits = wait_count != 0;
    entry->calibrates = number < CALIBRATE_FIRST || number % CALIBRATE_EVERY == 0;
    entry->event = event;
    entry->track = command->call.queue->queue.track;
    entry->stack = command->call.stack;
    entry->not_before = command->call.start;
    entry->not_after = command->call.end;
    pending_commit(head, words, &command->call.queue->queue.pending);
    return true;
}
