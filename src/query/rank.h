// SPDX-License-Identifier: Apache-2.0
// Counting sort by a column whose values have small numbers, in the order SQL puts the values in: first all rows are
// counted, then each gets its place. Rows of equal values keep their order.
#ifndef QUERY_RANK_H
#define QUERY_RANK_H

#include "query/events.h"

// The numbers of some rows' values.
struct codes {
    tsmith_view view;
    bool constant; // all are `code`: the track of a batch
    uint32_t code;
    const uint32_t *rows; // NULL: the first ones
};

struct ranks {
    const tsmith_dictionary *dictionary;
    const struct event_column *column;
    uint32_t limit;    // numbers from here on are not of the trace: NULL, counted as this one
    uint32_t *by_code; // while counting: rows; then: rank
    uint32_t *next;    // by rank: the next place
};

bool ranks_init(struct ranks *ranks, const tsmith_dictionary *dictionary, const struct event_column *column);
void ranks_finish(struct ranks *ranks);
void ranks_count(struct ranks *ranks, const struct codes *codes, uint64_t count);
// All rows were counted. False without memory.
bool ranks_settle(struct ranks *ranks, bool descending);
void ranks_place(struct ranks *ranks, const struct codes *codes, uint64_t count, uint32_t *places);

#endif
