// SPDX-License-Identifier: Apache-2.0
// The last call stacks of launches, by thread and time. Written on the program's threads, read by the reader of records. Rules: agent.h.
// A thread has a row, found by its id; threads that share a row overwrite each other's notes, which the id distinguishes. The notes of a
// row are in the order of time, but for those that threads which share it write at once: one that is searched may then be missed.
#include <unistd.h>

#include "agent.h"
#include "agentkit/stacks.h"
#include "base/sorted.h"
#include "wire/memory.h"

enum { ROWS = 256, NOTES = 1 << 12, LOOKS = 8 };

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

void stacks_here_note(uint32_t stack, int64_t time) {
    static __thread uint32_t tid __attribute__((tls_model("initial-exec")));
    if (!tid)
        tid = (uint32_t)gettid();
    struct row *row = &rows[tid % ROWS];
    struct note *note = &row->notes[atomic_fetch_add_explicit(&row->next, 1, memory_order_relaxed) % NOTES];
    atomic_store_explicit(&note->time, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&note->tid, tid, memory_order_relaxed);
    atomic_store_explicit(&note->stack, stack, memory_order_relaxed);
    atomic_store_explicit(&note->time, time, memory_order_release);
}

// One that is being written is later than all others.
static int64_t time_of(const struct row *row, uint32_t at) {
    const int64_t time = atomic_load_explicit(&row->notes[at % NOTES].time, memory_order_acquire);
    return time ? time : INT64_MAX;
}

static uint32_t first_since(const struct row *row, uint32_t low, uint32_t high, int64_t start) {
    return SORTED_FIND(i, low, high, time_of(row, i) < start);
}

uint32_t stacks_here_between(uint32_t tid, int64_t start, int64_t end) {
    if (!stacks_on)
        return 0;
    const struct row *row = &rows[tid % ROWS];
    const uint32_t next = atomic_load_explicit(&row->next, memory_order_acquire);
    const uint32_t first = first_since(row, next > NOTES ? next - NOTES : 0, next, start);
    for (uint32_t i = first; i < next && i - first < LOOKS; i++) {
        const struct note *note = &row->notes[i % NOTES];
        const int64_t time = time_of(row, i);
        const uint32_t whose = atomic_load_explicit(&note->tid, memory_order_relaxed),
                       stack = atomic_load_explicit(&note->stack, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        // A note that was overwritten meanwhile has another time now.
        if (time >= start && time <= end && whose == tid && time_of(row, i) == time)
            return stack;
    }
    return 0;
}
