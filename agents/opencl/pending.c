// SPDX-License-Identifier: Apache-2.0
// Rules: agent.h. Invariants and states: pending.h.
#include "pending.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "agentkit/control.h"
#include "agentkit/memory.h"
#include "command.h"
#include "control.h"
#include "events.h"
#include "overhead.h"
#include "times.h"

enum {
    LIST_WORDS_FIRST = 1 << 14, // 128 KiB: some 700 commands
    LIST_WORDS_MAX = 1 << 23,   // 64 MiB
    PATIENCE = 2000,            // yields
    CALIBRATE_FIRST = 64, // commands of a list that calibrate the device's clock, and then every so many
    CALIBRATE_EVERY = 16,
};

enum entry_state { ENTRY_PENDING, ENTRY_DONE, ENTRY_PAD };

struct entry {
    uint32_t words; // of the entry
    uint8_t state;
    uint8_t class;
    bool held;
    bool first_launch;
    bool has_waits;
    bool calibrates; // brings the host's times next to the device's
    uint32_t track;  // of its queue
    uint32_t stack;  // of its call; 0: none
    cl_event event;
    struct object *queue;
    uint64_t not_before;
    uint64_t not_after;
    uint64_t body[]; // words - ENTRY_WORDS
};
enum { ENTRY_WORDS = sizeof(struct entry) / 8 };

struct pending_list {
    _Atomic uint64_t head; // words since the beginning; index = & (capacity - 1)
    _Atomic uint64_t tail;
    uint64_t *words;
    uint64_t capacity;
    uint32_t number;         // of the list, from 0
    uint32_t appended;       // commands, ever
    uint32_t since_reap;     // commands appended since the owner last looked
    _Atomic uint32_t looked; // how often the owner did
    uint32_t seen_looked;    // the control thread's: that number a period ago
    _Atomic uint32_t locked;
    _Atomic uint32_t owned; // by a living thread
    struct pending_list *next;
};

static struct pending_list *_Atomic lists; // all there ever were; entries are never taken out
static _Atomic uint32_t list_count;
static _Atomic uint64_t scans;
static _Atomic uint64_t reapers;   // at work now
static _Atomic uint64_t reap_ends; // how many have finished
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

// The body of a launch over one dimension, the most frequent of all, in one inlined move.
static void body_copy(uint64_t *to, const uint64_t *from, uint32_t words) {
    enum { FREQUENT = BODY_FIXED + RECORD_PART_WORDS(kernel_1d_words) };
    if (words == FREQUENT)
        memcpy(to, from, FREQUENT * 8);
    else
        memcpy(to, from, (size_t)words * 8);
}

static struct entry *entry_at(const struct pending_list *list, uint64_t position) {
    return (struct entry *)(void *)(list->words + (position & (list->capacity - 1)));
}

// ---- lists and threads

static bool list_empty(const struct pending_list *list) {
    return atomic_load_explicit(&list->head, memory_order_acquire) ==
           atomic_load_explicit(&list->tail, memory_order_acquire);
}

static void list_give_back(void *list) {
    opencl_thread.list = NULL;
    atomic_store_explicit(&((struct pending_list *)list)->owned, 0, memory_order_release);
}

static void thread_end_make(void) {
    pthread_key_create(&thread_end, list_give_back);
}

static struct pending_list *list_make(void) {
    struct pending_list *list =
        mmap(NULL, sizeof *list, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return NULL;
    list->words = agent_memory(LIST_WORDS_FIRST * 8);
    if (!list->words) {
        munmap(list, sizeof *list);
        return NULL;
    }
    list->capacity = LIST_WORDS_FIRST;
    list->number = atomic_fetch_add(&list_count, 1);
    list->owned = 1;
    list->next = atomic_load(&lists);
    while (!atomic_compare_exchange_weak(&lists, &list->next, list))
        ;
    return list;
}

// The calling thread's list: an empty one that another thread has left, or a new one.
static struct pending_list *list_own(void) {
    if (opencl_thread.list)
        return opencl_thread.list;
    struct pending_list *list = atomic_load(&lists);
    for (; list; list = list->next) {
        uint32_t free = 0;
        if (list_empty(list) && atomic_compare_exchange_strong(&list->owned, &free, 1))
            break;
    }
    if (!list)
        list = list_make();
    if (list) {
        pthread_once(&thread_end_once, thread_end_make);
        pthread_setspecific(thread_end, list);
        opencl_thread.list = list;
        control_start();
    }
    return list;
}

static bool list_try(struct pending_list *list) {
    uint32_t free = 0;
    return atomic_load_explicit(&list->locked, memory_order_relaxed) == 0 &&
           atomic_compare_exchange_strong_explicit(&list->locked, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static bool list_wait(struct pending_list *list) {
    for (int i = 0; i < PATIENCE; i++) {
        if (list_try(list))
            return true;
        sched_yield();
    }
    return false;
}

static void list_unlock(struct pending_list *list) {
    atomic_store_explicit(&list->locked, 0, memory_order_release);
}

// ---- finishing

// A kernel's first launch waited for the compiler between its submission (or its queue's last end) and its
// start.
static void write_first_launch(struct ring *ring, const struct entry *entry, const struct times *times) {
    enum { AT_LEAST = 5000000 }; // ns; below that it is scheduling, or a kernel from a cache
    enum { WORDS = 1 + RECORD_PART_WORDS(first_launch_words) };
    const uint64_t last_end = atomic_load_explicit(&entry->queue->queue.last_end, memory_order_relaxed);
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

static void write_timed(struct ring *ring, const struct entry *entry, const struct times *times) {
    const uint32_t body = entry->words - ENTRY_WORDS;
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

static void write_untimed(struct ring *ring, const struct entry *entry, cl_int status) {
    const uint32_t body = entry->words - ENTRY_WORDS;
    const bool has_stack = entry->stack != 0;
    const uint32_t words = 1u + RECORD_PART_WORDS(untimed_words) + has_stack + body;
    uint64_t *at =
        record_begin(ring, shapes.untimed[entry->class][entry->has_waits][has_stack], words, entry->track);
    if (!at)
        return;
    RECORD_PUT(at, untimed_words, .start = entry->not_after, .result = (uint64_t)(int64_t)status,
               .certainty = TSMITH_CERTAINTY_UNTIMED);
    if (has_stack)
        RECORD_PUT(at, stack_words, entry->stack);
    body_copy(at, entry->body, body);
    ring_commit(ring, words);
}

static void entry_record(const struct entry *entry, const struct times *times, cl_int status) {
    struct ring *ring = channel_ring(agent.channel);
    struct queue *queue = &entry->queue->queue;
    if (!times)
        channel_lose(agent.channel, TSMITH_REASON_NO_TIMING, 1);
    if (!ring)
        return;
    if (!times) {
        write_untimed(ring, entry, status);
        return;
    }
    if (entry->first_launch)
        write_first_launch(ring, entry, times);
    write_timed(ring, entry, times);
    if (times->end > atomic_load_explicit(&queue->last_end, memory_order_relaxed))
        atomic_store_explicit(&queue->last_end, times->end, memory_order_relaxed);
}

// Records the entry of this list if its command is complete. False when it is not. It counts as ended right after its record:
// of a process that dies meanwhile nothing is both in the trace and missing. `now`: of times_believed.
static bool entry_finish(struct entry *entry, uint32_t list, uint64_t *now) {
    struct times times;
    cl_int status = CL_COMPLETE;
    bool timed = times_get(entry->event, &entry->queue->queue, &times);
    // Oclgrind gives times of a command that runs, with an end of 0.
    if (!timed || times.end < times.start) {
        opencl_thread.asks = true;
        if (opencl_next.clGetEventInfo(entry->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                       &status, NULL) != CL_SUCCESS)
            status = CL_COMPLETE; // it will never tell
        opencl_thread.asks = false;
        if (status > CL_COMPLETE)
            return false;
        if (status == CL_COMPLETE) // it may have become so between the two questions
            timed = times_get(entry->event, &entry->queue->queue, &times);
    }
    timed = timed && times_believed(&times, &entry->queue->queue, entry->not_before, entry->not_after, now);
    entry_record(entry, timed ? &times : NULL, status);
    channel_ended(agent.channel, list, 1);
    entry->state = ENTRY_DONE;
    if (entry->held)
        events_unhold(entry->event, ((const struct command_words *)(const void *)entry->body)->correlation);
    opencl_next.clReleaseEvent(entry->event);
    return true;
}

// Finishes what is complete, up to `limit` unfinished ones seen. The list is locked. In a queue that runs in
// order, nothing after an unfinished command is complete: its entries are passed over without asking.
static void list_finish(struct pending_list *list, uint32_t limit) {
    const uint64_t scan = atomic_fetch_add_explicit(&scans, 1, memory_order_relaxed) + 1;
    const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&list->head, memory_order_relaxed);
    uint64_t now = 0;
    bool all_before = true;
    for (uint64_t at = head; at != tail && limit;) {
        struct entry *entry = entry_at(list, at);
        if (entry->state == ENTRY_PENDING) {
            struct queue *queue = &entry->queue->queue;
            if (atomic_load_explicit(&queue->scan, memory_order_relaxed) == scan ||
                !entry_finish(entry, list->number, &now)) {
                if (!queue->out_of_order)
                    atomic_store_explicit(&queue->scan, scan, memory_order_relaxed);
                all_before = false;
                limit--;
            }
        }
        at += entry->words;
        if (all_before)
            head = at;
    }
    atomic_store_explicit(&list->head, head, memory_order_release);
}

static void list_reap(struct pending_list *list, uint32_t limit, bool patient) {
    if (list_empty(list) || !(patient ? list_wait(list) : list_try(list)))
        return;
    agent_thread.busy++;
    atomic_fetch_add(&reapers, 1);
    list_finish(list, limit);
    if (list == opencl_thread.list) {
        list->since_reap = 0;
        atomic_fetch_add_explicit(&list->looked, 1, memory_order_relaxed);
        if (list_empty(list)) { // begin at the front again: the same few cache lines are used over and over
            atomic_store(&list->head, 0);
            atomic_store(&list->tail, 0);
        }
    }
    atomic_fetch_add(&reap_ends, 1);
    atomic_fetch_sub(&reapers, 1);
    agent_thread.busy--;
    list_unlock(list);
}

void pending_reap_own(void) {
    if (!opencl_thread.list)
        return;
    const uint64_t begun = agent_overhead.on ? agent_tick() : 0;
    list_reap(opencl_thread.list, UINT32_MAX, false);
    if (begun)
        agent_overhead_add(agent_tick() - begun, 0);
}

void pending_reap_all(bool patient) {
    if (agent_thread.busy)
        return;
    for (struct pending_list *list = atomic_load(&lists); list; list = list->next)
        list_reap(list, UINT32_MAX, patient);
}

void pending_reap_neglected(void) {
    for (struct pending_list *list = atomic_load(&lists); list; list = list->next) {
        const uint32_t looked = atomic_load_explicit(&list->looked, memory_order_relaxed);
        if (looked == list->seen_looked)
            list_reap(list, UINT32_MAX, false);
        list->seen_looked = looked;
    }
}

uint64_t pending_epoch(void) {
    const uint64_t ends = atomic_load(&reap_ends);
    return ends * 2 + (atomic_load(&reapers) != 0);
}

uint64_t pending_abandon(void) {
    uint64_t left = 0;
    for (struct pending_list *list = atomic_load(&lists); list; list = list->next) {
        if (!list_try(list))
            continue;
        const uint64_t tail = atomic_load(&list->tail);
        for (uint64_t at = atomic_load(&list->head); at != tail; at += entry_at(list, at)->words)
            left += entry_at(list, at)->state == ENTRY_PENDING;
        atomic_store(&list->head, tail);
        list_unlock(list);
    }
    return left;
}

void pending_after_fork_child(void) {
    for (struct pending_list *list = atomic_load(&lists); list; list = list->next) {
        atomic_store(&list->head, 0);
        atomic_store(&list->tail, 0);
        atomic_store(&list->locked, 0);
        atomic_store(&list->owned, list == opencl_thread.list);
    }
    atomic_store(&reapers, 0);
}

// ---- appending

// Twice the room, the entries moved to its front. Only the owner calls it.
static bool list_grow(struct pending_list *list) {
    if (list->capacity >= LIST_WORDS_MAX || !list_try(list))
        return false;
    uint64_t *words = agent_memory(list->capacity * 2 * 8);
    if (words) {
        const uint64_t tail = atomic_load(&list->tail);
        uint64_t used = 0;
        for (uint64_t at = atomic_load(&list->head); at != tail;) {
            const struct entry *entry = entry_at(list, at);
            at += entry->words;
            if (entry->state != ENTRY_PENDING)
                continue;
            memcpy(words + used, entry, entry->words * 8);
            used += entry->words;
        }
        munmap(list->words, list->capacity * 8);
        list->words = words;
        list->capacity *= 2;
        atomic_store(&list->head, 0);
        atomic_store(&list->tail, used);
    }
    list_unlock(list);
    return words != NULL;
}

// Room for `words` in one piece, at the tail; NULL when there is none. Pads over the end of the ring.
static struct entry *list_room(struct pending_list *list, uint32_t words) {
    const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_relaxed);
    const uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);
    const uint64_t to_end = list->capacity - (tail & (list->capacity - 1));
    const uint64_t pad = to_end < words ? to_end : 0;
    if (tail - head + pad + words > list->capacity)
        return NULL;
    struct entry *entry = entry_at(list, tail);
    if (pad) {
        entry->words = (uint32_t)pad; // fits into one word, as does `state`
        entry->state = ENTRY_PAD;
        atomic_store_explicit(&list->tail, tail + pad, memory_order_release);
        entry = entry_at(list, tail + pad);
    }
    return entry;
}

// The owner's list is full, and somebody who holds it was put to sleep by the system: the owner goes on with another.
static struct pending_list *list_change(struct pending_list *list) {
    list_give_back(list);
    return list_own();
}

// Room in the thread's list, which may be another one after this.
static struct entry *list_reserve(struct pending_list **list, uint32_t words) {
    struct entry *entry = list_room(*list, words);
    if (entry)
        return entry;
    list_reap(*list, UINT32_MAX, false);
    while (!(entry = list_room(*list, words)) && list_grow(*list))
        ;
    if (!entry && (*list)->capacity < LIST_WORDS_MAX && (*list = list_change(*list)))
        entry = list_room(*list, words);
    return entry;
}

// Looking often costs; looking seldom lets commands pile up where the program does not wait.
static void reap_sometimes(struct pending_list *list) {
    enum { EVERY = 256, LOOK = 16 };
    if (++list->since_reap >= EVERY) {
        list->since_reap = 0;
        list_reap(list, LOOK, false);
    }
}

bool pending_push(const struct command *command, cl_event event, bool held, uint32_t wait_count,
                  const cl_event *waits) {
    struct pending_list *list = list_own();
    if (!list)
        return false;
    const uint32_t room = ENTRY_WORDS + command->body_words + (wait_count ? events_list_room(wait_count) : 0);
    struct entry *entry = list_reserve(&list, room);
    if (!entry)
        return false;
    uint32_t words = ENTRY_WORDS + command->body_words;
    body_copy(entry->body, command->body, command->body_words);
    if (wait_count)
        words += events_list(entry->body + command->body_words, wait_count, waits);
    entry->words = words;
    entry->state = ENTRY_PENDING;
    entry->class = (uint8_t)command->class;
    entry->held = held;
    entry->first_launch = command->first_launch;
    entry->has_waits = wait_count != 0;
    entry->calibrates = list->appended < CALIBRATE_FIRST || list->appended % CALIBRATE_EVERY == 0;
    list->appended++;
    entry->event = event;
    entry->queue = command->call.queue;
    entry->track = command->call.queue->queue.track;
    entry->stack = command->call.stack;
    entry->not_before = command->call.start;
    entry->not_after = command->call.end;
    channel_begun(agent.channel, list->number, 1);
    const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_relaxed);
    atomic_store_explicit(&list->tail, tail + words, memory_order_release);
    reap_sometimes(list);
    return true;
}
