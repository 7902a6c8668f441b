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
    int64_t clock_bound; // the largest of the collectives; below 0: unknown of one
    uint64_t not_shown;  // collectives whose skew is not above the bound of the clocks
};

struct rank_matching {
    tsmith_ranks *ranks;
    tsmith_string *names; // of keys, in the order of their bytes
    uint32_t *order;      // by string of the ranks' dictionary: its index in names
    struct rank_member *members;
    size_t count;
    size_t *first_of; // by rank: how many collectives the ranks before it have; one more element: all
    struct rank_sums *of_rank;
    uint64_t *last_of; // of the key at hand, by rank; 0 between keys
    uint32_t *touched; // ranks that have something in it
    size_t touched_count;
    uint64_t unmatched;
    int64_t waited;
    struct host_clocks *clocks; // NULL: no trace states its clock
};

// Fills names, order and members, which are sorted by key, number and rank; false when memory is exhausted.
bool ranks_match(struct rank_matching *matching);
void ranks_matching_finish(struct rank_matching *matching);
// By key, number, rank and time.
int ranks_compare_members(const void *left, const void *right);
// The end of the members of one key, of one collective, that begin at `from`.
size_t ranks_key_end(const struct rank_matching *matching, size_t from);
size_t ranks_collective_end(const struct rank_matching *matching, size_t from);
// Two cells: the name of a collective and its group.
void ranks_write_key(struct report *report, struct report_table *table, tsmith_string key);
// The value that is at `place` once they are sorted. Afterwards none before that place is larger, and none behind it smaller.
int64_t ranks_select(int64_t *values, size_t count, size_t place);
// The mean of the two in the middle; changes their order. 0 of none.
int64_t ranks_median(int64_t *values, size_t count);
// How likely `count` fair coins give `heads` or more; 1 of no coin.
double ranks_coin_tail(uint64_t heads, uint64_t count);

// Relates the trace clocks of the ranks, if traces state them. False when memory is exhausted.
bool ranks_relate_clocks(struct rank_matching *matching);
// The clock of a rank that is aligned by clocks, minus that of the first rank, when the former shows `at`; within `bound`.
int64_t ranks_clock_offset(const struct rank_matching *matching, uint32_t rank, int64_t at, int64_t *bound);
// By how much clocks can be wrong about the order of two of these ranks; below 0: that is unknown.
int64_t ranks_clock_bound(const struct rank_matching *matching, const struct rank_member *members,
                          size_t count);
// The same of one rank and any other.
int64_t ranks_clock_bound_of(const struct rank_matching *matching, size_t rank);
// The table `clocks`, and notes about contradictions.
void ranks_write_clocks(const struct rank_matching *matching, struct report *report);
// Sets is_aligned, offset and bound of all ranks. False when memory is exhausted.
bool ranks_align(const struct rank_matching *matching);
// Parts of the report; false when memory is exhausted.
bool ranks_write_stragglers(const struct rank_matching *matching, struct report *report);
// The tables `lateness` (each collective on each rank) and `occurrences` (those with the most skew).
bool ranks_write_lateness(const struct rank_matching *matching);
// The table `communicators`: which links the devices of a communicator use, and how fast its collectives were.
bool ranks_write_paths(const struct rank_matching *matching, struct report *report);
bool ranks_write_links(const struct rank_matching *matching, struct report *report);
// What the answer does not have, as notes and as a table.
void ranks_write_absent(const struct rank_matching *matching, struct report *report);

#endif
