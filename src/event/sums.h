// SPDX-License-Identifier: Apache-2.0
// Whether a batch has sums of events (profile --aggregate): for readers that need single events, and refuse them.
#ifndef EVENT_SUMS_H
#define EVENT_SUMS_H

#include <stdbool.h>
#include <string.h>

#include "tracesmith/batch.h"

static inline bool sums_in(const tsmith_batch *batch) {
    tsmith_column kind;
    return tsmith_batch_column(batch, TSMITH_FIELD_KIND, &kind) &&
           memchr(kind.values, TSMITH_KIND_SUM, tsmith_batch_count(batch)) != NULL;
}

#endif
