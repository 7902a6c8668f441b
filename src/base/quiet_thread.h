// SPDX-License-Identifier: Apache-2.0
// A thread that gets no signal: the signals of a program are for its own threads.
#ifndef BASE_QUIET_THREAD_H
#define BASE_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

// As pthread_create with default attributes.
static inline int quiet_thread_start(pthread_t *thread, void *(*run)(void *), void *of) {
    sigset_t all, before;
    (void)sigfillset(&all);
    int failure = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (failure)
        return failure;
    failure = pthread_create(thread, NULL, run, of);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failure;
}

#endif
