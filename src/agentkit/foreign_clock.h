// SPDX-License-Identifier: Apache-2.0
// Converts times of the clock of a driver's tool interface to the trace clock. For agents whose API can read that clock on
// the host (CUPTI, rocprofiler-sdk): the control thread compares the two clocks ten times a second; in between, times are
// interpolated.
//
// The driver may change its clock (CUPTI does while CUDA initializes), the clock may be set, and the machine may be suspended. A
// time is therefore converted by the comparisons nearest to it on the driver's clock. If the nearest is more than ten seconds
// away, the clocks are compared again at once; if it is more than a day away, the time is of a clock that was never compared,
// and has no trace time. Between two neighboring comparisons that show a jump, a time belongs to the nearer one.
//
// Any thread. No lock: of two threads that compare at once, one does.
#ifndef AGENTKIT_FOREIGN_CLOCK_H
#define AGENTKIT_FOREIGN_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define FOREIGN_CLOCK_UNKNOWN INT64_MIN

enum { FOREIGN_CLOCK_COMPARISONS = 1024 };

struct foreign_clock_comparisons {
    struct {
        _Atomic uint64_t time;  // of that clock
        _Atomic int64_t offset; // the trace clock minus that
    } ring[FOREIGN_CLOCK_COMPARISONS];
    _Atomic uint32_t count;
};

struct foreign_clock {
    bool (*read)(uint64_t *time); // ns of the clock; false: it cannot be read
    // All of the last minute and a half, and one per ten seconds of the last hours, for calls that last long.
    struct foreign_clock_comparisons recent, old;
    atomic_flag comparing;
    _Atomic int64_t worst_width, worst_drift; // ns
    atomic_bool extrapolated;                 // a time after the newest comparison was converted
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

// False: no trace time is known for this time.
bool foreign_clock_look_up(struct foreign_clock *clock, struct foreign_clock_piece *piece, uint64_t time);

// The trace time of a time, or FOREIGN_CLOCK_UNKNOWN: it is 0, or of a clock that was never compared.
static inline int64_t foreign_clock_convert(struct foreign_clock *clock, struct foreign_clock_piece *piece,
                                            uint64_t time) {
    if (__builtin_expect(time < piece->low || time >= piece->high, 0) &&
        !foreign_clock_look_up(clock, piece, time))
        return FOREIGN_CLOCK_UNKNOWN;
    return (int64_t)(time + (uint64_t)piece->offset +
                     (uint64_t)(int64_t)((double)(int64_t)(time - piece->from) * piece->slope));
}

// For the trace: how far conversions can be off, in ns, at most so far: by the time that a comparison took, and by what the
// clocks drifted apart where times after the newest comparison were converted.
int64_t foreign_clock_error(const struct foreign_clock *clock);
// As the attribute API.clock_error_ns.
void foreign_clock_tell_error(const struct foreign_clock *clock, const char *api);

#endif
