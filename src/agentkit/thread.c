// SPDX-License-Identifier: Apache-2.0
// Threads of an agent in the profiled program: the control thread, the one that samples metrics, and the work at exit.
#include "agentkit/thread.h"

#include <pthread.h>

#include "base/quiet_thread.h"

bool agent_thread_start(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (quiet_thread_start(&thread, work, argument) != 0)
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
    return quiet_thread_start(&thread, run, &call) == 0 && pthread_join(thread, NULL) == 0;
}
