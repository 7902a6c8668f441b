// SPDX-License-Identifier: Apache-2.0
// The lock between a session's thread and fork. src/api/session.c uses it.
#include "api/fork_hold.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum { LONGEST_WAIT = 10 }; // s: a sink of the program's own may wait for the thread that forks

// Defined in processes with AddressSanitizer.
extern void __asan_init(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

// Who has `turn` is the next to get `allocating`: the session's thread, which takes both again and again, cannot overtake a
// fork that waits.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER, allocating = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holds; // this thread, for the fork that it makes

static void before_fork(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONGEST_WAIT;
    if (pthread_mutex_timedlock(&turn, &until) != 0)
        return;
    holds = pthread_mutex_timedlock(&allocating, &until) == 0;
    pthread_mutex_unlock(&turn);
}

static void after_fork_parent(void) {
    if (holds)
        pthread_mutex_unlock(&allocating);
    holds = false;
}

static void after_fork_child(void) {
    pthread_mutex_init(&turn, NULL);
    pthread_mutex_init(&allocating, NULL);
    holds = false;
}

static void add_handlers(void) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void fork_hold_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (__asan_init)
        pthread_once(&once, add_handlers);
}

void fork_hold_enter(void) {
    if (!__asan_init)
        return;
    pthread_mutex_lock(&turn);
    pthread_mutex_lock(&allocating);
    pthread_mutex_unlock(&turn);
}

void fork_hold_leave(void) {
    if (__asan_init)
        pthread_mutex_unlock(&allocating);
}
