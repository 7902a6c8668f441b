// SPDX-License-Identifier: Apache-2.0
// Threads of an agent in the profiled program: the control thread, the one that samples metrics, and the work at exit.
#include "agentkit/thread.h"

#include <pthread.h>
#include <signal.h>

static bool start(void *(*work)(void *), void *argument, pthread_t *thread) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    const int failed = pthread_create(thread, NULL, work, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

bool agent_thread_start(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (!start(work, argument, &thread))
        return false;
    pthread_detach(thread);
    return true;
}

struct call {
    void (*work)(void);
};

static void *run(void *argument) {
    const struct call *call = argument;
    call->work();
    return NULL;
}

bool agent_thread_run(void (*work)(void)) {
    struct call call = {work};
    pthread_t thread;
    return start(run, &call, &thread) && pthread_join(thread, NULL) == 0;
}
