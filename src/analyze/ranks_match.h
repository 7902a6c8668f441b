// SPDX-License-Identifier: Apache-2.0
// The collectives of all ranks, matched: what the parts of the report of ranks share.
#ifndef ANALYZE_RANKS_MATCH_H
#define ANALYZE_RANKS_MATCH_H

#include "analyze/ranks.h"

// One collective or step of one rank, in a list of those of all.
struct rank_member {
    uint32_t key, number; // key: index of rank_matching.names
    uint32_t rank;        // index
    bool first;           // of its rank: nothing is known of the time before it
    int64_t start, end;
    int64_t before; // ns from the end of the rank's collectives before it to its start; below 0: they overlap
};

// Per rank, or for the collectives of one key.
struct rank_sums {
    uint64_t matched, last;
    int64_t waited, delay; // added up: longer than the shortest; what the last is later than the one before
    int64_t skew_total, skew_max;
};

struct rank_matching {
    tsmith_ranks *ranks;
    tsmith_string *names; // of keys, in the order of their bytes
    uint32_t *order;      // by string of the ranks' dictionary: its index in names
    struct rank_member *members;
    size_t count;
    struct rank_sums *of_rank;
    uint64_t *last_of; // of the key at hand, by rank
    uint64_t unmatched;
    int64_t waited;
};

// Fills names, order and members, which are sorted by key, number and rank; false when memory is exhausted.
bool ranks_match(struct rank_matching *matching);
void ranks_matching_finish(struct rank_matching *matching);
// By key, number and rank.
int ranks_compare_members(const void *left, const void *right);
// The end of the members of one key, of one collective, that begin at `from`.
size_t ranks_key_end(const struct rank_matching *matching, size_t from);
size_t ranks_collective_end(const struct rank_matching *matching, size_t from);
// Two cells: the name of a collective and its group.
void ranks_write_key(struct report *report, struct report_table *table, tsmith_string key);
// The mean of the two in the middle; sorts them. 0 of none.
int64_t ranks_median(int64_t *values, size_t count);
// How likely `count` fair coins give `heads` or more; 1 of no coin.
double ranks_coin_tail(uint64_t heads, uint64_t count);

// Sets is_aligned, offset and bound of all ranks. False when memory is exhausted.
bool ranks_align(const struct rank_matching *matching);
// Parts of the report; false when memory is exhausted.
bool ranks_write_stragglers(const struct rank_matching *matching, struct report *report);
// The tables `lateness` (each collective on each rank) and `occurrences` (those with the most skew).
bool ranks_write_lateness(const struct rank_matching *matching);
bool ranks_write_links(const struct rank_matching *matching, struct report *report);
// What the answer does not have, as notes and as a table.
void ranks_write_absent(const struct rank_matching *matching, struct report *report);

#endif
