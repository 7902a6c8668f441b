// SPDX-License-Identifier: Apache-2.0
// The control thread of an agent: start, wake-up, exit and fork. The CUDA and OpenCL agents and the stack file call it.
#include "agentkit/control.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agentkit/agent.h"
#include "agentkit/stacks.h"
#include "agentkit/sums.h"
#include "agentkit/thread.h"
#include "base/clock.h"

enum control_state { CONTROL_NONE, CONTROL_RUNNING, CONTROL_STOPPING, CONTROL_STOPPED };

static const struct agent_control_work *work;
static struct channel *channel;
static _Atomic uint32_t state;
static _Atomic uint32_t bell; // incremented when a waiting thread should check: for a new state, or for work
static _Atomic uint32_t exit_handler;
static int64_t next_flush; // trace clock; the control thread's

// Until the bell has rung since it was `heard`.
static void wait_for_bell(uint32_t heard, long milliseconds) {
    const struct timespec period = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, &period, NULL, 0);
}

static void ring_bell(void) {
    atomic_fetch_add(&bell, 1);
    syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static void state_set(uint32_t value) {
    atomic_store(&state, value);
    ring_bell();
}

void agent_control_flush(void) {
    next_flush = 0;
}

// False: the thread ends.
static bool look_once(void) {
    if (work->over && !channel_live(channel)) {
        atomic_store(&agent.over, true);
        work->over();
        return false;
    }
    stacks_refresh();
    if (work->look && !work->look())
        return false;
    if (work->flush && clock_trace_now() >= next_flush) {
        next_flush = clock_trace_now() + work->flush_ms * INT64_C(900000); // less: waits are never shorter
        work->flush();
    }
    sums_look();
    return true;
}

static void *control_main(void *unused) {
    (void)unused;
    prctl(PR_SET_NAME, "tracesmith");
    for (uint32_t heard = atomic_load(&bell); atomic_load(&state) == CONTROL_RUNNING;) {
        channel_rest(channel, true);
        wait_for_bell(heard, work->period_ms);
        channel_rest(channel, false);
        heard = atomic_load(&bell);
        if (!look_once()) {
            state_set(CONTROL_STOPPED);
            return NULL;
        }
    }
    if (work->last_pass)
        work->last_pass();
    sums_write();
    state_set(CONTROL_STOPPED);
    return NULL;
}

static void stop(void) {
    uint32_t running = CONTROL_RUNNING;
    if (!atomic_compare_exchange_strong(&state, &running, CONTROL_STOPPING))
        return;
    state_set(CONTROL_STOPPING);
    const int64_t until = clock_trace_now() + work->last_pass_ms * INT64_C(1000000);
    for (uint32_t heard = atomic_load(&bell);
         atomic_load(&state) == CONTROL_STOPPING && clock_trace_now() < until; heard = atomic_load(&bell))
        wait_for_bell(heard, work->last_pass_ms / 20);
}

bool agent_control_stop(void) {
    uint32_t stopped = CONTROL_STOPPED;
    stop();
    return atomic_compare_exchange_strong(&state, &stopped, CONTROL_NONE) || stopped == CONTROL_NONE;
}

// The thread is the parent's; the next start makes one here.
static void after_fork_child(void) {
    atomic_store(&state, CONTROL_NONE);
}

bool agent_control_start(const struct agent_control_work *what, struct channel *where) {
    uint32_t none = CONTROL_NONE;
    if (atomic_load(&state) != CONTROL_NONE ||
        !atomic_compare_exchange_strong(&state, &none, CONTROL_RUNNING))
        return false;
    work = what;
    channel = where;
    if (!agent_thread_start(control_main, NULL)) {
        atomic_store(&state, CONTROL_NONE);
        return false;
    }
    if (!atomic_exchange(&exit_handler, 1)) {
        pthread_atfork(NULL, NULL, after_fork_child);
        atexit(stop);
    }
    return true;
}

void agent_control_exit_first(void) {
    if (atomic_load(&exit_handler))
        atexit(stop);
}

void agent_control_wake(void) {
    const int saved = errno;
    if (atomic_load_explicit(&state, memory_order_relaxed) == CONTROL_RUNNING)
        ring_bell();
    errno = saved;
}
