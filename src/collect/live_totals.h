// SPDX-License-Identifier: Apache-2.0
// Adds up batches into the totals of tracesmith/live.h. src/collect/live.c calls it.
#ifndef COLLECT_LIVE_TOTALS_H
#define COLLECT_LIVE_TOTALS_H

#include <stdbool.h>

#include "tracesmith/batch.h"
#include "tracesmith/dictionary.h"
#include "tracesmith/live.h"

struct live_totals;

// NULL: out of memory.
struct live_totals *live_totals_create(bool from_start, int64_t since);
void live_totals_destroy(struct live_totals *totals);
void live_totals_add(struct live_totals *totals, const tsmith_dictionary *dictionary,
                     const tsmith_batch *batch);
// Fills `out` but for what only the collector knows (sequence, collector_time, processes, ended). `now` on the trace clock.
// Begins a new period for what counts as recent.
void live_totals_give(struct live_totals *totals, const tsmith_dictionary *dictionary, int64_t now,
                      tsmith_live_totals *out);

#endif
