// SPDX-License-Identifier: Apache-2.0
// The lock between a session's thread and fork. src/api/session.c uses it.
#include "api/fork_hold.h"

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

enum { LONGEST_WAIT = 10 }; // s: a sink of the program's own may wait for the thread that forks

// Defined in processes with AddressSanitizer.
extern void __asan_init(void) __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

// Who has `turn` is the next to get `allocating`: the session's thread, which takes both again and again, cannot overtake a
// fork that waits. The end of a thread is given to the thread that joins it: semaphores have no owner.
static sem_t turn, allocating;
static _Thread_local bool holds; // this thread, for the fork that it makes

static void wait_for(sem_t *one) {
    while (sem_wait(one) != 0)
        ; // a signal
}

static bool wait_until(sem_t *one, const struct timespec *until) {
    int failure;
    while ((failure = sem_timedwait(one, until)) != 0 && errno == EINTR)
        ;
    return failure == 0;
}

static void before_fork(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LONGEST_WAIT;
    if (!wait_until(&turn, &until))
        return;
    holds = wait_until(&allocating, &until);
    sem_post(&turn);
}

static void after_fork_parent(void) {
    if (holds)
        sem_post(&allocating);
    holds = false;
}

static void begin(void) {
    sem_init(&turn, 0, 1);
    sem_init(&allocating, 0, 1);
    holds = false;
}

static void begin_first(void) {
    begin();
    pthread_atfork(before_fork, after_fork_parent, begin);
}

void fork_hold_enter(void) {
    if (!__asan_init)
        return;
    wait_for(&turn);
    wait_for(&allocating);
    sem_post(&turn);
}

void fork_hold_leave(void) {
    if (__asan_init)
        sem_post(&allocating);
}

// ---- life of a thread

struct beginning {
    void *(*run)(void *);
    void *of;
    sem_t begun;
};

static void *run_held(void *given) {
    const struct beginning own = *(struct beginning *)given;
    sem_post(&((struct beginning *)given)->begun); // it is gone afterwards
    void *result = own.run(own.of);
    fork_hold_enter(); // until it is joined
    return result;
}

int fork_hold_create(pthread_t *thread, void *(*run)(void *), void *of) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct beginning beginning = {.run = run, .of = of};
    if (!__asan_init)
        return pthread_create(thread, NULL, run, of);
    pthread_once(&once, begin_first);
    sem_init(&beginning.begun, 0, 0);
    fork_hold_enter();
    const int failure = pthread_create(thread, NULL, run_held, &beginning);
    if (!failure)
        wait_for(&beginning.begun);
    fork_hold_leave();
    sem_destroy(&beginning.begun);
    return failure;
}

void fork_hold_join(pthread_t thread) {
    pthread_join(thread, NULL);
    fork_hold_leave();
}
