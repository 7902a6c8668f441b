// SPDX-License-Identifier: Apache-2.0
// The last call stacks of launches, by thread and time. Written on the program's threads, read by the reader of records. Rules: agent.h.
// A thread has a row, found by its id; threads that share a row overwrite each other's notes, which the id distinguishes.
#include <unistd.h>

#include "agent.h"
#include "wire/memory.h"

enum { ROWS = 256, NOTES = 256 };

struct note {
    _Atomic int64_t time; // trace clock; 0: being written
    _Atomic uint32_t tid, stack;
};
static struct row {
    _Atomic uint32_t next;
    struct note notes[NOTES];
} * rows;

bool stacks_here_init(void) {
    rows = memory_take(ROWS * sizeof *rows);
    return rows;
}

void stacks_here_note(uint32_t stack) {
    static __thread uint32_t tid __attribute__((tls_model("initial-exec")));
    if (!tid)
        tid = (uint32_t)gettid();
    struct row *row = &rows[tid % ROWS];
    struct note *note = &row->notes[atomic_fetch_add_explicit(&row->next, 1, memory_order_relaxed) % NOTES];
    atomic_store_explicit(&note->time, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&note->tid, tid, memory_order_relaxed);
    atomic_store_explicit(&note->stack, stack, memory_order_relaxed);
    atomic_store_explicit(&note->time, clock_trace_now(), memory_order_release);
}

uint32_t stacks_here_between(uint32_t tid, int64_t start, int64_t end) {
    const struct row *row = &rows[tid % ROWS];
    for (uint32_t i = 0; i < NOTES; i++) {
        const struct note *note = &row->notes[i];
        const int64_t time = atomic_load_explicit(&note->time, memory_order_acquire);
        const uint32_t whose = atomic_load_explicit(&note->tid, memory_order_relaxed),
                       stack = atomic_load_explicit(&note->stack, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        // A note that was overwritten meanwhile has another time now.
        if (time && time >= start && time <= end && whose == tid &&
            atomic_load_explicit(&note->time, memory_order_relaxed) == time)
            return stack;
    }
    return 0;
}
