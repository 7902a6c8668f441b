// SPDX-License-Identifier: Apache-2.0
// The control thread: has CUPTI hand back its buffers every 100 ms, so that a program that is killed loses no more than
// that, compares the clocks, and makes the last pass at exit. Rules: agent.h.
//
//     NONE --attached--> RUNNING --exit handler--> STOPPING --last pass done--> STOPPED
//                           \--session over--> STOPPED
//
// CUPTI's flush calls back into buffers.c on this thread. The program's threads never wait for it but at exit, and
// there for LAST_PASS_MS at most.
#include "control.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"
#include "buffers.h"
#include "capture/stacks.h"
#include "launches.h"
#include "library.h"
#include "records.h"
#include "subscribe.h"
#include "timebase.h"

enum control_state { CONTROL_NONE, CONTROL_RUNNING, CONTROL_STOPPING, CONTROL_STOPPED };
enum { FLUSH_MS = 100, STACKS_MS = 20, LAST_PASS_MS = 3000, FORCED = 1 };

static _Atomic uint32_t state;

static void wait_while(uint32_t value, long milliseconds) {
    const struct timespec period = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, value, &period, NULL, 0);
}

static void state_set(uint32_t value) {
    atomic_store(&state, value);
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

static void look(void) {
    timebase_compare();
    cupti.ActivityFlushAll(0);
}

// What the user should know of how it went.
static void sum_up(void) {
    char text[1400];
    const uint64_t open = launches_open(), made = launches_made();
    snprintf(text, sizeof text, "%lld", (long long)timebase_error());
    channel_attribute(agent.channel, "cuda.clock_error_ns", text);
    if (open && open >= made / 2) {
        snprintf(
            text, sizeof text,
            "CUPTI gave no record of %llu of %llu launches: see that %s is not older than the driver (set "
            "TRACESMITH_CUPTI), and that no other tool in the program takes its records",
            (unsigned long long)open, (unsigned long long)made, cupti.path);
        agent_notice(text);
    }
    if (buffers_refused()) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)buffers_refused());
        channel_attribute(agent.channel, "cuda.buffers_refused", text);
    }
}

static void last_pass(void) {
    timebase_compare();
    cupti.ActivityFlushAll(0);
    cupti.ActivityFlushAll(FORCED);
    records_dropped(NULL, 0);
    sum_up();
}

static void *control_main(void *unused) {
    (void)unused;
    int64_t next = 0;
    prctl(PR_SET_NAME, "tracesmith");
    while (atomic_load(&state) == CONTROL_RUNNING) {
        wait_while(CONTROL_RUNNING, stacks_on ? STACKS_MS : FLUSH_MS);
        if (!channel_live(agent.channel)) {
            atomic_store(&agent.silent, true);
            subscribe_end();
            state_set(CONTROL_STOPPED);
            return NULL;
        }
        stacks_refresh();
        if (atomic_load(&state) == CONTROL_RUNNING && clock_trace_now() >= next) {
            next = clock_trace_now() + FLUSH_MS * INT64_C(900000); // a little less: waits are never shorter
            look();
        }
    }
    last_pass();
    state_set(CONTROL_STOPPED);
    return NULL;
}

// Runs before the exit handlers of the driver and of CUPTI: those were loaded before it was registered.
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
    atomic_store(&state, CONTROL_RUNNING);
    if (!thread_make()) { // buffers come back when they are full, and what is in the last is counted
        atomic_store(&state, CONTROL_NONE);
        return;
    }
    atexit(at_exit);
}

void control_after_fork_child(void) {
    atomic_store(&state, CONTROL_NONE);
}

// The process ends by itself: without this it would be taken for one that was killed.
__attribute__((destructor)) static void at_unload(void) {
    if (!agent_recording())
        return;
    const uint64_t left = launches_open();
    if (left)
        channel_lose(agent.channel, TSMITH_REASON_NO_COMPLETION, left);
    atomic_store(&agent.silent, true);
    channel_close(agent.channel);
}
