// SPDX-License-Identifier: Apache-2.0
// All lines that pass through a set of gates: a linear program in two variables, solved by clipping the polygon of its solutions.
// host_pairs.c uses it: a line is the offset of two clocks that run at constant rates.
#ifndef STATE_HOST_LINES_H
#define STATE_HOST_LINES_H

#include <stdbool.h>
#include <stddef.h>

// At `at`, a line is between low and high; either may be infinite.
struct host_gate {
    double at, low, high;
};

struct host_line {
    double offset, rate; // at 0, and per unit of `at`
};

// A convex polygon; no corner: no line passes.
struct host_lines {
    struct host_line *corners, *scratch;
    size_t count, capacity, scratch_capacity;
};

// A zeroed struct is a valid one.
void host_lines_finish(struct host_lines *lines);
// The lines through all gates whose offset at 0 is within low and high, which are finite, and whose rate is at most `rate` in
// absolute value. False when memory is exhausted.
bool host_lines_fit(struct host_lines *lines, const struct host_gate *gates, size_t count, double low,
                    double high, double rate);
// The least and the largest value of any of the lines at a place; there must be a line.
void host_lines_range(const struct host_lines *lines, double at, double *low, double *high);

#endif
