// SPDX-License-Identifier: Apache-2.0
// When any thread of a process compiled: a thread that launches may wait for another one that compiles for it, and the wait itself is in
// no trace. `idle` uses it.
#ifndef ANALYZE_COMPILE_TIMES_H
#define ANALYZE_COMPILE_TIMES_H

#include <stdbool.h>

#include "state/timeline.h"

struct compile_time {
    uint32_t process;
    int64_t from, to;
};

// A zeroed struct is valid and empty. Disjoint within a process; by process, then by time.
struct compile_times {
    struct compile_time *items;
    size_t count;
};

// False when memory is exhausted.
bool compile_times_init(struct compile_times *times, const tsmith_timeline *timeline);
void compile_times_finish(struct compile_times *times);

// ns of [from, to) in which a thread of the process compiled; 0 if the process is unknown (0).
int64_t compile_times_covered(const struct compile_times *times, uint32_t process, int64_t from, int64_t to);

#endif
