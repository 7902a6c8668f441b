// SPDX-License-Identifier: Apache-2.0
// The totals of tracesmith/live.h from any batches. `tracesmith studio` adds up a file with it that is still being written.
#include "base/sized.h"
#include "base/status.h"
#include "collect/live_totals.h"

tsmith_status tsmith_live_sums_create(int64_t since, tsmith_live_sums **out, tsmith_error *error) {
    *out = (tsmith_live_sums *)live_totals_create(true, since);
    return *out ? TSMITH_OK
                : status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while adding up events");
}

void tsmith_live_sums_add(tsmith_live_sums *sums, const tsmith_dictionary *dictionary,
                          const tsmith_batch *batch) {
    live_totals_add((struct live_totals *)sums, dictionary, batch);
}

void tsmith_live_sums_give(tsmith_live_sums *sums, const tsmith_dictionary *dictionary, int64_t now,
                           tsmith_live_totals *out) {
    tsmith_live_totals totals;
    live_totals_give((struct live_totals *)sums, dictionary, now, &totals);
    sized_give(tsmith_live_totals, &totals, out);
}

void tsmith_live_sums_destroy(tsmith_live_sums *sums) {
    live_totals_destroy((struct live_totals *)sums);
}
