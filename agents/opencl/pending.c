// SPDX-License-Identifier: Apache-2.0
// Commands of OpenCL in flight (agentkit/pending.h): what is known of each, the questions to the driver, and what is written
// of it. Rules: agent.h.
#include "pending.h"

#include <string.h>

#include "agentkit/sums.h"
#include "command.h"
#include "control.h"
#include "events.h"
#include "times.h"

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
    const uint64_t last_end = atomic_load_explicit(&queue_of(&entry->head)->last_end, memory_order_relaxed);
    // The newest end that was seen may be of a later command, of another thread's list.
    const bool before = last_end > times->submitted && last_end <= times->start;
    const uint64_t from = before ? last_end : times->submitted;
    if (times->start < from + AT_LEAST)
        return;
    const struct command_words *command = (const struct command_words *)(const void *)entry->body;
    RECORD_WRITE(ring, shapes.first_launch, queue_of(&entry->head)->track, first_launch_words, .start = from,
                 .end = times->start, .operation = TSMITH_OPERATION_FIRST_LAUNCH, .name = command->name,
                 .correlation = command->correlation, .host_track = command->host_track,
                 .certainty = TSMITH_CERTAINTY_INFERRED);
}

static void write_timed(struct ring *ring, const struct entry *entry, const struct pending_times *times) {
    const uint32_t body = entry->head.words - ENTRY_WORDS;
    const bool has_stack = entry->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(timed_words) +
                           (entry->calibrates ? RECORD_PART_WORDS(calibration_words) : 0) + has_stack + body;
    uint64_t *at = record_begin(ring, entry->timed, words, entry->track);
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

// In place of a record of its own.
static void add_up(const struct entry *entry, const struct pending_times *times, bool timed) {
    const struct command_words *command = (const struct command_words *)(const void *)entry->body;
    const uint64_t *details = entry->body + BODY_FIXED;
    uint64_t bytes = 0, direction = 0;
    if (entry->class == CLASS_COPY) {
        bytes = ((const struct copy_words *)(const void *)details)->bytes;
        direction = ((const struct copy_words *)(const void *)details)->direction;
    } else if (entry->class == CLASS_FILL) {
        bytes = ((const struct fill_words *)(const void *)details)->bytes;
    }
    sums_add(sums_what((tsmith_kind)shapes_kinds[entry->class], timed ? SUMS_TIMED | SUMS_DELAYED : 0,
                       command->operation, direction, (uint32_t)command->name),
             sums_who(entry->track, entry->stack), timed ? times->end - times->start : 0,
             timed ? times->start - times->queued : 0, bytes);
}

static void write_untimed(struct ring *ring, const struct entry *entry, int64_t status) {
    const uint32_t body = entry->head.words - ENTRY_WORDS;
    const bool has_stack = entry->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(untimed_words) + has_stack + body;
    uint64_t *at = record_begin(ring, entry->untimed, words, entry->track);
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

static bool time_get(cl_event event, cl_profiling_info what, uint64_t *out) {
    return opencl_next.clGetEventProfilingInfo(event, what, sizeof *out, out, NULL) == CL_SUCCESS;
}

// False when the driver gives none (yet).
static inline bool times_get(cl_event event, struct queue *queue, bool first_launch,
                             struct pending_times *times) {
    if (!time_get(event, CL_PROFILING_COMMAND_END, &times->end) ||
        !time_get(event, CL_PROFILING_COMMAND_START, &times->start) ||
        !time_get(event, CL_PROFILING_COMMAND_QUEUED, &times->queued))
        return false;
    times->complete = 0;
    // A sum has no use for the rest.
    if (sums_on && !first_launch) {
        times->submitted = times->queued;
        return true;
    }
    if (!time_get(event, CL_PROFILING_COMMAND_SUBMIT, &times->submitted))
        return false;
    if (!queue->no_complete_time && !time_get(event, CL_PROFILING_COMMAND_COMPLETE, &times->complete))
        queue->no_complete_time = true;
    return true;
}

static enum pending_answer poll(struct pending_entry *head, struct pending_times *times) {
    const struct entry *entry = entry_of(head);
    struct queue *queue = queue_of(head);
    cl_int status = CL_COMPLETE;
    bool timed = times_get(entry->event, queue, entry->first_launch, times);
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
            timed = times_get(entry->event, queue, entry->first_launch, times);
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
    if (__builtin_expect(sums_on, 0))
        add_up(entry, times, answer == PENDING_TIMED);
    if (!ring)
        return;
    if (answer == PENDING_UNTIMED) {
        if (!sums_on)
            write_untimed(ring, entry, times->result);
        return;
    }
    if (entry->first_launch)
        write_first_launch(ring, entry, times);
    if (__builtin_expect(!sums_on, 1))
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
