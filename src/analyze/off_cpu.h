// SPDX-License-Identifier: Apache-2.0
// When host threads did not run, by what they were in: where a trace has it (profile --sched), the reason why the host did
// something else.
#ifndef ANALYZE_OFF_CPU_H
#define ANALYZE_OFF_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stack_places.h"
#include "tracesmith/batch.h"
#include "tracesmith/schema.h"

struct off_period {
    int64_t from, woken, to; // from `woken` on it waited for a processor
    uint32_t track;
    uint32_t name, waker;        // strings; 0: none
    uint32_t stack, waker_stack; // 0: none
    uint8_t operation;           // tsmith_operation
};

// What a thread was in, in all the stretches that were asked about.
struct off_reason {
    uint8_t operation; // NONE: it ran; PREEMPTED: it waited for a processor
    uint32_t name, waker;
    uint32_t place, waker_place; // functions of programs, as strings; 0: not known
    int64_t time;
    uint64_t count; // of periods that overlap the gaps
};

// A zeroed struct is valid and empty.
struct off_cpu {
    struct off_period *periods;
    size_t count, capacity;
    bool sorted;
    struct off_reason *reasons; // the longest first, after off_cpu_sort_reasons
    size_t reason_count, reason_capacity;
    struct stack_places places;
};

void off_cpu_finish(struct off_cpu *off);
// Takes the periods of a batch, if it has any. False when memory is exhausted.
bool off_cpu_take(struct off_cpu *off, const tsmith_batch *batch);
// Where the stacks that were taken are named: before reasons are added. Without it no place is known.
bool off_cpu_name(struct off_cpu *off, const tsmith_dictionary *dictionary);
// Forgets the reasons.
void off_cpu_clear(struct off_cpu *off);
// Adds what the thread of this track was in from `from` to `to`. False when memory is exhausted.
bool off_cpu_add(struct off_cpu *off, uint32_t track, int64_t from, int64_t to);
void off_cpu_sort_reasons(struct off_cpu *off);

#endif
