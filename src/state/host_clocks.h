// SPDX-License-Identifier: Apache-2.0
// How the trace clocks of several machines relate, from necessary conditions: intervals of the offset of two clocks at moments. They
// are intersected; what contradicts is reported and used for nothing.
//
// Assumptions: a trace clock is never set, and runs within 500 ppm of the true rate (the most that the kernel corrects), so that
// two differ by at most HOST_CLOCKS_PPM. The rates of two clocks differ by a constant during each part of the run: there are as few
// parts (1, 2, 4, ... 64) as the conditions allow, but none is above 20 s that has enough conditions for two. If not even 64 parts
// satisfy the conditions, only the limit of the rate is used where they do not.
#ifndef STATE_HOST_CLOCKS_H
#define STATE_HOST_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_CLOCKS_PPM = 1000 };

enum { // where a condition comes from; bits
    HOST_CLOCKS_PROBE = 1u << 0,
    HOST_CLOCKS_UTC = 1u << 1,
    HOST_CLOCKS_PTP = 1u << 2,
    HOST_CLOCKS_MESSAGES = 1u << 3,
    HOST_CLOCKS_COLLECTIVES = 1u << 4,
    HOST_CLOCKS_SOURCES = 5, // how many there are
    HOST_CLOCKS_MEASURED = HOST_CLOCKS_PROBE | HOST_CLOCKS_UTC | HOST_CLOCKS_PTP | HOST_CLOCKS_MESSAGES,
};

// Clock b minus clock a was within low and high when a showed about at_a and b about at_b. INT64_MIN, INT64_MAX: not bounded there.
struct host_condition {
    uint32_t a, b;
    uint32_t source;
    int64_t at_a, at_b;
    int64_t low, high;
};

// Conditions that no clocks satisfy: two of one pair of clocks, or those of all pairs along a cycle of three or more clocks.
struct host_contradiction {
    struct host_condition first, second; // count 2; `low` of one is above what `high` of the other admits
    uint32_t *clocks;                    // of a cycle; NULL: two conditions
    uint32_t count;                      // clocks that take part
    int64_t by;                          // ns that are missing
};

// Clock minus clock 0.
struct host_offset {
    bool is_known;
    int64_t low, high;
};

struct host_clocks;

// For `count` clocks, at least one; clock 0 is the one that the others are related to. NULL when memory is exhausted.
struct host_clocks *host_clocks_create(uint32_t count);
void host_clocks_destroy(struct host_clocks *clocks);
// Conditions of a clock with itself, and empty ones without any bound, are left out. False when memory is exhausted.
bool host_clocks_add(struct host_clocks *clocks, const struct host_condition *condition);
// Once, after all conditions; for times of clock 0 from `from` to `to`. False when memory is exhausted.
bool host_clocks_solve(struct host_clocks *clocks, int64_t from, int64_t to);

// At a time of clock 0. Beyond from and to, and between the moments computed, it is interpolated so that the bounds hold.
struct host_offset host_clocks_offset(const struct host_clocks *clocks, uint32_t clock, int64_t at);
// HOST_CLOCKS_... of the conditions that relate the clock to clock 0; 0: none.
uint32_t host_clocks_sources(const struct host_clocks *clocks, uint32_t clock);
// Whether comparisons with probes, UTC, PTP or messages relate it, without collectives: along a path of pairs of clocks that these alone
// bound in both directions.
bool host_clocks_is_measured(const struct host_clocks *clocks, uint32_t clock);
// In the order in which they were found. Lives as long as the clocks.
const struct host_contradiction *host_clocks_contradictions(const struct host_clocks *clocks, size_t *count);

#endif
