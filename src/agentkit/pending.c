// SPDX-License-Identifier: Apache-2.0
// The lists of commands in flight: threads that come and go, room, and who finishes entries when. Invariants and states:
// pending.h. The OpenCL agent uses it.
#include "agentkit/pending.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "agentkit/overhead.h"
#include "wire/memory.h"

enum {
    LIST_WORDS_FIRST = 1 << 14, // 128 KiB: some 700 commands
    LIST_WORDS_MAX = 1 << 23,   // 64 MiB
    PATIENCE = 2000,            // yields
};

__thread struct pending_list *pending_own;

static const struct pending_work *work;
static struct pending_list *_Atomic lists; // all there ever were; entries are never taken out
static _Atomic uint32_t list_count;
static _Atomic uint64_t scans;
static _Atomic uint64_t reapers;   // at work now
static _Atomic uint64_t reap_ends; // how many have finished
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

void pending_start(const struct pending_work *what) {
    work = what;
}

uint64_t pending_scan(void) {
    return atomic_fetch_add_explicit(&scans, 1, memory_order_relaxed) + 1;
}

// ---- lists and threads

static bool list_empty(const struct pending_list *list) {
    return atomic_load_explicit(&list->head, memory_order_acquire) ==
           atomic_load_explicit(&list->tail, memory_order_acquire);
}

static void list_give_back(void *list) {
    pending_own = NULL;
    atomic_store_explicit(&((struct pending_list *)list)->owned, 0, memory_order_release);
}

static void thread_end_make(void) {
    pthread_key_create(&thread_end, list_give_back);
}

static struct pending_list *list_make(void) {
    struct pending_list *list = memory_take(sizeof *list);
    if (!list)
        return NULL;
    list->words = memory_take(LIST_WORDS_FIRST * 8);
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
    if (pending_own)
        return pending_own;
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
        pending_own = list;
        if (work->begin)
            work->begin();
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

static void list_reap(struct pending_list *list, uint32_t limit, bool patient) {
    if (list_empty(list) || !(patient ? list_wait(list) : list_try(list)))
        return;
    agent_thread.busy++;
    atomic_fetch_add(&reapers, 1);
    work->finish(list, limit);
    if (list == pending_own) {
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
    if (!pending_own)
        return;
    const uint64_t begun = agent_overhead.on ? agent_tick() : 0;
    list_reap(pending_own, UINT32_MAX, false);
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

void pending_reap_sometimes(struct pending_list *list) {
    enum { LOOK = 16 };
    list->since_reap = 0;
    list_reap(list, LOOK, false);
}

uint64_t pending_epoch(void) {
    const uint64_t ends = atomic_load(&reap_ends);
    return ends * 2 + (atomic_load(&reapers) != 0);
}

bool pending_any(void) {
    for (const struct pending_list *list = atomic_load(&lists); list; list = list->next)
        if (!list_empty(list))
            return true;
    return false;
}

uint64_t pending_abandon(void) {
    uint64_t left = 0;
    for (struct pending_list *list = atomic_load(&lists); list; list = list->next) {
        if (!list_try(list))
            continue;
        const uint64_t tail = atomic_load(&list->tail);
        for (uint64_t at = atomic_load(&list->head); at != tail; at += pending_at(list, at)->words)
            left += pending_at(list, at)->state == PENDING_OPEN;
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
        atomic_store(&list->owned, list == pending_own);
    }
    atomic_store(&reapers, 0);
}

// ---- appending

// Twice the room, the entries moved to its front. Only the owner calls it.
static bool list_grow(struct pending_list *list) {
    if (list->capacity >= LIST_WORDS_MAX || !list_try(list))
        return false;
    uint64_t *words = memory_take(list->capacity * 2 * 8);
    if (words) {
        const uint64_t tail = atomic_load(&list->tail);
        uint64_t used = 0;
        for (uint64_t at = atomic_load(&list->head); at != tail;) {
            const struct pending_entry *entry = pending_at(list, at);
            at += entry->words;
            if (entry->state != PENDING_OPEN)
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
static struct pending_entry *list_room(struct pending_list *list, uint32_t words) {
    const uint64_t tail = atomic_load_explicit(&list->tail, memory_order_relaxed);
    const uint64_t head = atomic_load_explicit(&list->head, memory_order_acquire);
    const uint64_t to_end = list->capacity - (tail & (list->capacity - 1));
    const uint64_t pad = to_end < words ? to_end : 0;
    if (tail - head + pad + words > list->capacity)
        return NULL;
    struct pending_entry *entry = pending_at(list, tail);
    if (pad) {
        entry->words = (uint32_t)pad; // fits into one word, as does `state`
        entry->state = PENDING_PAD;
        atomic_store_explicit(&list->tail, tail + pad, memory_order_release);
        entry = pending_at(list, tail + pad);
    }
    return entry;
}

struct pending_entry *pending_reserve_slow(uint32_t words) {
    struct pending_list *list = list_own();
    struct pending_entry *entry = list ? list_room(list, words) : NULL;
    if (entry || !list)
        return entry;
    list_reap(list, UINT32_MAX, false);
    while (!(entry = list_room(list, words)) && list_grow(list))
        ;
    // The list is full, and the thread that holds it does not run: this thread continues with another list.
    if (!entry && list->capacity < LIST_WORDS_MAX) {
        list_give_back(list);
        list = list_own();
        entry = list ? list_room(list, words) : NULL;
    }
    return entry;
}
