// SPDX-License-Identifier: Apache-2.0
// The control thread: looks after commands nobody waits for, and makes the last pass at exit.
// Rules: agent.h. What it may do when: pending.h.
//
//     NONE --first command--> RUNNING --exit handler--> STOPPING --last pass done--> STOPPED
//
// After STOPPED (or a driver that hung in the last pass) calls of other exit handlers are still recorded;
// their threads finish their own commands.
#include "control.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/stacks.h"
#include "overhead.h"
#include "pending.h"

enum control_state { CONTROL_NONE, CONTROL_RUNNING, CONTROL_STOPPING, CONTROL_STOPPED };
enum { PERIOD_MS = 20, LAST_PASS_MS = 1000 };

static _Atomic uint32_t state;
static _Atomic uint32_t exit_handler;

static void wait_while(uint32_t value, long milliseconds) {
    const struct timespec period = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, value, &period, NULL, 0);
}

static void state_set(uint32_t value) {
    atomic_store(&state, value);
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static void *control_main(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "tracesmith");
    while (atomic_load(&state) == CONTROL_RUNNING) {
        wait_while(CONTROL_RUNNING, PERIOD_MS);
        pending_reap_neglected();
        stacks_refresh();
        overhead_look(false);
    }
    pending_reap_all(true);
    overhead_look(true);
    state_set(CONTROL_STOPPED);
    return NULL;
}

// Runs before the exit handlers of the driver: those are older than our first command.
static void at_exit(void) {
    uint32_t running = CONTROL_RUNNING;
    if (!atomic_compare_exchange_strong(&state, &running, CONTROL_STOPPING))
        return;
    state_set(CONTROL_STOPPING);
    const int64_t until = clock_trace_now() + LAST_PASS_MS * INT64_C(1000000);
    while (atomic_load(&state) == CONTROL_STOPPING && clock_trace_now() < until)
        wait_while(CONTROL_STOPPING, LAST_PASS_MS / 20);
}

static bool thread_make(void) {
    sigset_t all;
    sigset_t before;
    pthread_t thread;
    sigfillset(&all);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    const int failed = pthread_create(&thread, NULL, control_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        pthread_detach(thread);
    return !failed;
}

void control_start(void) {
    uint32_t none = CONTROL_NONE;
    if (atomic_load(&state) != CONTROL_NONE ||
        !atomic_compare_exchange_strong(&state, &none, CONTROL_RUNNING))
        return;
    if (!thread_make()) { // no thread to be had: commands are finished where the program waits
        atomic_store(&state, CONTROL_NONE);
        return;
    }
    if (!atomic_exchange(&exit_handler, 1))
        atexit(at_exit);
}

void control_after_fork_child(void) {
    atomic_store(&state, CONTROL_NONE);
}

// The library goes: what is still in flight will not be seen any more. No call into the driver from here.
__attribute__((destructor)) static void at_unload(void) {
    if (!agent.channel)
        return;
    const uint64_t left = pending_abandon();
    if (left)
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, left);
    agent_thread.busy++; // calls from the destructors of others go straight on
    // Without this the process would be taken for one that was killed.
    channel_close(agent.channel);
}
