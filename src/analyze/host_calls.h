// SPDX-License-Identifier: Apache-2.0
// Which calls of the GPU API a host thread was in, by name: the details of "the host did something else", as far as
// they are in the trace.
#ifndef ANALYZE_HOST_CALLS_H
#define ANALYZE_HOST_CALLS_H

#include <stdbool.h>

#include "analyze/tally.h"
#include "state/timeline.h"

struct host_call_time {
    uint32_t name;
    uint32_t last;  // call that was counted
    uint64_t calls; // that are in the gaps, at least in part
    int64_t time;
};

// A zeroed struct is valid and empty.
struct host_calls {
    uint32_t *outermost; // calls that no other call of their thread is around, by thread and start
    size_t *first;       // by thread: in `outermost`; one more at the end
    struct tally names;
    struct host_call_time *times; // by number of the name
    size_t capacity;
};

bool host_calls_init(struct host_calls *calls, const tsmith_timeline *timeline);
void host_calls_finish(struct host_calls *calls);

// Forgets all times.
void host_calls_clear(struct host_calls *calls);
// Adds what the thread's calls with these roles (bits, 1 << tsmith_call_role) cover of [from, to); those that return only
// when what they launched is complete are left out. False when memory is exhausted.
bool host_calls_add(struct host_calls *calls, const tsmith_timeline *timeline, uint32_t roles,
                    uint32_t thread, int64_t from, int64_t to);
// The name with the most time, taken out, so that the next call gives the next one; its time is 0 when there is none.
struct host_call_time host_calls_take(struct host_calls *calls);

#endif
