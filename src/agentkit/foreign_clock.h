// SPDX-License-Identifier: Apache-2.0
// A clock that the tool interface of a driver gives its times on, and its difference from the trace clock. For agents whose API can read that
// clock on the host (rocprofiler-sdk): the control thread compares the two now and then, and times are converted by the
// comparisons around them. Where two neighbouring comparisons show a jump (the machine was suspended, the clock was set), a
// time between them belongs to the nearer one.
//
// Any thread. No lock: of two threads that compare at once, one does.
#ifndef AGENTKIT_FOREIGN_CLOCK_H
#define AGENTKIT_FOREIGN_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_CLOCK_UNKNOWN INT64_MIN

enum { FOREIGN_CLOCK_PLACES = 4096 }; // comparisons that are kept: at ten a second, those of the last minutes

struct foreign_clock {
    bool (*read)(uint64_t *time); // ns of the clock
    struct {
        _Atomic uint64_t time;  // of that clock
        _Atomic int64_t offset; // the trace clock minus that
    } places[FOREIGN_CLOCK_PLACES];
    _Atomic uint32_t count;
    atomic_flag comparing;
    _Atomic int64_t error; // ns: half of the longest comparison
};

// What a reader keeps to itself: within [low, high) times have this offset, which grows by `slope` per ns from `from` on. May
// begin as zeros. It is good for one batch of times: begin the next with zeros again.
struct foreign_clock_piece {
    uint64_t low, high, from;
    int64_t offset;
    double slope;
};

// Compares the clocks; false: the clock cannot be read.
bool foreign_clock_compare(struct foreign_clock *clock);

bool foreign_clock_look_up(struct foreign_clock *clock, struct foreign_clock_piece *piece, uint64_t time);

// The trace time of a time, or FOREIGN_CLOCK_UNKNOWN: it is 0, or the clocks were never compared.
static inline int64_t foreign_clock_convert(struct foreign_clock *clock, struct foreign_clock_piece *piece,
                                            uint64_t time) {
    if (__builtin_expect(time < piece->low || time >= piece->high, 0) &&
        !foreign_clock_look_up(clock, piece, time))
        return FOREIGN_CLOCK_UNKNOWN;
    return (int64_t)(time + (uint64_t)piece->offset +
                     (uint64_t)(int64_t)((double)(int64_t)(time - piece->from) * piece->slope));
}

#endif
