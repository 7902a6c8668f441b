// SPDX-License-Identifier: Apache-2.0
// The answers about a made trace, for the tests of analyses.
#ifndef SUPPORT_MADE_ANALYSIS_H
#define SUPPORT_MADE_ANALYSIS_H

#include "support/made_trace.h"

#include "tracesmith/analyze.h"

// The analysis called `name`, or all with NULL, of the whole trace, or of `window` where that is not NULL. `order` chooses
// how the events are dealt out to batches. The caller destroys it.
tsmith_analysis *made_analysis(const struct made_trace *trace, const char *name, uint64_t order,
                               const tsmith_interval *window);

// The cell of a row in the column called `column`. Fails the test where there is none.
const tsmith_cell *made_cell(const tsmith_report_table *table, size_t row, const char *column);

#endif
