// SPDX-License-Identifier: Apache-2.0
// The data of a thread: its open ranges, and its texts. Rules: agent.h.
//
// The lock is of the list of threads, taken when one begins to record and when it ends. The key that notices a
// thread's end is made before the channel's own, so that its ring still exists then (keys are gone through in the
// order in which they were made).
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "watch.h"
#include "wire/memory.h"

enum { LISTS_OWN = 31 }; // of channel_begun, that one thread has for itself; the others share one

__thread struct thread *thread_own;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static struct thread *threads;
static uint32_t lists_used; // bits

// Writes what the calling thread has open.
static uint32_t write_open(const struct thread *thread) {
    const uint32_t generation = atomic_load(&agent.generation);
    uint32_t open = 0;
    for (uint32_t i = 0; i < atomic_load_explicit(&thread->depth, memory_order_relaxed); i++) {
        const struct pushed *pushed = &thread->stack[i];
        if (pushed->generation != generation)
            continue;
        record_write(FORM_OPEN, channel_thread_track(agent.channel), &pushed->label, pushed->start, 0);
        watch_ended(pushed->label.name);
        open++;
    }
    return open;
}

// Another thread's ranges cannot be read while it runs: how many they are is all that is known.
static void close_open(struct thread *thread, bool own) {
    const uint32_t open =
        own ? write_open(thread) : atomic_load_explicit(&thread->depth, memory_order_relaxed);
    if (!open)
        return;
    channel_lose(agent.channel, TSMITH_REASON_UNMATCHED, open);
    channel_ended(agent.channel, thread->list, open);
}

static void list_give_back(uint32_t list) {
    if (list < LISTS_OWN)
        lists_used &= ~(1u << list);
}

static uint32_t list_take(void) {
    for (uint32_t list = 0; list < LISTS_OWN; list++)
        if (!(lists_used >> list & 1)) {
            lists_used |= 1u << list;
            return list;
        }
    return UINT32_MAX;
}

static void thread_end(void *value) {
    struct thread *thread = value;
    if (!atomic_load(&agent.over) && thread->generation == atomic_load(&agent.generation))
        close_open(thread, true);
    pthread_mutex_lock(&lock);
    struct thread **at = &threads;
    while (*at && *at != thread)
        at = &(*at)->next;
    if (*at)
        *at = thread->next;
    list_give_back(thread->list);
    pthread_mutex_unlock(&lock);
    thread_own = NULL;
    munmap(thread, sizeof *thread);
}

bool threads_init(void) {
    return pthread_key_create(&key, thread_end) == 0;
}

// New, or the one there was before a fork: this process's own list, and its ring.
struct thread *thread_make(void) {
    const int saved = errno;
    struct thread *thread = thread_own;
    if (!thread) {
        thread = memory_take(sizeof *thread);
        if (!thread) {
            channel_lose(agent.channel, TSMITH_REASON_NO_MEMORY, 1);
            errno = saved;
            return NULL;
        }
        thread_own = thread;
        pthread_setspecific(key, thread);
    }
    thread->tid = (uint32_t)syscall(SYS_gettid);
    thread->generation = atomic_load(&agent.generation);
    pthread_mutex_lock(&lock);
    thread->list = list_take();
    thread->next = threads;
    threads = thread;
    pthread_mutex_unlock(&lock);
    // The ring first: in a child this makes the channel its own.
    names_thread_known(thread->tid, channel_thread_track(agent.channel));
    errno = saved;
    return thread;
}

void threads_after_fork_child(void) {
    // The memory of the other threads is theirs in the parent; here it is unused.
    pthread_mutex_init(&lock, NULL);
    threads = NULL;
    lists_used = 0;
}

void threads_over(void) {
    pthread_mutex_lock(&lock);
    for (struct thread *thread = threads; thread; thread = thread->next)
        close_open(thread, thread == thread_own);
    pthread_mutex_unlock(&lock);
}
