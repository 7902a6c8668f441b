// SPDX-License-Identifier: Apache-2.0
// Counts the slices of a Chrome trace that overlap their predecessor without ending in it. rows.c calls it.
#include "import/chrome/rows.h"
#include "tracesmith/view.h"

void overlaps_count(struct chrome *chrome, const tsmith_batch *batch) {
    enum { DEPTH = 256 };
    int64_t ends[DEPTH]; // of the slices around this one
    size_t depth = 0;
    static const uint32_t fields[] = {TSMITH_FIELD_START, TSMITH_FIELD_DURATION};
    tsmith_view views[2];
    tsmith_view_batch(batch, fields, 2, views);
    const int64_t *start = tsmith_view_every(&views[0]);
    if (!start || !tsmith_view_exists(&views[1]))
        return;
    for (uint32_t row = 0; row < tsmith_batch_count(batch); row++) {
        int64_t duration, end;
        if (!tsmith_view_i64(&views[1], row, &duration) || __builtin_add_overflow(start[row], duration, &end))
            continue;
        while (depth && ends[depth - 1] <= start[row])
            depth--;
        if (depth && ends[depth - 1] < end && !(row && start[row] == start[row - 1]))
            chrome->problems.counts[PROBLEM_OVERLAP]++;
        if (depth < DEPTH)
            ends[depth++] = end;
    }
}
