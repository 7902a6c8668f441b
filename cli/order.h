// SPDX-License-Identifier: Apache-2.0
// The events of a trace in the order they began, over all tracks, in bounded memory.
#ifndef CLI_ORDER_H
#define CLI_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/present/progress.h"
#include "opened_trace.h"

// Which rows are wanted, besides; without `is_wanted` all are. `begin` is called before the rows of a batch.
struct order_filter {
    void *context;
    void (*begin)(void *context, const tsmith_batch *batch);
    bool (*is_wanted)(void *context, uint32_t row);
};

struct order_query {
    int64_t from, to; // events that begin before `to` and have not ended before `from`, ns on the trace clock
    uint64_t kinds;   // TSMITH_KIND_BIT of each; 0: all
    const uint32_t *fields; // columns `collect` looks at; NULL: all
    size_t field_count;
    struct order_filter filter;
    bool soon; // the first events are wanted quickly (they are shown), not all of them at the best rate
};

// A window that is everything.
#define ORDER_EVERYTHING                                                                                     \
    { .from = INT64_MIN, .to = INT64_MAX }

struct order_visitor {
    void *context;
    // A batch whose rows come next; it is gone after the next call of begin.
    void (*begin)(void *context, const tsmith_batch *batch);
    // Appends to `record` what emit needs of a row of that batch. Called more than once for some events.
    void (*collect)(void *context, uint32_t row, struct text *record);
    // The record of one event, once each, in order; false: that is enough.
    bool (*emit)(void *context, const char *record, size_t length);
};

// The exit code; failures are complained about. Clears trace->is_whole when it finds damage.
int order_visit(struct trace *trace, const struct order_query *query, const struct order_visitor *visitor,
                struct progress *progress);

// start + duration of a row without overflow; start for an event that has no duration.
int64_t order_end(int64_t start, bool has_duration, int64_t duration);

#endif
