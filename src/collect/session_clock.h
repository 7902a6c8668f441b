// SPDX-License-Identifier: Apache-2.0
// Ticks -> trace time, for a whole session: segments in the control file, so that recover converts exactly as
// the collector did. And what other clocks of the machine showed meanwhile, for the dictionary.
#ifndef COLLECT_SESSION_CLOCK_H
#define COLLECT_SESSION_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/wall_clock.h"
#include "tracesmith/dictionary.h"
#include "wire/layout.h"

struct session_clock {
    struct layout_control *control;
    struct layout_segment current; // the one used last, and the tick where it ends
    uint64_t current_end;
    uint32_t count;                                       // segments that are valid
    struct clock_sample first;                            // the long baseline
    int64_t last_sample;                                  // trace time
    uint32_t described;                                   // segments whose pairs are in the dictionary
    uint32_t tick_clock, realtime_clock, monotonic_clock; // ids in the dictionary, 0: not there yet
    struct wall_clock wall;
};

// The collector's side: starts the clock of a new session; takes a new calibration when it is time (each
// conversion must be of ticks before the last call).
void session_clock_start(struct session_clock *clock, struct layout_control *control);
void session_clock_advance(struct session_clock *clock, tsmith_dictionary *dictionary);
// Recover's side: the segments of a dead session, every one checked. Times after the last one are interpolated where
// there is a final comparison.
void session_clock_load(struct session_clock *clock, struct layout_control *control,
                        tsmith_dictionary *dictionary);

// Finds the segment of a tick.
void session_clock_seek(struct session_clock *clock, uint64_t tick);

// The trace time of a tick.
static inline int64_t session_clock_convert(struct session_clock *clock, uint64_t tick) {
    if (__builtin_expect(tick < clock->current.tick || tick >= clock->current_end, 0))
        session_clock_seek(clock, tick);
    // Modulo 2^128: a tick that no clock ever showed gives some time, and no overflow.
    const unsigned __int128 since = (unsigned __int128)tick - clock->current.tick;
    const __int128 scaled = (__int128)(since * (unsigned __int128)clock->current.scale);
    return (int64_t)((uint64_t)clock->current.trace + (uint64_t)(scaled >> 32));
}

// The offset from another clock of the machine to the trace clock just now, with half the time the reading
// took.
int64_t session_clock_offset_of(clockid_t other, int64_t *error);

#endif
