// SPDX-License-Identifier: Apache-2.0
// The order SQL puts the values of a column in, for columns whose values have small numbers: one rank per number, equal
// for equal values.
#ifndef QUERY_RANK_H
#define QUERY_RANK_H

#include "query/events.h"

struct ranks {
    tsmith_type type;
    uint32_t limit; // numbers from here on are not of the trace: NULL
    uint32_t count; // of ranks; rank 0 is NULL
    uint32_t *ranks;
};

// Ranks the values that occur in `view`.
bool ranks_init(struct ranks *ranks, const tsmith_dictionary *dictionary, const struct event_column *column,
                const struct view *view, uint64_t rows);
void ranks_finish(struct ranks *ranks);
// For each row its place when rows are sorted by rank and otherwise keep their order. False without memory.
bool ranks_places(const struct ranks *ranks, const struct view *view, uint64_t rows, bool descending,
                  uint32_t *places);

#endif
