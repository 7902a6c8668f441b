// SPDX-License-Identifier: Apache-2.0
// What the kernel states about CLOCK_REALTIME while a session records: how far it is from UTC, and whether it was set.
#ifndef COLLECT_WALL_CLOCK_H
#define COLLECT_WALL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "tracesmith/dictionary.h"

struct wall_clock {
    uint32_t utc_clock; // id in the dictionary, 0: not there yet
    uint32_t steps;     // times that it was set, as far as was noticed
    bool compared;
    // The last comparison: CLOCK_REALTIME minus CLOCK_BOOTTIME, its error, and the trace time of it.
    int64_t offset, error, at;
};

// Called with each new comparison of CLOCK_REALTIME with the trace clock, which is in the dictionary. Adds the same comparison of
// the clock "UTC", whose error includes the kernel's bound of CLOCK_REALTIME (adjtimex), if the kernel says that it is
// synchronized; and a notice if CLOCK_REALTIME was set since the last call. A zeroed struct begins.
void wall_clock_describe(struct wall_clock *wall, tsmith_dictionary *dictionary,
                         const tsmith_clock_pair *realtime);

#endif
