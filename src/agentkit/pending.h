// SPDX-License-Identifier: Apache-2.0
// Commands in flight: the driver has them, and their times were not queried yet. For APIs whose driver must be asked whether a
// command is complete (OpenCL; Level Zero, Vulkan and ROCm likewise). Rules: agent.h.
//
// Each thread has a list of the commands that it has given to the driver, a ring of entries of different lengths. Its thread
// alone appends (`tail`). Entries are finished by the thread that holds the list's lock: the owner inside its own waiting
// calls, any thread before it lets an object go, and, every few ms, the control thread, if the owner has not looked since the
// last time: where a program waits often enough, no thread of ours calls into its driver. The lock is a flag that is tried,
// never waited for on the event path: a failed try leaves the entries to the next.
//
//     appended (tail, release) --holder: poll says that it is complete--> DONE --holder: all before it are too-->
//     gone (head)
//
// Entries may finish in any order (several queues); `head` follows the first unfinished one.
//
// An agent has a struct of its own that begins with struct pending_entry, and three functions: `poll` asks the driver, which
// must not wait; `record` writes the event; `release` gives back what the entry holds. PENDING_FINISH makes of them the function
// that struct pending_work names, with all three inlined.
#ifndef AGENTKIT_PENDING_H
#define AGENTKIT_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agentkit/agent.h"

// A queue of the API, in the agent's own struct of it. In one that runs in order nothing after an unfinished command is
// complete: the commands after it are passed over without a question.
struct pending_queue {
    _Atomic uint64_t scan; // the look in which a command of it was found unfinished
    bool out_of_order;
};

enum pending_state { PENDING_OPEN, PENDING_DONE, PENDING_PAD };

struct pending_entry {
    uint32_t words; // of the agent's struct with all that follows it
    uint8_t state;  // the kit's, as is `words`
    struct pending_queue *queue;
};

// Times of the device's clock, as its driver gives them; 0: it does not give this one.
struct pending_times {
    uint64_t queued, submitted, start, end, complete;
    int64_t result; // of a command without times
    uint64_t now;   // for poll: what it has left here in this look, 0 at first
};
enum pending_answer {
    PENDING_RUNNING,
    PENDING_TIMED,  // complete, with times to be believed
    PENDING_UNTIMED // complete, or never to be known
};

struct pending_list {
    _Atomic uint64_t head; // words since the beginning; index = & (capacity - 1)
    _Atomic uint64_t tail;
    uint64_t *words;
    uint64_t capacity;
    uint32_t number;         // of the list, from 0: that of channel_begun
    uint32_t appended;       // commands, ever
    uint32_t since_reap;     // commands appended since the owner last looked
    _Atomic uint32_t looked; // how often the owner did
    uint32_t seen_looked;    // the control thread's: that number a period ago
    _Atomic uint32_t locked;
    _Atomic uint32_t owned; // by a living thread
    struct pending_list *next;
};

struct pending_work {
    void (*finish)(struct pending_list *list, uint32_t limit); // made by PENDING_FINISH
    void (*begin)(void); // a thread has its first list: starts the control thread (control.h)
};

// The calling thread's; NULL before its first command.
extern __thread struct pending_list *pending_own
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Before the first command. The work stays.
void pending_start(const struct pending_work *work);

// Records what is complete of the calling thread's list; of all lists. `patient` waits a short while for a list that
// another thread holds: for calls that release objects, so that the agent's references to them are released before.
void pending_reap_own(void);
void pending_reap_all(bool patient);
// Records what is complete of the lists whose owners have not looked themselves since the last call. For the control thread.
void pending_reap_neglected(void);
// Counts the passes that have ended, twice; odd while one is at work. The same even number before and after means that in
// between nothing of the agent's was released.
uint64_t pending_epoch(void);
// Whether anything is in flight.
bool pending_any(void);
// Forgets everything in flight, without touching the driver; how many commands that were.
uint64_t pending_abandon(void);
void pending_after_fork_child(void);

static inline struct pending_entry *pending_at(const struct pending_list *list, uint64_t position) {
    return (struct pending_entry *)(void *)(list->words + (position & (list->capacity - 1)));
}

// ---- appending, by the thread that has given the command to the driver

struct pending_entry *pending_reserve_slow(uint32_t words);
void pending_reap_sometimes(struct pending_list *list);

// Room for `words` in one piece, at the tail of the thread's list; NULL: there is none, and the caller keeps what it holds. Other
// threads see it from the commit on.
static inline struct pending_entry *pending_reserve(uint32_t words) {
    const struct pending_list *list = pending_own;
    if (__builtin_expect(list != NULL, 1)) {
        const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_relaxed);
        const uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);
        if (list->capacity - (tail & (list->capacity - 1)) >= words && tail - head + words <= list->capacity)
            return pending_at(list, tail);
    }
    return pending_reserve_slow(words);
}

// How many commands the thread's list was given before the one that is reserved.
static inline uint32_t pending_number(void) {
    return pending_own->appended;
}

// Takes over the command of the entry reserved last, of which `words` are used, and what it holds of the driver's.
static inline void pending_commit(struct pending_entry *entry, uint32_t words, struct pending_queue *queue) {
    enum { EVERY = 256 };
    struct pending_list *list = pending_own;
    entry->words = words;
    entry->state = PENDING_OPEN;
    entry->queue = queue;
    list->appended++;
    channel_begun(agent.channel, list->number, 1);
    atomic_store_explicit(&list->tail, atomic_load_explicit(&list->tail, memory_order_relaxed) + words,
                          memory_order_release);
    // Looking often costs; looking seldom lets commands pile up where the program does not wait.
    if (++list->since_reap >= EVERY)
        pending_reap_sometimes(list);
}

// ---- finishing

uint64_t pending_scan(void); // the number of a look

typedef enum pending_answer pending_poll(struct pending_entry *entry, struct pending_times *times);
typedef void pending_record(struct pending_entry *entry, const struct pending_times *times,
                            enum pending_answer answer);
typedef void pending_release(struct pending_entry *entry);

// Finishes what is complete, up to `limit` unfinished ones seen. The list is locked. A command counts as ended right after its
// record: of a process that dies meanwhile nothing is both in the trace and missing.
__attribute__((always_inline)) static inline void pending_finish(struct pending_list *list, uint32_t limit,
                                                                 pending_poll *poll, pending_record *record,
                                                                 pending_release *release) {
    const uint64_t scan = pending_scan();
    const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&list->head, memory_order_relaxed);
    bool all_before = true;
    struct pending_times times;
    times.now = 0;
    for (uint64_t at = head; at != tail && limit;) {
        struct pending_entry *entry = pending_at(list, at);
        enum pending_answer answer = PENDING_RUNNING;
        if (entry->state == PENDING_OPEN) {
            struct pending_queue *queue = entry->queue;
            if (atomic_load_explicit(&queue->scan, memory_order_relaxed) != scan)
                answer = poll(entry, &times);
            if (answer != PENDING_RUNNING) {
                record(entry, &times, answer);
                channel_ended(agent.channel, list->number, 1);
                entry->state = PENDING_DONE;
                release(entry);
            } else {
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

#define PENDING_FINISH(name, poll, record, release)                                                          \
    static void name(struct pending_list *list, uint32_t limit) {                                            \
        pending_finish(list, limit, poll, record, release);                                                  \
    }

#endif
