// SPDX-License-Identifier: Apache-2.0
// Marks of the time axis of `view --timeline`.
#ifndef CLI_TIMELINE_AXIS_H
#define CLI_TIMELINE_AXIS_H

#include <stdint.h>

#include "text.h"

// The step between two marks of the axis: 1, 2 or 5 times a power of ten, at least `least` ns.
int64_t axis_step(int64_t least);
// A time on the axis in the unit of the axis' step, so that neighbors differ: "0", "1.5 ms", "300 us".
void axis_add_time(struct text *text, int64_t time, int64_t step);

#endif
