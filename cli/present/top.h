// SPDX-License-Identifier: Apache-2.0
// The totals of a running recording as text and as JSON.
#ifndef CLI_TOP_H
#define CLI_TOP_H

#include "text.h"
#include "tracesmith/live.h"

struct top_reading {
    const char *directory;
    bool armed; // nothing is recorded but on demand
    const tsmith_live_totals *now;
    const tsmith_live_totals *before; // for rates; NULL: there are none
};

// A table; on a terminal it replaces the one before.
void top_add_text(struct text *text, const struct top_reading *reading);
// One line.
void top_add_json(struct text *text, const struct top_reading *reading);

// Events that were lost, without losses that are not of events.
uint64_t top_lost(const tsmith_live_totals *totals);
// What the reading before had of a kernel; NULL: it is not there.
const tsmith_live_kernel *top_kernel_before(const struct top_reading *reading,
                                            const tsmith_live_kernel *kernel);
// Of two counters per second; below 0: unknown.
double top_rate(const struct top_reading *reading, uint64_t now, uint64_t before);

#endif
