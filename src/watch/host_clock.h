// SPDX-License-Identifier: Apache-2.0
// A clock of this machine that a session compared with the trace clock throughout: its times become trace times.
#ifndef WATCH_HOST_CLOCK_H
#define WATCH_HOST_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tracesmith/dictionary.h"

struct host_clock {
    tsmith_clock_pair *pairs; // in order
    size_t count, capacity;
};

// A zeroed struct is a valid one that knows nothing.
void host_clock_finish(struct host_clock *clock);
// The dictionary's data about the clock of this name. False: no memory.
bool host_clock_read(struct host_clock *clock, const tsmith_dictionary *dictionary, const char *name);
bool host_clock_add(struct host_clock *clock, int64_t clock_time, int64_t trace_time);
// Compares it with the trace clock now: the tightest of several readings, since this process may be kept from running in any
// one of them.
bool host_clock_add_now(struct host_clock *clock, clockid_t id);
// Whether the clock showed that while the session ran, give or take as long as that; then the trace time.
bool host_clock_find(const struct host_clock *clock, uint64_t clock_time, int64_t *trace_time);
// The trace time in any case: beyond the comparisons as if the clock had run on as before.
int64_t host_clock_convert(const struct host_clock *clock, int64_t clock_time);

#endif
